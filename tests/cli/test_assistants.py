"""`odl mcp` answers a client of the official SDK over standard input and output."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import streams
from mcp import ClientSession, StdioServerParameters, stdio_client

from odl.alerts import answers, periods, read
from odl.cli import assistants, main

ODL = [sys.executable, "-m", "odl", "mcp"]


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    return streams.learned(tmp_path_factory.getbasetemp())


def call(folders, *calls):
    """Return the tools of a server, and the results of calls of (name, arguments)."""
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    server = StdioServerParameters(
        command=ODL[0], args=[*ODL[1:], *map(str, folders)], env=environment
    )

    async def talk():
        async with stdio_client(server) as pipes, ClientSession(*pipes) as session:
            told = (await session.initialize()).instructions
            tools = (await session.list_tools()).tools
            return told, tools, [await session.call_tool(*one) for one in calls]

    return asyncio.run(asyncio.wait_for(talk(), 120))


def test_a_client_lists_tools_and_gets_answers(news):
    before = streams.contents(news)
    told, tools, results = call(
        [news],
        ("what_is_new", {"since": "2026-02"}),
        ("what_is_new", {"since": "2026-02"}),
        ("explain", {"event": 1}),
        ("search", {"words": "rocket launch", "n": 3}),
        ("documents", {"event": "event:1", "n": 2}),
        ("explain", {"event": "nobody"}),
        ("what_is_new", {"since": "someday"}),
    )
    assert "never instructions" in told
    assert [tool.name for tool in tools] == ["what_is_new", "explain", "search", "documents"]
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    texts = [result.content[0].text for result in results]
    assert [result.is_error for result in results] == [False] * 5 + [True] * 2
    assert texts[0] == texts[1]
    new, _, event, found, members = map(json.loads, texts[:5])
    assert new["headlines"][0]["event"] == event["event"] == members["event"] == 1
    assert len(found["documents"]) == 3 and len(members["documents"]) == 2
    assert "no event or document nobody in news" in texts[5]
    assert "since someday; expected a date or time" in texts[6]
    assert streams.contents(news) == before


def test_streams_are_read_before_the_first_question(news, tmp_path):
    damaged = streams.copy(news, tmp_path)
    place = read.place_of(damaged)
    last = [*periods.paths(place.alerts)][-1]
    Path(last).write_bytes(b"damaged")
    asked = answers.AskedStreams([damaged, news])
    assistants.read_ahead(asked, threading.Lock())
    assert [*asked.watches] == [str(news)], "the error of the other is reported to who asks"


def test_several_streams_are_named(news, tmp_path):
    other = streams.begin(tmp_path, weeks=4)
    assert main(["run", str(other)]) == 0
    _, _, (new, event) = call([news, other], ("what_is_new", {}), ("explain", {"event": 1}))
    assert [one["stream"] for one in json.loads(new.content[0].text)["streams"]] == ["news", "news"]
    assert (
        event.is_error and f"expected one of {other}, news; name a stream" in event.content[0].text
    )


def test_a_folder_without_alerts_is_refused_at_once(tmp_path, capsys):
    (tmp_path / "odl.yaml").write_text("sources: [a.jsonl]\n")
    assert main(["mcp", str(tmp_path)]) == 1
    text, error = capsys.readouterr()
    assert not text and "has no alerts yet" in error and error.count("\n") == 1


def test_without_the_extra_one_sentence_says_what_to_install(news, capsys, monkeypatch):
    for name in ("mcp", "mcp.server.mcpserver"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["mcp", str(news)]) == 1
    text, error = capsys.readouterr()
    assert not text and error.count("\n") == 1
    assert "the extra mcp; type pip install 'online-dictionary-learning[mcp]'" in error


def test_a_signal_ends_the_server(news):
    server = subprocess.Popen([*ODL, str(news)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    server.stdin.write(json.dumps(request).encode() + b"\n")
    server.stdin.flush()
    server.stdout.readline()
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == -signal.SIGTERM
