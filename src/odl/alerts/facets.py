"""Facets of events: counts of the sources, languages and column values of their documents."""

import json
import os
from collections import Counter
from typing import NamedTuple

from odl.alerts import periods
from odl.files import storage
from odl.files.escaping import isolated, visible
from odl.stream import features

SOURCE, LANGUAGE = "source", "language"  # facets that are not columns of the documents
MAX_VALUES = 1000  # different values of a facet that are counted; all others share one count
VALUES_LISTED = 3  # values listed for a facet if no value has half of the documents
USUAL_SHARE = 0.95  # share of all documents above which a value does not distinguish an event


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
        """Whether the facet distinguishes the event: other documents often have other values."""
        return self.usual < USUAL_SHARE

    @property
    def text(self):
        """Name, values and counts as text: "airline: JetBlue 140 of 144 (usually 15 %)".

        If the most frequent value has at least half of the documents, only this value is named.
        """
        largest_count = self.values[0][1]
        has_majority = 2 * largest_count >= self.documents
        shown = self.values[:1] if has_majority else self.values
        counts = ", ".join(f"{isolated(value)} {n:,}" for value, n in shown)
        usual = f" (usually {100 * self.usual:.0f} %)" if len(shown) == 1 else ""
        return f"{isolated(self.name)}: {counts} of {self.documents:,}{usual}"


def count_facets(place, spans):
    """Count the values of facets among the documents of events.

    Parameters
    ----------
    place : odl.alerts.read.Place or None
        None if the stream has no files; then there are no facets.
    spans : dict of int to iterable of int
        Number of an event -> periods whose documents are counted.

    Returns
    -------
    dict of int to tuple of Facet
        Number of an event -> its facets.

    Raises
    ------
    StorageError
        If a file is missing or damaged.
    """
    spans = {} if place is None else {number: {*span} for number, span in spans.items()}
    inside: dict[int, dict] = {number: {} for number in spans}
    everywhere: dict[int, dict] = {number: {} for number in spans}
    for t in sorted(set().union(*spans.values())):
        event_of = periods.read_event_numbers(os.path.join(place.alerts, f"{t}.h5")).tolist()
        values = read_values(place, t)
        for number in (number for number, span in spans.items() if t in span):
            for name, column in values.items():
                members = (
                    value for value, event in zip(column, event_of, strict=True) if event == number
                )
                _add(inside[number].setdefault(name, Counter()), members)
                _add(everywhere[number].setdefault(name, Counter()), column)
    return {number: _facets(inside[number], everywhere[number]) for number in inside}


def read_values(place, t):
    """Return {facet: its value for each document of a period}; a missing value is ""."""
    *_, sources, _ = periods.read_names(os.path.join(place.alerts, f"{t}.h5"))
    data = features.read(os.path.join(place.features, f"{t}.h5"))
    values = {SOURCE: [*map(visible, sources)]}
    languages = data.weighed(languages=True).stop_words
    values[LANGUAGE] = languages.languages(data.counts[:])
    batch = os.path.join(os.path.dirname(place.features), "batches", f"{t}.h5")
    with storage.reading(batch, "batch") as file:
        rows = storage.read_strings(file, "facets") if "facets" in file else []
    maps = [json.loads(row or "{}") for row in rows]
    for name in dict.fromkeys(name for facets in maps for name in facets):
        values[visible(name)] = [visible(facets.get(name, "")) for facets in maps]
    return values


def _add(counter, values):
    """Add values that are not empty to a counter.

    If the counter has `MAX_VALUES` keys, each new value is counted under the key "".
    """
    for value in values:
        if value:
            counter[value if value in counter or len(counter) < MAX_VALUES else ""] += 1


def _facets(inside, everywhere):
    """Return the facets (`Facet`) for which at least one document of an event has a value.

    Parameters
    ----------
    inside : dict of str to Counter
        Counts of the values of each facet among the documents of the event.
    everywhere : dict of str to Counter
        The same counts among all documents of the periods of the event.
    """
    facets = []
    for name, counter in inside.items():
        named = [(value, n) for value, n in counter.items() if value]
        if named:
            values = sorted(named, key=lambda pair: (-pair[1], pair[0]))[:VALUES_LISTED]
            usual = everywhere[name][values[0][0]] / everywhere[name].total()
            facets.append(Facet(name, tuple(values), counter.total(), usual))
    return tuple(facets)


def facets_map(facets):
    """Return facets as a dict for JSON."""
    names = ("values", "documents", "usual")
    return {facet.name: {name: getattr(facet, name) for name in names} for facet in facets}
