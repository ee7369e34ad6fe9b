"""Explanations of documents and events (`odl explain`), computed from the stored files of a run."""

import math
import os
from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import breakdown, facets, hashtags, periods, read, reasons, show
from odl.alerts.model import Reason
from odl.errors import ParameterError, advice
from odl.evaluation.scorefiles import read_scores
from odl.files.documents import NO_TIME
from odl.files.escaping import heading, isolated, visible
from odl.stream import dense, features
from odl.stream import terms as known_terms
from odl.stream.weighting import weigh_for_comparison

EVENT_DIGITS = 9  # most digits of the number of an event
SHARE_ROUNDING = 1e-6  # largest rounding error of a share, which is stored in single precision
LOWERING_NAMED = 3  # words that lower a score, which are named
ITEMS_LISTED = 20  # words of a document, and documents of an event, that are listed
CHART_WIDTH, CHART_BLOCKS = 60, "·▁▂▃▄▅▆▇█"  # columns of a chart at most, and its heights
CHANGES_LISTED = 5  # changes of states that are listed from each end
DAY_MS = 86_400_000


class Mention(NamedTuple):
    """Period, id, title, source file (empty if unknown) and time of a document, and its cosine with another one."""

    t: int
    id: str
    title: str
    source: str
    time: int
    likeness: float = math.nan


def find(place, ident):
    """Return the period and the row of the newest document with an id, or None."""
    ts = sorted(
        (int(name[:-3]) for name in os.listdir(place.alerts) if name[:-3].isdecimal()), reverse=True
    )
    for t in ts:
        path = os.path.join(place.features, f"{t}.h5")
        ids = features.read(path).ids
        if ident in ids:
            return t, ids.index(ident)
    return None


def resolve(watch, what):
    """Return (period, row) of the document that a user named, or None, and the number of the event, or 0.

    If a document has the number of an event as its id, the document is returned.
    """
    place = find(watch.place, what)
    number = what.removeprefix("event:").removeprefix("topic:").removeprefix("#")
    if (
        place is None
        and number.isdecimal()
        and len(number) <= EVENT_DIGITS
        and int(number) in watch.events
    ):
        return None, int(number)
    return place, 0


def feedback_name(watch, what):
    """Return the name in feedback.csv of the event, document or source that a user named.

    Raises
    ------
    ParameterError
        If there is none of this name.
    """
    counted = (
        one.name[1:] for period in watch.periods for one in period.headlines if one.gate == "volume"
    )
    names = {name for period in watch.periods for name in period.sources}.union(*counted)
    known = sorted(map(visible, names))
    if what.startswith("source:"):
        name = what.removeprefix("source:")
        if known and name not in known:
            expected = f"one such as source:{known[0]}"
            raise ParameterError(
                f"no document came from {what}", expected, advice(name, known, "name it")
            )
        return what
    place, number = resolve(watch, what)
    if not number and place is None:
        todo = f"say source:{what}" if what in known else "look at odl new"
        raise ParameterError(f"{what} is no document or event of the stream", "one of them", todo)
    return f"event:{number}" if number else what


def read_members(place, events):
    """Return the documents (`Mention`) of events in the periods that were read, oldest first, by number of the event.

    Parameters
    ----------
    place : odl.alerts.read.Place
    events : iterable of odl.alerts.model.Event

    Raises
    ------
    StorageError
        If a file is missing or damaged.
    """
    members_of = {event.number: [] for event in events}
    for t in sorted({t for event in events for t in event.sizes}):
        path = os.path.join(place.alerts, f"{t}.h5")
        event_of = periods.read_event_numbers(path)
        for number, ident, title, source, time in zip(
            event_of.tolist(), *periods.read_names(path), strict=True
        ):
            if number in members_of:
                members_of[number].append(
                    Mention(t, visible(ident), heading(title), visible(source), int(time))
                )
    return members_of


