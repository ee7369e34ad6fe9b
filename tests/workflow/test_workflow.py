"""The real Snakefile: one study from documents to report, and what runs again when settings or sources change."""

import os

import numpy as np
import pytest
from called import odl
from workflows import SHOWN, chain, h5_attributes

from odl.coding import sparse_code
from odl.files import checkpoints, storage
from odl.report import figures
from odl.stream import features

pytestmark = pytest.mark.workflow

FIGURES = list(figures.modules())


def test_a_fresh_run_ends_with_the_report(fresh):
    study, result = fresh
    streams = {f"{rule} {t}" for rule in ("batch", "features", "baselines") for t in range(4)} - {
        "baselines 0"
    }
    single = {"read", "index", "evaluate_baselines", "plan"}
    assert result.names("run", "t") == single | streams | chain("da") | chain("pg") | SHOWN
    assert len(result.jobs) == len(result.names("run", "t", "algorithm")) + 1
    page = (study.results / "report.html").read_text()
    assert "data:image/" in page or "<svg" in page
    for name in FIGURES:
        picture = study.results / "figures" / f"mine-{name}"
        assert picture.with_suffix(".png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert b"<svg" in picture.with_suffix(".svg").read_bytes()[:2000]
    printed = odl("table", study.target(study.results), cwd=study.folder).stdout
    rows = [line for line in printed.splitlines() if line.split()[:1] in (["da"], ["pg"])]
    assert len(rows) == 2 and printed.endswith("Report: results/small/report.html\n")
    # Every novel topic has words of its own; eight atoms hold little of three topics.
    assert study.average("nearest-tfidf") > 0.95
    assert min(study.average("da"), study.average("pg")) > 0.65


def test_nothing_to_be_done_after_a_run(fresh):
    study, _ = fresh
    before = study.bytes(reproducible=False)
    result = study.run()
    assert "Nothing to be done" in result.text and result.jobs == []
    assert study.bytes(reproducible=False) == before


def test_a_killed_run_resumes_with_the_same_bytes(study):
    """Appended documents, one core and all at once: test_workflow_growth.py."""
    before, last = study.bytes(), study.target(study.checkpoint("pg", 3))
    for t in (1, 2, 3):
        study.checkpoint("pg", t).unlink()
    study.kill_when(study.checkpoint("pg", 2).exists, last)
    assert "locked" in study.run(last, fails=True).text
    study.run("--unlock")
    jobs = study.run(last).names("run", "t")
    assert "update pg 3" in jobs and "update pg 1" not in jobs
    assert study.bytes() == before and not list(study.folder.rglob("*.part"))


@pytest.mark.slow
def test_jobs_have_the_threads_of_their_rule(fresh, study):
    found = fresh[0].threads()
    rules = {rule.removesuffix("_baselines") for rule in fresh[1].names()} - {"tables"}
    assert {entry["command"] for entry in found} == rules | {"summarise"}
    for entry in found:
        assert set(entry["threads"].values()) == {"1"}, entry
    last = study.checkpoint("pg", 3)
    whole = last.read_bytes()
    last.unlink()
    assert study.run(study.target(last), "--set-threads", "update=2").names("t") == {"update 3"}
    assert study.threads()[-1]["command"] == "update"
    assert set(study.threads()[-1]["threads"].values()) == {"2"}
    assert last.read_bytes() == whole


@pytest.mark.slow
def test_a_job_says_what_it_took_and_looking_begins_none(fresh, study):
    for arguments in (("-n", "--forceall"), ("--list-rules",), ()):
        begun = len(study.threads())
        study.run(*arguments)
        assert len(study.threads()) == begun
    target = study.checkpoint("da", 3)
    whole = target.read_bytes()
    target.unlink()
    study.run(study.target(target))
    assert [entry["command"] for entry in study.threads()[begun:]] == ["update"]
    assert target.read_bytes() == whole
    costs = (target.parent / "benchmarks" / "3.tsv").read_text().splitlines()
    row = dict(zip(*(line.split("\t") for line in costs), strict=True))
    assert 20 < float(row["max_rss"]) < 1000 and 0 < float(row["cpu_time"]) < 60


class TestChangedSettings:
    """Which jobs a changed setting brings; the index stands, so a dry run is complete."""

    def change(self, study, **changes):
        config = study.config
        for path, value in changes.items():
            *above, name = path.split("__")
            held = config
            for key in above:
                held = held[key]
            held[name] = value
        study.configure(config)

    def plan(self, study, *wildcards, **changes):
        self.change(study, **changes)
        return study.run("-n").names(*wildcards)

    @pytest.mark.slow
    def test_a_learners_parameter_reruns_its_chain(self, study):
        before = study.bytes(reproducible=False)
        self.change(study, learners__pg__eta=7.0)
        last = study.target(study.stream / "pg" / "k8" / "auc.tsv")
        assert study.run(last).names("run", "t") == chain("pg")
        changed = {
            name
            for name, digest in study.bytes(reproducible=False).items()
            if before.get(name) != digest
        }
        assert f"/{study.checkpoint('pg', 1).relative_to(study.results)}" in changed
        assert not [
            name
            for name in changed
            if "/da/" in name or "/features/" in name or "/batches/" in name
        ]
        assert study.run("-n").names() == SHOWN | {"plan"}

    @pytest.mark.slow
    def test_evaluation_and_report(self, study):
        evaluations = {"evaluate da", "evaluate pg", "evaluate_baselines"}
        assert self.plan(study, "run", "t", evaluate__bootstrap=60) == evaluations | SHOWN
        assert self.plan(study, "run", "t", evaluate__bootstrap=50, report__run="pg") == {
            "figures",
            "page",
        }

    @pytest.mark.slow
    def test_a_bound_reaches_the_features(self, study):
        """What it does to files: test_workflow_bounded.py, stream/test_terms.py."""
        study.configure({**study.config, "features": {"max_terms": 60}})
        result = study.run("-n", "-p", study.target(study.checkpoint("da", 3)))
        assert {f"features {t}" for t in range(4)} | {
            f"update {t}" for t in range(4)
        } <= result.names("t")
        assert result.text.count("--max-terms 60") >= 4

    @pytest.mark.slow
    def test_another_seed_or_run_or_size(self, study):
        """All of them added at once, then taken away; what there was is not made again."""
        runs = {
            "learners__om": {"algorithm": "online_admm", "rounds": 3},
            "runs": ["da", "om", "pg"],
        }
        jobs = self.plan(study, "seed", "run", "k", "t", seeds=[0, 1], atoms=[8, 9], **runs)
        chains = {
            f"{seed} {run} {k}" for seed in (0, 1) for run in ("da", "om", "pg") for k in (8, 9)
        }
        new = chains - {"0 da 8", "0 pg 8"}
        assert jobs == {"plan"} | SHOWN | {f"evaluate {one}" for one in new} | {
            f"update {one} {t}" for one in new for t in range(4)
        }
        assert self.plan(study, "t", seeds=[0], atoms=[8], runs=["pg"]) == SHOWN | {"plan"}


def contents(study):
    """Return the digests of the contents of all HDF5 files, which leave out what they were made from."""
    return {path: h5_attributes(path)["digest"] for path in study.folder.rglob("results/**/*.h5")}


class TestEditedSources:
    @pytest.mark.slow
    def test_one_learners_source_reruns_its_chain(self, study):
        study.edit("learners/dual_averaging.py")
        assert study.run("-n").names("run", "t") == chain("da") | SHOWN

    @pytest.mark.slow
    def test_kernels_rerun_all_learners(self, study):
        study.edit("kernels/edge_following.cpp")
        assert study.run("-n").names("run", "t") == chain("da") | chain("pg") | SHOWN

    @pytest.mark.slow
    def test_pictures_and_page_are_drawn_again(self, study):
        study.edit("report/figures/scores.py")
        assert study.run("-n").names("run", "t") == {"figures", "page"}

    @pytest.mark.slow
    def test_an_edited_reader_that_finds_the_same_stops_at_the_batches(self, study):
        study.edit("corpora/collection.py")
        before = contents(study)
        result = study.run(study.target(study.stream / "features" / "3.h5"))
        assert result.names() == {"read", "index"}
        assert "computed again" not in result.text and contents(study) == before
        assert study.run("-n").names() <= {"plan"} | SHOWN

    @pytest.mark.slow
    def test_stream_reruns_every_batch(self, study):
        study.edit("stream/batching.py")
        targets = [study.checkpoint("da", 0), study.stream / "batches" / "1.h5"]
        jobs = study.run(*map(study.target, targets)).names("run", "t")
        assert jobs == {"index", "batch 0", "batch 1", "features 0", "update da 0"}

    @pytest.mark.slow
    def test_what_no_result_depends_on(self, study):
        for module in (
            "cli/__init__.py",
            "__init__.py",
            "detector/estimator.py",
            "corpora/download.py",
            "corpora/tdt2.py",
        ):
            study.edit(module)
        study.configure({**study.config, "mirror": str(study.folder)})
        assert study.run("-n", ODL_MIRROR="https://example.org").jobs == []


@pytest.mark.slow
def test_touching_reruns_nothing(study):
    corpus = study.folder / "docs" / "a.jsonl"
    assert corpus.stat().st_size > 1_000_000
    kept = [
        *study.results.rglob("*.h5"),
        *study.results.rglob("*.tsv"),
        *(study.folder / "src").rglob("*.py"),
    ]
    assert len(kept) > 60
    for path in [
        corpus,
        *kept,
        study.folder / "Snakefile",
        *(study.folder / "workflow").rglob("*.*"),
    ]:
        os.utime(path)
    result = study.run()
    assert [name for name, _ in result.jobs] in (
        [],
        ["all"],
    )  # 9.8 calls the target, which makes nothing
    # That is the profile's doing for files over 1 MB.
    os.utime(corpus)
    target = study.target(
        study.results / "mine" / "documents.h5"
    )  # of all, Snakemake's dry run sometimes gives up
    assert "read" in study.run("-n", "--max-checksum-file-size", "1MB", target).names()


def test_a_typo_is_named_in_one_sentence(study):
    config = study.config
    config["learners"]["pg"]["etaa"] = config["learners"]["pg"].pop("eta")
    study.configure(config)
    text = study.run(fails=True).text
    message = text.splitlines()[-1]
    assert message.startswith("odl: 'learners.pg.etaa' is not a key") and message.endswith(
        "did you mean 'eta'?"
    )
    assert "Traceback" not in text and text.count("odl:") == 1


def test_a_missing_source_is_named_in_one_sentence(study):
    (study.folder / "docs").rename(study.folder / "doc")
    text = study.run(fails=True).text
    assert text.splitlines()[-1] == (
        "odl: corpora.mine.sources: docs does not exist; expected a file, a folder or a pattern; correct the path."
    )
    assert "Traceback" not in text


def scores(path):
    """Scores of a timestep, and which documents were empty."""
    with storage.reading(path, "scores") as file:
        return file["score"][:], file["empty"][:] == 1


@pytest.mark.long
def test_coders_weights_and_a_window(study):
    """ADMM coder, whole-corpus idf, fixed vocabulary, two timesteps of past for the neighbours: one call."""
    config, rounds = study.config, {"rounds": 2}
    config["runs"] = ["admm-coder", "corpus-idf", "fixed"]
    config["learners"] |= {
        "admm-coder": {
            "algorithm": "projected_gradient",
            "solver": "admm",
            "iterations": 20,
            **rounds,
        },
        "corpus-idf": {"algorithm": "online_admm", "features": {"idf": "corpus"}, **rounds},
        "fixed": {"algorithm": "dual_averaging", "features": {"vocabulary": "fixed"}, **rounds},
    }
    config["baselines"] = {"enabled": True, "window": 2}
    study.configure(config)
    before = study.bytes()
    chains = chain("admm-coder") | chain("corpus-idf") | chain("fixed")
    compared = {f"baselines {t}" for t in (1, 2, 3)} | {"evaluate_baselines"}
    assert study.run().names("run", "t") == chains | SHOWN | {"plan"} | compared
    # Two timesteps back is all there is until t = 2.
    assert [study.bytes()[path] == before[path] for path in (f"/mine/seed0/baselines/{t}.h5" for t in (1, 2, 3))] == [
        True, True, False,
    ]  # fmt: skip

    coder, exact = (
        h5_attributes(study.stream / run / "k8" / "scores" / "1.h5")
        for run in ("admm-coder", "fixed")
    )
    assert (coder["solver"], exact["solver"]) == ("admm", "exact")
    assert coder["gap"] > 1e-9 >= exact["gap"]
    # Scores by the frequencies of the whole stream, those of the last batch itself among them.
    t3 = features.read(study.stream / "features" / "3.h5")
    A = checkpoints.read_checkpoint(study.checkpoint("corpus-idf", 2)).dictionary
    A.resize((t3.counts.shape[1], A.shape[1]))
    held = {
        run: scores(study.stream / run / "k8" / "scores" / "3.h5")
        for run in ("corpus-idf", "fixed")
    }
    found, past = (
        sparse_code(t3.weighed(idf=idf, corpus=t3)[:], A, 0.1)[1] for idf in ("corpus", "past")
    )
    assert np.allclose(found, held["corpus-idf"][0]) and not np.allclose(
        past, held["corpus-idf"][0]
    )
    # Every fourth document has words of its topic only: of a topic that came later, none of the
    # first batch.
    unknown = np.diff(t3.weighed(vocabulary="fixed")[:].indptr) == 0
    assert unknown.any() and not held["corpus-idf"][1].any()
    assert np.array_equal(held["fixed"][1], unknown) and (held["fixed"][0][unknown] == 1).all()
