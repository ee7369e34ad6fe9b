"""`columns.source`: the number of documents of each value of a column is compared with its past, as that of a file."""

import json

import numpy as np
import pandas as pd
import pytest

from odl.alerts import periods
from odl.cli import main
from odl.config import project
from odl.detector import TextNovelty

DAYS, BUSY, WORDS = 22, 20, [f"word{number:02}" for number in range(60)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tweets to two airlines in one file, 10 and 20 a day; on one day 60 to JetBlue."""
    place, draw, rows = tmp_path_factory.mktemp("tweets"), np.random.default_rng(0), []
    for day in range(DAYS):
        airlines = ["JetBlue"] * (60 if day == BUSY else 10) + ["Delta"] * 20
        for airline in airlines:
            text = " ".join(draw.choice(WORDS, 8, replace=False))
            time = f"2026-01-{day + 1:02}T{len(rows) % 24:02}:00:00"
            rows.append({"id": f"t{len(rows)}", "time": time, "text": text, "airline": airline})
    rows.sort(key=lambda row: row["time"])
    (place / "tweets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["init", str(place / "own"), str(place / "tweets.jsonl"), "--period", "day"]) == 0
    settings = project.read(place / "own")
    settings["options"].setdefault("columns", {})["source"] = "airline"
    (place / "own" / "odl.yaml").write_text(json.dumps(settings))
    assert main(["run", str(place / "own")]) == 0
    return place / "own"


def stored(folder):
    return [*periods.paths(next(folder.glob("results/*/*/seed0/*/*/alerts")))]


def test_volume_of_a_value_is_a_headline_on_its_day_alone(folder, capsys):
    found = {
        (period.t, one.name): (one.size, one.usual)
        for period in map(periods.read, stored(folder))
        for one in period.headlines
        if one.gate == "volume" and len(one.name) > 1
    }
    ((t, name),) = found
    assert name == ("volume", "JetBlue") and found[t, name] == (60, 10.0)
    names = periods.read_names(stored(folder)[t])
    assert set(names.files) == {"tweets.jsonl"} and len(names.ids) == 80
    capsys.readouterr()
    assert main(["new", str(folder), "--since", "2026-01-21", "--until", "2026-01-21"]) == 0
    assert "volume of JetBlue" in capsys.readouterr().out
    assert main(["mute", str(folder), "source:JetBlue"]) == 0
    capsys.readouterr()
    assert main(["new", str(folder), "--since", "2026-01-21", "--until", "2026-01-21"]) == 0
    assert "volume of JetBlue" not in capsys.readouterr().out
    assert main(["unmute", str(folder), "source:JetBlue"]) == 0


def test_the_estimator_counts_the_same_sources(folder):
    settings = project.read(folder)
    initial = settings["batches"]["initial"]
    stream = TextNovelty(period="day", initial=initial, source="airline")
    tweets = pd.read_json(folder.parent / "tweets.jsonl", lines=True, dtype=False)
    stream.update(tweets)
    ours, theirs = stream.past_.gates, periods.read_carried(stored(folder)[-1]).past.gates
    assert ours.sources == theirs.sources == ["Delta", "JetBlue"]
    assert np.array_equal(ours.source_counts, theirs.source_counts)
    assert np.array_equal(ours.volume, theirs.volume)
