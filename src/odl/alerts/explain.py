"""Explanation of one document or event, looked up in the files of every run when it is asked for."""

import math
import os
from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import breakdown, hashtags, periods, read, reasons, show
from odl.errors import ParameterError, advice
from odl.evaluation.scorefiles import read_scores
from odl.files.columns import padded, shortened
from odl.files.documents import NO_TIME
from odl.files.escaping import heading, isolated, visible
from odl.stream import dense, features
from odl.stream import terms as known_terms
from odl.stream.weighting import weigh

LONGEST = 9  # digits of the number of an event
ROUNDING = 1e-6  # shares are stored in single precision
DOWN = 3  # words that lower a score, which are named
ROWS = 20  # words of a document, and documents of an event, that are listed in text
CHARTED, BLOCKS = 60, "·▁▂▃▄▅▆▇█"  # columns of a chart at most, and its heights
STATES = 5  # changes of states that are listed from each end
DAY_MS = 86_400_000


class Earlier(NamedTuple):
    """The most similar document before another one: its id, title, time, period and cosine."""

    id: str
    title: str
    time: int
    t: int
    likeness: float


def find(place, ident):
    """Return the period and the row of a document, newest period first; None if there is none of this id."""
    ts = sorted((int(name[:-3]) for name in os.listdir(place.alerts) if name[:-3].isdecimal()), reverse=True)
    for t in ts:
        path = os.path.join(place.features, f"{t}.h5")
        ids = features.read(path).ids
        if ident in ids:
            return t, ids.index(ident)
    return None


def resolved(watch, what):
    """Return (period, row) of a document or None, and the number of an event or 0; an id comes before a number."""
    place = find(watch.place, what)
    number = what.removeprefix("event:").removeprefix("topic:").removeprefix("#")
    if place is None and number.isdecimal() and len(number) <= LONGEST and int(number) in watch.events:
        return None, int(number)
    return place, 0


def named(watch, what):
    """Return what a line of feedback.csv calls an event, a document or a source that a user named.

    Raises
    ------
    ParameterError
        If there is none of this name.
    """
    known = sorted({visible(name) for period in watch.periods for name in period.sources})
    if what.startswith("source:"):
        name = what.removeprefix("source:")
        if known and name not in known:
            expected = f"one such as source:{known[0]}"
            raise ParameterError(f"no document came from {what}", expected, advice(name, known, "name it"))
        return what
    place, number = resolved(watch, what)
    if not number and place is None:
        todo = f"say source:{what}" if what in known else "look at odl new"
        raise ParameterError(f"{what} is no document or event of the stream", "one of them", todo)
    return f"event:{number}" if number else what


class Member(NamedTuple):
    """A document of an event: its period, id, title and source file, empty where not known, and its time."""

    t: int
    id: str
    title: str
    source: str
    time: int


