"""The server of `odl watch --http`: limits, slow clients, its end; the bytes of `odl run`."""

import contextlib
import http.client
import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
import streams
from called import odl
from test_watch import assert_same_at_once, ids_of, posts

from odl.live import server

TOKEN = "correct-horse-battery"


class Client:
    """A process that serves a folder, and questions to it."""

    def __init__(self, folder, *words, host="127.0.0.1", token="", **options):
        command = [sys.executable, "-m", "odl", "watch", str(folder), "--http", f"{host}:0", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(
            command, env={**os.environ, server.TOKEN_VARIABLE: token}, **pipes, **options
        )
        self.port = int(re.search(r"port (\d+)", self.process.stderr.readline())[1])
        while self.ask("GET", "/health")[0] != 200:
            time.sleep(0.05)

    def ask(self, method, path, body=None, connection=None, **headers):
        """Return status, headers and body of an answer."""
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        own.request(
            method, path, body, {name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = own.getresponse()
        text = answer.read()
        if connection is None:
            own.close()
        return answer.status, answer.headers, text

    def post(self, rows, path="/documents", **more):
        """Send documents as lines; return what was answered."""
        text = "".join(json.dumps(row) + "\n" for row in rows)
        status, _, body = self.ask("POST", path, text, content_type="application/x-ndjson", **more)
        assert status == 200, body
        return [json.loads(line) for line in body.splitlines()]

    def end(self):
        """End it as systemd does; return what it said."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0 and "Traceback" not in err, err
        return out, err


@contextlib.contextmanager
def serving(folder, *words, **options):
    client = Client(folder, *words, **options)
    try:
        yield client
        client.end()
    finally:
        client.process.kill()
        client.process.wait()


@pytest.mark.slow
def test_documents_of_several_clients_give_the_bytes_of_a_run(news, tmp_path):
    """Each client sends its share one by one over one connection, some of them twice."""
    client, told = Client(news), {}

    def send(rows):
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
        ) as connection:
            for row in rows:
                headers = {"connection": connection, "content_type": "application/json"}
                status, _, text = client.ask("POST", "/documents", json.dumps(row), **headers)
                assert status == 200
                answer = json.loads(text)
                assert told.setdefault(answer["id"], answer) == answer

    for week in (3, 4):
        rows = posts(week)
        shares = [rows[number::4] + rows[number:20:4] for number in range(4)]
        threads = [threading.Thread(target=send, args=(share,)) for share in shares]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(told) == 2 * streams.N and {one["period"] for one in told.values()} == {
        "2026-01-26",
        "2026-02-02",
    }
    while (
        client.process.poll() is None
        and b"odl_learned_period 3.0" not in client.ask("GET", "/metrics")[2]
    ):
        time.sleep(0.1)
    out, err = client.end()
    assert re.search(r"120 documents accepted, \d+ sent again, 0 late", err)
    (record,) = map(json.loads, out.splitlines())
    assert (record["period"], record["documents"], record["provisional"]) == (3, 60, False)
    assert odl("run", news).returncode == 0
    assert_same_at_once(news, tmp_path / "once")


@pytest.mark.slow
def test_a_kill_loses_no_answered_document(news):
    client = Client(news)
    ids = {one["id"] for one in client.post(posts(3)[:30])}
    client.process.kill()
    client.process.wait()
    with serving(news) as client:
        again = client.post(posts(3))
        assert {one["id"] for one in again[:30]} == ids
    stored = [
        json.loads(line)["id"] for path in (news / "inbox").glob("*.jsonl") for line in path.open()
    ]
    assert sorted(stored) == sorted(row["id"] for row in posts(3))


@pytest.mark.slow
def test_a_body_of_a_gigabyte_is_refused_before_it_is_read(news):
    with serving(news) as client:
        before = memory(client)
        for more in ("Content-Length: 1073741824\r\n", "Transfer-Encoding: chunked\r\n"):
            with socket.create_connection(("127.0.0.1", client.port), timeout=60) as one:
                kind = "Content-Type: application/x-ndjson\r\n"
                one.sendall(
                    f"POST /documents HTTP/1.1\r\nHost: localhost\r\n{kind}{more}\r\n".encode()
                )
                part = (
                    b"%x\r\n" % (1 << 20) + b" " * (1 << 20) + b"\r\n"
                    if "chunked" in more
                    else b" " * (1 << 20)
                )
                with contextlib.suppress(ConnectionError):
                    for _ in range(1024):
                        one.sendall(part)
                with contextlib.suppress(ConnectionError):
                    said = one.recv(100)
                    assert not said or b" 413 " in said
        assert memory(client) < before + 100
        assert client.post(posts(3)[:1])[0]["id"] == "w3-0"
        status, _, said = client.ask(
            "POST", "/judge", b"{}\n" * 5000, content_type="application/x-ndjson"
        )
        assert status == 413 and b"4096 at most" in said
        assert b"odl_refused 5000.0" in client.ask("GET", "/metrics")[2]


def memory(client):
    with open(f"/proc/{client.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


@pytest.mark.slow
def test_slow_clients_hold_up_nobody(news):
    """Two hundred that send a letter now and then, half of them in the middle of a body."""
    with serving(news) as client, contextlib.ExitStack() as stack:
        head = b"POST /documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        slow = []
        for number in range(200):
            one = stack.enter_context(
                socket.create_connection(("127.0.0.1", client.port), timeout=60)
            )
            one.sendall(head + b"Content-Length: 999\r\n\r\n{" * (number % 2))
            slow.append(one)
        for week, part in enumerate(posts(3)[:5]):
            for one in slow:
                one.sendall(b"X-A: b\r\n" if week % 2 else b" ")
            assert client.post([part])[0]["id"] == part["id"]


def ask_until(client, ended, seed, kind):
    """Send requests of one kind over and over, until the server ends."""
    number = 0
    while not ended.is_set():
        with contextlib.suppress(OSError, http.client.HTTPException):
            if kind == "/new":
                client.ask("GET", "/new?since=2026-01-01")
                continue
            number += 1
            rows = [
                {**row, "id": f"{seed}-{number}-{row['id']}"} for row in posts(3 + number // 40, 5)
            ]
            text = "".join(json.dumps(row) + "\n" for row in rows)
            client.ask("POST", kind, text, content_type="application/x-ndjson")


def unfinished(client):
    """Return connections of clients that send half a body, and that never read their answers."""
    head = b"POST /judge HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: "
    body = b"".join(json.dumps(row).encode() + b"\n" for row in posts(3, 40))
    half, silent = (
        socket.create_connection(("127.0.0.1", client.port), timeout=60) for _ in range(2)
    )
    half.sendall(head + b"999\r\n\r\n{")
    silent.settimeout(0.2)
    with contextlib.suppress(TimeoutError):
        for _ in range(40):
            silent.sendall(head + b"%d\r\n\r\n" % len(body) + body)
    return half, silent


@pytest.mark.parametrize(
    "strikes", [pytest.param(3, marks=pytest.mark.slow), pytest.param(40, marks=pytest.mark.long)]
)
def test_signals_end_it_within_five_seconds_under_load(news, tmp_path, strikes):
    """While clients judge, store, and read results, half a body waits and a period is learned; nothing is lost."""
    draw = random.Random(strikes)
    enumerated = [*enumerate(["/new", "/new", "/new", "/judge", "/documents", "/documents"])]
    for strike in range(strikes):
        (tmp_path / str(strike)).mkdir()
        folder, ended = streams.copy(news, tmp_path / str(strike)), threading.Event()
        client = Client(folder)
        threads = [
            threading.Thread(target=ask_until, args=(client, ended, *pair)) for pair in enumerated
        ]
        for thread in threads:
            thread.start()
        with contextlib.ExitStack() as stack:
            for one in unfinished(client):
                stack.enter_context(one)
            time.sleep(draw.uniform(0.5, 3.0))
            if strike % 3 == 1:  # the week ends, and is learned
                client.post(posts(9, 1))
            for number in [(signal.SIGTERM,), (signal.SIGTERM, signal.SIGTERM), (signal.SIGINT,)][
                strike % 3
            ]:
                client.process.send_signal(number)
            try:
                status = client.process.wait(timeout=5)
            finally:
                client.process.kill()
                ended.set()
        for thread in threads:
            thread.join()
        said = client.process.stderr.read()
        assert status == 0 and "Traceback" not in said and "documents accepted" in said, (
            strike,
            status,
            said,
        )
        assert len(ids_of(folder)) == int(re.search(r"(\d+) documents accepted", said)[1])


@pytest.mark.slow
def test_too_many_documents_at_once_are_sent_away(news):
    """While the watch cannot go on, memory does not grow: who sends more is asked to come again."""
    rows = [
        {"id": f"x{number}", "time": "2026-01-27", "text": "wheat grain"} for number in range(4000)
    ]
    with serving(news) as client:
        thread = threading.Thread(target=client.post, args=(rows,))
        thread.start()
        while b"odl_waiting 4000.0" not in client.ask("GET", "/metrics")[2] and thread.is_alive():
            pass
        status, headers, _ = client.ask(
            "POST", "/documents", b"{}\n" * 200, content_type="application/x-ndjson"
        )
        assert (status, headers["Retry-After"]) == (503, "1") or not thread.is_alive()
        thread.join()


@pytest.mark.slow
def test_a_full_disk_ends_it_and_nothing_is_said_to_be_accepted(news):
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # noqa: E731
    (news / "inbox").mkdir()
    client = Client(news, preexec_fn=limit)
    text = "".join(json.dumps(row) + "\n" for row in posts(3))
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        assert client.ask("POST", "/documents", text, content_type="application/x-ndjson")[0] == 503
    _, said = client.process.communicate(timeout=60)
    assert client.process.returncode != 0 and "Traceback" not in said and "File too large" in said
    assert not list((news / "inbox").glob("*.jsonl")) or odl("run", news).returncode == 0


@pytest.mark.parametrize(
    ("address", "token", "fault"),
    [
        ("8080", "", "expected an address and a port"),
        ("127.0.0.1:http", "", "expected an address and a port"),
        ("0.0.0.0:0", "", "expected a token of at least 16"),
        ("0.0.0.0:0", "secret", "expected a token of at least 16"),
        ("127.0.0.1:0", "secret", "expected a token of at least 16"),
        ("192.0.2.1:0", TOKEN, "expected a free port at an address"),
    ],
)
def test_where_it_does_not_listen(news, monkeypatch, address, token, fault):
    monkeypatch.setenv(server.TOKEN_VARIABLE, token)
    done = odl("watch", news, "--http", address)
    assert done.returncode == 1 and fault in done.stderr and (not token or token not in done.stderr)


def test_an_address_that_is_taken(news):
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = odl("watch", news, "--http", f"127.0.0.1:{other.getsockname()[1]}")
    assert done.returncode == 1 and "a free port" in done.stderr


def test_requests_take_turns_so_that_a_large_one_holds_up_nobody():
    desk, judged = server.Desk(), []
    desk.watch = SimpleNamespace(
        judge_only=lambda lines: judged.append([len(line) for _, line in lines])
    )
    threads = []
    for lines in ([b"x" * server.TURN_SIZE] * 3, [b"y"]):
        threads.append(threading.Thread(target=desk.ask, args=(lines, False)))
        threads[-1].start()
        while desk.jobs.qsize() < len(threads):
            time.sleep(0.001)
    for _ in range(3):
        assert [*desk._next()] == [[]]
    assert judged == [[server.TURN_SIZE], [1], [server.TURN_SIZE], [server.TURN_SIZE]]
    for thread in threads:
        thread.join(60)
    assert desk.waiting == 0 and not desk.under_way


def test_no_more_wait_than_may_but_a_request_that_nothing_waits_before_is_taken(monkeypatch):
    monkeypatch.setattr(server, "MAX_WAITING", 3)
    desk, threads = server.Desk(), []

    def sent(n, waiting):
        threads.append(threading.Thread(target=desk.ask, args=([b"{}"] * n, True)))
        threads[-1].start()
        end = time.monotonic() + 60
        while desk.waiting != waiting and time.monotonic() < end:
            time.sleep(0.001)
        assert desk.waiting == waiting

    def answered():
        for _ in range(desk.jobs.qsize()):
            desk.jobs.get()[1].done.set()
        for thread in threads:
            thread.join(60)

    sent(2, waiting=2)
    assert desk.ask([b"{}"] * 2, True) is None
    sent(1, waiting=3)
    answered()
    sent(5, waiting=5)
    assert desk.ask([b"{}"], True) is None
    answered()
    assert desk.waiting == 0
