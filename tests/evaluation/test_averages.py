"""From score files to tables, against values computed by hand from the same files."""

import json
import shutil

import numpy as np
import pytest
import studies
from fuzzing import edited

from odl.errors import ConfigError, DataError, ParameterError, StorageError
from odl.evaluation import averages, baselines, metrics, study
from odl.evaluation.scorefiles import read_scores
from odl.evaluation.study import choose_shown, load_plan, score_path, write_plan
from odl.files import storage
from odl.files.documents import NO_TIME
from odl.files.tables import read_table, write_json, write_table


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("study")
    return root, studies.make_study(root)


@pytest.fixture(scope="module")
def gathered(made):
    root, plan = made
    study.summarise(plan, root / "tables")
    return study.read_tables(root / "tables")


def paths_of(entry, first=0):
    return [score_path(entry, t) for t in entry["timesteps"] if t >= first]


def find(rows, **values):
    found = [row for row in rows if all(row[name] == value for name, value in values.items())]
    assert len(found) == 1, found
    return found[0]


def test_tables_round_trip(tmp_path):
    rows = [
        {"run": "007", "a": 1, "b": 0.25, "c": float("nan")},
        {"run": "x\ty", "a": 2, "b": 1e-15, "c": 1.0},
    ]
    write_table(tmp_path / "t.tsv", rows)
    text = (tmp_path / "t.tsv").read_text()
    bare = "\n".join(line.rpartition("\t")[0] for line in text.splitlines())
    assert bare == "run\ta\tb\tc\n007\t1\t0.250000\t\nx y\t2\t1e-15\t1.000000"
    read = read_table(tmp_path / "t.tsv")
    assert list(read[0]) == ["run", "a", "b", "c"]
    assert (read[0]["run"], read[0]["a"], read[1]["b"]) == ("007", 1, 1e-15)
    assert np.isnan(read[0]["c"])
    (tmp_path / "t.tsv").write_text(text + "one\tcell\n")
    with pytest.raises(StorageError, match="complete table"):
        read_table(tmp_path / "t.tsv")
    with pytest.raises(StorageError, match="does not exist"):
        read_table(tmp_path / "none.tsv")


def test_times_are_written_in_utc():
    assert averages.iso(884_217_600_000) == "1998-01-08"
    assert averages.iso(884_217_600_000 + 3_661_000) == "1998-01-08T01:01:01"
    assert averages.iso(-86_400_000) == "1969-12-31"
    assert averages.iso(NO_TIME) == ""


def test_rows_say_what_the_score_files_say(made):
    entry = next(entry for entry in made[1] if entry["run"] == "da" and entry["k"] == 20)
    rows, summary = averages.evaluate(paths_of(entry), min_novel=3, bootstrap=200, seed=5)
    assert [row["t"] for row in rows] == [1, 2, 3, 4, 5]
    assert set(rows[0]) == set(averages.AUC_COLUMNS) and set(summary[0]) == set(
        averages.SUMMARY_COLUMNS
    )
    values = []
    for row in rows:
        batch = read_scores(score_path(entry, row["t"]))
        labels = batch.novel
        value = metrics.auc(batch.scores["da"], labels)
        np.testing.assert_equal(row["auc"], value)
        assert (row["novel"], row["known"], row["unlabelled"]) == tuple(
            (labels == x).sum() for x in (1, 0, -1)
        )
        assert row["documents"] == row["novel"] + row["known"] + row["unlabelled"] == 60
        assert row["empty"] == batch.empty.sum() and row["uncoded"] == np.mean(
            batch.scores["da"] == 1
        )
        assert row["first_time"] == averages.iso(batch.times.min()) < row["last_time"]
        assert row["listed"] == (row["novel"] >= 3)
        assert np.isnan(value) or row["low"] <= value <= row["high"]
        values.append(value)
    listed = [value for value, row in zip(values, rows, strict=True) if row["listed"]]
    assert 0 < len(listed) < len(rows)
    assert summary[0]["average"] == np.mean(listed)
    assert summary[0]["average_all"] == np.nanmean(values)
    assert summary[0]["low"] < summary[0]["average"] < summary[0]["high"]
    assert summary[0]["timesteps"] == len(listed)


