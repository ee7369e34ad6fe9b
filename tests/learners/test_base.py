"""What a learner keeps is what it declares, and a checkpoint that holds anything else is refused in one sentence."""

import numpy as np
import pytest
from contract import ALL, quick
from scipy import sparse

from odl import learners, novelty
from odl.errors import CheckpointError
from odl.files import checkpoints
from odl.learners.base import ArraySpec, check_arrays

SIZES = {"terms": 5, "atoms": 3, "start": 4}


@pytest.fixture
def batches(rng):
    """Batches of growing vocabularies."""
    found = []
    for terms in (40, 44, 47):
        counts = np.zeros((60, terms))
        for row in range(60):
            np.add.at(
                counts[row], rng.choice(np.arange(row % 5 * 8, row % 5 * 8 + terms - 32), 12), 1.0
            )
        found.append(counts)
    return found


def weighed(counts, norm):
    sizes = counts.sum(axis=1) if norm == "l1" else np.sqrt((counts**2).sum(axis=1))
    return sparse.csr_array(counts / sizes[:, None])


def point(state, **changed):
    held = {
        "dictionary": state.dictionary,
        "arrays": state.arrays,
        "updates": state.updates,
        "codes": None,
    }
    return checkpoints.Checkpoint(t=1, chain={}, uncoded=0.0, **(held | changed))


@pytest.mark.parametrize("name", ALL)
def test_a_learner_keeps_what_it_declares(name, batches, tmp_path):
    learner = learners.make(name, **quick(name))
    P = [weighed(counts, learner.norm) for counts in batches]
    states = [learner.start(P[0], 6, novelty.generator(0, "start"))]
    for t in (1, 2):
        before = learner.fit_terms(states[-1], P[t].shape[1])
        states.append(learner.learn(before, P[t], learner.score(before, P[t]).codes, P[:t]))
    for t, state in enumerate(states):
        held = point(state, codes=learner.score(state, P[t]).codes)
        checkpoints.write(tmp_path / "x.h5", held)
        read = checkpoints.read_checkpoint(tmp_path / "x.h5")
        for found in (held, read):
            assert (
                learners.resume(learner, found, P[t].shape[1], 6, "x.h5").updates == state.updates
            )
        for lacking in learner.array_specs:
            arrays = {key: value for key, value in read.arrays.items() if key != lacking}
            with pytest.raises(
                CheckpointError,
                match=rf"x\.h5 contains nothing as {lacking}; expected .*; delete x\.h5",
            ):
                learners.resume(learner, point(state, arrays=arrays), P[t].shape[1], 6, "x.h5")
        with pytest.raises(
            CheckpointError,
            match=r"dense float64 of 2 within 0\.0 to 0\.0 as more; expected nothing",
        ):
            learners.resume(
                learner, point(state, arrays={**read.arrays, "more": np.zeros(2)}), 47, 6, "x.h5"
            )
        with pytest.raises(CheckpointError, match="and -1 updates; expected"):
            learners.resume(learner, point(state, updates=-1), 47, 6, "x.h5")
    with pytest.raises(CheckpointError, match=r"has 47 terms .* expected at most 46 terms"):
        learners.resume(learner, point(states[-1]), 46, 6, "x.h5")


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (ArraySpec("csr", ("atoms", "terms")), sparse.csr_array((3, 4))),
        (ArraySpec("csr", ("atoms", "terms")), sparse.csc_array((3, 5))),
        (ArraySpec("csr", ("atoms", "terms")), np.zeros((3, 5))),
        (ArraySpec("csr", ("positions", "terms"), np.float32), sparse.csr_array((9, 5))),
        (ArraySpec("dense", ("atoms",)), np.zeros((3, 1))),
        (ArraySpec("dense", ("atoms",)), np.array([0.0, np.nan, 1.0])),
        (ArraySpec("dense", (1,), np.int64), np.zeros(2, dtype=np.int64)),
        (ArraySpec("dense", (1,), np.int64), np.zeros(1)),
        (ArraySpec("dense", (1,), np.int64), np.int64(3)),
        (ArraySpec("dense", (1,), np.int64, between=("atoms", "start")), np.array([2])),
        (ArraySpec("dense", (1,), np.int64, between=("atoms", "start")), np.array([2**62])),
        (ArraySpec("dense", (1,), np.int64, between=(0, np.inf)), np.array([-1])),
    ],
)
def test_anything_else_is_refused(spec, value):
    dictionary = sparse.csc_array((5, 3))
    check_arrays({"it": spec}, dictionary, {"it": good(spec)}, 4, "x.h5")
    with pytest.raises(
        CheckpointError, match=r"x\.h5 contains .* as it; expected .*; delete x\.h5"
    ):
        check_arrays({"it": spec}, dictionary, {"it": value}, 4, "x.h5")
    with pytest.raises(
        CheckpointError, match="as dictionary; expected csc float64 of 5 terms x 3 atoms"
    ):
        check_arrays({"it": spec}, sparse.csr_array((5, 3)), {"it": good(spec)}, 4, "x.h5")


def good(spec):
    """Return such an array; its values are the number of atoms."""
    made = spec.zeros(SIZES)
    return made if sparse.issparse(made) else made + np.array(3, dtype=made.dtype)


def test_positions_may_be_many():
    spec = ArraySpec("csr", ("positions", "terms"))
    assert all(spec.fits(sparse.csr_array((rows, 5)), SIZES) for rows in (0, 1, 900))
    assert spec.zeros(SIZES).shape == (0, 5)
