"""Explanations of documents and events (`odl explain`), computed from the stored files of a run."""

import math
import os
import re
import sys
from collections import Counter

import numpy as np

from odl.alerts import facets, hashtags, periods, read, reasons, show, views
from odl.alerts.model import Document, Reason
from odl.errors import ParameterError, advice
from odl.evaluation.scorefiles import read_scores
from odl.files import terminal
from odl.files.documents import NO_TIME
from odl.files.escaping import heading, visible
from odl.learners import sparse_atoms
from odl.stream import dense, features
from odl.stream import terms as known_terms
from odl.stream.weighting import weigh_for_comparison

EVENT_NAME = re.compile(r"(?:event:|topic:|#)?([0-9]{1,9})")  # name of an event in a command
SHARE_ROUNDING = 1e-6  # largest rounding error of a share, which is stored in single precision
LOWERING_NAMED = 3  # number of words that lower a score and are named
ITEMS_LISTED = 20  # words listed for a document; documents listed for an event
CHART_WIDTH = 60  # largest number of blocks of a chart
CHART_BLOCKS = "·▁▂▃▄▅▆▇█"  # characters for heights from 0 to the largest count
CHANGES_LISTED = 5  # state changes listed from each end of an event's history
DAY_MS = 86_400_000  # milliseconds of a day


def find_document(place, ident):
    """Return the period and the row of the newest document with an id, or None."""
    n_periods = len([*periods.paths(place.alerts)])
    for t in reversed(range(n_periods)):
        ids = features.read(os.path.join(place.features, f"{t}.h5")).ids
        if ident in ids:
            return t, ids.index(ident)
    return None


def find_named(watch, what):
    """Find the document or the event that a user named.

    If a document has the number of an event as its id, the document is returned.

    Returns
    -------
    document : tuple of int or None
        Period and row of the document.
    number : int
        Number of the event; 0 if `what` names a document or nothing in the stream.
    """
    document, number = find_document(watch.place, what), event_number(what)
    return document, number if document is None and number in watch.events else 0


def event_number(name):
    """Return the number of an event that a user named as 12, event:12 or #12; 0 for other names."""
    match = EVENT_NAME.fullmatch(name)
    return int(match[1]) if match else 0


def feedback_name(watch, what):
    """Return the name in feedback.csv of the event, document or source that a user named.

    Raises
    ------
    ParameterError
        If nothing has this name.
    """
    headlines = (headline for period in watch.periods for headline in period.headlines)
    counted = (headline.name[1:] for headline in headlines if headline.gate == "volume")
    names = {name for period in watch.periods for name in period.sources}.union(*counted)
    sources = sorted(map(visible, names))
    if what.startswith("source:"):
        name = what.removeprefix("source:")
        if sources and name not in sources:
            raise ParameterError(
                f"no document came from {what}",
                f"a source such as source:{sources[0]}",
                advice(name, sources, "name a source"),
            )
        return what
    document, number = find_named(watch, what)
    if not number and document is None:
        raise ParameterError(
            f"{what} is no document or event of the stream",
            "the number of an event or the id of a document",
            f"name source:{what}" if what in sources else "type odl new to list them",
        )
    return f"event:{number}" if number else what


def read_documents(place, t, rows):
    """Return the documents in some rows of a period, with id, title, source file and time only.

    Raises
    ------
    StorageError
        If the file of the period is missing or damaged.
    """
    names = periods.read_names(os.path.join(place.alerts, f"{t}.h5"))
    return [
        Document(
            t=t,
            row=row,
            id=visible(names.ids[row]),
            title=heading(names.titles[row]),
            time=int(names.times[row]),
            source=visible(names.files[row]),
        )
        for row in rows
    ]


def read_members(place, events):
    """Return a dict from the number of each event to its documents (`read_documents`).

    Parameters
    ----------
    place : odl.alerts.read.Place
    events : iterable of odl.alerts.model.Event
        Only documents of the periods in `Event.sizes` are read.

    Raises
    ------
    StorageError
        If a file is missing or damaged.
    """
    members = {event.number: [] for event in events}
    for t in sorted({t for event in events for t in event.sizes}):
        event_of = periods.read_event_numbers(os.path.join(place.alerts, f"{t}.h5"))
        rows = np.flatnonzero(np.isin(event_of, [*members])).tolist()
        for document in read_documents(place, t, rows):
            members[int(event_of[document.row])].append(document)
    return members


def members_of(watch, event):
    """Return the documents of an event (`read_documents`), central ones first, then the oldest."""
    central = {ident for ident, _ in event.examples}
    members = read_members(watch.place, [event])[event.number]
    return sorted(members, key=lambda document: document.id not in central)