def test_listed_timesteps_replace_the_rule(made):
    entry = made[1][1]
    rows, summary = averages.evaluate(paths_of(entry), timesteps=[1, 2, 4, 99], bootstrap=0)
    assert [row["t"] for row in rows if row["listed"]] == [
        row["t"] for row in rows if row["t"] in (1, 2, 4) and row["novel"]
    ]
    assert np.isnan(summary[0]["low"]) and not np.isnan(summary[0]["average"])
    assert np.isnan(next(row["auc"] for row in rows if row["novel"] == 0))


def test_averages_are_over_the_listed_timesteps_alone(made):
    paths = paths_of(made[1][1])
    rows, (summary,) = averages.evaluate(paths, timesteps=[1, 4], bootstrap=200, seed=5)
    values = {row["t"]: row["auc"] for row in rows if not np.isnan(row["auc"])}
    assert {1, 4} < set(values) and summary["timesteps_all"] == len(values)
    assert summary["average"] == np.mean([values[1], values[4]]) != np.mean(list(values.values()))
    assert summary["average_all"] == np.mean(list(values.values()))
    assert summary["timesteps"] == 2 and [row["listed"] for row in rows] == [
        int(row["t"] in (1, 4)) for row in rows
    ]


def percentiles(draws):
    """The interval that is written as one of 95 %."""
    return tuple(np.percentile(draws, [2.5, 97.5]))


def test_intervals_hold_95_of_100_draws(made):
    """Of a timestep, of the average over the listed ones, and of all documents: 2.5 % of the draws lie on each side."""
    entry, options = made[1][1], {"replicates": 400}
    rows, (summary,) = averages.evaluate(paths_of(entry), timesteps=[1, 4], bootstrap=400, seed=5)
    draws, batches = {}, [read_scores(path) for path in paths_of(entry, first=1)]
    for row, batch in zip(rows, batches, strict=True):
        draws[row["t"]] = metrics.bootstrap(
            batch.scores[row["run"]], batch.novel, seed=[5, row["t"]], **options
        )
        if not np.isnan(row["auc"]):
            assert (row["low"], row["high"]) == pytest.approx(
                percentiles(draws[row["t"]]), abs=1e-12
            )
    average = percentiles((draws[1] + draws[4]) / 2)
    assert (summary["low"], summary["high"]) == pytest.approx(average, abs=1e-12)
    score = np.concatenate([batch.scores[entry["run"]] for batch in batches])
    pooled = metrics.bootstrap(
        score, np.concatenate([batch.novel for batch in batches]), seed=[5, 0], **options
    )
    assert (summary["pooled_low"], summary["pooled_high"]) == pytest.approx(
        percentiles(pooled), abs=1e-12
    )


def test_pooled_is_over_all_documents_but_the_initial_ones(made):
    entry = made[1][1]
    _, summary = averages.evaluate(paths_of(entry), bootstrap=50)
    batches = [read_scores(path) for path in paths_of(entry, first=1)]
    score = np.concatenate([next(iter(batch.scores.values())) for batch in batches])
    assert summary[0]["pooled"] == metrics.auc(
        score, np.concatenate([batch.novel for batch in batches])
    )
    assert summary[0]["pooled_low"] < summary[0]["pooled"] < summary[0]["pooled_high"]


@pytest.mark.parametrize("number", [0, 1])
def test_scores_are_read_without_names(made, number):
    whole, bare = (
        read_scores(score_path(made[1][number], 2), names=names) for names in (True, False)
    )
    assert (
        whole.ids
        and whole.topics
        and not (bare.ids or bare.topics or bare.titles or bare.top or bare.atoms)
    )
    for name in ("times", "novel", "novel_dominant", "empty"):
        assert np.array_equal(getattr(whole, name), getattr(bare, name))
    assert all(
        np.array_equal(whole.scores[run], bare.scores[run]) for run in (*whole.scores, *bare.scores)
    )


