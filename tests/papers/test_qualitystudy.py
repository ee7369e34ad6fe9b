"""The quality study on a small made stream: every part runs, and its figures are those of the functions it names."""

import json

import numpy as np
import pytest
import yaml
from cosines import dense_cosines
from places import ROOT
from snakemake.utils import update_config

from odl import learners
from odl.config import chains, consistency
from odl.config.schema import load_schema
from odl.config.sections import fill
from odl.errors import ConfigError, DataError
from odl.evaluation import baselines, metrics
from odl.files import documents
from odl.files.tables import read_table
from odl.learners import clusters, peers
from odl.papers import experiments, qualitystudy
from odl.papers.experiments import quality, quality_overview

CONFIG = ROOT / "config" / "quality.yaml"
SCHEMA = load_schema(ROOT / "workflow" / "schemas" / "config.schema.json")
CHANGED = {"k": 20, "atoms": [5, 20], "memory": [150, 900], "windows": [30, 60, 1000], "seeds": [0]}
SETTINGS = {**experiments.complete("quality", {}), **CHANGED}
BESIDE = (
    2 + 2 * clusters.BINS
)  # numbers of `levels` beside its atoms: two of documents, and matches by age


def whole():
    """Return the configuration as the workflow has it: with the values of the default study."""
    found = yaml.safe_load((CONFIG.parent / "config.yaml").read_text())
    update_config(found, yaml.safe_load(CONFIG.read_text()))
    fill(found)
    return found


@pytest.fixture
def settings():
    """The configuration, with the stream and the rule of a small made stream."""
    found = whole()
    found["corpora"]["tdt2"]["batches"] |= {"documents": 60, "initial": 60}
    found["corpora"]["tdt2"]["timesteps"] = []
    found["evaluate"] |= {"min_novel": 2, "min_known": 2, "bootstrap": 200}
    return found


@pytest.fixture
def corpus(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import material

    return material.made(material.Size(batch=60, batches=6, terms=300, topics=9, own=30, tokens=60))


@pytest.fixture
def held(settings, corpus):
    study = chains.study_of(settings, "tdt2")
    made = quality.SeededStream("tdt2", corpus, study["streams"]["tdt2"], study["evaluate"], 0)
    return study["learners"], made


def test_the_configuration_is_whole():
    named = yaml.safe_load(CONFIG.read_text())
    settings = whole()
    consistency.check_config(settings, SCHEMA)
    for name, learner in named["learners"].items():
        default = named["learners"][learner["algorithm"]]
        changed = {key for key in default if learner[key] != default[key]} | (
            {"features"} & learner.keys()
        )
        assert changed or name in quality.ALGORITHMS, (
            f"{name} is the same as {learner['algorithm']}"
        )
    entries = settings["experiments"]
    shown = [name for entry in entries.values() for name in entry.get("experiments", [])]
    assert sorted(shown) == sorted(set(entries) - {"overview", "more"})
    assert {name for entry in entries.values() for name in entry.get("streams", [])} == set(
        settings["corpora"]
    )
    for name in shown:
        study = chains.study_of(settings, name)
        study = quality._variants(
            experiments.complete("quality", chains.experiment_of(settings, name)), study
        )
        assert len(study["learners"]) == (
            4 if "learners" in entries[name] else len(named["learners"])
        )
    assert chains.study_of(settings, "overview") == {}
    assert sorted(chains.corpora_of(settings)) == sorted(settings["corpora"])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"tdt2": {"experiment": "quality", "streams": ["tdt"]}}, "did you mean 'tdt2'"),
        (
            {"tdt2": {"experiment": "quality", "streams": ["tdt2"], "learners": ["adaptiv"]}},
            "did you mean 'adaptive'",
        ),
        ({"tdt2": {"experiment": "quality"}}, "has no 'streams'"),
        (
            {"o": {"experiment": "quality_overview", "experiments": ["p"]}},
            "experiments.o.experiments names 'p'",
        ),
        (
            {"o": {"experiment": "quality_overview", "experiments": ["o"]}},
            "need each other's results",
        ),
        ({"tdt2": {"experiment": "quality", "streams": ["tdt2", "tdt2"]}}, "twice"),
    ],
)
def test_an_experiment_that_cannot_run_is_refused(settings, change, text):
    settings["experiments"] = change
    with pytest.raises(ConfigError, match=text):
        consistency.check_config(settings, SCHEMA)


