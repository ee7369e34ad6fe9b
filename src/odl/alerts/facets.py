"""Facets of events: which values of source, language and named columns their documents have, and how many of them."""

import json
import os
from collections import Counter
from typing import NamedTuple

from odl.alerts import periods
from odl.files import storage
from odl.files.escaping import isolated, visible
from odl.stream import features

SOURCE, LANGUAGE = "source", "language"
MAX_VALUES = 1000  # values of a facet that are counted of an event; further ones have no count
VALUES_LISTED = 3  # values of a facet that are named if none has half of the documents
USUAL_SHARE = 0.95  # share of all documents from which a value says nothing about an event


class Facet(NamedTuple):
    """Values of a facet among the documents of an event.

    Attributes
    ----------
    name : str
        "source", "language" or the name of a column.
    values : tuple of (str, int)
        Most frequent values and their numbers of documents.
    documents : int
        Documents of the event that have a value.
    usual : float
        Share of the most frequent value among all documents of the same periods that have a value.
    """

    name: str
    values: tuple
    documents: int
    usual: float

    @property
    def tells(self):
        """Whether the facet distinguishes the event: the value is not that of nearly all documents."""
        return self.usual < USUAL_SHARE

    @property
    def text(self):
        """Name, most frequent values and their numbers as text: "airline: JetBlue 140 of 144 (usually 15 %)"."""
        most = self.values[0][1]
        shown = self.values[: 1 if 2 * most >= self.documents else None]
        counts = ", ".join(f"{isolated(value)} {n:,}" for value, n in shown)
        usual = f" (usually {100 * self.usual:.0f} %)" if len(shown) == 1 else ""
        return f"{isolated(self.name)}: {counts} of {self.documents:,}{usual}"


def count_facets(place, spans):
    """Return the facets of events by their number.

    Parameters
    ----------
    place : odl.alerts.read.Place or None
        None of a watch without files.
    spans : dict of int to iterable of int
        Number of an event to the periods whose documents are counted.

    Returns
    -------
    dict of int to tuple of Facet

    Raises
    ------
    StorageError
        If a file is missing or damaged.
    """
    spans = {} if place is None else {number: {*span} for number, span in spans.items()}
    own: dict[int, dict] = {number: {} for number in spans}
    everywhere: dict[int, dict] = {number: {} for number in spans}
    for t in sorted(set().union(*spans.values())):
        event_of = periods.read_event_numbers(os.path.join(place.alerts, f"{t}.h5")).tolist()
        values = read_values(place, t)
        for number in (number for number, span in spans.items() if t in span):
            for name, column in values.items():
                members = (
                    one for one, each in zip(column, event_of, strict=True) if each == number
                )
                _add(own[number].setdefault(name, Counter()), members)
                _add(everywhere[number].setdefault(name, Counter()), column)
    return {number: _facets(own[number], everywhere[number]) for number in own}


def read_values(place, t):
    """Return the values of each facet for the documents of a period, "" for a document without one."""
    *_, sources, _ = periods.read_names(os.path.join(place.alerts, f"{t}.h5"))
    data = features.read(os.path.join(place.features, f"{t}.h5"))
    values = {SOURCE: [*map(visible, sources)]}
    languages = data.weighed(languages=True).stop_words
    values[LANGUAGE] = languages.languages(data.counts[:])
    batch = os.path.join(os.path.dirname(place.features), "batches", f"{t}.h5")
    with storage.reading(batch, "batch") as file:
        rows = storage.read_strings(file, "facets") if "facets" in file else []
    maps = [json.loads(row or "{}") for row in rows]
    for name in dict.fromkeys(name for one in maps for name in one):
        values[visible(name)] = [visible(one.get(name, "")) for one in maps]
    return values


def _add(counter, values):
    """Count values that are not empty; new ones only up to `MAX_VALUES`, the others together under ""."""
    for value in values:
        if value:
            counter[value if value in counter or len(counter) < MAX_VALUES else ""] += 1


def _facets(own, everywhere):
    """Return the facets of an event from its counters and those of all documents of its periods."""
    found = []
    for name, counter in own.items():
        named = [(value, n) for value, n in counter.items() if value]
        if named:
            values = sorted(named, key=lambda pair: (-pair[1], pair[0]))[:VALUES_LISTED]
            usual = everywhere[name][values[0][0]] / everywhere[name].total()
            found.append(Facet(name, tuple(values), counter.total(), usual))
    return tuple(found)


def facets_map(facets):
    """Return facets as a dict for JSON."""
    names = ("values", "documents", "usual")
    return {one.name: {name: getattr(one, name) for name in names} for one in facets}
