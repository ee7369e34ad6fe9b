"""The step `alerts`: decide what is new in a period, find the reasons, write the period's file."""

from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from odl import learners, novelty
from odl.alerts import calibration, decision, excerpts, periods, reasons, unseen
from odl.alerts.model import Period
from odl.config.sections import Alerts
from odl.errors import DataError
from odl.evaluation.scorefiles import read_parts
from odl.files import agentfiles, blocks, storage
from odl.files.documents import NO_TIME
from odl.jobs import runs
from odl.jobs.update import Learned
from odl.stream.duplicates import near_duplicates
from odl.text.stopwords import StopWords, mix

STORED_REASONS = 12  # words that are stored as reasons of a document
N_NEAREST = 2  # nearest atoms stored for each document
DEFAULT = Alerts()


class Written(NamedTuple):
    """Paths of the features, scores and checkpoint of a timestep."""

    features: object
    scores: object
    state: object


def follow(learned, output, *, run, settings=DEFAULT, before=runs.FIRST_TIMESTEP, batch=None):
    """Decide which documents of one period are alerts, and write the file of the period.

    The file contains the decision, the reasons, and the state that the next period needs.

    Parameters
    ----------
    learned : odl.jobs.update.Learned or Written
        Result of the step `update`, in memory or as files.
    output : path-like
        File of the period to write (`odl.alerts.periods`).
    run : odl.jobs.runs.Run
    settings : odl.config.sections.Alerts, optional
    before : odl.jobs.runs.Before, optional
        Previous period, and the checkpoint with the dictionary that scored the documents.
    batch : path-like, optional
        Batch file of the timestep, with sources, authors and texts of its documents.

    Returns
    -------
    odl.alerts.periods.Carried
        State that the next period needs, as stored in `output`.

    Raises
    ------
    DataError, StorageError, CheckpointError
        If a file is missing, damaged, or belongs to another timestep or run.
    """
    if isinstance(learned, Written):
        learned = _read(learned, run, before)
    step, counts, P, state, scored, after = learned
    data = step.data
    carried = before.in_memory or _read_carried(before.previous, run, settings, data.t)
    origins = reasons.origins(batch, len(data.ids))
    stop_words = step.P.stop_words or StopWords(data.vocabulary, step.P.frequencies)
    new_numbers = _new_numbers(carried, data, before.previous)
    documents = period_documents(step, counts, origins, stop_words, new_numbers)

    decided, past = decide(documents, scored, carried.past, settings)
    record = period_record(run, settings, data, scored, documents, decided)
    record.languages = mix(counts, stop_words)

    shares = reasons.word_shares(
        novelty.shares(run.learner, state, P, scored)[0], counts, step.P.pieces
    )
    _set_shares(record, shares, data)
    A = run.words_of(state.dictionary)
    if before.known:
        record.near, cosines = reasons.nearest_atoms(documents.Q, A, N_NEAREST)
        record.likeness = cosines.astype(np.float32)
    items = _items(record, decided, shares, data, counts, A, carried, origins, settings)
    record.documents_of = {item.row: item for item in items}
    record.born = births(decided, items)
    new_items = decided.items[~(documents.repeats | scored.empty)[decided.items]]
    names = periods.Names(data.ids, data.titles, origins.files, data.times)
    record.unseen, past_words = _unseen_words(
        carried.unseen, settings, data, documents, new_items, names, decided.unproven
    )

    opened, examples = _atoms(
        carried, data, documents.Q, replace(after, dictionary=run.words_of(after.dictionary))
    )
    following = periods.Carried(
        t=data.t,
        run=record.run,
        settings=record.settings,
        digest=carried.digest,  # that of the previous period, which the file stores
        past=past,
        opened=opened,
        documents=examples,
        terms=data.terms,
        unseen=past_words,
    )
    return replace(following, digest=periods.write(output, record, names, following))


def period_documents(step, counts, origins, stop_words, new_numbers):
    """Return the documents of a timestep as the input of `odl.alerts.decision.decide`.

    Parameters
    ----------
    step : odl.jobs.runs.Timestep
    counts : csr_array
        Term counts of the documents.
    origins : odl.alerts.reasons.Origins
    stop_words : odl.text.stopwords.StopWords
    new_numbers : ndarray of int64 or None
        As in `odl.alerts.decision.PeriodDocuments`.

    Returns
    -------
    odl.alerts.decision.PeriodDocuments
    """
    data, Q, words = step.data, step.P.weigh_words(counts), step.P.without_stop_words(counts)
    first, repeats = _groups(data, Q)
    return decision.PeriodDocuments(
        t=data.t,
        first=first,
        repeats=repeats,
        Q=Q,
        counts=words,
        titled=excerpts.find_title_words(data.titles, words, data.vocabulary),
        vocabulary=data.vocabulary,
        frequencies=data.frequencies,
        n_before=data.n_before,
        times=data.times,
        sources=origins.sources,
        texts=origins.texts,
        languages=stop_words.languages(counts),
        authors=origins.authors,
        new_numbers=new_numbers,
        numbers=data.numbers,
    )


