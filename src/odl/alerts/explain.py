"""Explanation of the score of one document, or of a topic: looked up when it is asked, from what every run leaves."""

import os
from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl.alerts import breakdown, periods, read, reasons, show
from odl.errors import ParameterError, advice
from odl.evaluation.scorefiles import read_scores
from odl.files import storage
from odl.files.documents import NO_TIME
from odl.files.escaping import heading, isolated, visible
from odl.stream import dense, features
from odl.stream import terms as known_terms
from odl.stream.weighting import weigh

LONGEST = 20  # digits of a topic
ROUNDING = 1e-6  # shares are stored in single precision
DOWN = 3  # words that lower a score, which are named
NAMED = 12  # words that an excerpt is chosen by, as where it is kept
ROWS = 20  # words of a document that are listed in text
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
    """Return where a document is (period, row) or None, and the number of a topic or 0; an id comes before a number."""
    place = find(watch.place, what)
    number = what.removeprefix("topic:").removeprefix("#")
    if place is None and number.isdecimal() and len(number) < LONGEST and int(number) in watch.topics:
        return None, int(number)
    return place, 0


def named(watch, what):
    """Return what a line of feedback.csv calls a topic, a document or a source that a person named.

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
        raise ParameterError(f"{what} is no document or topic of the stream", "one of them", todo)
    return f"topic:{number}" if number else what


class Member(NamedTuple):
    """A document of a topic: its period, id, title and source file, empty where not known, and its time."""

    t: int
    id: str
    title: str
    source: str
    time: int


def members(place, topics, silence):
    """Return all documents of some topics, by number, oldest first; of the periods that are read.

    Parameters
    ----------
    place : odl.alerts.read.Place
    topics : iterable of odl.alerts.model.Topic
    silence : int
        Periods before its birth in which a topic may have items (`odl.config.sections.Alerts`).

    Raises
    ------
    StorageError
        If a file is missing or damaged.
    """
    members_of, founders = {topic.number: [] for topic in topics}, {}
    ts = {t for topic in topics for t in topic.sizes}
    for topic in topics:
        path = os.path.join(place.alerts, f"{topic.birth}.h5")
        earlier = {ident: number for number, ident in periods.read_births(path)[2] if number == topic.number}
        ts |= {*range(max(topic.birth - silence, 0), topic.birth)} if earlier else set()
        founders |= earlier
    for t in sorted(ts):
        path = os.path.join(place.alerts, f"{t}.h5")
        with storage.reading(path, periods.KIND) as file:
            topic_of = storage.read_array(file, "topic", "i")
        for number, ident, title, source, time in zip(topic_of.tolist(), *periods.read_names(path), strict=True):
            if (number := founders.get(ident, number)) in members_of:
                members_of[number].append(Member(t, visible(ident), heading(title), visible(source), int(time)))
    return members_of


def document(place, t, row, watch):
    """Explain the score of a document.

    Parameters
    ----------
    place : odl.alerts.read.Place
    t, row : int
        Period, and row of its batch.
    watch : odl.alerts.model.Watch

    Returns
    -------
    alert : odl.alerts.model.Alert
        As if it were one (`rank` is its place among all documents of the period); `reasons` are all its words.
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
    near, of_atom = _known_atoms(place, t)
    for kept in (kept for kept in record.pool if kept.row == row):  # it has words of atoms that were in no use, too
        near |= zip((atom for atom in record.near[row].tolist() if atom >= 0), kept.near, strict=True)
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
    topic = watch.topics.get(int(record.topic[row]))
    rank = int((record.score > record.score[row]).sum()) + 1
    alert, before = read.alert_of(record, item, topic, of_atom, rank), earlier(place, data, row, by_words(data, row))
    meant = earlier(place, data, row, by_vectors(data, row)) if record.meaning is not None else None
    return alert, before, meant


def _known_atoms(place, t):
    """Return words and a document of each atom as they were before a period, and the topics that atoms held."""
    before = os.path.join(place.alerts, f"{t - 1}.h5")
    if not os.path.exists(before):
        return {}, {}
    documents, linked = periods.read_carried(before).documents, periods.read(before).atoms
    words = read_scores(os.path.join(place.run, "scores", f"{t - 1}.h5")).atoms
    return dict(enumerate(zip(words, documents, strict=False))), {atom: number for number, atom in reversed(linked)}


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
        known, own = np.pad(frequencies, (0, beyond)), weighed.stop_words.of(data.vocabulary + [""] * beyond)
        others = weigh(counts, known, weighed.n_documents, weighed.weighting, "l2", stop_words=own)
        return (sparse.csr_array(others[:, : len(frequencies)]) @ document.T).toarray().ravel()

    return cosines