def explain_document(place, t, row):
    """Return a document with all its reasons, what is most like it, and all its words.

    Parameters
    ----------
    place : odl.alerts.read.Place
    t, row : int
        Period, and row of its batch.

    Returns
    -------
    document : odl.alerts.model.Document
        Its `rank` is among all documents of the period; `reasons` are all its words.
    earlier, meant : Mention or None
        The most similar document before it by words, and by vectors if the stream has these.
    words : set of str

    Raises
    ------
    StorageError
        If a file is missing or damaged.
    """
    period = periods.read(os.path.join(place.alerts, f"{t}.h5"), shares=True)
    data = features.read(os.path.join(place.features, f"{t}.h5"))
    counts = data.counts[:]
    words = sparse.csr_array(
        (period.shares.astype(np.float64), counts.indices, counts.indptr), shape=counts.shape
    )
    near = _known_atoms(place, t)
    if row in period.documents_of:  # it has the words of atoms that no document used, too
        near |= {
            atom: (" ".join(words), ident)
            for atom, words, _, ident in period.documents_of[row].nearest
        }
    rows = np.array([row])
    batch = os.path.join(os.path.dirname(place.features), "batches", f"{t}.h5")
    origins = reasons.origins(batch, len(data.ids))
    (document,), texts = reasons.items(period, rows, words, data, near, origins, counts.shape[1])
    document.members = tuple(
        data.ids[other] for other in np.flatnonzero(period.item == period.item[row])
    )
    low = sorted(
        (share, term) for term, share in reasons.shares_of(words, row).items() if share <= 0
    )
    lower = [(data.vocabulary[term], share) for share, term in reversed(low)]
    for some in (document.reasons, lower):
        reasons.join(document, [word for word, _ in some], origins.texts.stored[row], texts)
    document.reasons += tuple(Reason(*pair) for pair in lower)
    document.rank = int((period.score > period.score[row]).sum()) + 1
    earlier = most_similar(place, data, row, compare_words(data, row))
    meant = (
        most_similar(place, data, row, compare_vectors(data, row))
        if period.meaning is not None
        else None
    )
    known = hashtags.with_bare(
        {visible(data.vocabulary[term]) for term in counts[row : row + 1].indices.tolist()}
    )
    return read.printable(document), earlier, meant, known


def _known_atoms(place, t):
    """Return (words, id of a document) of each atom before a period learned."""
    before = os.path.join(place.alerts, f"{t - 1}.h5")
    if not os.path.exists(before):
        return {}
    words = read_scores(os.path.join(place.run, "scores", f"{t - 1}.h5")).atoms
    return dict(enumerate(zip(words, periods.read_documents(before), strict=False)))


def most_similar(place, data, row, compare):
    """Return the earlier document that is most similar to a document; None if none has a word in common.

    Parameters
    ----------
    place : odl.alerts.read.Place
    data : odl.stream.features.FeatureFile
        Of its period.
    row : int
    compare : callable
        `compare_words` or `compare_vectors` of the document: returns the cosines of a batch with
        it.

    Returns
    -------
    Mention or None
    """
    best = None
    for t in range(data.t + 1):
        batch = data if t == data.t else features.read(os.path.join(place.features, f"{t}.h5"))
        cosines = compare(batch)[: row if t == data.t else None]
        if len(cosines) and cosines.max() > (best.likeness if best else 0.0):
            at = int(np.argmax(cosines))
            names = visible(batch.ids[at]), heading(batch.titles[at]), ""
            best = Mention(t, *names, int(batch.times[at]), float(cosines[at]))
    return best


def compare_words(data, row):
    """Return a function from a batch to cosines with a document: log tf, idf at the time of the document."""
    weighed = data.weighed(languages=True)
    document, frequencies = weighed.weigh_words(data.counts[row : row + 1]), weighed.frequencies

    def cosines(batch):
        counts = data.counts[:] if batch is data else known_terms.aligned(batch, data)
        beyond = counts.shape[1] - len(frequencies)  # terms that have left
        known, own = (
            np.pad(frequencies, (0, beyond)),
            weighed.stop_words.for_words(data.vocabulary + [""] * beyond),
        )
        others = weigh_for_comparison(counts, known, weighed.n_documents, weighed.weighting, own)
        return (sparse.csr_array(others[:, : len(frequencies)]) @ document.T).toarray().ravel()

    return cosines


def compare_vectors(data, row):
    """Return a function from a batch to cosines of vectors with a document, centred as at the time of the document."""
    return lambda batch: dense.centred(batch.raw_vectors, data.vector_mean) @ data.vectors[row]


def own_likelihood(event, words):
    """Return (word, has, log-likelihood ratio) of each own word of an event for a document with some words.

    Parameters
    ----------
    event : odl.alerts.model.Event
    words : set of str

    Returns
    -------
    list of (str, bool, float)
        The largest first. They add up to the evidence that the document belongs to the event.
    """
    ratios = [
        (one.word, True, math.log(one.inside / one.before))
        if one.word in words
        else (one.word, False, math.log1p(-one.inside) - math.log1p(-one.before))
        for one in event.words
    ]
    return sorted(ratios, key=lambda ratio: (-ratio[2], ratio[0]))


def document_text(watch, document, earlier, meant, words):
    """Return the explanation of a document as text; `words` are all its words."""
    period = watch.periods[document.t - watch.periods[0].t]
    event = watch.events.get(document.event)
    view = show.DocumentView(document, period)
    candidates = (*period.headlines, *period.below)
    headlines = [show.HeadlineView(period, one) for one in candidates if document.row in one.rows]
    ratios = own_likelihood(event, words) if event else []
    similar = [("most similar before", earlier), ("nearest by meaning", meant)]
    names = {"shares": shares, "terms": terms, "last_seen": last_seen, "near_words": breakdown.near}
    values = watch, view, headlines, ratios, similar
    return show.printed("explain.jinja", names, "document", *values)


