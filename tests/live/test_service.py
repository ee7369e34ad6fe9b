"""What `odl watch --http` answers: documents, what is new, the page with its buttons, feeds, figures; and to whom."""

import base64
import contextlib
import csv
import http.client
import json
import os
import re
import shutil
from types import SimpleNamespace

import pytest
import streams
import werkzeug.test
import yaml
from called import odl
from places import ROOT
from prometheus_client import parser
from test_server import TOKEN, serving
from test_watch import posts

from odl.config.sections import Alerts
from odl.live import service

KIND = {"content_type": "application/json"}


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    """A folder that was run, with a topic in its last week."""
    return streams.copy(
        streams.learned(tmp_path_factory.getbasetemp()), tmp_path_factory.mktemp("first")
    )


@pytest.fixture(scope="module")
def client(news):
    with serving(news) as client:
        yield client


def value(client, path, status=200):
    told, headers, text = client.ask("GET", path)
    assert told == status and headers["Content-Type"] == "application/json", text
    return json.loads(text)


def alerts(folder, *words):
    return [
        json.loads(line)
        for line in odl("new", folder, "--format", "jsonl", *words).stdout.splitlines()
    ]


def test_what_is_new_is_that_of_odl_new(news, client):
    (period,) = value(client, "/new")["periods"]
    assert period["alerts"] == alerts(news) and period["period"] == 4
    every = value(client, "/new?since=2026-01-01")["periods"]
    assert [one for each in every for one in each["alerts"]] == alerts(
        news, "--since", "2026-01-01"
    )
    assert "expected a date or time" in value(client, "/new?since=soon", 400)["error"]


def test_a_topic_and_a_document(news, client):
    number = next(one["topic"] for one in alerts(news) if one["topic"])
    told = odl("explain", news, f"event:{number}", "--format", "jsonl").stdout
    assert value(client, f"/events/{number}") == json.loads(told)
    told = odl("explain", news, "w4-2", "--format", "jsonl").stdout
    assert value(client, "/documents/w4-2") == json.loads(told)
    assert value(client, "/topics/999", 404)["error"] == "there is no event 999"
    assert value(client, "/documents/no/such%20one", 404)["error"] == "there is no such document"


def test_judging_learns_nothing(news, client):
    rows = [posts(5)[2], posts(5)[2], {"text": "wheat"}]
    first = client.post(rows, "/judge")
    assert client.post(rows, "/judge") == first and [one["id"] for one in first] == [
        "w5-2",
        "w5-2",
        None,
    ]
    assert first[0]["score"] == first[1]["score"] > 0 and first[0]["period"] is None
    assert not list((news / "inbox").glob("*.jsonl")) and not list(
        (news / "inbox").glob(".*.jsonl")
    )


def test_documents_one_by_one_and_in_lines(client):
    row = posts(5)[0]
    status, headers, text = client.ask("POST", "/documents", json.dumps(row, indent=2), **KIND)
    answer = json.loads(text)
    assert (status, headers["Content-Type"], answer["id"]) == (200, "application/json", "w5-0")
    assert value(client, "/documents/w5-0") == answer == client.post([row])[0]
    status, _, text = client.ask("POST", "/documents", b"no json", **KIND)
    assert status == 422 and json.loads(text)["error"].startswith("Expecting value")
    _, _, text = client.ask(
        "POST", "/documents", b'{"id": 1\n\n[]\n', content_type="application/x-ndjson"
    )
    assert [json.loads(line)["line"] for line in text.splitlines()] == [1, 2]
    assert client.ask("POST", "/documents", b"", content_type="application/jsonl")[0] == 200
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ):  # what a form can send
        assert client.ask("POST", "/documents", json.dumps(row), content_type=kind)[0] == 415


def test_the_page_the_feeds_and_what_was_seen_already(news, client):
    status, headers, text = client.ask("GET", "/")
    assert status == 200 and b'<main id="main" data-live="yes"' in text
    assert text.replace(b' data-live="yes"', b"", 1) == (news / "new.html").read_bytes()
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert client.ask("GET", "/", if_none_match=headers["ETag"])[0] == 304
    assert client.ask("GET", "/feed.atom")[2] == (news / "new.atom").read_bytes()
    assert client.ask("GET", "/feed.json")[2] == (news / "new.json").read_bytes()