def test_baselines_give_one_series_each(made):
    entry = made[1][0]
    rows, summary = averages.evaluate(paths_of(entry, first=1), min_novel=3, bootstrap=0)
    assert [row["run"] for row in summary] == sorted(baselines.BASELINE_NAMES)
    held = read_scores(score_path(entry, 3))
    assert find(rows, run="nearest5-logtf", t=3)["auc"] == metrics.auc(
        held.scores["nearest5-logtf"], held.novel
    )
    assert np.isnan(rows[0]["uncoded"])


def test_dominant_topics_are_an_option(made, tmp_path):
    entry = made[1][1]
    paths = [shutil.copy(path, tmp_path) for path in paths_of(entry)]

    with edited(paths[1]) as file:
        file["novel_dominant"][...] = 1 - np.abs(file["novel"][:])
    rows, _ = averages.evaluate(paths, bootstrap=0)
    others, _ = averages.evaluate(paths, bootstrap=0, topics="dominant")
    assert rows[0]["novel"] != others[0]["novel"] and rows[2]["auc"] == others[2]["auc"]
    with pytest.raises(ParameterError, match=r"evaluate\.topics"):
        averages.evaluate(paths, topics="most")


def test_bytes_are_reproducible_and_order_does_not_matter(made, tmp_path):
    entry = made[1][1]
    for name, paths in (("a", paths_of(entry)), ("b", paths_of(entry)[::-1])):
        averages.write_evaluation(
            paths, tmp_path / f"{name}.tsv", tmp_path / f"{name}s.tsv", bootstrap=50
        )
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()
    assert (tmp_path / "as.tsv").read_bytes() == (tmp_path / "bs.tsv").read_bytes()


def test_a_stream_without_anything_to_evaluate_gives_empty_tables(made, tmp_path):
    entry = made[1][1]
    averages.write_evaluation(paths_of(entry)[:1], tmp_path / "auc.tsv", tmp_path / "summary.tsv")
    assert read_table(tmp_path / "auc.tsv") == []


def test_files_of_two_runs_or_of_one_timestep_twice_are_refused(made, tmp_path):
    one, other = made[1][1], next(entry for entry in made[1] if entry["run"] == "pg")
    with pytest.raises(DataError, match="expected the files of one run"):
        averages.evaluate([*paths_of(one)[:2], score_path(other, 2)])
    with pytest.raises(DataError, match="one for each timestep"):
        averages.evaluate([score_path(one, 2)] * 2)
    with pytest.raises(StorageError, match="does not exist"):
        averages.evaluate([tmp_path / "none.h5"])
    storage_file = tmp_path / "other.h5"
    with storage.writing(storage_file, "features"):
        pass
    with pytest.raises(StorageError, match="'scores' or 'baselines'"):
        averages.evaluate([storage_file])


def test_summary_has_mean_and_spread_over_seeds(made, gathered):
    values = []
    for entry in made[1]:
        if entry["run"] == "da" and entry["k"] == 20:
            values.append(find(read_table(f"{entry['folder']}/summary.tsv"), run="da")["average"])
    row = find(gathered["summary"], run="da", k=20)
    assert row["seeds"] == len(values) == 2
    assert row["average_mean"] == pytest.approx(np.mean(values), abs=1e-6)
    assert row["average_sd"] == pytest.approx(np.std(values, ddof=1), abs=1e-6)
    assert (row["average_min"], row["average_max"]) == (min(values), max(values))
    assert json.loads(row["parameters"]) == {"gamma": 4.0, "lam": 0.1}
    assert {row["run"] for row in gathered["summary"] if row["algorithm"] == "baseline"} == set(
        baselines.BASELINE_NAMES
    )
    assert len(gathered["averages"]) == 2 * (10 + 6)