def terms(ratios):
    """Return the own words that a document has with their ratios, and the sum of those it lacks, as texts."""
    missing = sum(ratio for _, has, ratio in ratios if not has)
    return [f"{isolated(word)} {ratio:+.1f}" for word, has, ratio in ratios if has] + [
        f"own words that it does not have {missing:+.1f}"
    ] * (missing < 0)


def last_seen(other, document):
    """Return when a similar document was seen, as text: its date and how many days before; without dates its period."""
    if other.time == NO_TIME:
        return f"period {other.t}"
    days = (document.time - other.time) // DAY_MS if document.time != NO_TIME else 0
    before = f", {show.plural(days, 'day')} before" if days > 0 else ""
    return f"last seen {show.date_of(other.time)}{before}"


def shares(document):
    """Return (share, label) of the largest shares of a score, of the other words, and of the lowering words."""
    stored, summed = {reason.word: reason.share for reason in document.reasons}, Counter()
    for phrase, words in [*document.phrases, *((word, (word,)) for word in stored)]:
        summed[phrase] += sum(stored.pop(word, 0.0) for word in words)
    ordered = [(share, phrase) for phrase, share in summed.most_common()]
    raising = [row for row in ordered if row[0] > 0]
    lowering = [row for row in reversed(ordered) if row[0] < -SHARE_ROUNDING]
    rows, smaller = raising[:ITEMS_LISTED], raising[ITEMS_LISTED:]
    if smaller:
        most = 100 * smaller[0][0] / (document.score or 1)
        rows.append((_sum(smaller), f"({len(smaller)} more, none above {most:.1f} %)"))
    if lowering:
        few = ", ".join(phrase for _, phrase in lowering[:LOWERING_NAMED])
        n_more = len(lowering) - LOWERING_NAMED
        few += f" and {n_more} more" * (n_more > 0)
        rows.append((_sum(lowering), f"({few}: what speaks for what is known)"))
    if abs(document.context) > SHARE_ROUNDING:
        rows.append((document.context, "(context: what no word of it has)"))
    if document.meaning:
        rows.append((document.meaning, "(meaning: how far its vector is from those before)"))
    return rows


def _sum(rows):
    return sum(share for share, _ in rows)


def chart(event, first_read):
    """Return the counts of periods of an event as block characters, and the number of periods of a block.

    Parameters
    ----------
    event : odl.alerts.model.Event
    first_read : int
        First period that was read; counts before it are unknown.

    Examples
    --------
    >>> from odl.alerts.explain import chart
    >>> from odl.alerts.model import Event
    >>> chart(Event(1, ("a",), (), 0.0, 3, sizes={3: 1, 4: 8, 6: 2}), 0)
    ('▁█·▂', 1)
    """
    first = max(event.birth, first_read)
    n = max(event.sizes) - first + 1
    each = -(-n // CHART_WIDTH)
    counts = [0] * -(-n // each)
    for t, size in event.sizes.items():
        if t >= first:
            counts[(t - first) // each] += size
    most, heights = max(counts) or 1, len(CHART_BLOCKS) - 1
    return "".join(CHART_BLOCKS[-(-heights * count // most)] for count in counts), each


def event_text(watch, number):
    """Return the explanation of an event as text: states, counts, own words and documents."""
    event = watch.events[number]
    last = max([event.birth, *event.sizes])
    end = show.date_of(watch.periods[max(last - watch.periods[0].t, 0)].last)
    days = [show.day_in(watch, event.birth), end or show.day_in(watch, last)]
    states = [f"{state} {show.day_in(watch, t)}" for t, state in event.history]
    if (n_hidden := len(states) - 2 * CHANGES_LISTED) > 0:
        states[CHANGES_LISTED:-CHANGES_LISTED] = [f"{n_hidden} more changes"]
    documents = read_members(watch.place, [event])[number] if watch.place is not None else []
    central = {ident for ident, _ in event.examples}
    documents.sort(key=lambda each: each.id not in central)
    counted = facets.count_facets(watch.place, {number: event.sizes}).get(number, ())
    names = {"chart": chart, "rate": rate, "ITEMS_LISTED": ITEMS_LISTED}
    values = watch, event, " to ".join(dict.fromkeys(days)), states, documents, counted
    return show.printed("explain.jinja", names, "event", *values)


def rate(share):
    """Return a share in per cent as text of eight columns."""
    percent = 100 * share
    return f"{percent:.1f} %".rjust(8) if percent >= 0.1 else "< 0.1 %".rjust(8)
