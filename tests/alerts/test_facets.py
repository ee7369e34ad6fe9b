"""Facets beside an event: counted from what is stored, the same however a stream came, gone with a document."""

import json
from collections import Counter

import pytest
import streams
from called import odl

from odl.alerts import explain, facets, read
from odl.alerts.facets import Facet

WEEKS = 5
OF_SPACE, USUAL = "cape", ("mill", "rig")


def place_of(topic, number):
    """Return the site of a post: nearly all of space have one of their own, the others share two."""
    return OF_SPACE if topic == "space" and number % 9 else USUAL[number % 2]


def write(folder, weeks):
    """Write the posts of some weeks with a column `site`, of which the last has a new topic."""
    for week in weeks:
        topics = ("grain", "oil", "space") if week == WEEKS - 1 else ("grain", "oil")
        path = streams.write(folder, week, topics)
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for number, row in enumerate(rows):
            row["site"] = place_of(topics[number % len(topics)], number)
        rows[7]["site"] = f"only-{week}"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def begin(folder, weeks):
    folder.mkdir()
    write(folder, weeks)
    words = "init", folder / "news", f"{folder}/posts/*.jsonl", "--period", "week"
    assert odl(*words).returncode == 0
    path = folder / "news" / "odl.yaml"
    lines = path.read_text().replace("options: {", "options: {facets: [site, gone], ")
    path.write_text(lines + "checkpoints: {keep: 0}\n")
    return folder / "news"


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    home = begin(tmp_path_factory.mktemp("facets") / "whole", range(WEEKS))
    assert odl("run", home).returncode == 0
    return home


def test_values_are_counted_as_in_the_posts(news):
    watch = read.alerts_of(news)
    (number,) = watch.events
    members = {
        one["id"]: one
        for week in range(WEEKS)
        for one in map(
            json.loads, (news.parent / "posts" / f"{week:02}.jsonl").read_text().splitlines()
        )
    }
    found = {
        one.name: one
        for one in facets.count_facets(watch.place, {number: watch.events[number].sizes})[number]
    }
    shown = odl("explain", news, number, "--format", "jsonl").stdout
    listed = odl("new", news, "--format", "jsonl").stdout.splitlines()
    assert {json.dumps(json.loads(line)["facets"]) for line in listed} == {
        json.dumps(json.loads(shown)["facets"])
    }
    own = explain.read_members(watch.place, watch.events.values())[number]
    counted = Counter(members[one.id]["site"] for one in own)
    weeks = {one.t for one in own}
    everything = Counter(
        row["site"] for ident, row in members.items() if int(ident[1]) in {WEEKS - 1}
    )
    value, n = counted.most_common(1)[0]
    assert found["site"].values[0] == (value, n) == (OF_SPACE, n) and n > 10
    assert found["site"].documents == len(own) and len(weeks) == 1
    assert found["site"].usual == everything[value] / everything.total()
    assert found["source"].values == (("04.jsonl", len(own)),) and not found["source"].tells
    assert "gone" not in found
    line = f"site: cape {n} of {len(own)} (usually {100 * found['site'].usual:.0f} %)"
    assert f"\n  {line}\n" in odl("explain", news, number).stdout
    assert line in (news / "new.html").read_text(encoding="utf-8").replace("<bdi>", "").replace(
        "</bdi>", ""
    )
    assert "facets: no document of the last period has the column gone;" in odl("run", news).stdout
    assert "source: " not in odl("explain", news, number).stdout


@pytest.mark.slow
def test_appended_weeks_give_the_bytes_of_one_run(news, tmp_path):
    home = begin(tmp_path / "whole", range(3))
    assert odl("run", home).returncode == 0
    for week in range(3, WEEKS):
        write(home.parent, [week])
        assert odl("run", home).returncode == 0
    (home / "odl.yaml").write_bytes((news / "odl.yaml").read_bytes())
    assert odl("run", home).returncode == 0
    assert streams.contents(home) == streams.contents(news)


@pytest.mark.slow
def test_the_value_of_a_forgotten_document_is_gone(news, tmp_path):
    home = streams.copy(news, tmp_path)

    def names():
        found = streams.contents(home / "results")
        return sorted(name for name, content in found.items() if b"only-4" in content)

    assert any("batches" in name for name in names())
    assert odl("forget", home, "w4-7").returncode == 0
    assert names() == []


def test_without_a_half_three_values_are_named():
    some = Facet("site", (("b", 40), ("c", 30), ("a", 20)), 144, 0.2)
    assert some.text == "site: b 40, c 30, a 20 of 144"
    assert (
        Facet("site", (("b", 72), ("c", 30)), 144, 0.2).text == "site: b 72 of 144 (usually 20 %)"
    )
    assert some.tells and not Facet("site", (("b", 144),), 144, 0.95).tells


def test_the_number_of_counted_values_is_bounded(monkeypatch):
    monkeypatch.setattr(facets, "MAX_VALUES", 3)
    counter = Counter()
    facets._add(counter, ["a", "b", "", "c", "d", "a", "e"])
    assert counter == {"a": 2, "b": 1, "c": 1, "": 2}
    (found,) = facets._facets({"site": counter}, {"site": counter})
    assert found == Facet("site", (("a", 2), ("b", 1), ("c", 1)), 6, 2 / 6)
