"""Shares that a watch writes have the bytes of a run, which then reads nothing again."""

import contextlib
import json
import random
import shutil
import sys

import pytest
from called import odl

from odl.cli import runs
from odl.files import tables
from odl.live import inbox
from odl.live.runner import Runner
from odl.live.watch import LiveWatch

WORDS = [f"{first}{second}a" for first in "bdfglmnprst" for second in ("e", "i", "o", "u", "ee")]
N_EARLY = 150  # documents of 20 kB: more than `odl.config.chains.MIN_SPLIT_BYTES`
ROLES = {
    "plain": "columns: {time: time, text: text, id: id}",
    "all": "columns: {time: time, text: [title, text], id: id, url: link, author: by, topics: tags, vector: vector}, "
    "clean: [headers, encoded, html, quotes, signatures, trailers, boilerplate], duplicates: true, min_words: 5, "
    "keep_text: 200, tokens: {tokeniser: words, stop_words: null}",
}


ROLES["vectors"] = ROLES["plain"] + f", vectors: {{command: {sys.executable} embed.py}}"
EMBED = "import sys\nfor line in sys.stdin: print([len(line), 1.5])\n"


def post(number, day, size, draw):
    """Return a document with headers, a quotation, a repeated passage and letters of other scripts."""
    body = "\n".join(" ".join(draw.choices(WORDS, k=10)) for _ in range(size))
    text = f"Subject: Re: post {number}\nFrom: a@b.org\n\nAda wrote:\n> {body[:50]}\n{body}\n"
    text += "Read our rules before you write here.\nЗвёзды и море, 今天天气很好 😀\n-- \nAda"
    return {
        "id": f"p{number}",
        "time": f"2026-01-{day:02}T00:00:00",
        "title": f"Título {number}",
        "text": text if number % 7 else "too few",
        "link": f"https://x.org/{number}",
        "by": {"name": "Ada"},
        "tags": ["a", "b"],
        "vector": [number, 0.5, 1],
    }


@pytest.fixture
def folder(tmp_path, request, monkeypatch):
    """A folder that has learned two weeks, and lines of the two weeks after these and of a day after them."""
    draw = random.Random(0)
    early = [post(n, 5 + n // 75 * 7, 500, draw) for n in range(N_EARLY)]
    (tmp_path / "early.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in early))
    assert (
        odl(
            "init", tmp_path / "news", tmp_path / "early.jsonl", "--only", "--period", "week"
        ).returncode
        == 0
    )
    path = tmp_path / "news" / "odl.yaml"
    rows = [line for line in path.read_text().splitlines() if not line.startswith("options:")]
    path.write_text("\n".join([*rows, f"options: {{{ROLES[request.param]}}}\n"]))
    (tmp_path / "news" / "embed.py").write_text(EMBED)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    odl("trust", tmp_path / "news")
    assert odl("run", tmp_path / "news").returncode == 0
    days = [19] * 30 + [26] * 20 + [31]
    later = [post(N_EARLY + n, day, 9, draw) for n, day in enumerate(days)]
    later.insert(40, later[35] | {"id": "late", "time": "2026-01-07T00:00:00"})
    return tmp_path / "news", later


def watched(folder, monkeypatch, groups, ended=False):
    """Give groups of documents to watches, one a group; they learn nothing. `ended` ends the last period."""
    monkeypatch.setattr(LiveWatch, "learn", lambda self: None)
    with contextlib.chdir(folder), contextlib.closing(Runner(runs.serve)) as runner, inbox.alone():
        for group in groups:
            watch = LiveWatch(runner, *[lambda pairs: None] * 2, lambda number: ("a", number))
            watch.take([(n, json.dumps(one).encode()) for n, one in enumerate(group)])
            if ended:
                watch.end()
            watch.shares.wait()
            assert not watch.n_refused


def shares(folder):
    return {path: path.read_bytes() for path in folder.glob("results/*/*/shares/*.h5")}


def steps(folder):
    return [row["step"] for row in tables.read_table(next(folder.glob("results/*/run.tsv")))]


@pytest.mark.slow
@pytest.mark.parametrize("folder", [*ROLES], indirect=True)
def test_a_share_has_the_bytes_of_a_run_which_reads_nothing_again(folder, tmp_path, monkeypatch):
    news, later = folder
    before = shares(news)
    watched(news, monkeypatch, [later], ended=True)
    written = shares(news)
    assert len(written) == len(before) + 1  # both weeks fit one share
    shutil.copytree(tmp_path / "news", tmp_path / "other" / "news")
    shutil.copy(tmp_path / "early.jsonl", tmp_path / "other")
    odl("trust", tmp_path / "other" / "news")
    for path in written.keys() - before.keys():
        (tmp_path / "other" / path.relative_to(tmp_path)).unlink()
    for each in ("news", "other/news"):
        assert odl("run", tmp_path / each).returncode == 0
    assert "share" in steps(tmp_path / "other" / "news") and "share" not in steps(news)
    assert shares(news).items() >= written.items()
    others = shares(tmp_path / "other" / "news")
    assert {path.name: held for path, held in others.items()} == {
        path.name: held for path, held in shares(news).items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["plain"], indirect=True)
@pytest.mark.parametrize("why", ["surrogate", "restart", "alone", "options"])
def test_no_share_where_a_line_may_be_read_differently(folder, monkeypatch, why):
    news, later = folder
    before = shares(news)
    week = [one for one in later if one["time"] < "2026-01-20"]
    end = [later[-1]]
    if why == "surrogate":
        week[3]["text"] += " \ud800"
    if why == "options":
        odl_yaml = (news / "odl.yaml").read_text()
        monkeypatch.setattr(
            "odl.live.readshares.inbox.enlist",
            lambda dry=False: (news / "odl.yaml").write_text(
                odl_yaml.replace("id: id}", "id: id}, min_words: 3")
            ),
        )
    groups = {"restart": [week[:10], week[10:] + end], "alone": [week[:1] + end]}
    watched(news, monkeypatch, groups.get(why, [week + end]))
    assert shares(news) == before
    assert odl("run", news).returncode == 0 and "share" in steps(news)
