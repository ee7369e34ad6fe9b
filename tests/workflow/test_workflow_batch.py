"""A learner from all documents so far in the real workflow: it grows, reads its past from files, and is resumed."""

import numpy as np
import pytest

from odl.evaluation.scorefiles import read_scores
from odl.files import checkpoints

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def test_the_batch_learner_in_a_study(study):
    config = study.config
    config["learners"]["batch"] = {"algorithm": "batch", "growth": 2}
    config["runs"], config["report"] = ["batch", "da"], {**config["report"], "run": "batch"}
    study.configure(config)
    last = study.checkpoint("batch", 3)
    jobs = study.run(study.target(last)).names("algorithm", "run", "t")
    assert jobs == {f"update batch {t}" for t in range(4)}
    found = [checkpoints.read_checkpoint(study.checkpoint("batch", t)) for t in range(4)]
    assert [point.dictionary.shape[1] for point in found] == [8, 10, 12, 14]
    assert [point.codes.shape for point in found] == [(120, 8), (80, 8), (80, 10), (80, 12)]
    for point in found:
        assert not point.arrays, "the history would be stored twice"
    shown = read_scores(last.parent / "scores" / "3.h5")
    # The batch was scored with 12 atoms and left 14: those that it added were used by none of its
    # documents.
    assert shown.use[12:] == [0, 0]
    assert len(shown.atoms[0].split()) and np.isfinite(next(iter(shown.scores.values()))).all()
    # A checkpoint that is lost comes back from the one before and the feature files, byte for byte.
    whole = last.read_bytes()
    last.unlink()
    assert study.run(study.target(last)).names("run", "t") == {"update batch 3"}
    assert last.read_bytes() == whole
