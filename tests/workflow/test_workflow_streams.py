"""The real Snakefile over streams cut in other ways, and over a real corpus fetched from a mirror."""

import csv

import numpy as np
import pytest
from workflows import Study, documents, h5_attributes, settings

from odl.config.sections import TopicEntry
from odl.evaluation.metrics import auc
from odl.evaluation.scorefiles import read_scores
from odl.files import documents as docs
from odl.stream.batching import entry_of

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

ENTRY = {"held_back": 0.5, "first": 1, "last": 2}


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    """One corpus as three streams (by month, by file, topic entry), without baselines: batches, and one run."""
    config = settings(runs=["pg"], atoms=[6], baselines={"enabled": False, "window": 0})
    mine = config["corpora"].pop("mine")
    config["report"]["atoms"] = 6
    config["corpora"] = {
        "monthly": {**mine, "batches": {**mine["batches"], "by": "period"}},
        "filed": {**mine, "batches": {**mine["batches"], "by": "file"}},
        "entry": {**mine, "protocol": "topic-entry", "topic_entry": ENTRY},
    }
    config["corpora"]["entry"]["batches"] = {**mine["batches"], "initial": 40, "documents": 50}
    config["streams"] = list(config["corpora"])
    study = Study.create(tmp_path_factory.mktemp("streams") / "study", config)
    for name, first, last in (("a", 0, 110), ("b", 110, 130), ("c", 130, 180), ("d", 180, 250)):
        study.write(f"{name}.jsonl", documents(first, last))
    folders = [study.results / corpus / "seed0" / "batches" for corpus in ("monthly", "filed")]
    cut = [folder / f"{t}.h5" for folder in folders for t in range(3)]
    study.run(
        *map(study.target, [*cut, study.results / "entry" / "seed0" / "pg" / "k6" / "auc.tsv"])
    )
    return study


def batches(study, corpus, seed=0):
    """The batches of a stream, checked against its index."""
    folder = study.results / corpus / f"seed{seed}"
    with open(folder / "index.tsv", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    found = [docs.read(folder / "batches" / f"{t}.h5", "batch") for t in range(len(rows))]
    assert [int(row["documents"]) for row in rows] == [len(batch) for batch in found]
    assert sorted(path.name for path in (folder / "batches").iterdir()) == [
        f"{t}.h5" for t in range(len(rows))
    ]
    return found


def test_streams_run_without_baselines(streams):
    planned = streams.run("-n").names("corpus")
    assert {"evaluate monthly", "evaluate filed", "update filed", "tables"} <= planned
    assert not [
        name for name in planned if "baselines" in name or name.split()[0] in ("read", "index")
    ]


def test_a_batch_a_month(streams):
    found = batches(streams, "monthly")
    months = [
        set(batch.times.astype("datetime64[ms]").astype("datetime64[M]").astype(str))
        for batch in found
    ]
    assert months == [
        {"2020-01"},
        {"2020-02"},
        {"2020-03"},
    ]  # 124 documents of January are enough to start from


def test_a_batch_a_file(streams):
    found = batches(streams, "filed")
    # Whole files until there are 120 documents.
    assert [set(batch.files) for batch in found] == [
        {"a.jsonl", "b.jsonl"},
        {"c.jsonl"},
        {"d.jsonl"},
    ]


def test_held_back_topics_enter_when_drawn(streams):
    found = batches(streams, "entry")
    entry = TopicEntry(**ENTRY)
    enters = {
        topic: entry_of(topic, entry, 0)
        for topic in {names[0] for batch in found for names in batch.topics}
    }
    assert max(enters.values()) > 0
    for t, batch in enumerate(found):
        assert all(enters[names[0]] <= t for names in batch.topics)
    assert sum(map(len, found)) < 250


def test_a_seed_has_a_stream_of_its_own_only_where_something_is_drawn(streams, tmp_path):
    study = streams.copy(tmp_path / "study")
    study.configure({**study.config, "seeds": [0, 1]})
    planned = study.run("-n", "results/small/monthly/seed1/pg/k6/auc.tsv").names(
        "corpus", "seed", "t"
    )
    shared = {f"features monthly 0 {t}" for t in range(3)}
    assert planned == {"evaluate monthly 1", *(f"update monthly 1 {t}" for t in range(3))} | shared
    drawn = study.results / "entry" / "seed1" / "batches" / "1.h5"
    assert study.run(study.target(drawn)).names("corpus", "seed", "t") == {
        "index entry 1",
        "batch entry 1 1",
    }
    assert docs.read(drawn, "batch").ids != batches(study, "entry")[1].ids


@pytest.mark.corpora
def test_tdt2_from_a_mirror(corpora, tmp_path):
    config = {"runs": ["dual-averaging"], "atoms": [50], "seeds": [0]}
    config["report"] = {"runs": ["dual-averaging"], "run": "dual-averaging", "atoms": 50}
    config["emerging"] = {"sizes": [50]}
    study = Study.create(tmp_path / "study", config, base="config/tdt2.yaml")
    chain = study.folder / "results" / "tdt2" / "tdt2" / "seed0" / "dual-averaging" / "k50"
    target = study.target(chain / "2.h5")
    result = study.run(target, ODL_MIRROR=str(corpora))
    assert result.names() == {"download", "read", "index", "batch", "features", "update"}
    assert str(corpora / "tdt2") in result.text
    file = "tdt2/TDT2_with_time.mat"
    assert (study.folder / "data" / file).read_bytes() == (corpora / file).read_bytes()
    scored = [read_scores(chain / "scores" / f"{t}.h5") for t in range(3)]
    aucs = [auc(batch.scores["dual-averaging"], batch.novel) for batch in scored]
    assert np.isnan(aucs[0]) and all(0.6 < value < 1 for value in aucs[1:]), aucs
    assert h5_attributes(chain / "1.h5")["digest"] == h5_attributes(chain / "2.h5")["previous"]
    # Nothing is fetched or run again without the mirror.
    assert study.run(target).jobs == []