def decide(documents, scored, past, settings):
    """Return (decision on a period, history for the next one with the scores of the period)."""
    decided, past = decision.decide(documents, scored, past, settings)
    if documents.t:
        past = past._replace(recent=calibration.recent_after(past.recent, scored, settings.window))
    return decided, past


def period_record(run, settings, data, scored, documents, decided):
    """Return the record of a decision; reasons and nearest documents are added later.

    Parameters
    ----------
    run : odl.jobs.runs.Run
    settings : odl.config.sections.Alerts
    data : odl.stream.features.FeatureFile
    scored : odl.novelty.Novelty
    documents : odl.alerts.decision.PeriodDocuments
    decided : odl.alerts.decision.Decision

    Returns
    -------
    odl.alerts.model.Period
    """
    n, times = len(scored.score), data.times[data.times != NO_TIME]
    return Period(
        t=data.t,
        run=run_facts(run),
        settings=asdict(settings),
        first=int(times.min()) if len(times) else NO_TIME,
        last=int(times.max()) if len(times) else NO_TIME,
        first_seen=0.0,
        labelled=any(data.topics),
        unproven=decided.unproven,
        empty=int(scored.empty.sum()),
        repeats=int(documents.repeats[decided.items].sum()),
        p=decided.p,
        usual=decided.usual,
        score=scored.score,
        tail=decided.tail,
        context=np.zeros(n),
        item=documents.first,
        event=decided.event,
        near=np.full((n, N_NEAREST), -1),
        likeness=np.zeros((n, N_NEAREST), dtype=np.float32),
        novel=decided.novel,
        headlines=decided.headlines,
        below=decided.below,
        gates=decided.gates,
        sizes=sorted(decided.sizes.items()),
        changes=decided.changes,
        meaning=scored.meaning,
    )


def run_facts(run):
    """Return the facts of a run that each period records (`odl.alerts.periods.RUN_FACTS`)."""
    facts = {name: getattr(run, name) for name in ("corpus", "seed", "run", "atoms")}
    return {**facts, "algorithm": run.learner.algorithm}


def _read(files, run, before):
    """Read the files that `odl.jobs.update` wrote; return the `Learned` that it returned."""
    step = runs.open_timestep(files.features, run, before.known, before.corpus_features)
    data, counts, current = step.data, step.data.counts[:], step.state
    P = step.P.weigh(counts)
    after = agentfiles.read_whole(files.state, run.chain, data.t)
    if current is None:
        resumed = learners.resume(run.learner, after, P.shape[1], run.atoms, files.state)
        current = run.learner.fit_terms(resumed, P.shape[1])
    scored = replace(read_novelty(files.scores, data), coding=after.codes)
    return Learned(step, counts, P, current, scored, after)


def _groups(data, Q):
    """Return (first row with a near-duplicate, whether an earlier batch has one) by document."""
    if data.groups is None:
        return near_duplicates(Q), np.zeros(len(data.ids), dtype=bool)
    return data.groups.items()


def read_novelty(path, data):
    """Return the stored scores of a timestep, without codes.

    Raises
    ------
    StorageError, DataError
        If the file is missing or damaged, or has the scores of other documents.
    """
    score, residual, penalty, empty, meaning = read_parts(path)
    with storage.reading(path, "scores") as file:
        if storage.read_strings(file, "ids") != data.ids or int(file.attrs["t"]) != data.t:
            raise DataError(
                f"{path} has scores of other documents than {blocks.path_of(data.file)}",
                "scores and features of the same timestep and seed",
                "name files that belong together",
            )
    return novelty.Novelty(None, residual, penalty, 0.0, score=score, empty=empty, meaning=meaning)


def _read_carried(previous, run, settings, t):
    """Read the state that the previous period stored; return an empty one for timestep 0."""
    if previous:
        return periods.read_carried(previous, run_facts(run), asdict(settings), t - 1)
    if t:
        raise DataError(
            f"timestep {t} without the alerts of timestep {t - 1}",
            "the alerts of the previous timestep",
            "pass their file by --previous",
        )
    nothing = decision.StreamHistory.nothing()
    no_atoms = np.zeros(0, dtype=np.int64)
    return periods.Carried(-1, run_facts(run), asdict(settings), "", nothing, no_atoms, [])


