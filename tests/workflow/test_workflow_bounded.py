"""The real Snakefile with a bound on the vocabulary: appended and at once the same bytes, a lost file comes back."""

import pytest
from workflows import Study, documents, settings

from odl.files import checkpoints, verify
from odl.stream import features

pytestmark = pytest.mark.workflow
MOST, BUCKETS = 60, 64


def test_a_bounded_stream_appended_is_the_one_at_once(tmp_path):
    config = settings(features={"max_terms": MOST})
    study, whole = Study.create(tmp_path / "study", config), Study.create(tmp_path / "whole", config)
    for made in (study, whole):
        made.write("a.jsonl", documents(0, 280))
    study.run()
    before = study.bytes()
    for made in (study, whole):
        made.write("b.jsonl", documents(280, 400))
    names = study.run().names("t")
    assert not names & {f"features {t}" for t in range(3)} and "features 4" in names
    whole.run()
    found = study.bytes()
    assert found == whole.bytes()
    assert all(found[name] == before[name] for name in before if name.endswith(("/0.h5", "/1.h5", "/2.h5")))
    data = features.read(study.stream / "features" / "4.h5")
    assert data.n_left and len(data.terms) < data.n_numbered and "max_terms" not in str(checkpoint(study).chain)
    assert checkpoint(study).dictionary.shape[0] == len(data.terms)
    assert verify.verify(study.results)[1] == []
    study.checkpoint("da", 4).unlink()
    study.run(study.target(study.checkpoint("da", 4)))
    assert study.bytes() == found
    study.configure(settings(features={"max_terms": MOST + 5}))
    assert {f"features {t}" for t in range(5)} <= study.run("-n").names("t")


def checkpoint(study):
    return checkpoints.read_checkpoint(study.checkpoint("da", 4))


def test_a_hashed_stream_killed_and_appended_is_the_one_at_once(tmp_path):
    config = settings(features={"hash_terms": BUCKETS})
    study, whole = Study.create(tmp_path / "study", config), Study.create(tmp_path / "whole", config)
    for made in (study, whole):
        made.write("a.jsonl", documents(0, 280))
    study.kill_when(lambda: study.checkpoint("pg", 0).exists())
    study.run("--unlock")
    study.run()
    for made in (study, whole):
        made.write("b.jsonl", documents(280, 400))
    assert not study.run().names("t") & {f"features {t}" for t in range(3)}
    whole.run()
    assert study.bytes() == whole.bytes()
    data = [features.read(study.stream / "features" / f"{t}.h5") for t in range(5)]
    assert {batch.counts.shape[1] for batch in data} == {BUCKETS} == {checkpoint(study).dictionary.shape[0]}
    assert checkpoint(study).chain["hash_terms"] == BUCKETS and verify.verify(study.results)[1] == []
    assert "buckets are used" in (study.results / "logs/mine/seed0/features/4.log").read_text()
    study.configure(settings(features={"hash_terms": 2 * BUCKETS}))
    assert {f"features {t}" for t in range(5)} <= study.run("-n").names("t")