def test_one_seed_has_no_spread(made, tmp_path):
    plan = [entry for entry in made[1] if entry["seed"] == 0]
    study.summarise(plan, tmp_path)
    row = find(study.read_tables(tmp_path)["summary"], run="da", k=20)
    assert (
        row["seeds"] == 1
        and np.isnan(row["average_sd"])
        and row["average_mean"] == row["average_min"]
    )


def test_timesteps_and_novel_documents_per_batch(made, gathered):
    novel = [
        read_scores(score_path(entry, 3)).novel
        for entry in made[1]
        if entry["run"] == "pg" and entry["k"] == 10
    ]
    counts = [(labels == 1).sum() for labels in novel]
    row = find(gathered["novel"], t=3)
    assert row["seeds"] == 2
    assert row["novel_mean"] == pytest.approx(np.mean(counts))
    assert (row["novel_min"], row["novel_max"]) == (min(counts), max(counts))
    assert [row["t"] for row in gathered["novel"]] == [1, 2, 3, 4, 5]
    step = find(gathered["timesteps"], run="pg", k=10, t=3)
    assert (
        step["novel"] == pytest.approx(np.mean(counts))
        and 0 <= step["auc_min"] <= step["auc_mean"] <= 1
    )


def test_timing_comes_from_the_jobs_files(made, gathered):
    row = find(gathered["timing"], run="da", k=20)
    assert row["jobs"] == 10
    assert row["score_cpu_s"] == pytest.approx(0.03, rel=0.1) and row[
        "learn_cpu_s"
    ] == pytest.approx(0.06, rel=0.1)
    assert (row["start_cpu_s"], row["max_rss_mb"], row["wall_s"]) == (2.0, 170.0, 0.91)
    assert np.isnan(find(gathered["timing"], algorithm="baseline")["score_cpu_s"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("content", "numbers"),
    [
        ("", []),
        ("\n", []),
        ('"', []),
        ('s\n"\n2.5\n', [2.5]),
        ("s\tmax_rss\n1\t2\t3\n-\tNA\n", [1.0]),
    ],
)
def test_numbers_of_benchmarks_are_those_of_their_column(content, numbers, tmp_path):
    (tmp_path / "0.tsv").write_text(content)
    assert study._benchmark(tmp_path / "0.tsv", "s") == numbers


def test_published_rows_only_for_tdt2_by_date(made, gathered):
    assert [row["run"] for row in gathered["published"]] == [
        "ONLINE (OIADMM)",
        "BATCH-IMPL",
        "L2-BATCH",
    ]
    for row in gathered["published"]:
        assert row["average"] == pytest.approx(
            np.mean([row[f"t{t}"] for t in (1, 2, 5, 6, 8)]), abs=6e-4
        )
        assert "not checked" in row["source"]
    others = [{**entry, "reader": "reuters21578"} for entry in made[1]]
    assert study.published(others) == []
    assert study.published([{**entry, "protocol": "topic-entry"} for entry in made[1]]) == []


@pytest.mark.slow
def test_tables_are_reproducible(made, gathered, tmp_path):
    root, plan = made
    write_plan(tmp_path / "plan.json", plan)
    study.summarise(tmp_path / "plan.json", tmp_path / "again")
    for path in (root / "tables").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_shown_run_is_the_best_or_the_one_asked_for(made, gathered):
    plan = made[1]
    best = choose_shown(plan, gathered["summary"], "wires")
    means = {
        (row["run"], row["k"]): row["average_mean"]
        for row in gathered["summary"]
        if row["algorithm"] != "baseline"
    }
    assert means[best["run"], best["k"]] == max(means.values()) and best["seed"] == 0
    asked = choose_shown(plan, gathered["summary"], "wires", {"run": "pg", "k": 10, "seed": 1})
    assert (asked["run"], asked["k"], asked["seed"]) == ("pg", 10, 1)
    with pytest.raises(ConfigError, match="run nobody"):
        choose_shown(plan, gathered["summary"], "wires", {"run": "nobody"})


def test_bad_plans_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="the plan has no runs"):
        study.summarise([], tmp_path)
    with pytest.raises(ConfigError, match="lacks reader"):
        study.summarise([{"corpus": "a"}], tmp_path)
    with pytest.raises(StorageError, match=r"none\.json does not exist"):
        study.summarise(tmp_path / "none.json", tmp_path)