def _new_numbers(carried, data, previous):
    """Return the new number of each term of the previous period; None if no number changed."""
    return runs.places_of(carried.terms, data.terms, previous) if previous else None


def _set_shares(record, shares, data):
    """Set the fields `shares`, `context` and `first_seen` of a record from the shares of words."""
    by_words = record.score if record.meaning is None else record.score - record.meaning
    record.context = by_words - np.asarray(shares.astype(np.float64).sum(axis=1)).ravel()
    new = float(np.mean(data.frequencies[shares.indices] == 0)) if shares.nnz else 0.0
    record.first_seen, record.shares = new if data.t else 1.0, shares.data


def births(decided, items):
    """Return [(number, [[id, title] of up to three documents])] of the new events."""
    titles = {item.row: [item.id, item.title] for item in items}
    born = []
    for number in decided.born:
        headline = next(headline for headline in decided.headlines if headline.event == number)
        born.append((number, [titles[row] for row in headline.examples[:3]]))
    return born


def _unseen_words(past, settings, data, documents, rows, names, unproven):
    """Return (words of the given rows that no earlier document has, history for the next period).

    The words are a list of `odl.alerts.model.Unseen`, the history is a `SeenWords` or None.
    """
    if not settings.unseen:
        return [], None
    past = past or unseen.SeenWords()
    if not data.t:
        return [], past.meeting(data.vocabulary)[1] if data.max_terms else past
    return unseen.judge(past, documents, rows, names, settings, unproven)


def _items(record, decided, shares, data, counts, A, carried, origins, settings):
    """Return records of the documents to store: examples of headlines and the most novel documents.

    A record has the words that explain the score, the nearest atoms, and `opening`: the words of
    the document's headline that it contains. `reasons.join` adds the phrases of these words.
    """
    headline_words = {}  # by row; the first headline of a document counts
    for headline in (*decided.headlines, *decided.below):
        for row in headline.examples:
            headline_words.setdefault(row, headline.words)
    rows = np.array([*dict.fromkeys([*headline_words, *decided.novel.tolist()])], dtype=np.int64)
    examples, atoms = dict(enumerate(carried.documents)), {}
    for atom, words in _atom_words(A, np.unique(record.near[rows]), data.vocabulary).items():
        atoms[atom] = words, examples.get(atom, "")
    items, period = reasons.items(record, rows, shares, data, atoms, origins, STORED_REASONS)
    for item in items:
        words = headline_words.get(item.row, ())
        if words:
            own = _words_of(counts, item.row, data.vocabulary)
            item.opening = tuple(word for word in words if word in own or f"#{word}" in own)
        reasons.join(item, item.opening, origins.texts.stored[item.row], period)
        if not settings.rest:
            item.rest = None
    return items


def _words_of(counts, row, vocabulary):
    """Return the set of words of a document."""
    terms = counts.indices[counts.indptr[row] : counts.indptr[row + 1]]
    return {vocabulary[term] for term in terms.tolist()}


def _atom_words(A, atoms, vocabulary):
    """Return {atom: its top words, separated by spaces}."""
    atoms = [int(atom) for atom in atoms if atom >= 0]
    tops = novelty.top_terms(sparse.csc_array(A[:, atoms]), reasons.ATOM_WORDS) if atoms else []
    texts = [" ".join(vocabulary[term] for term, _ in pairs) for pairs in tops]
    return dict(zip(atoms, texts, strict=True))


def _atoms(carried, data, Q, after):
    """Return (opening documents, nearest documents) of the atoms of the dictionary after learning.

    The opening document is given by its number, or by the number of the atom if the learner does
    not store it. The nearest document is given by its id. It is a document of this period if one is
    nearest to the atom, else the stored document. If another document opened the atom, which was
    then replaced, the stored document is not used.
    """
    A = after.dictionary
    k = A.shape[1]
    opened = after.arrays["birth"] if "birth" in after.arrays else np.arange(k)
    documents = [""] * k
    for atom in np.flatnonzero(carried.opened[:k] == opened[: len(carried.opened)]):
        documents[atom] = carried.documents[atom]
    atoms, cosines = (values[:, 0] for values in reasons.nearest_atoms(Q, A, 1))
    # Rows are in ascending order of cosine, so the most similar document of an atom is assigned
    # last. For ties, the first row is assigned last.
    for row in np.lexsort((-np.arange(len(atoms)), cosines)).tolist():
        if atoms[row] >= 0:
            documents[atoms[row]] = data.ids[row]
    return opened.astype(np.int64), documents