def test_learners_of_another_kind_are_left_out_or_refused(settings):
    study = chains.study_of(settings, "tdt2")
    with pytest.raises(ConfigError, match="of the experiment names 'other'"):
        quality._variants({**SETTINGS, "runs": ["other"]}, study)
    study["learners"]["plain"] = {"learner": {"algorithm": "flat"}, "features": {}}
    assert study["learners"].keys() - quality._variants(SETTINGS, study)["learners"].keys() == {
        "plain",
        *("dual-averaging", "projected-gradient", "admm"),  # of the default study
    }
    with pytest.raises(ConfigError, match="algorithm of 'plain' is flat"):
        quality._variants({**SETTINGS, "runs": ["plain"]}, study)


def test_a_stream_without_novel_documents_is_refused(settings, corpus):
    study = chains.study_of(settings, "tdt2")
    with pytest.raises(DataError, match="no timestep of tdt2 can be evaluated"):
        quality.SeededStream(
            "tdt2", corpus, study["streams"]["tdt2"], {**study["evaluate"], "min_novel": 61}, 0
        )


def test_a_learner_of_a_default_memory_is_measured_by_memory(held, settings):
    made, told = held[1], {**SETTINGS, "runs": ["levels"]}
    learner = {"algorithm": "levels", "terms": 20}
    rows = qualitystudy.remember(made, {"levels": {"learner": learner, "features": {}}}, told)[
        "memory"
    ]
    sizes = [learners.make("levels", terms=20, memory=memory).limit for memory in told["memory"]]
    assert [row["size"] for row in rows if row["run"] == "levels"] == sizes


def test_neighbours_in_a_window_and_over_all(held):
    _, made = held
    assert len(made.listed) >= 2
    t = made.listed[-1]
    whole = qualitystudy.neighbours(made)
    expected = baselines.nearest(made.batches[t], made.batches[:t])
    assert all(np.array_equal(whole[name][t], expected[name]) for name in qualitystudy.COSINES)
    windowed = qualitystudy.neighbours(made, window=10**6)
    assert all(np.array_equal(windowed[name][t], expected[name]) for name in expected)
    last = qualitystudy.neighbours(made, {"logtf": "log"}, 60)["nearest-logtf"][t]
    assert np.array_equal(
        last, baselines.nearest(made.batches[t], made.batches[t - 1 : t])["nearest-logtf"]
    )
    part = qualitystudy.neighbours(made, {"logtf": "log"}, 90)["nearest-logtf"][t]
    assert (
        np.all(part <= last) and np.any(part < last) and np.all(part >= expected["nearest-logtf"])
    )


def test_variants_share_their_atoms(held):
    chosen, made = held
    group = qualitystudy.groups(chosen, ("adaptive", "adaptive-context"))
    together, entries = qualitystudy.learn(made, group[0], 20)
    alone, same = qualitystudy.learn(
        made, qualitystudy.groups(chosen, ("adaptive-context",))[0], 20
    )
    assert len(group) == 1 and entries == same > 0
    for t in made.listed:
        assert np.array_equal(together["adaptive-context"][t], alone["adaptive-context"][t])
        assert not np.array_equal(together["adaptive-context"][t], together["adaptive"][t])
    names = (
        "adaptive",
        "adaptive-raw",
        "adaptive-cosine",
        "levels-atoms",
        "levels-merged10",
        "levels-context",
    )
    groups = [sorted(found) for found in qualitystudy.groups(chosen, names)]
    assert groups[:2] == [["adaptive", "adaptive-cosine"], ["adaptive-raw"]]
    assert groups[2:] == [["levels-atoms", "levels-context"], ["levels-merged10"]]


