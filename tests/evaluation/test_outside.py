"""Scores of another program beside a study's: the same figures as the study's own tables, refusals in a sentence."""

import csv

import numpy as np
import pytest

from odl.errors import ConfigError, DataError
from odl.evaluation import averages, outside
from odl.evaluation.study import BASELINE, write_plan

LISTED = [1, 2, 3]


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Two runs of three timesteps, as files of a study, and what each scored."""
    from odl.evaluation.scorefiles import write_baselines

    monkeypatch.chdir(tmp_path)
    rng, held, entries = np.random.default_rng(3), {}, []
    for run in ("one", "other"):
        folder = tmp_path / "results" / "mine" / "made" / "seed0" / run
        folder.mkdir(parents=True)
        for t in LISTED:
            held[run, t] = rng.random(60)
            write_baselines(folder / f"{t}.h5", Batch(t), {run: held[run, t]})
        files = [folder / f"{t}.h5" for t in LISTED]
        averages.write_evaluation(
            files, folder / "auc.tsv", folder / "summary.tsv", bootstrap=0, min_novel=5
        )
        named = {
            "corpus": "made",
            "reader": "documents",
            "protocol": "by-date",
            "run": run,
            "seed": 0,
            "k": None,
        }
        named |= {"algorithm": BASELINE, "parameters": {}, "timesteps": [0, *LISTED]}
        entries.append(named | {"folder": str(folder.relative_to(tmp_path))})
    write_plan(tmp_path / "results" / "mine" / "plan.json", entries)
    return tmp_path / "results" / "mine", held


class Batch:
    """What `write_baselines` asks of features."""

    def __init__(self, t):
        self.t, self.ids, self.titles = t, [f"{t}-{row}" for row in range(60)], [""] * 60
        self.times, self.topics = np.arange(60), ["a"] * 60
        self.novel = (np.arange(60) % 5 == 0).astype(np.int8)
        self.novel_dominant = self.novel
        self.counts, self.frequencies = np.ones((60, 1)), np.ones(1)


def written(path, values):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([("id", "score"), *values])
    return path


def test_the_scores_of_a_run_are_level_with_it_and_its_average_is_that_of_the_tables(
    study, tmp_path
):
    folder, held = study
    own = {f"{t}-{row}": held["one", t][row] for t in LISTED for row in range(60)}
    rows, listed, by_timestep = outside.compare(folder, own)
    assert [row["run"] for row in rows] == ["yours", "one", "other"] and listed == LISTED
    assert (
        rows[0]["average"] == rows[1]["average"]
        and rows[1]["difference"] == rows[1]["low"] == rows[1]["high"] == 0
    )
    (summary,) = averages.evaluate(
        [folder / "made/seed0/one" / f"{t}.h5" for t in LISTED], min_novel=5, bootstrap=0
    )[1]
    assert (
        rows[0]["average"]
        == summary["average"]
        == pytest.approx(np.mean(list(by_timestep.values())))
    )
    difference = rows[0]["average"] - rows[2]["average"]
    assert rows[2]["difference"] == difference and rows[2]["low"] < difference < rows[2]["high"]
    text = outside.as_text(rows, listed, by_timestep)
    assert f"other  {rows[2]['average']:.3f}  {difference:+.3f}" in text


def test_the_truth_is_ahead_of_all_and_each_file_is_read_once(study, monkeypatch):
    opened, read = [], outside.read_scores
    monkeypatch.setattr(outside, "read_scores", lambda path: opened.append(path) or read(path))
    own = {f"{t}-{row}": float(row % 5 == 0) for t in LISTED for row in range(60)}
    rows, _, _ = outside.compare(study[0], own, stream="made", seed=0)
    assert rows[0]["average"] == 1.0 and all(row["low"] > 0 for row in rows[1:])
    assert len(opened) == len(set(opened)) == 2 * len(LISTED)


def test_elsewhere_it_says_where_to_go(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    with pytest.raises(DataError, match="expected the folder in which the study was run"):
        outside.compare(study[0], {})


def test_a_document_without_a_score_and_an_unknown_stream_are_refused(study):
    own = {f"{t}-{row}": 0.0 for t in LISTED for row in range(60)}
    del own["2-7"]
    with pytest.raises(DataError, match="1 documents of timestep 2 have no score, such as 2-7"):
        outside.compare(study[0], own)
    with pytest.raises(ConfigError, match="the study has no stream yours; expected one of made"):
        outside.compare(study[0], own, stream="yours")
    with pytest.raises(ConfigError, match="the stream made has no seed 4; expected one of 0"):
        outside.compare(study[0], own, seed=4)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([("a", "1"), ("a", "2")], "line 3 repeats the id a"),
        ([("a", "high")], "line 2 has the score 'high'; expected a number"),
        ([("a", "nan")], "line 2 has the score 'nan'"),
    ],
)
def test_wrong_lines_are_named(tmp_path, values, message):
    with pytest.raises(DataError, match=message):
        outside.read(written(tmp_path / "own.csv", values))


def test_wrong_files_are_refused(tmp_path):
    (tmp_path / "own.csv").write_text("name,value\na,1\n")
    with pytest.raises(
        DataError, match="has the columns name, value; expected the columns id and score"
    ):
        outside.read(tmp_path / "own.csv")
    with pytest.raises(DataError, match="cannot be read"):
        outside.read(tmp_path / "none.csv")
    (tmp_path / "own.csv").write_bytes(b"id,score\n\xff,1\n")
    with pytest.raises(DataError, match="UTF-8"):
        outside.read(tmp_path / "own.csv")


def test_scores_are_read_as_numbers(tmp_path):
    assert outside.read(written(tmp_path / "own.csv", [("a", "1e-3"), ("b", " -2")])) == {
        "a": 0.001,
        "b": -2.0,
    }
