"""Inputs of a job: the settings of a run, parsed from JSON, and the documents of a timestep."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from odl import learners, novelty
from odl.config.chains import learner_of
from odl.config.sections import Chain
from odl.errors import CheckpointError, DataError, ParameterError
from odl.files import agentfiles, checkpoints
from odl.learners.vectors import VectorMemory
from odl.stream import features, pieces, terms
from odl.stream.weighting import Weighed, Weighting


@dataclass(frozen=True)
class Run:
    """Settings that determine the checkpoints of a run.

    Parameters
    ----------
    corpus : str
    seed : int
    run : str
        Name of the run.
    atoms : int
        Initial number of atoms.
    learner : odl.learners.Learner
        Algorithm with its hyper-parameters.
    weighting : odl.stream.weighting.Weighting
    chain : dict
        JSON map of these settings, which checkpoints and score files store.
    """

    corpus: str
    seed: int
    run: str
    atoms: int
    learner: learners.Learner
    weighting: Weighting
    chain: dict

    def words_of(self, matrix, axis=0):
        """Remove the rows (axis 0) or columns (axis 1) of word pieces; those of words remain."""
        if not self.weighting.pieces:
            return matrix
        return matrix[pieces.BUCKETS :] if axis == 0 else matrix[:, pieces.BUCKETS :]


class Before(NamedTuple):
    """Inputs of a step that come from other timesteps.

    Attributes
    ----------
    previous : path-like, optional
        File that the same step wrote for the previous timestep: a checkpoint, or a period of
        alerts. None for timestep 0.
    history : path-like, optional
        Folder of the features ``{t}.h5`` of all earlier timesteps, for learners that need them.
    corpus_features : path-like, optional
        Last features of the stream, for ``idf: corpus``.
    known : path-like, optional
        Checkpoint with the dictionary that scored the period; None for timestep 0.
    in_memory : odl.files.checkpoints.Checkpoint or odl.alerts.periods.Carried, optional
        Content of `previous` if it is in memory.
    """

    previous: object = None
    history: object = None
    corpus_features: object = None
    known: object = None
    in_memory: Any = None

    @classmethod
    def from_arguments(cls, arguments, in_memory):
        """Return the inputs of a step from its arguments, a dict of names to paths."""
        paths = [arguments.get(name) or None for name in cls._fields if name != "in_memory"]
        return cls(*paths, in_memory)


FIRST_TIMESTEP = Before()  # inputs of timestep 0


class Timestep(NamedTuple):
    """Documents of a timestep and the state that scores them.

    Attributes
    ----------
    data : odl.stream.features.FeatureFile
    P : odl.stream.weighting.Weighed
        Weighted documents.
    corpus : odl.stream.features.FeatureFile, or None
        Last features of the stream, whose document frequencies ``idf: corpus`` uses.
    previous : str
        Digest of the previous checkpoint.
    state : odl.learners.State, or None for timestep 0
        State of the previous checkpoint, extended to the terms of the batch.
    meaning : odl.learners.vectors.VectorMemory, or None
        Stored vectors of earlier documents, for runs that score vectors and words.
    """

    data: features.FeatureFile
    P: Weighed
    corpus: features.FeatureFile | None
    previous: str = checkpoints.NO_DIGEST
    state: learners.State | None = None
    meaning: VectorMemory | None = None


def parse(chain):
    """Return the run that a JSON map describes: corpus, seed, run, atoms, learner, features.

    Raises
    ------
    ConfigError
        If a key is unknown or missing, or a value has the wrong type.
    ParameterError
        If the algorithm or a hyper-parameter is unknown, or a value is out of range.
    """
    Chain.from_map(chain, "--run")
    if "algorithm" not in chain["learner"]:
        raise ParameterError(
            "--run: learner has no 'algorithm'",
            "the name of an algorithm",
            "add learner.algorithm to the JSON",
        )
    learner = learners.make(**learner_of(chain["learner"]))
    weighting = Weighting(**chain["features"])
    if weighting.pieces and not learner.opens:
        raise ParameterError(
            f"features.pieces is {weighting.pieces} for a run of {learner.algorithm}",
            "pieces only for runs of levels and adaptive",
            "set features.pieces of the run to 0",
        )
    named = {name: chain[name] for name in ("corpus", "seed", "run", "atoms")}
    return Run(**named, learner=learner, weighting=weighting, chain=chain)


def open_documents(source, run, corpus_features=None):
    """Open the documents of a timestep with the weights of a run.

    Parameters
    ----------
    source : path-like or odl.stream.features.FeatureFile
        Features of the timestep.
    run : Run
    corpus_features : path-like, optional
        Last features of the stream, for ``idf: corpus``.

    Returns
    -------
    Timestep
        Without the state of the previous checkpoint.
    """
    data = source if isinstance(source, features.FeatureFile) else features.read(source)
    last = features.read(corpus_features) if corpus_features else None
    step = Timestep(data, Weighed(data, run.weighting, run.learner.norm, last), last)
    if run.weighting.meaning != 0:
        step = step._replace(meaning=VectorMemory.empty(_dimensions(data, run)))
    return step


def _dimensions(data, run):
    """Return the length of the vectors of a stream.

    Raises
    ------
    DataError
        If the stream has no vectors.
    """
    if data.vectors is None:
        raise DataError(
            f"run {run.run!r} has features.meaning {run.weighting.meaning}, but the stream has no "
            "vectors",
            "a vector for each document",
            "set vectors or columns.vector in the options of the corpus, or features.meaning to 0",
        )
    return data.vectors.shape[1]


def open_timestep(source, run, previous=None, corpus_features=None, before=None):
    """Open the documents of a timestep and the state of the previous checkpoint.

    Parameters
    ----------
    source, run, corpus_features
        As in `open_documents`.
    previous : path-like, optional
        Checkpoint of the previous timestep; None for timestep 0.
    before : odl.files.checkpoints.Checkpoint, optional
        Content of `previous` if it is in memory.

    Returns
    -------
    Timestep
    """
    step, learner = open_documents(source, run, corpus_features), run.learner
    check_previous(step.data.t, previous)
    if previous is None:
        return step
    before = before or agentfiles.read_whole(previous, run.chain, step.data.t - 1, codes=False)
    positions, n_terms = places_of(before.terms, step.P.terms, previous), step.P.shape[1]
    if positions is None:
        state = learners.resume(learner, before, n_terms, run.atoms, previous)
        state = learner.fit_terms(state, n_terms)
    else:
        state = learners.resume(learner, before, len(positions), run.atoms, previous)
        state = learner.move_terms(state, positions, n_terms)
    if step.meaning is not None:
        step = step._replace(
            meaning=VectorMemory.from_arrays(before.meaning, step.data.vectors.shape[1], previous)
        )
    return step._replace(previous=before.digest, state=state)


def add_vector_scores(step, run, P, scored):
    """Return (scores of words combined with scores of vectors, vector arrays to store).

    Without vectors the scores are unchanged, and there is nothing to store.
    """
    if step.meaning is None:
        return scored, {}
    vectors, lengths = step.data.vectors, np.diff(P[:, step.P.n_pieces :].indptr)
    distances = step.meaning.distances(vectors)
    words, meaning = np.where(scored.empty, np.nan, scored.score), run.weighting.meaning
    after = step.meaning.after(words, distances, vectors, lengths, run.weighting.meaning_bytes)
    return novelty.with_vectors(scored, step.meaning, distances, meaning), after._asdict()


def places_of(previous_terms, wanted, path):
    """Return the column in a timestep of each term of the previous checkpoint.

    Parameters
    ----------
    previous_terms, wanted : ndarray of int64, or None
        Ids of the terms of the checkpoint (`odl.files.checkpoints.Checkpoint`) and of the timestep.
    path : path-like
        Path of the checkpoint, for the error message.

    Returns
    -------
    ndarray of int64, or None
        -1 for a removed term; None for an unbounded vocabulary.

    Raises
    ------
    CheckpointError
        If only one of the two vocabularies is bounded.
    """
    if (previous_terms is None) != (wanted is None):
        bound = "unbounded" if previous_terms is None else "bounded"
        defect = f"the vocabulary of {path} is {bound}, unlike that of the features"
        raise CheckpointError(
            defect,
            "the same max_terms in all timesteps of a run",
            f"delete {path} and run the same command again",
        )
    return None if previous_terms is None else terms.places(previous_terms, wanted)


def check_previous(t, previous):
    """Raise an error if timestep 0 has a previous checkpoint or a later one has none."""
    if (previous is None) != (t == 0):
        raise DataError(
            f"timestep {t} {'without' if previous is None else 'with'} a checkpoint before it",
            "a previous checkpoint for every timestep except 0",
            "omit --previous for timestep 0, and pass it for later timesteps",
        )