def by_vectors(data, row):
    """Return the function that compares a document with a batch by vectors, centred as they were for the document."""
    return lambda batch: dense.centred(batch.raw_vectors, data.vector_mean) @ data.vectors[row]


def document_text(alert, before, meant, warm_up):
    """Return an explanation as a person reads it."""
    lines = [isolated(alert.title or alert.id), f"  id: {alert.id}  ({show.place(alert) or 'no date'})"]
    calibrated = (
        "warm-up: not compared with anything" if warm_up else f"as high or higher: {100 * alert.tail:.2g} % of recent"
    )
    lines.append(f"  score {alert.score:.4f}, number {alert.rank} of period {alert.t}; {calibrated}")
    if len(alert.members) > 1:
        lines.append(f"  one of {len(alert.members)} near-duplicates: {', '.join(alert.members[:10])}")
    if alert.topic:
        lines.append(f"  topic {alert.topic} [{alert.state}] {show.name_of(alert.topic_name)}")
    lines += show.passage(alert, show.titled(alert)[1], 2)
    lines += ["", "  share of the score   word"]
    lines += _table(alert)
    for near in alert.nearest:
        topic = f", topic {near.topic}" if near.topic else ""
        sample = f", e.g. {near.id}" if near.id else ""
        where = f"atom {near.atom} (cosine {near.likeness:.2f}{topic}{sample})"
        words = ", ".join(map(isolated, breakdown.near(alert, near.words)))
        lines.append(": ".join(filter(None, [f"  nearest of the dictionary: {where}", words])))
    for kind, other in (("most similar before", before), ("nearest by meaning", meant)):
        if other:
            date = show.date_of(other.time)
            times = [f"last seen {date}", *_days(other.time, alert.time)] if date else []
            where = ", ".join([*times, f"period {other.t}"])
            lines.append(f"  {kind}: {other.id} (cosine {other.likeness:.2f}, {where}) {other.title[:80]}")
    return "\n".join(lines)


def _days(before, time):
    """Return in words how many days there are between two times, nothing on the same day."""
    days = (time - before) // DAY_MS if NO_TIME not in (before, time) else 0
    return [f"{days} day{'s' * (days != 1)} before"] if days > 0 else []


def _table(alert):
    """Return the shares of a score, a line each: words up to `ROWS`, the others summed up, what pulls down apart."""
    shares, summed = {reason.word: reason.share for reason in alert.reasons}, Counter()
    for phrase, words in [*alert.phrases, *((word, (word,)) for word in shares)]:
        summed[phrase] += sum(shares.pop(word, 0.0) for word in words)
    ordered = [(share, phrase) for phrase, share in summed.most_common()]
    up = [row for row in ordered if row[0] > 0]
    low = [row for row in reversed(ordered) if row[0] < -ROUNDING]
    rows = up[:ROWS]
    if rest := up[ROWS:]:
        most = 100 * rest[0][0] / (alert.score or 1)
        rows.append((sum(share for share, _ in rest), f"({len(rest)} more, none above {most:.1f} %)"))
    if low:
        few = ", ".join(phrase for _, phrase in low[:DOWN])
        more = f" and {len(low) - DOWN} more" if len(low) > DOWN else ""
        rows.append((sum(share for share, _ in low), f"({few}{more}: what speaks for what is known)"))
    if abs(alert.context) > ROUNDING:
        rows.append((alert.context, "(context: what no word of it has)"))
    if alert.meaning:
        rows.append((alert.meaning, "(meaning: how far its vector is from those before)"))
    return [f"  {share:8.4f}  {100 * share / (alert.score or 1):5.1f} %   {isolated(text)}" for share, text in rows]


def topic_text(watch, number):
    """Return what is known of a topic as a person reads it."""
    topic = watch.topics[number]
    lines = [f"Topic {number} [{topic.state}] {show.name_of(topic.name)}"]
    lines.append(f"  first in period {topic.birth}; {topic.size} documents so far; e.g. {topic.representative}")
    lines.append(f"      {isolated(topic.title[:100])}")
    lines += [f"  you said: {entry.verdict}{entry.when}" for entry in watch.feedback if entry.topic == number]
    if topic.atom >= 0:
        lines.append(f"  the dictionary holds it in atom {topic.atom}")
    lines.append("  history: " + ", ".join(f"{state} in {t}" for t, state in topic.history))
    lines.append("  documents by period: " + ", ".join(f"{t}: {size}" for t, size in sorted(topic.sizes.items())))
    if watch.place is not None:
        every = members(watch.place, [topic], watch.settings["silence"])[number]
        more = ", near-duplicates among them" * (len(every) > topic.size)
        lines.append(f"  all {len(every)} documents{more}:")
        lines += [f"    period {each.t}: {isolated(each.title[:80] or each.id)}  (id: {each.id})" for each in every]
    return "\n".join(lines)
