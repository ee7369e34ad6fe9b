"""Documents that a watch refuses: the table of `odl run` lists them, without their text."""

import json

import pytest
import streams
from called import odl
from test_server import serving
from test_watch import lines, posts, watched

from odl.errors import StorageError
from odl.live import refused

BAD = [
    *(b'{"id": "half', b'["a list"]'),
    *(b'{"id": "x1", "time": "soon", "text": "secret words"}', b'{"id": "x2", "text": 7}'),
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inbox").mkdir()


def table(folder):
    """Return the rows of the table of what was set aside, "" for no table."""
    path = folder / "results" / "set-aside.tsv"
    return path.read_text() if path.exists() else ""


def test_the_table_lists_source_place_and_reason_of_refused_lines(news):
    given = lines(posts(3, 5)) + [(90 + n, line) for n, line in enumerate(BAD)]
    with watched(news) as (watch, told):
        watch.take(given)
        watch.take(given[5:7])  # equal bytes are one document
        assert len(told()) == 5 and watch.n_refused == 6
    done = odl("run", news)
    assert "4 documents were set aside: " in done.stdout, done.stdout + done.stderr
    rows = [row.split("\t") for row in table(news).splitlines()]
    assert [row[:2] for row in rows] == [
        ["file", "place"],
        *(["a test", f"line {n}"] for n in range(90, 94)),
    ]
    assert "Unterminated" in rows[1][2] and "a JSON list" in rows[2][2] and "'soon'" in rows[3][2]
    assert "secret" not in table(news) and "secret" not in (news / "inbox" / ".refused").read_text()
    before = table(news)
    (news / "results" / "set-aside.tsv").unlink()
    assert "4 documents were set aside" in odl("run", news).stdout and table(news) == before
    assert odl("verify", news).returncode == 0


def test_a_document_that_is_sent_again_and_accepted_is_no_longer_listed(news):
    with watched(news) as (watch, told):
        watch.take(lines(posts(3, 5)) + [(90 + n, line) for n, line in enumerate(BAD)])
        watch.take(lines([{**posts(3, 1)[0], "id": "x1", "time": "2026-01-05"}]))
        assert [one["late"] for one in told()] == [False] * 5 + [True]
        assert [entry[1] for entry in watch.refusals.entries.values()] == [
            "line 90",
            "line 91",
            "line 93",
        ]
    with watched(news) as (watch, _):
        assert [entry[1] for entry in watch.refusals.entries.values()] == [
            "line 90",
            "line 91",
            "line 93",
        ]


@pytest.mark.slow
def test_standard_input_and_followed_files_have_their_names(news):
    text = "".join(json.dumps(row) + "\n" for row in posts(3, 3)) + "no json\n"
    done = odl("watch", news, given=text)
    assert done.returncode == 0 and "1 set aside (results/set-aside.tsv)" in done.stderr
    assert "the input\tline 4, 20" in table(news)  # the last run of the watch has written it


@pytest.mark.slow
def test_a_request_that_is_refused_is_listed(news):
    large = json.dumps({**posts(3)[0], "id": "large", "text": "sea " * (1 << 18)})
    with serving(news) as client:
        status, _, text = client.ask(
            "POST", "/documents", b"no json", content_type="application/json"
        )
        assert status == 422
        status, _, text = client.ask("POST", "/documents", large, content_type="application/json")
        assert status == 422 and b"more than 1 MiB" in text
        assert (
            client.ask("POST", "/judge", b"not stored", content_type="application/json")[0] == 422
        )
        both = large.encode() + b"\n" + json.dumps(posts(3)[1]).encode()
        _, _, text = client.ask("POST", "/documents", both, content_type="application/x-ndjson")
        told = [json.loads(line) for line in text.splitlines()]
        assert "error" in told[0] and told[1]["id"] == "w3-1"
    assert "2 documents were set aside" in odl("run", news).stdout
    assert [row.split("\t")[0] for row in table(news).splitlines()] == ["file", "http", "http"]


def test_the_list_is_bounded_and_the_count_is_not(place, monkeypatch):
    monkeypatch.setattr(refused, "MAX_LISTED", 10)
    stored = refused.RefusedList()
    for n in range(25):
        stored.add([("http", f"document {n}", "it is no JSON", "", b"%d" % n)])
    entries, older = refused.read_entries()
    assert len(entries) <= 10 and older + len(entries) == 25 and entries[-1].place == "document 24"
    again = refused.RefusedList()
    again.add([("http", "document 25", "it is no JSON", "", b"25")])
    entries, older = refused.read_entries()
    assert older + len(entries) == 26 and again.older == older


def test_a_kill_in_the_middle_of_a_record_costs_that_record(place):
    refused.RefusedList().add(
        [("a.jsonl", f"line {n}", "it has no text", "", b"%d" % n) for n in range(3)]
    )
    with open(refused.PATH, "a") as file:
        file.write('["a.jsonl", "li')
    refused.RefusedList().add([("a.jsonl", "line 9", "it has no text", "", b"9")])
    assert [entry.place for entry in refused.read_entries()[0]] == [
        "line 0",
        "line 1",
        "line 2",
        "line 9",
    ]


@pytest.mark.parametrize("damage", ["digit", "line", "no list"])
def test_damage_is_named_and_a_new_list_begins(place, damage):
    refused.RefusedList().add(
        [("a.jsonl", f"line {n}", "it has no text", "", b"%d" % n) for n in range(3)]
    )
    with open(refused.PATH) as file:
        records = file.readlines()
    if damage == "digit":
        records[1] = records[1].replace("line 0", "line 7")
    elif damage == "line":
        del records[1]
    else:
        records = [refused.linesums.record(0, '{"a": 1}')]
    with open(refused.PATH, "w") as file:
        file.writelines(records)
    with pytest.raises(StorageError, match="was changed"):
        refused.read()
    (sentence,) = refused.check(mend=False)
    assert "inbox/.refused was changed" in sentence
    (sentence,) = refused.check()
    assert "it was moved to inbox/damaged/1-refused" in sentence
    assert refused.check() == [] and refused.read_entries() == ([], 0)


def test_a_run_goes_on_beside_a_damaged_list(news):
    with watched(news) as (watch, _):
        watch.take([(1, b"no json")])
    path = news / "inbox" / ".refused"
    path.write_text(path.read_text().replace("line 1", "line 2"))
    assert odl("verify", news).returncode == 1
    streams.write(news.parent, 3)
    done = odl("run", news)
    assert done.returncode == 0 and "was changed after it was written" in done.stderr + done.stdout
    assert table(news) == ""