@pytest.mark.parametrize("content", [3, {}, {"corpus": "a"}, "text", None, [3], [[]]])
def test_plans_that_are_no_list_of_runs_are_refused(tmp_path, content):
    write_json(tmp_path / "plan.json", {"plan": content})
    with pytest.raises(ConfigError, match="expected a list of dicts") as caught:
        load_plan(tmp_path / "plan.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("timesteps", ("a", 3, ["a"], [1.5], [True], [-1], {"a": 1}, [None])),
        *[
            (name, ("a", 1.5, -1, None, True, [1]))
            for name in ("min_novel", "min_known", "bootstrap", "seed")
        ],
    ],
)
def test_options_of_wrong_types_are_refused(made, name, values):
    for value in values:
        with pytest.raises(
            ParameterError, match=rf"evaluate\.{name}(\[0\])? is .*; expected an? "
        ) as caught:
            averages.evaluate(paths_of(made[1][1]), **{name: value})
        assert "\n" not in str(caught.value)


def test_numpy_numbers_are_options(made):
    paths, options = paths_of(made[1][1]), {"min_novel": 3, "bootstrap": 5, "seed": 2}
    plain = averages.evaluate(paths, timesteps=[1, 2], **options)
    options = {name: np.int64(value) for name, value in options.items()}
    np.testing.assert_equal(averages.evaluate(paths, timesteps=np.array([1, 2]), **options), plain)


LABELS = {
    3: np.array([1, 0, 0, -1]),  # by hand: novel and known documents
    1: np.array([1, 1, 0, 0]),
    2: np.array([0, 0, 0, 0]),
    4: np.array([1, 1, 1, -1]),
    5: np.array([1, 1, 0, 0]),
}


@pytest.mark.parametrize(
    ("timesteps", "rule", "expected"),
    [
        ((), (1, 1), [1, 3, 5]),
        ((), (2, 1), [1, 5]),
        ((), (1, 2), [1, 3, 5]),
        ((), (0, 0), [1, 3, 5]),  # an AUC needs both
        ((), (3, 1), []),
        ((), (1, 3), []),
        ([5, 3, 99], (2, 2), [3, 5]),  # named ones count whatever they hold, in the order of time
        ([2, 4], (0, 0), []),
    ],
)
def test_the_listed_timesteps(timesteps, rule, expected):
    assert (
        averages.choose_timesteps(LABELS, timesteps, min_novel=rule[0], min_known=rule[1])
        == expected
    )
    assert (
        averages.choose_timesteps(LABELS, np.array(timesteps), min_novel=rule[0], min_known=rule[1])
        == expected
    )


def test_the_average_is_over_the_listed_timesteps_only():
    aucs = {1: 0.5, 2: float("nan"), 3: 0.75, 4: 0.25, 5: 1.0}
    assert averages.average_auc(aucs, [1, 3]) == 0.625
    assert averages.average_auc(aucs, [1, 2]) == 0.5
    assert np.isnan(averages.average_auc(aucs, []))


def test_means_and_spread_leave_out_what_is_undefined():
    assert averages.spread([1.0, float("nan"), 3.0]) == (2.0, pytest.approx(2**0.5))
    assert np.isnan(averages.spread([4.0])[1]) and averages.mean([4.0]) == 4.0
    assert np.isnan(averages.mean([])) and np.isnan(averages.spread([float("nan")])).all()
    rows = [{"k": 2, "t": 1}, {"k": 1, "t": 1}, {"k": 2, "t": 2}]
    assert list(averages.grouped(rows, ("k",))) == [((2,), [rows[0], rows[2]]), ((1,), [rows[1]])]