def test_table_and_memory(held):
    chosen, made = held
    rows = {row["run"]: row for row in qualitystudy.compare(made, chosen, SETTINGS)["table"]}
    assert rows.keys() > set(qualitystudy.COSINES)
    scores, _ = qualitystudy.learn(made, qualitystudy.groups(chosen, ("adaptive",))[0], 20)
    expected = np.mean([metrics.auc(scores["adaptive"][t], made.labels[t]) for t in made.listed])
    assert np.isclose(rows["adaptive"]["average"], expected)
    sizes = {
        (row["run"], row["size"]): row
        for row in qualitystudy.remember(made, chosen, SETTINGS)["memory"]
    }
    assert sizes["adaptive", 5]["entries"] < sizes["adaptive", 20]["entries"]
    for name in ("nearest-logtf-window", "nearest5-logtf-window-levels-context"):
        assert (name, 60) in sizes and (name, 1000) not in sizes
    assert sizes["adaptive", 20]["average"] == rows["adaptive"]["average"]
    assert all(sizes["levels", memory // 75]["entries"] <= memory + BESIDE for memory in (150, 900))
    assert sizes["levels", 12]["entries"] > sizes["levels", 2]["entries"] > 75


def test_all_that_is_stored_is_counted(held):
    chosen, made = held
    _, entries = qualitystudy.learn(made, {"levels": chosen["levels"]}, 1)
    learner = learners.make(**chosen["levels"]["learner"])
    state = learner.start(made.P(0), 1, None)
    for batch in range(1, len(made.batches)):
        state = learner.learn(learner.fit_terms(state, made.P(batch).shape[1]), made.P(batch), None)
    assert entries == state.dictionary.nnz + 5 * state.dictionary.shape[1] + BESIDE


def test_contexts_are_those_of_the_learners(held):
    chosen, made = held
    around = qualitystudy.contexts(
        chosen, ["levels", "levels-context", "adaptive-context", "adaptive"]
    )
    assert around == {
        name: learners.make(**chosen[f"{name}-context"]["learner"])
        for name in ("levels", "adaptive")
    }
    fewer = {
        "learner": {"algorithm": "levels", "recency": 0.5, "context": 0.5}
    }  # as a study may name it
    assert qualitystudy.contexts({"levels-context": fewer}, ["levels-context"]) == {
        "levels": around["levels"]
    }
    for name in ("levels", "adaptive"):
        runs = {run: chosen[run] for run in (name, f"{name}-context")}
        scores, _ = qualitystudy.learn(made, runs, 20)
        judged = qualitystudy.add_peers(made, around, name, scores[name])
        assert sorted(judged) == [f"{name}-adaptive-context", f"{name}-levels-context"]
        for t in made.listed:
            assert np.array_equal(judged[f"{name}-{name}-context"][t], scores[f"{name}-context"][t])
        assert not np.array_equal(*(judged[run][t] for run in sorted(judged)))


def test_pairs_are_over_all_seeds(held):
    """The best method of the same kind has the highest mean over seeds; the interval is that of the mean difference."""

    class Judged:
        def __init__(self, plain):
            self.judged = {
                "plain": {name: (value, np.array(drawn)) for name, (value, *drawn) in plain.items()}
            }
            self.judged["context"] = {}

    first = {
        "run": (0.8, 0.8, 0.7),
        "a": (0.9, 0.9, 0.9),
        "b": (0.6, 0.6, 0.6),
        "c": (0.9, 0.8, 0.9),
    }
    second = {
        "run": (0.7, 0.6, 0.8),
        "a": (0.5, 0.5, 0.5),
        "b": (0.7, 0.7, 0.7),
        "c": (0.8, 0.8, 0.8),
    }
    rows = qualitystudy.compare_pairs([Judged(first), Judged(second)], ["run"], {"a", "b"})
    assert [(row["among"], row["best"], row["seeds"]) for row in rows] == [
        ("cosines", "a", 2),
        ("all", "c", 2),
    ]
    assert np.allclose(
        [rows[0][key] for key in ("average", "other", "difference")], [0.75, 0.7, 0.05]
    )
    assert np.isclose(rows[0]["sd"], np.std([-0.1, 0.2], ddof=1))
    assert np.allclose([rows[1]["low"], rows[1]["high"]], np.quantile([-0.1, -0.1], [0.025, 0.975]))
    chosen, made = held
    qualitystudy.compare(made, chosen, SETTINGS)
    qualitystudy.rival(made, chosen, SETTINGS)
    found = {
        (row["run"], row["among"]): row for row in qualitystudy.pooled([made], chosen, SETTINGS)
    }
    assert found["levels", "cosines"]["best"] in qualitystudy.COSINES
    assert found["levels-context", "cosines"]["best"].endswith("-context")
    plain = [name for name in made.judged["plain"] if name not in SETTINGS["runs"]]
    assert found["levels", "all"]["other"] == max(made.judged["plain"][name][0] for name in plain)
    assert {"temporal-idf", "nearest5-logtf-window1000"} < set(plain)


def test_documents_drawn_again_are_the_same_for_all_scores(held):
    _, made = held
    cosines = qualitystudy.neighbours(made)
    found = made.judge("plain", {name: cosines[name] for name in qualitystudy.COSINES})
    alone = made.judge("context", {"nearest-tfidf": cosines["nearest-tfidf"]})
    assert np.array_equal(found["nearest-tfidf"][1], alone["nearest-tfidf"][1])
    rng = np.random.default_rng(0)
    batches = [
        (cosines["nearest-tfidf"][t], rng.random(len(made.labels[t])), made.labels[t])
        for t in made.listed
    ]
    drawn = metrics.mean_bootstrap(
        [([one, other], labels) for one, other, labels in batches], replicates=200
    )
    low, high = metrics.interval(drawn[0] - drawn[1])
    assert 0 < low < high < 1


def test_averages_are_over_the_listed_timesteps_alone(held, monkeypatch):
    chosen, made = held
    cosines, t = qualitystudy.neighbours(made), made.listed[-1]
    monkeypatch.setattr(
        qualitystudy, "neighbours", lambda *_: cosines
    )  # scores of the other timesteps too
    made.labels[t] = made.labels[t][::-1]  # worse than the other timesteps
    aucs = [metrics.auc(cosines["nearest-tfidf"][step], made.labels[step]) for step in made.listed]
    assert aucs[-1] < min(aucs[:-1])
    made.listed = [t]
    rows = qualitystudy.compare(made, chosen, {**SETTINGS, "runs": ["adaptive"]})["table"]
    for row in (row for row in rows if row["run"] in cosines):
        assert row["average"] == pytest.approx(metrics.auc(cosines[row["run"]][t], made.labels[t]))
    assert {row["run"] for row in rows} > set(qualitystudy.COSINES)


def test_ablation(held):
    chosen, made = held
    some = {name: chosen[name] for name in ("adaptive", "adaptive-raw", "adaptive-join")}
    rows = qualitystudy.ablate(made, some, SETTINGS)["ablation"]
    assert [row["run"] for row in rows] == list(some) and all(
        0.5 < row["average"] <= 1 for row in rows
    )


@pytest.mark.slow
def test_batches_of_one_document_have_no_auc_of_their_own(held):
    chosen, made = held
    (row, *_) = qualitystudy.resize(made, chosen, {**SETTINGS, "sizes": [1], "runs": ["levels"]})[
        "sizes"
    ]
    assert (
        row["listed"] == 0
        and np.isnan(row["single"])
        and 0.5 < row["pooled"] <= 1
        and row["timesteps"] == 300
    )


@pytest.mark.slow
def test_batches_of_other_sizes(held):
    chosen, made = held
    smaller = made.cut(30)
    assert [len(batch.ids) for batch in smaller.batches[:3]] == [60, 30, 30]
    assert [name for batch in smaller.batches for name in batch.ids] == [
        n for batch in made.batches for n in batch.ids
    ]
    tables = qualitystudy.resize(made, chosen, {**SETTINGS, "sizes": [30]})
    found = {(row["run"], row["size"]): row for row in tables["sizes"]}
    made.source[1]["topic_entry"] = {"held_back": 0.5, "first": 2, "last": 3}
    schedules = [made.cut(size).source[1]["topic_entry"] for size in (30, 60, 120)]
    assert [(entry["first"], entry["last"]) for entry in schedules] == [(3, 6), (2, 3), (2, 2)]
    row = found["nearest5-logtf", 30]
    scores = [
        baselines.nearest(batch, smaller.batches[: batch.t])["nearest5-logtf"]
        for batch in smaller.batches[1:]
    ]
    labels = np.concatenate(smaller.labels[1:])
    assert (
        row["pooled"] == metrics.auc(np.concatenate(scores), labels)
        and row["novel"] == (labels == 1).sum() > 0
    )
    aucs = [
        (score, own)
        for score, own in zip(scores, smaller.labels[1:], strict=True)
        if {0, 1} <= {*own.tolist()}
    ]
    assert row["listed"] == len(aucs) > 0
    assert np.isclose(row["single"], np.mean([metrics.auc(score, own) for score, own in aucs]))
    ways = (
        "",
        "-window200",
        "-window1000",
        "-window10000",
        "-half-life500",
        "-half-life2000",
        "-recency",
    )
    names = {f"nearest5-logtf{way}{kind}" for way in ways for kind in ("", "-levels-context")}
    assert {run for run, _ in found} == names | set(SETTINGS["runs"])
    around = learners.make(**chosen["levels-context"]["learner"])
    compared = qualitystudy.score_by_age(smaller, {"levels": around})
    for t, batch in enumerate(smaller.batches[1:], start=1):
        cosines = dense_cosines(batch, smaller.batches[:t], "log")
        ages = np.arange(cosines.shape[1])[::-1]
        for way, factor in (("-window200", ages < 200), ("-half-life500", 0.5 ** (ages / 500))):
            own = compared[f"nearest5-logtf{way}"][t]
            assert np.allclose(own, 1 - np.sort(cosines * factor, axis=1)[:, -5:].mean(axis=1))
            ordered = peers.with_peers(smaller.P(t), own, around.context, around.peers)
            assert np.array_equal(compared[f"nearest5-logtf{way}-levels-context"][t], ordered)
    told = quality_overview.shown(
        {"sizes": [{"stream": "s", "seed": 0, **row} for row in found.values()]}
    )["sizes"]
    assert told[0] == ["batches of 30"] and told[1][-1][0] == "novel documents"


@pytest.fixture(scope="module")
def rows():
    """Tables of two streams and two seeds, as a run writes them."""
    rng, memory, compared = np.random.default_rng(0), [], []
    for name in ("one", "two"):
        for seed in (0, 1):
            base = {"stream": name, "seed": seed}
            for run, gain in (
                ("adaptive", 0.0),
                ("nearest-logtf-window", 0.1),
                ("nearest5-logtf-window", 0.2),
            ):
                for size in (50, 100):
                    value = 0.5 + gain + size / 1000 + seed / 100
                    memory.append(
                        {**base, "run": run, "size": size, "entries": 100 * size, "average": value}
                    )
            for run in (
                "adaptive",
                "nearest-tfidf",
                "nearest5-logtf",
                "nearest5-logtf-levels-context",
            ):
                compared.append({**base, "run": run, "average": rng.uniform(0.8, 0.9)})
    return memory, compared


def test_curves_are_means_over_seeds(rows):
    memory, compared = rows
    figure = quality_overview.curves(memory, compared)
    assert [axis.get_title() for axis in figure.axes] == ["one", "two"]
    lines = {bars.get_label(): bars.lines[0].get_xydata() for bars in figure.axes[0].containers}
    assert np.allclose(lines["adaptive"][-1], (10.0, 0.605))
    assert np.allclose(
        lines[quality_overview.WINDOW_PLAIN][:, 1], (0.755, 0.805)
    )  # the better one of the two windows
    others = [{"stream": "one", "seed": seed, "run": run, "entries": 4000 + 2000 * seed, "average": 0.7 + 0.1 * seed}
              for seed in (0, 1) for run in ("first-story-lsh", "first-story-lsh-levels-context")]  # fmt: skip
    drawn = quality_overview.curves(memory, compared, others)
    marks = [
        [line for line in axis.lines if "hashing" in str(line.get_label())] for axis in drawn.axes
    ]
    assert [len(found) for found in marks] == [1, 0]
    assert np.allclose(marks[0][0].get_xydata(), [[5.0, 0.75]])
    flat = {line.get_label(): line.get_ydata()[0] for line in figure.axes[1].lines}
    ours = [row for row in compared if row["stream"] == "two"]
    means = {
        run: np.mean([row["average"] for row in ours if row["run"] == run])
        for run in {r["run"] for r in ours}
    }
    assert np.isclose(
        flat[quality_overview.PAST_PLAIN], max(means["nearest-tfidf"], means["nearest5-logtf"])
    )
    assert np.isclose(flat[quality_overview.PAST_CONTEXT], means["nearest5-logtf-levels-context"])


def test_the_table_of_averages_has_the_mean_over_seeds_of_each_run_and_stream(rows):
    streams, table = quality_overview.shown({"table": rows[1]})["averages"]
    runs = list(dict.fromkeys(row["run"] for row in rows[1]))
    assert len(table) == len(runs)
    for run, (_, *cells) in zip(runs, table, strict=True):
        for stream, cell in zip(streams, cells, strict=True):
            values = [
                row["average"] for row in rows[1] if (row["run"], row["stream"]) == (run, stream)
            ]
            assert float(cell.split()[0]) == pytest.approx(np.mean(values), abs=6e-4)


@pytest.mark.parametrize(("own", "seeds"), [({}, {2, 5}), ({"seeds": [1]}, {1})])
def test_seeds_of_a_second_file_are_those_of_its_experiments(
    settings, corpus, tmp_path, own, seeds
):
    """As docs/guides/studies.md has it; an experiment that names its own keeps them."""
    update_config(settings, {"seeds": [2, 5]})
    settings["experiments"]["tdt2"] |= {
        "learners": ["levels"],
        "runs": ["levels"],
        "parts": ["table"],
        **own,
    }
    consistency.check_config(settings, SCHEMA)
    documents.write(tmp_path / "documents.h5", corpus, reader="tdt2")
    held = {**chains.experiment_of(settings, "tdt2"), "batches": 3}
    study = chains.study_of(settings, "tdt2")
    experiments.run("quality", tmp_path / "e", held, [tmp_path / "documents.h5"], study)
    assert {row["seed"] for row in read_table(tmp_path / "e" / "table.tsv")} == seeds


@pytest.mark.slow
def test_an_experiment_and_its_overview(settings, corpus, tmp_path):
    documents.write(tmp_path / "documents.h5", corpus, reader="tdt2")
    settings["experiments"]["tdt2"]["learners"] = [
        "levels",
        "levels-context",
        "adaptive",
        "adaptive-context",
    ]
    study = chains.study_of(settings, "tdt2")
    assert study["seeds"] == [0, 1, 2, 3, 4]
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        parts = {"parts": ["table", "memory", "ablation", "sizes"], "batches": 4, "sizes": [90]}
        experiments.run("quality", folder, {**CHANGED, **parts}, [tmp_path / "documents.h5"], study)
    for path in folders[0].iterdir():
        assert path.read_bytes() == (folders[1] / path.name).read_bytes(), path.name
    held = json.loads((folders[0] / "settings.json").read_text())
    assert held["study"]["streams"].keys() == {"tdt2"} and held["settings"]["k"] == 20
    assert not experiments.section(folders[0])[2]
    experiments.run("quality_overview", tmp_path / "o", {"shown": ["tdt2"]}, folders[:1])
    assert (tmp_path / "o" / "memory.tsv").read_bytes() == (folders[0] / "memory.tsv").read_bytes()
    _, title, text = experiments.section(tmp_path / "o")
    assert title and text.count("<figure>") == 2 and text.count("<table>") == 4
    with pytest.raises(DataError, match=r"the setting shown .* names 'other'"):
        experiments.run("quality_overview", tmp_path / "o", {"shown": ["other"]}, folders[:1])