@pytest.mark.slow
def test_buttons_of_the_page_write_and_take_back_verdicts(news, tmp_path):
    """One holds at a time, as in the file."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright (pip install playwright)"
    )
    if not (browser := os.environ.get("ODL_CHROMIUM") or shutil.which("chromium")):
        pytest.skip("needs chromium (or its path in ODL_CHROMIUM)")

    folder = streams.copy(news, tmp_path)

    def verdicts():
        with open(folder / "feedback.csv", newline="") as file:
            return [row["verdict"] for row in csv.DictReader(file)]

    with serving(folder) as client, driver.sync_playwright() as play:
        opened = play.chromium.launch(
            executable_path=browser, args=["--no-sandbox", "--disable-gpu"]
        )
        page = opened.new_page()
        page.goto(f"http://127.0.0.1:{client.port}/")
        page.locator("html[data-ready]").wait_for(state="attached")
        page.locator("details:has(.commands) > summary").first.click()
        buttons, names = (
            page.locator(".commands").first.locator("button"),
            ["mute", "known", "follow"],
        )
        assert buttons.all_inner_texts() == names
        for place, verdict in enumerate(["muted", "known", "follow"]):
            buttons.nth(place).click()
            driver.expect(buttons.nth(place)).to_have_text(f"{names[place]}: done; take it back")
            expected = [
                f"{name}: done; take it back" if at == place else name
                for at, name in enumerate(names)
            ]
            assert buttons.all_inner_texts() == expected and verdicts() == [verdict]
        buttons.nth(2).click()
        driver.expect(buttons.nth(2)).to_have_text("follow")
        assert verdicts() == []
        opened.close()


@pytest.mark.slow
def test_a_button_writes_what_odl_mute_writes_and_the_page_follows(news, client):
    number = next(one["topic"] for one in alerts(news) if one["topic"])
    before = client.ask("GET", "/")[2]
    said = json.dumps({"what": f"event:{number}", "verdict": "muted", "note": "a\nlist"})
    assert client.ask("POST", "/feedback", said, **KIND)[0] == 200
    assert (
        news / "feedback.csv"
    ).read_text() == f"what,verdict,until,note\nevent:{number},muted,,a list\n"
    while (after := client.ask("GET", "/")[2]) == before:
        pass
    assert f"event:{number} (muted in feedback.csv)".encode() in after
    back = json.dumps({"what": f"topic:{number}", "verdict": ""})
    assert client.ask("POST", "/feedback", back, **KIND)[0] == 200
    assert (news / "feedback.csv").read_text() == "what,verdict,until,note\n"
    desk = SimpleNamespace(renew=False, ended=False)
    with contextlib.chdir(news):  # what was not there takes no run to take back
        again = werkzeug.test.Client(service.Service(desk)).post("/feedback", data=back, **KIND)
    assert again.status_code == 200 and not desk.renew


def test_a_verdict_is_written_by_a_name_and_taken_back(news, client):
    number = next(one["topic"] for one in alerts(news) if one["topic"])
    said = {"what": str(number), "judged": "yes", "by": "anna", "note": "more"}
    status, _, text = client.ask("POST", "/feedback", json.dumps(said), **KIND)
    told = {"what": f"event:{number}", "verdict": None, "judged": "yes", "by": "anna"}
    assert (status, json.loads(text)) == (200, told)
    with open(news / "feedback.csv", newline="") as file:
        (line,) = csv.DictReader(file)
    assert [line[name] for name in ("what", "verdict", "judged", "by", "note", "period")] == [
        *(f"event:{number}", "", "yes", "anna", "more", "4"),
    ]
    while b"yes (anna)" not in (after := client.ask("GET", "/")[2]):
        pass  # a page that an earlier request asked for may come first
    assert b"verdict yes: 1 of 1 (100 %" in after
    for what, fault in (("999", "999 is no event and no document"), ("", "expected what")):
        wrong = json.dumps(said | {"what": what})
        status, _, text = client.ask("POST", "/feedback", wrong, **KIND)
        assert status == 400 and json.loads(text)["error"].startswith(fault)
    for values, field in (
        ({"judged": "perhaps"}, "judged"),
        ({"verdict": "perhaps"}, "verdict"),
        ({"verdict": "muted", "until": "soon"}, "until"),
    ):
        wrong = json.dumps({"what": str(number), **values})
        status, _, text = client.ask("POST", "/feedback", wrong, **KIND)
        error = json.loads(text)["error"]
        assert status == 400 and error.startswith("the request ") and field in error
        assert "column" not in error and "csv" not in error
    wrong = json.dumps(said | {"verdict": "muted"})
    assert client.ask("POST", "/feedback", wrong, **KIND)[0] == 400
    back = json.dumps({"what": f"event:{number}", "judged": "", "by": "anna"})
    assert client.ask("POST", "/feedback", back, **KIND)[0] == 200
    assert (news / "feedback.csv").read_text() == "what,verdict,until,note\n"


@pytest.mark.slow
def test_buttons_judge_a_headline_and_take_it_back(tmp_path, tmp_path_factory):
    driver = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright (pip install playwright)"
    )
    if not (browser := os.environ.get("ODL_CHROMIUM") or shutil.which("chromium")):
        pytest.skip("needs chromium (or its path in ODL_CHROMIUM)")
    # Not `news`: earlier tests may have hidden its headline.
    folder = streams.copy(streams.learned(tmp_path_factory.getbasetemp()), tmp_path)

    def judged():
        with open(folder / "feedback.csv", newline="") as file:
            return [row.get("judged") for row in csv.DictReader(file)]

    with serving(folder) as client, driver.sync_playwright() as play:
        opened = play.chromium.launch(
            executable_path=browser, args=["--no-sandbox", "--disable-gpu"]
        )
        page = opened.new_page()
        page.goto(f"http://127.0.0.1:{client.port}/")
        page.locator("html[data-ready]").wait_for(state="attached")
        buttons = page.locator("article .judge").first.locator("button")
        driver.expect(buttons).to_have_text(["yes", "no", "known"])  # once the server has answered
        for place, answer in enumerate(["yes", "no", "known"]):
            buttons.nth(place).click()
            driver.expect(buttons.nth(place)).to_have_attribute("aria-pressed", "true")
            assert judged() == [answer]
        buttons.nth(2).click()
        driver.expect(buttons.nth(2)).to_have_attribute("aria-pressed", "false")
        assert judged() == []
        page.goto((folder / "new.html").as_uri())
        page.locator("html[data-ready]").wait_for(state="attached")
        assert page.locator(".judge button").count() == 0, "a file has no server to write to"
        opened.close()


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"what": "topic:999", "verdict": "muted"}, "is no document or event"),
        ({"what": "source:x.jsonl", "verdict": "muted"}, "no document came from source:x.jsonl"),
        ({"what": "w4-2", "verdict": "hidden"}, "has the verdict 'hidden'"),
        ({"what": "w4-2", "verdict": "muted", "until": "soon"}, "expected a date"),
        (
            {"what": "w4-2", "verdict": "muted", "note": "x" * 1001},
            "not a string of at most 1000 characters",
        ),
        ({"what": "w4-2", "verdict": ["muted"]}, "not a string of at most 1000 characters"),
        ({"what": "w4-2"}, "expected what"),
        ({"verdict": "muted"}, "expected what"),
        ({}, "expected what"),
        ([], "expected what"),
    ],
)
def test_a_verdict_that_says_nothing(client, said, fault):
    status, _, text = client.ask("POST", "/feedback", json.dumps(said), **KIND)
    assert status == 400 and fault in json.loads(text)["error"]


def test_another_site_cannot_speak_for_a_reader(client):
    for origin in ("https://evil.example", "null", "http://[", f"http://localhost:{client.port}"):
        status, headers, _ = client.ask("POST", "/feedback", "{}", origin=origin, **KIND)
        assert status in (400, 403) and "Access-Control-Allow-Origin" not in headers
    own = f"http://127.0.0.1:{client.port}"
    assert client.ask("POST", "/documents", json.dumps(posts(5)[0]), origin=own, **KIND)[0] == 200
    assert client.ask("OPTIONS", "/feedback", origin="https://evil.example")[0] == 405


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "[", "", "a b", "localhost@evil.example"]
)
def test_a_name_that_leads_here_is_not_answered(client, host):
    one = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
    one.putrequest("GET", "/new", skip_host=True)
    one.putheader("Host", host)
    one.endheaders()
    assert one.getresponse().status in (400, 421)


@pytest.mark.slow
def test_where_others_can_connect_each_request_has_the_token(news, tmp_path):
    folder = streams.copy(news, tmp_path)
    with serving(folder, host="0.0.0.0", token=TOKEN) as client:
        basic = base64.b64encode(f"anyone:{TOKEN}".encode()).decode()
        for path, status in {
            "/health": 200,
            "/new": 401,
            "/": 401,
            "/metrics": 401,
            "/none": 401,
        }.items():
            assert client.ask("GET", path)[0] == status
        for login in (f"Bearer {TOKEN}", f"Basic {basic}"):
            assert client.ask("GET", "/new", authorization=login, host="news.example")[0] == 200
        for login in (
            f"Bearer {TOKEN}x",
            "Bearer",
            "Basic !",
            "Basic Og==",
            "Digest x",
            "Bearer \u00e9",
        ):
            assert client.ask("GET", "/new", authorization=login)[0] in (400, 401)
        cross = {"authorization": f"Basic {basic}", "origin": "https://evil.example", **KIND}
        assert client.ask("POST", "/feedback", "{}", **cross)[0] == 403


def test_figures_for_prometheus(client):
    client.post(posts(5)[:3])
    _, headers, text = client.ask("GET", "/metrics")
    families = list(parser.text_string_to_metric_families(text.decode()))
    figures = {
        one.name: one.value for family in families for one in family.samples if not one.labels
    }
    assert headers["Content-Type"].startswith("text/plain") and figures["odl_documents"] >= 3
    assert figures["odl_answer_seconds_count"] > 0 and figures["odl_tail_count"] > 0
    assert figures["process_resident_memory_bytes"] > 0 and all(
        one.documentation for one in families
    )


@pytest.mark.slow
def test_scores_that_drift_are_a_figure(tmp_path):
    """Novel items of the open period, over those that chance brings: many where all is of another kind."""
    folder = streams.begin(tmp_path)
    assert odl("run", folder).returncode == 0
    with serving(folder) as client:
        answers = client.post([streams.post(5, number, "sea") for number in range(9)])
        figures = client.ask("GET", "/metrics")[2].decode()
    items = [one["tail"] for one in answers if not one["alike"]]
    novel = sum(tail <= Alerts().tail for tail in items)
    drift = float(re.search(r"(?m)^odl_drift (.*)$", figures)[1])
    assert novel > 3 and drift == pytest.approx(novel / (len(items) * Alerts().tail))


def test_the_description_knows_every_route():
    described = yaml.safe_load((ROOT / "src" / "odl" / "live" / "openapi.yaml").read_text())
    paths = {
        (re.sub(r"<\w+:(\w+)>", r"{\1}", path), method.lower())
        for path, method, *_ in service.ROUTES
    }
    assert paths == {(path, method) for path, each in described["paths"].items() for method in each}
    answer = described["components"]["schemas"]["answer"]
    assert set(answer["required"]) <= answer["properties"].keys()


def described(path, method):
    """Return the statuses that the description names for a request, none for an unknown one."""
    described = yaml.safe_load((ROOT / "src" / "odl" / "live" / "openapi.yaml").read_text())[
        "paths"
    ]
    for name, each in described.items():
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", name), path.split("?")[0]):
            return {
                int(status)
                for status in each.get(method.lower().replace("head", "get"), {}).get(
                    "responses", ()
                )
            }
    return set()


@pytest.mark.parametrize("path", ["/documents", "/judge", "/feedback"])
def test_no_body_ends_the_server_and_each_status_is_described(client, path):
    guid = "moz-extension://0f1c2d3e-4a5b-6c7d-8e9f-0a1b2c3d4e5f/"
    bodies = [
        b"",
        b"{}",
        b"null",
        b"7",
        b'"text"',
        b"NaN",
        b"\xff{}",
        b"\0" * 9,
        b"[" * 99_999,
        b'{"a":' * 99_999,
    ]
    bodies += [
        b"1" * 5000,
        b'{"what": "topic:1", "verdict": null}',
        b'{"what": {"a": 1}, "verdict": "muted"}',
    ]
    wrong = [
        None,
        7,
        True,
        1e300,
        [],
        {},
        "",
        "\ud800",
        guid,
        "".join(map(chr, range(0x300))),
        "\u202e\u2066",
        "x" * 99,
    ]
    rows = [{"id": f"f{n}", "time": "2026-02-09", "text": guid} | {key: one} for key in ("id", "time", "text")
            for n, one in enumerate(wrong)]  # fmt: skip
    bodies += [json.dumps(row).encode() for row in rows] + [
        b'{"id": "f", "time": 1' + b"0" * 400 + b', "text": "a"}'
    ]
    statuses = {client.ask("POST", path, body, **KIND)[0] for body in bodies}
    lines = b"\n".join(body for body in bodies if b"\n" not in body)
    for more in (
        {"content_type": "application/x-ndjson"},
        {"content_type": "text/plain"},
        {"content_type": "application/json; charset=utf-16"},
        {"content_encoding": "gzip", **KIND},
        {"origin": "https://evil.example", **KIND},
        {"host": "evil.example", **KIND},
        {"host": "[", **KIND},
        {},
    ):
        statuses.add(client.ask("POST", path, lines, **more)[0])
    statuses.add(client.ask("POST", path, json.dumps({"text": "wheat " * 200_000}), **KIND)[0])
    assert statuses <= described(path, "POST") and {403, 415, 421} <= statuses
    assert client.ask("GET", "/health")[0] == 200 and client.post(posts(5)[:1])[0]["id"] == "w5-0"


@pytest.mark.slow
def test_each_status_of_a_question_is_described(client):
    for path in (
        "/",
        "/new",
        "/new?since=soon",
        "/topics/1",
        "/topics/" + "9" * 30,
        "/documents/none",
        "/feed.atom",
    ):
        for method, more in (
            ("GET", {}),
            ("HEAD", {}),
            ("GET", {"host": "evil.example"}),
            ("GET", {"host": "["}),
        ):
            assert client.ask(method, path, **more)[0] in described(path, method), (
                method,
                path,
                more,
            )
    for path in ("/none", "/topics/x", "/topics/-1", "/new/"):
        assert client.ask("GET", path)[0] == 404
    for method in ("OPTIONS", "PUT", "DELETE", "PATCH"):
        status, headers, _ = client.ask(method, "/new")
        assert status == 405 and "GET" in headers["Allow"]


def test_no_answer_names_a_place_of_the_machine(news, client):
    home = str(news.parent).encode()
    paths = [
        "/",
        "/new",
        "/documents/w4-2",
        "/topics/1",
        "/feed.atom",
        "/feed.json",
        "/metrics",
        "/health",
        "/none",
    ]
    paths += [
        "/documents/..%2f..%2fodl.yaml",
        "/..%2fodl.yaml",
        "//etc/passwd",
        "/openapi.yaml",
        "/new?since=%00",
    ]
    for path in paths:
        status, headers, text = client.ask("GET", path)
        assert home not in text and home not in str(headers).encode() and status < 500, path
        assert b"Traceback" not in text and "Server" not in headers


@pytest.mark.slow
def test_damaged_results_are_said_in_the_log_alone(news, tmp_path):
    folder = streams.copy(news, tmp_path)
    with serving(folder) as client:
        for path in folder.rglob("alerts/*.h5"):
            path.write_bytes(b"damaged")
        status, _, text = client.ask("GET", "/new")
        assert status == 503 and json.loads(text)["error"].endswith(
            "the output of odl watch has the reason"
        )
        assert client.ask("GET", "/health")[0] == 200


@pytest.mark.slow
def test_documents_that_come_too_fast_come_again_later(monkeypatch):
    """An address has ten seconds' worth at once, then so many a second; another one has its own."""
    now = [100.0]
    monkeypatch.setattr(service.time, "monotonic", lambda: now[0])
    desk = SimpleNamespace(max_documents=100, ask=lambda lines, learn: ["{}"] * len(lines))
    client = werkzeug.test.Client(service.Service(desk, rate=2.0))

    def post(count, address="127.0.0.1"):
        surroundings = {"REMOTE_ADDR": address}
        return client.post(
            "/documents",
            data="{}\n" * count,
            content_type="application/jsonl",
            environ_base=surroundings,
        )

    assert [post(count).status_code for count in (20, 5, 1)] == [200, 200, 429]
    said = post(1)
    assert (
        said.headers["Retry-After"] == "3"
        and "more than 2 documents per second" in said.json["error"]
    )
    assert post(1, "::1").status_code == 200
    now[0] += 3
    assert [post(1).status_code for _ in range(3)] == [200, 200, 429]