def explain_document(place, t, row):
    """Return a document with all its reasons, and the earlier documents most similar to it.

    Parameters
    ----------
    place : odl.alerts.read.Place
    t, row : int
        Period, and row of its batch.

    Returns
    -------
    document : odl.alerts.model.Document
        Its `rank` is among all documents of the period; `reasons` are all its words.
    earlier, meant : (odl.alerts.model.Document, float) or None
        Earlier document most similar by words, and by vectors, each with its cosine (results of
        `most_similar`). `meant` is None if the stream has no vectors.

    Raises
    ------
    StorageError
        If a file is missing or damaged.
    """
    period = periods.read(os.path.join(place.alerts, f"{t}.h5"), shares=True)
    data = features.read(os.path.join(place.features, f"{t}.h5"))
    counts = data.counts[:]
    words = sparse_atoms.with_data(counts, period.shares.astype(np.float64))
    atoms = _known_atoms(place, t)
    if row in period.documents_of:  # a stored document also has the words of unused atoms
        nearest = period.documents_of[row].nearest
        atoms |= {near.atom: (" ".join(near.words), near.id) for near in nearest}
    batch = os.path.join(os.path.dirname(place.features), "batches", f"{t}.h5")
    origins = reasons.origins(batch, len(data.ids))
    (document,), texts = reasons.items(
        period, np.array([row]), words, data, atoms, origins, counts.shape[1]
    )
    shares = reasons.shares_of(words, row)
    low = sorted((share, term) for term, share in shares.items() if share <= 0)
    lower = [Reason(data.vocabulary[term], share) for share, term in reversed(low)]
    for listed in (document.reasons, lower):
        reasons.join(document, [word for word, _ in listed], origins.texts.stored[row], texts)
    document.reasons += tuple(lower)
    document.rank = int((period.score > period.score[row]).sum()) + 1
    earlier = most_similar(place, data, row, compare_words(data, row))
    meant = None
    if period.meaning is not None:
        meant = most_similar(place, data, row, compare_vectors(data, row))
    return read.printable(document), earlier, meant


def _known_atoms(place, t):
    """Return the atoms that existed before period t.

    The result is {atom: (its words, id of the document most similar to it)}.
    """
    before = os.path.join(place.alerts, f"{t - 1}.h5")
    if not os.path.exists(before):
        return {}
    words = read_scores(os.path.join(place.run, "scores", f"{t - 1}.h5")).atoms
    return dict(enumerate(zip(words, periods.read_documents(before), strict=False)))


def most_similar(place, data, row, compare):
    """Return the earlier document with the largest cosine, None if no cosine is positive.

    Parameters
    ----------
    place : odl.alerts.read.Place
    data : odl.stream.features.FeatureFile
        Features of the document's period.
    row : int
    compare : callable
        Result of `compare_words` or `compare_vectors`: maps a batch to cosines with the document.

    Returns
    -------
    document : odl.alerts.model.Document
    cosine : float
    """
    best = 0.0, 0, 0  # cosine, period, row
    for t in range(data.t + 1):
        batch = data if t == data.t else features.read(os.path.join(place.features, f"{t}.h5"))
        cosines = compare(batch)[: row if t == data.t else None]
        if len(cosines) and cosines.max() > best[0]:
            best = float(cosines.max()), t, int(np.argmax(cosines))
    cosine, t, index = best
    return (read_documents(place, t, [index])[0], cosine) if cosine else None


def compare_words(data, row):
    """Return a function that maps a batch to the cosines of its documents with a document.

    Weights are log tf times the idf at the time of the document.
    """
    weighed = data.weighed(languages=True)
    document, frequencies = weighed.weigh_words(data.counts[row : row + 1]), weighed.frequencies

    def cosines(batch):
        counts = data.counts[:] if batch is data else known_terms.aligned(batch, data)
        n_removed = counts.shape[1] - len(frequencies)  # terms that were removed since
        padded = np.pad(frequencies, (0, n_removed))
        stop_words = weighed.stop_words.for_words(data.vocabulary + [""] * n_removed)
        Q = weigh_for_comparison(counts, padded, weighed.n_documents, weighed.weighting, stop_words)
        # Dense, but with one number for each document of the batch only
        return (Q[:, : len(frequencies)] @ document.T).toarray().ravel()

    return cosines


def compare_vectors(data, row):
    """Return a function that maps a batch to the cosines of its vectors with a document's vector.

    Vectors are centred by the mean at the time of the document.
    """
    return lambda batch: dense.centred(batch.raw_vectors, data.vector_mean) @ data.vectors[row]