def members(place, events):
    """Return all documents of some events, by number, oldest first; of the periods that are read.

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
        for number, ident, title, source, time in zip(event_of.tolist(), *periods.read_names(path), strict=True):
            if number in members_of:
                members_of[number].append(Member(t, visible(ident), heading(title), visible(source), int(time)))
    return members_of


def document(place, t, row):
    """Explain the score of a document.

    Parameters
    ----------
    place : odl.alerts.read.Place
    t, row : int
        Period, and row of its batch.

    Returns
    -------
    document : odl.alerts.model.Document
        Its `rank` is its place among all documents of the period; `reasons` are all its words.
    earlier, meant : Earlier or None
        The document before it that is most like it by words, and by vectors where these are beside words.

    Raises
    ------
    StorageError
        If a file is missing or damaged.
    """
    record = periods.read(os.path.join(place.alerts, f"{t}.h5"), shares=True)
    data = features.read(os.path.join(place.features, f"{t}.h5"))
    counts = data.counts[:]
    words = sparse.csr_array((record.shares.astype(np.float64), counts.indices, counts.indptr), shape=counts.shape)
    near = _known_atoms(place, t)
    for stored in (item for item in record.items if item.row == row):  # it has words of atoms that were in no use, too
        near |= zip((atom for atom in record.near[row].tolist() if atom >= 0), stored.near, strict=True)
    rows = np.array([row])
    batch = os.path.join(os.path.dirname(place.features), "batches", f"{t}.h5")
    origins = reasons.origins(batch, len(data.ids))
    (item,), period = reasons.items(record, rows, words, data, near, origins, counts.shape[1])
    item.members = [data.ids[other] for other in np.flatnonzero(record.item == record.item[row])]
    low = sorted((share, term) for term, share in reasons.shares_of(words, row).items() if share <= 0)
    lower = [(data.vocabulary[term], share) for share, term in reversed(low)]
    for some in (item.words, lower):
        reasons.join(item, [word for word, _ in some], origins.texts.kept[row], period)
    item.words += lower
    rank = int((record.score > record.score[row]).sum()) + 1
    found, before = read.document_of(record, item, rank), earlier(place, data, row, by_words(data, row))
    meant = earlier(place, data, row, by_vectors(data, row)) if record.meaning is not None else None
    return found, before, meant


def _known_atoms(place, t):
    """Return words and a document of each atom as they were before a period."""
    before = os.path.join(place.alerts, f"{t - 1}.h5")
    if not os.path.exists(before):
        return {}
    words = read_scores(os.path.join(place.run, "scores", f"{t - 1}.h5")).atoms
    return dict(enumerate(zip(words, periods.read_documents(before), strict=False)))


def earlier(place, data, row, likeness):
    """Look through everything before a document for the one most like it.

    Parameters
    ----------
    place : odl.alerts.read.Place
    data : odl.stream.features.Features
        Of its period.
    row : int
    likeness : callable
        `by_words` or `by_vectors` of the document: the cosines of a batch with it.

    Returns
    -------
    Earlier or None
    """
    best = None
    for t in range(data.t + 1):
        batch = data if t == data.t else features.read(os.path.join(place.features, f"{t}.h5"))
        cosines = likeness(batch)[: row if t == data.t else None]
        if len(cosines) and cosines.max() > (best.likeness if best else 0.0):
            at = int(np.argmax(cosines))
            names = visible(batch.ids[at]), heading(batch.titles[at])
            best = Earlier(*names, int(batch.times[at]), t, float(cosines[at]))
    return best


def by_words(data, row):
    """Return the function that compares a document with a batch: log tf, idf as it was for the document, cosine."""
    weighed = data.weighed("l2", tf="log", languages=True)
    document, frequencies = weighed[row : row + 1], weighed.frequencies

    def cosines(batch):
        counts = data.counts[:] if batch is data else known_terms.aligned(batch, data)
        beyond = counts.shape[1] - len(frequencies)  # terms that have left
        known, own = np.pad(frequencies, (0, beyond)), weighed.stop_words.for_words(data.vocabulary + [""] * beyond)
        others = weigh(counts, known, weighed.n_documents, weighed.weighting, "l2", stop_words=own)
        return (sparse.csr_array(others[:, : len(frequencies)]) @ document.T).toarray().ravel()

    return cosines


def by_vectors(data, row):
    """Return the function that compares a document with a batch by vectors, centred as they were for the document."""
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


def words_of(place, t, row):
    """Return the words of a document."""
    data = features.read(os.path.join(place.features, f"{t}.h5"))
    return hashtags.with_bare({visible(data.vocabulary[term]) for term in data.counts[row : row + 1].indices.tolist()})


def document_text(watch, document, before, meant, words):
    """Return the explanation of a document as text; `words` are all its words."""
    period = watch.periods[document.t - watch.periods[0].t]
    lines = [isolated(document.title or document.id), f"  id: {document.id}  ({show.place(document) or 'no date'})"]
    tail = "unproven" if period.unproven else f"as high or higher: {100 * document.tail:.2g} % of recent"
    where = f"number {document.rank} of {show.date_of_period(period)}"
    lines.append(f"  score {document.score:.4f}, {where}; {tail}")
    if len(document.members) > 1:
        lines.append(f"  one of {len(document.members)} near-duplicates: {', '.join(document.members[:10])}")
    lines += [f"  {line}" for line in _belonging(watch, period, document, words)]
    lines += show.passage(document, show.titled(document)[1], 2)
    lines += ["", "  share of the score   word", *_table(document)]
    for near in document.nearest:
        sample = f", e.g. {near.id}" if near.id else ""
        atom = f"atom {near.atom} (cosine {near.likeness:.2f}{sample})"
        phrases = ", ".join(map(isolated, breakdown.near(document, near.words)))
        lines.append(": ".join(filter(None, [f"  nearest of the dictionary: {atom}", phrases])))
    for kind, other in (("most similar before", before), ("nearest by meaning", meant)):
        if other:
            date = show.date_of(other.time)
            times = [f"last seen {date}", *_days(other.time, document.time)] if date else [f"period {other.t}"]
            likeness = f"cosine {other.likeness:.2f}, {', '.join(times)}"
            lines.append(f"  {kind}: {other.id} ({likeness}) {other.title[:80]}")
    return "\n".join(lines)


def _belonging(watch, period, document, words):
    """Return which headlines a document is under, and why it belongs to its event, a line each."""
    lines = []
    for one in (*period.headlines, *period.below):
        if document.row in one.rows:
            quiet = "" if one.gate else ", not unusual here"
            row = show.Row(period, one)
            lines.append(f"headline: {row.name} ({row.documents}{quiet})")
    if event := watch.events.get(document.event):
        ratios = own_likelihood(event, words)
        total = sum(ratio for *_, ratio in ratios)
        lines.append(f"event {event.number} [{event.state_at(period.t)}] {show.name_of(event)}")
        if ratios:
            terms = [f"{isolated(word)} {ratio:+.1f}" for word, has, ratio in ratios if has]
            missing = sum(ratio for _, has, ratio in ratios if not has)
            terms += [f"own words that it does not have {missing:+.1f}"] * (missing < 0)
            shown = ", ".join(terms)
            lines.append(f"  log-likelihood ratio {total:.1f}, others join from {event.threshold:.1f} on: {shown}")
    return lines


def _days(before, time):
    """Return in words how many days there are between two times, nothing on the same day."""
    days = (time - before) // DAY_MS if NO_TIME not in (before, time) else 0
    return [f"{days} day{'s' * (days != 1)} before"] if days > 0 else []


def _table(document):
    """Return the shares of a score, a line each: words up to `ROWS`, the others summed up, what pulls down apart."""
    shares, summed = {reason.word: reason.share for reason in document.reasons}, Counter()
    for phrase, words in [*document.phrases, *((word, (word,)) for word in shares)]:
        summed[phrase] += sum(shares.pop(word, 0.0) for word in words)
    ordered = [(share, phrase) for phrase, share in summed.most_common()]
    up = [row for row in ordered if row[0] > 0]
    low = [row for row in reversed(ordered) if row[0] < -ROUNDING]
    rows = up[:ROWS]
    if rest := up[ROWS:]:
        most = 100 * rest[0][0] / (document.score or 1)
        rows.append((sum(share for share, _ in rest), f"({len(rest)} more, none above {most:.1f} %)"))
    if low:
        few = ", ".join(phrase for _, phrase in low[:DOWN])
        more = f" and {len(low) - DOWN} more" if len(low) > DOWN else ""
        rows.append((sum(share for share, _ in low), f"({few}{more}: what speaks for what is known)"))
    if abs(document.context) > ROUNDING:
        rows.append((document.context, "(context: what no word of it has)"))
    if document.meaning:
        rows.append((document.meaning, "(meaning: how far its vector is from those before)"))
    return [f"  {share:8.4f}  {100 * share / (document.score or 1):5.1f} %   {isolated(text)}" for share, text in rows]


def chart(sizes, first, last):
    """Return a count per period as a line of blocks, and how many periods a block stands for.

    Examples
    --------
    >>> from odl.alerts.explain import chart
    >>> chart({3: 1, 4: 8, 6: 2}, 3, 7)
    ('▁█·▂·', 1)
    """
    each = -(-(last - first + 1) // CHARTED)
    counts = [0] * -(-(last - first + 1) // each)
    for t, size in sizes.items():
        if first <= t <= last:
            counts[(t - first) // each] += size
    most = max(counts, default=0) or 1
    return "".join(BLOCKS[-(-(len(BLOCKS) - 1) * count // most)] for count in counts), each


def event_text(watch, number):
    """Return what is known of an event as text."""
    event, first = watch.events[number], watch.periods[0].t

    def date(t):
        return show.date_of_period(watch.periods[t - first]) if t >= first else f"period {t}"

    lines = [f"Event {number} [{event.state}] {show.name_of(event)}"]
    spans = sorted({*event.sizes, event.birth})
    span = " to ".join(dict.fromkeys([date(spans[0]), date(spans[-1])]))
    lines.append(f"  {span}; {show.plural(event.size, 'document')}")
    lines += [f"  you said: {entry.verdict}{entry.when}" for entry in watch.feedback if entry.event == number]
    lines.append("  states: " + _states(event.history, date))
    if event.sizes:
        blocks, each = chart(event.sizes, max(spans[0], first), spans[-1])
        most = max(event.sizes, key=lambda t: (event.sizes[t], -t))
        scale = "a block is a period" if each == 1 else f"a block is {each} periods"
        lines.append(f"  documents: {blocks}  ({scale}, at most {event.sizes[most]:,}: {date(most)})")
    if event.words:
        lines += ["", f"  {'own word':<20}  {'inside':>8}  {'before':>8}"]
        lines += [
            f"  {padded(isolated(one.word), 20)}  {_rate(one.inside)}  {_rate(one.before)}" for one in event.words
        ]
        lines += [f"  A document belongs if the sum of its log-likelihood ratios is above {event.threshold:.1f}."]
    documents = members(watch.place, [event])[number] if watch.place is not None else []
    if documents:
        central = {ident for ident, _ in event.examples}
        documents.sort(key=lambda each: each.id not in central)
        lines += ["", f"  {show.plural(len(documents), 'document')}, central ones first:"]
        lines += [
            f"    {date(each.t)}  {shortened(isolated(each.title or each.id), 80)}  (id: {each.id})"
            for each in documents[:ROWS]
        ]
        more = len(documents) - ROWS
        lines += [f"    and {more:,} more"] * (more > 0)
    return "\n".join(lines)


def _rate(share):
    """Return a share in per cent, in eight columns."""
    percent = 100 * share
    return f"{percent:.1f} %".rjust(8) if percent >= 0.1 else "< 0.1 %".rjust(8)


def _states(history, date):
    """Return changes of states with their dates, the first and the last of many."""
    told = [f"{state} {date(t)}" for t, state in history]
    left = len(told) - 2 * STATES
    return ", ".join(told if left <= 0 else [*told[:STATES], f"{left} more changes", *told[-STATES:]])
