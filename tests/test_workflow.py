"""The real Snakefile: one study from documents to report, and what runs again when something changed."""

import json
import os
import subprocess
import sys

import pytest
from workflows import Study, document, documents, environment

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

SHOWN = {"tables", "figures", "page"}
FIGURES = ("auc", "time", "parameters", "timesteps", "novel", "roc", "scores", "topics")


def chain(run, first=0, last=3):
    """Jobs of a run from one timestep to another, with its evaluation."""
    return {f"update {run} {t}" for t in range(first, last + 1)} | {f"evaluate {run}"}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A finished study and the call that made it; not to be changed."""
    study = Study.create(tmp_path_factory.mktemp("fresh") / "study")
    study.write("a.jsonl", documents(0, 360, padding=3000))
    study.record_threads()
    return study, study.run(OMP_NUM_THREADS="7", OPENBLAS_NUM_THREADS="7")


@pytest.fixture
def study(fresh, tmp_path):
    """A copy of the finished study."""
    return fresh[0].copy(tmp_path / "study")


def test_a_fresh_run_ends_with_the_report(fresh):
    study, result = fresh
    streams = {f"{rule} {t}" for rule in ("batch", "features", "baselines") for t in range(4)} - {"baselines 0"}
    single = {"read", "index", "kernels", "evaluate_baselines", "plan"}
    assert result.names("run", "t") == single | streams | chain("da") | chain("pg") | SHOWN
    assert len(result.jobs) == len(result.names("run", "t")) + 1
    page = (study.results / "report.html").read_text()
    assert "data:image/" in page or "<svg" in page
    for name in FIGURES:
        picture = study.results / "figures" / f"mine-{name}"
        assert picture.with_suffix(".png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert b"<svg" in picture.with_suffix(".svg").read_bytes()[:2000]
    printed = subprocess.run(
        [sys.executable, "-m", "odl", "table", study.target(study.results)],
        cwd=study.folder,
        env=environment(study.folder),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line for line in printed.splitlines() if line.split()[:1] in (["da"], ["pg"])]
    assert len(rows) == 2 and printed.endswith("Report: results/small/report.html\n")
    for run in ("da", "pg"):  # every novel topic has words of its own
        assert study.average(run) > 0.9


def test_nothing_to_be_done_after_a_run(fresh):
    study, _ = fresh
    before = study.bytes(reproducible=False)
    for options in ((), ("-n",)):
        result = study.run(*options)
        assert "Nothing to be done" in result.text and result.jobs == []
    assert study.bytes(reproducible=False) == before


def test_jobs_have_the_threads_of_their_rule(fresh, study):
    found = {entry["command"]: entry for entry in fresh[0].threads()}
    assert {"read", "index", "batch", "features", "update", "baselines", "evaluate", "figures", "page"} <= set(found)
    for entry in fresh[0].threads():
        assert set(entry["threads"].values()) == {"1"}, entry
    last = study.checkpoint("pg", 3)
    whole = last.read_bytes()
    last.unlink()
    assert study.run(study.target(last), "--set-threads", "update=2").names("t") == {"update 3"}
    assert study.threads()[-1]["command"] == "update"
    assert set(study.threads()[-1]["threads"].values()) == {"2"}
    assert last.read_bytes() == whole


class TestChangedSettings:
    """Which jobs a changed setting brings; the index stands, so a dry run is complete."""

    def plan(self, study, *wildcards, **changes):
        config = study.config
        for path, value in changes.items():
            *above, name = path.split("__")
            held = config
            for key in above:
                held = held[key]
            held[name] = value
        study.configure(config)
        return study.run("-n").names(*wildcards)

    def test_a_learners_parameter_reruns_its_chain(self, study):
        planned = self.plan(study, "run", "t", learners__pg__eta=7.0)
        assert planned == chain("pg") | SHOWN | {"plan"}
        before = study.bytes(reproducible=False)
        assert study.run().names("run", "t") == planned
        changed = {name for name, digest in study.bytes(reproducible=False).items() if before.get(name) != digest}
        assert f"/{study.checkpoint('pg', 1).relative_to(study.results)}" in changed
        assert not [name for name in changed if "/da/" in name or "/features/" in name or "/batches/" in name]
        assert study.run("-n").jobs == []

    def test_evaluation(self, study):
        evaluations = {"evaluate da", "evaluate pg", "evaluate_baselines"}
        assert self.plan(study, "run", "t", evaluate__bootstrap=60) == evaluations | SHOWN

    def test_report(self, study):
        assert self.plan(study, "run", "t", report__run="pg") == {"figures", "page"}
        study.run()
        assert study.run("-n").jobs == []

    def test_mirror(self, study):
        assert self.plan(study, mirror=str(study.folder)) == set()
        assert study.run("-n", ODL_MIRROR="https://example.org").jobs == []

    def test_another_seed_or_run_or_size(self, study):
        jobs = self.plan(study, "seed", "run", "k", "t", seeds=[0, 1])
        assert jobs == SHOWN | {"plan"} | {
            f"{job[0]} 1 {run} 8{job[1]}"
            for run in ("da", "pg")
            for job in [("evaluate", ""), *(("update", f" {t}") for t in range(4))]
        }
        added = {"algorithm": "online_admm", "rounds": 3}
        jobs = self.plan(study, "run", "t", seeds=[0], learners__om=added, runs=["da", "om", "pg"])
        assert jobs == chain("om") | SHOWN | {"plan"}
        jobs = self.plan(study, "run", "k", "t", runs=["da"], atoms=[8, 9])
        assert jobs == {"plan", "evaluate da 9", *(f"update da 9 {t}" for t in range(4))} | SHOWN
        assert self.plan(study, "t", atoms=[8], runs=["pg"]) == SHOWN | {"plan"}


class TestEditedSources:
    def test_one_learners_source_reruns_its_chain(self, study):
        study.edit("learners/dual_averaging.py")
        assert study.run("-n").names("run", "t") == chain("da") | SHOWN

    def test_kernels_rerun_all_learners(self, study):
        study.edit("kernels.py")
        assert study.run("-n").names("run", "t") == {"kernels"} | chain("da") | chain("pg") | SHOWN

    def test_pictures_and_page_are_drawn_again(self, study):
        study.edit("plots.py")
        assert study.run("-n").names("run", "t") == {"figures", "page"}
        study.edit("sections.py")
        assert study.run().names("run", "t") == {"figures", "page"}
        assert study.run("-n").jobs == []

    def test_what_no_result_depends_on(self, study):
        for module in ("cli.py", "__init__.py", "detector.py", "download.py", "corpora/tdt2.py"):
            study.edit(module)
        assert study.run("-n").jobs == []


def test_touching_reruns_nothing(study):
    corpus = study.folder / "docs" / "a.jsonl"
    assert corpus.stat().st_size > 1_000_000
    kept = [*study.results.rglob("*.h5"), *study.results.rglob("*.tsv"), *(study.folder / "src").rglob("*.py")]
    assert len(kept) > 60
    for path in [corpus, *kept, study.folder / "Snakefile", *(study.folder / "workflow").rglob("*.*")]:
        os.utime(path)
    result = study.run()
    assert "Nothing to be done" in result.text and result.jobs == []
    # That is the profile's doing for files over 1 MB.
    os.utime(corpus)
    assert "read" in study.run("-n", "--max-checksum-file-size", "1MB").names()


def test_a_deleted_checkpoint_comes_back_when_asked_for(study):
    before = study.bytes()
    middle, last = study.checkpoint("da", 1), study.checkpoint("da", 3)
    middle.unlink()
    last.unlink()
    assert study.run().jobs == []
    assert not middle.exists() and not last.exists()
    assert study.run(study.target(middle)).names("run", "t") == {"update da 1"}
    assert study.run(study.target(last)).names("run", "t") == {"update da 3"}
    assert study.bytes() == before
    for t in (1, 2, 3):
        study.checkpoint("da", t).unlink()
    assert study.run(study.target(last)).names("run", "t") == {"update da 1", "update da 2", "update da 3"}
    assert study.bytes() == before
    assert study.run("-n").names() <= SHOWN  # the times of the jobs are new, their results are not


@pytest.fixture(scope="module")
def appended(fresh, tmp_path_factory):
    """The study after 40 later documents in a new file, and after 60 more; with both calls and what was before."""
    study = fresh[0].copy(tmp_path_factory.mktemp("appended") / "study")
    before = study.bytes()
    study.write("b.jsonl", documents(360, 400))
    first = study.run()
    between = study.bytes()
    study.write("c.jsonl", documents(400, 460))
    return study, (first, study.run()), (before, between)


def steps(first, last):
    """Jobs of the timesteps that new documents bring, with what sums up."""
    found = {f"{rule} {t}" for rule in ("batch", "features", "baselines") for t in range(first, last + 1)}
    found |= {"read", "index", "plan", "evaluate_baselines"}
    return found | chain("da", first, last) | chain("pg", first, last) | SHOWN


def parts(found, most):
    """The results of timesteps up to one, out of all."""
    return {name: digest for name, digest in found.items() if name.endswith(tuple(f"/{t}.h5" for t in range(most + 1)))}


class TestAppending:
    def test_later_documents_run_new_timesteps_only(self, appended):
        study, (first, _), (before, between) = appended
        assert first.names("run", "t") == steps(4, 4)
        assert parts(between, 3) == parts(before, 3)
        assert len((study.results / "tables" / "novel.tsv").read_text().splitlines()) == 1 + 5
        assert "computed again" not in first.text

    def test_the_last_partial_batch_is_redone_when_it_fills(self, appended):
        study, (_, second), (before, between) = appended
        assert second.names("run", "t") == steps(4, 5)
        after = study.bytes()
        assert parts(after, 3) == parts(before, 3)
        assert after["/mine/seed0/batches/4.h5"] != between["/mine/seed0/batches/4.h5"]
        assert "computed again" not in second.text
        assert study.run("-n").jobs == []

    def test_killed_resumed_on_one_core_and_all_at_once_gives_the_same_bytes(self, fresh, appended, tmp_path):
        study = Study.create(tmp_path / "elsewhere")
        for name, first, last, padding in (("a", 0, 360, 3000), ("b", 360, 400, 0), ("c", 400, 460, 0)):
            study.write(f"{name}.jsonl", documents(first, last, padding))
        study.kill_when(lambda: study.checkpoint("da", 2).exists() or study.checkpoint("pg", 2).exists())
        assert not (study.results / "report.html").exists()
        assert "locked" in study.run(fails=True).text
        study.run("--unlock")
        result = study.run(cores=1)
        assert "read" not in result.names() and (study.results / "report.html").exists()
        found = study.bytes()
        assert found == appended[0].bytes()
        assert parts(found, 3) == parts(fresh[0].bytes(), 3)
        assert len([name for name in found if name.endswith((".png", ".svg"))]) == 2 * (len(FIGURES) - 1)
        assert not list(study.folder.rglob("*.part"))


class TestLateDocuments:
    """Documents that belong to a finished batch: computed again from there, with a warning."""

    def test_a_late_document(self, study):
        moment = json.loads((study.folder / "docs" / "a.jsonl").read_text().splitlines()[230])["time"]
        study.write("late.jsonl", [{**document(999, 1), "time": moment}])
        result = study.run(study.target(study.stream / "da" / "k8" / "auc.tsv"))
        expected = {f"{rule} {t}" for rule in ("batch", "features") for t in (2, 3, 4)}
        assert result.names("run", "t") == {"read", "index"} | expected | chain("da", 2, 4)
        assert "the documents of batch 2 changed" in result.text

    def test_an_edited_document(self, study):
        path = study.folder / "docs" / "a.jsonl"
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines[:230], lines[230].replace("common", "other"), *lines[231:]]) + "\n")
        before = study.bytes()
        last = study.checkpoint("pg", 3)
        result = study.run(study.target(last))
        jobs = {"read", "index", "batch 2", "features 2", "features 3", "update pg 2", "update pg 3"}
        assert result.names("run", "t") == jobs
        assert "the documents of batch 2 changed" in result.text
        changed = {name for name, digest in study.bytes().items() if before[name] != digest}
        assert {f"/mine/seed0/batches/{t}.h5" for t in range(4)} & changed == {"/mine/seed0/batches/2.h5"}
        assert {f"/mine/seed0/pg/k8/{t}.h5" for t in range(4)} & changed == {
            "/mine/seed0/pg/k8/2.h5",
            "/mine/seed0/pg/k8/3.h5",
        }