def own_likelihood(event, document):
    """Return the log-likelihood ratio of each own word of an event for a document.

    Parameters
    ----------
    event : odl.alerts.model.Event
    document : odl.alerts.model.Document
        Document whose `reasons` are all its words, as `explain_document` returns it.

    Returns
    -------
    list of (str, bool, float)
        Word, whether the document contains the word, and log-likelihood ratio; the largest ratio
        first. The ratios add up to the evidence that the document belongs to the event.
    """
    words = hashtags.with_bare({reason.word for reason in document.reasons})
    ratios = [
        (own.word, True, math.log(own.inside / own.before))
        if own.word in words
        else (own.word, False, math.log1p(-own.inside) - math.log1p(-own.before))
        for own in event.words
    ]
    return sorted(ratios, key=lambda ratio: (-ratio[2], ratio[0]))


def document_text(watch, document, earlier, meant):
    """Return the explanation of a document as text.

    The last three arguments are the results of `explain_document`.
    """
    view = views.DocumentView(document, watch.periods[document.t - watch.periods[0].t])
    return _render("document", watch, view, earlier, meant)


def last_seen(other, document):
    """Return as text when a similar document was seen: its date and age in days, or its period."""
    if other.time == NO_TIME:
        return f"period {other.t}"
    days = (document.time - other.time) // DAY_MS if document.time != NO_TIME else 0
    before = f", {views.plural(days, 'day')} before" if days > 0 else ""
    return f"last seen {views.date_of(other.time)}{before}"


def share_rows(document):
    """Split a document's score into rows (share, label) whose shares add up to the score.

    The rows are: each of the largest shares of words or phrases, the sum of the smaller positive
    shares, the sum of the negative shares, the context, and the meaning.
    """
    # A word is counted once: in the first phrase that contains it, or alone if no phrase does.
    unused = {reason.word: reason.share for reason in document.reasons}
    share_of = Counter()
    for phrase, words in [*document.phrases, *((word, (word,)) for word in unused)]:
        share_of[phrase] += sum(unused.pop(word, 0.0) for word in words)
    ordered = [(share, phrase) for phrase, share in share_of.most_common()]
    raising = [row for row in ordered if row[0] > 0]
    lowering = [row for row in reversed(ordered) if row[0] < -SHARE_ROUNDING]
    smaller, names = raising[ITEMS_LISTED:], [phrase for _, phrase in lowering]
    if len(names) > LOWERING_NAMED:
        names[LOWERING_NAMED:] = [f"{len(names) - LOWERING_NAMED} more"]
    sums = [
        (sum(share for share, _ in smaller), f"({len(smaller)} smaller shares)"),
        (sum(share for share, _ in lowering), f"({', '.join(names)}: words that lower the score)"),
        (document.context, "(context: part of the score that no word explains)"),
        (document.meaning, "(meaning: distance of its vector from earlier vectors)"),
    ]
    return [*raising[:ITEMS_LISTED], *(row for row in sums if abs(row[0]) > SHARE_ROUNDING)]


def draw_chart(event, first_read):
    """Draw the number of an event's documents over time as a line of block characters.

    Parameters
    ----------
    event : odl.alerts.model.Event
        Event with documents in a period from `first_read` on.
    first_read : int
        First period that was read; counts before it are unknown.

    Returns
    -------
    blocks : str
        Block characters; their heights are the numbers of documents.
    n_periods : int
        Number of periods that a block covers.

    Examples
    --------
    >>> from odl.alerts.explain import draw_chart
    >>> from odl.alerts.model import Event
    >>> draw_chart(Event(1, ("a",), (), 0.0, 3, sizes={3: 1, 4: 8, 6: 2}), 0)
    ('▁█·▂', 1)
    """
    first = max(event.birth, first_read)
    sizes = [event.sizes.get(t, 0) for t in range(first, max(event.sizes) + 1)]
    n_periods = math.ceil(len(sizes) / CHART_WIDTH)
    counts = np.add.reduceat(sizes, range(0, len(sizes), n_periods))
    # Heights are rounded up, so that a block with documents never looks empty.
    heights = np.ceil((len(CHART_BLOCKS) - 1) * counts / counts.max()).astype(int)
    return "".join(CHART_BLOCKS[height] for height in heights), n_periods


def event_text(watch, number):
    """Return the explanation of an event as text: states, counts, own words and documents."""
    event, t0 = watch.events[number], watch.periods[0].t
    days = views.days_of(watch.periods[max(event.birth - t0, 0) : max(event.last - t0, 0) + 1])
    states = [f"{state} {views.day_in(watch, t)}" for t, state in event.history]
    if (n_hidden := len(states) - 2 * CHANGES_LISTED) > 0:
        states[CHANGES_LISTED:-CHANGES_LISTED] = [f"{n_hidden} more changes"]
    documents = members_of(watch, event) if watch.place is not None else []
    counted = facets.count_facets(watch.place, {number: event.sizes}).get(number, ())
    return _render("event", watch, event, days, states, documents, counted)


def _render(macro, *values):
    """Return the text of a macro of explain.jinja for standard output."""
    text = show.render_macro("explain.jinja", macro, *values, explain=sys.modules[__name__])
    return terminal.for_stream(text)
