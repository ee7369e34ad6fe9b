"""The real Snakefile with a bound on the vocabulary: what is appended, and what a setting reruns.

That it matters to no byte how a stream is cut or resumed: stream/test_terms.py; that a setting
reaches its step: test_workflow.py.
"""

import pytest
from workflows import Study, documents, settings

from odl.files import checkpoints, verify
from odl.stream import features

pytestmark = [pytest.mark.workflow, pytest.mark.long]
MOST = 60


def appended(folder, **kind):
    """A run of three timesteps, then of one more; with its last features and checkpoint."""
    study = Study.create(folder, settings(features=kind, runs=["da"]))
    study.write("a.jsonl", documents(0, 280))
    study.run(study.target(study.checkpoint("da", 2)))
    before = study.bytes()
    study.write("b.jsonl", documents(280, 360))
    names = study.run(study.target(study.checkpoint("da", 3))).names("t")
    assert names == {"read", "index", "batch 3", "features 3", "update 3"}
    after = study.bytes()
    assert all(
        after[name] == before[name] for name in before if name.endswith(("/0.h5", "/1.h5", "/2.h5"))
    )
    assert verify.verify(study.results)[1] == []
    data = features.read(study.stream / "features" / "3.h5")
    return study, data, checkpoints.read_checkpoint(study.checkpoint("da", 3))


def test_a_bounded_stream(tmp_path):
    study, data, point = appended(tmp_path / "study", max_terms=MOST)
    assert data.n_left and len(data.terms) < data.n_numbered and "max_terms" not in str(point.chain)
    assert point.dictionary.shape[0] == len(data.terms)
    last, whole = study.checkpoint("da", 3), study.checkpoint("da", 3).read_bytes()
    last.unlink()
    study.run(study.target(last))
    assert last.read_bytes() == whole
    study.configure(settings(features={"max_terms": MOST + 5}, runs=["da"]))
    assert {f"features {t}" for t in range(4)} <= study.run("-n").names("t")
