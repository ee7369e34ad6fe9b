"""The real Snakefile over a stream that grows: appended, late and edited documents, lost files, a killed run."""

import json

import pytest
from workflows import SHOWN, chain, document, documents

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def test_a_deleted_checkpoint_comes_back_when_asked_for(study):
    before = study.bytes()
    middle, last = study.checkpoint("da", 1), study.checkpoint("da", 3)
    middle.unlink()
    last.unlink()
    assert study.run("-n").jobs == []
    assert study.run(study.target(middle)).names("run", "t") == {"update da 1"}
    for t in (1, 2):
        study.checkpoint("da", t).unlink()
    assert study.run(study.target(last)).names("run", "t") == {
        "update da 1",
        "update da 2",
        "update da 3",
    }
    assert study.bytes() == before
    assert study.run("-n").names() <= SHOWN  # the times of the jobs are new, their results are not


def test_a_truncated_checkpoint_is_named(study):
    before = study.bytes()
    broken, last = study.checkpoint("da", 2), study.checkpoint("da", 3)
    broken.write_bytes(broken.read_bytes()[:-100])
    result = study.run(study.target(last), fails=True)
    assert result.names("run", "t") == {"update da 3"}
    name = study.target(broken)
    log = (study.results / "logs" / "mine" / "seed0" / "da" / "k8" / "3.log").read_text()
    assert log.startswith(f"odl update: {name} was changed") and log.count("\n") == 1
    assert f"delete {name} and run the same command again" in log and log in result.text
    assert not list(study.folder.rglob("*.part")) and not last.exists()
    # As told.
    broken.unlink()
    assert study.run(study.target(last)).names("run", "t") == {"update da 2", "update da 3"}
    assert study.bytes() == before


def test_deleted_features_are_asked_for_by_the_command_that_makes_them(study):
    """Nearest neighbours look at all features before, of which Snakemake knows the newest only."""
    before = study.bytes()
    early, scores = study.stream / "features" / "1.h5", study.stream / "baselines" / "3.h5"
    early.unlink()
    scores.unlink()
    result = study.run(study.target(scores), fails=True)
    name = study.target(early)
    assert (
        f"odl baselines: {name} is missing; expected a file of every timestep before" in result.text
    )
    assert study.run(name).names("t") == {"features 1"}
    assert study.run(study.target(scores)).names("t") == {"baselines 3"}
    assert study.bytes() == before


def tables(study):
    """What is drawn from the tables, and that its bytes are the same each time: report/test_plots.py."""
    return study.target(study.results / "tables" / "averages.tsv")


@pytest.fixture(scope="module")
def appended(fresh, tmp_path_factory):
    """The study after 40 later documents in a new file, and after 60 more; with both calls and what was before."""
    study = fresh[0].copy(tmp_path_factory.mktemp("appended") / "study")
    before = study.bytes()
    study.write("b.jsonl", documents(360, 400))
    first = study.run(
        *(study.target(study.stream / run / "k8" / "auc.tsv") for run in ("da", "pg"))
    )
    between = study.bytes()
    study.write("c.jsonl", documents(400, 460))
    return study, (first, study.run(tables(study))), (before, between)


def steps(first, last):
    """Jobs of the timesteps that new documents bring, with what sums up."""
    found = {
        f"{rule} {t}" for rule in ("batch", "features", "baselines") for t in range(first, last + 1)
    }
    found |= {"share", "read", "index", "plan", "evaluate_baselines"}
    return found | chain("da", first, last) | chain("pg", first, last) | {"tables"}


def parts(found, most):
    """The results of timesteps up to one, out of all."""
    return {
        name: digest
        for name, digest in found.items()
        if name.endswith(tuple(f"/{t}.h5" for t in range(most + 1)))
    }


class TestAppending:
    def test_later_documents_run_new_timesteps_only(self, appended):
        _, (first, _), (before, between) = appended
        assert first.names("run", "t") == steps(4, 4) - {
            "tables",
            "plan",
            "baselines 4",
            "evaluate_baselines",
        }
        assert parts(between, 3) == parts(before, 3)
        assert "computed again" not in first.text

    def test_the_last_partial_batch_is_redone_when_it_fills(self, appended):
        study, (_, second), (before, between) = appended
        assert second.names("run", "t") == steps(4, 5)
        assert [rule for rule, _ in second.jobs].count(
            "share"
        ) == 1  # of a.jsonl nothing is read again
        assert len((study.results / "tables" / "novel.tsv").read_text().splitlines()) == 1 + 5
        after = study.bytes()
        assert parts(after, 3) == parts(before, 3)
        assert after["/mine/seed0/batches/4.h5"] != between["/mine/seed0/batches/4.h5"]
        assert "computed again" not in second.text
        assert study.run("-n").names() == {"figures", "page"}

    def test_killed_resumed_on_one_core_and_all_at_once_gives_the_same_bytes(
        self, fresh, appended, tmp_path
    ):
        study = fresh[0].copy(tmp_path / "elsewhere")
        (study.results / "tables" / "averages.tsv").unlink()
        for name, first, last in (("b", 360, 400), ("c", 400, 460)):
            study.write(f"{name}.jsonl", documents(first, last))
        study.kill_when(
            lambda: study.checkpoint("da", 4).exists() or study.checkpoint("pg", 4).exists()
        )
        assert not (study.results / "tables" / "averages.tsv").exists()
        assert "locked" in study.run(fails=True).text
        study.run("--unlock")
        assert "read" not in study.run(tables(study), cores=1).names()
        found = study.bytes()
        assert found == appended[0].bytes()
        assert parts(found, 3) == parts(fresh[0].bytes(), 3)
        assert not list(study.folder.rglob("*.part"))


class TestLateDocuments:
    """Documents that belong to a finished batch: computed again from there, with a warning."""

    def test_a_late_document(self, study):
        moment = json.loads((study.folder / "docs" / "a.jsonl").read_text().splitlines()[230])[
            "time"
        ]
        study.write("late.jsonl", [{**document(999, 1), "time": moment}])
        result = study.run(study.target(study.stream / "da" / "k8" / "auc.tsv"))
        expected = {f"{rule} {t}" for rule in ("batch", "features") for t in (2, 3, 4)}
        assert result.names("run", "t") == {"share", "read", "index"} | expected | chain("da", 2, 4)
        assert "documents of batch 2 were added, edited or removed" in result.text

    def test_an_edited_document(self, study):
        path = study.folder / "docs" / "a.jsonl"
        lines = path.read_text().splitlines()
        path.write_text(
            "\n".join([*lines[:230], lines[230].replace("common", "other"), *lines[231:]]) + "\n"
        )
        before = study.bytes()
        last = study.checkpoint("pg", 3)
        result = study.run(study.target(last))
        jobs = {
            "read",
            "index",
            "batch 2",
            "features 2",
            "features 3",
            "update pg 2",
            "update pg 3",
        }
        assert result.names("run", "t") == jobs
        assert "documents of batch 2 were added, edited or removed" in result.text
        changed = {name for name, digest in study.bytes().items() if before[name] != digest}
        assert {f"/mine/seed0/batches/{t}.h5" for t in range(4)} & changed == {
            "/mine/seed0/batches/2.h5"
        }
        assert {f"/mine/seed0/pg/k8/{t}.h5" for t in range(4)} & changed == {
            "/mine/seed0/pg/k8/2.h5",
            "/mine/seed0/pg/k8/3.h5",
        }
