"""The quality study on a small made stream: every part runs, and its figures are those of the functions it names."""

import numpy as np
import pytest
import yaml
from conftest import ROOT

from odl import baselines, config, metrics
from odl.config import load_schema
from odl.tables import read_table

CONFIG = ROOT / "config" / "quality.yaml"


@pytest.fixture
def quality(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import material
    import quality

    size = material.Size(batch=60, batches=6, terms=300, topics=9, own=30, tokens=60)
    monkeypatch.setattr(quality, "_documents", lambda *_: material.made(size))
    monkeypatch.setattr(quality, "SIZES", (5, 20))
    monkeypatch.setattr(quality, "WINDOWS", (30, 60, 1000))
    return quality


@pytest.fixture
def held(quality):
    settings = yaml.safe_load(CONFIG.read_text())
    settings["corpora"]["tdt2"]["batches"] |= {"documents": 60, "initial": 60}
    settings["corpora"]["tdt2"]["timesteps"] = []
    settings["evaluate"] |= {"min_novel": 2, "min_known": 2}
    return settings, quality.Stream(settings, "tdt2", 0, None)


def test_the_configuration_is_whole():
    settings = yaml.safe_load(CONFIG.read_text())
    config.check(settings, load_schema(ROOT / "workflow" / "schemas" / "config.schema.json"))
    default = {**settings["learners"]["adaptive"]}
    for name, learner in settings["learners"].items():
        changed = {key for key in default if learner[key] != default[key]} | ({"features"} & learner.keys())
        assert changed or name == "adaptive", f"{name} is the same as adaptive"


def test_neighbours_in_a_window_and_over_all(quality, held):
    _, made = held
    assert len(made.listed) >= 2
    t = made.listed[-1]
    whole = quality.neighbours(made)
    expected = baselines.nearest(made.batches[t], made.batches[:t])
    assert all(np.array_equal(whole[name][t], expected[name]) for name in quality.COSINES)
    assert all(np.array_equal(quality.neighbours(made, window=10**6)[name][t], expected[name]) for name in expected)
    last = quality.neighbours(made, {"logtf": "log"}, 60)["nearest-logtf"][t]
    assert np.array_equal(last, baselines.nearest(made.batches[t], made.batches[t - 1 : t])["nearest-logtf"])
    part = quality.neighbours(made, {"logtf": "log"}, 90)["nearest-logtf"][t]
    assert np.all(part <= last) and np.any(part < last) and np.all(part >= expected["nearest-logtf"])


def test_variants_share_their_atoms(quality, held):
    settings, made = held
    together, entries = quality.learn(made, quality.groups(settings, ("adaptive", "adaptive-context"))[0], 20)
    alone, same = quality.learn(made, quality.groups(settings, ("adaptive-context",))[0], 20)
    assert entries == same > 0
    for t in made.listed:
        assert np.array_equal(together["adaptive-context"][t], alone["adaptive-context"][t])
        assert not np.array_equal(together["adaptive-context"][t], together["adaptive"][t])
    assert [sorted(group) for group in quality.groups(settings, ("adaptive", "adaptive-raw", "adaptive-cosine"))] == [
        ["adaptive", "adaptive-cosine"],
        ["adaptive-raw"],
    ]


def test_every_part(quality, held):
    settings, made = held
    rows = {row["run"]: row for row in quality.table(settings, made)}
    best = max(quality.COSINES, key=lambda name: rows[name]["average"])
    for row in rows.values():
        assert row["best"] == best and row["low"] <= row["difference"] <= row["high"]
        assert np.isclose(row["difference"], row["average"] - rows[best]["average"])
    assert rows[best]["difference"] == rows[best]["low"] == rows[best]["high"] == 0
    sizes = {(row["run"], row["size"]): row for row in quality.memory(settings, made)}
    assert sizes["adaptive", 5]["entries"] < sizes["adaptive", 20]["entries"] and ("nearest-logtf-window", 60) in sizes
    assert ("nearest-logtf-window", 1000) not in sizes
    assert {row["run"] for row in quality.ablation(settings, made)} == set(settings["learners"])
    for row in quality.alerting(settings, made):
        for name in ("precision_0.05", "alerts_0.05", "false_0.05", "topics_found_0.05", "cost"):
            assert 0 <= row[name] <= 1, name
    for row in quality.cost(settings, made):
        assert row["timesteps"] == 5 and row["ms"] > 0
    scores, _ = quality.learn(made, quality.groups(settings, ("adaptive",))[0], 500)
    expected = np.mean([metrics.auc(scores["adaptive"][t], made.labels[t]) for t in made.listed])
    assert np.isclose(rows["adaptive"]["average"], expected)


def test_the_command_writes_tables_and_the_picture(quality, tmp_path):
    settings = yaml.safe_load(CONFIG.read_text())
    settings["corpora"]["tdt2"]["batches"] |= {"documents": 60, "initial": 60}
    settings["corpora"]["tdt2"]["timesteps"] = []
    settings["evaluate"] |= {"min_novel": 2, "min_known": 2}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(settings))
    common = ["--config", str(tmp_path / "c.yaml"), "--streams", "tdt2", "--seeds", "0", "1"]
    quality.main([*common, "--part", "memory", "--output", str(tmp_path / "out")])
    rows = read_table(tmp_path / "out" / "memory.tsv")
    assert {row["seed"] for row in rows} == {0, 1}
    assert (tmp_path / "out" / "memory.png").read_bytes()[:4] == b"\x89PNG"
