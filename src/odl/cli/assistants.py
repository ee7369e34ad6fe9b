"""`odl mcp`: answers to assistants by the Model Context Protocol, on standard input and output."""

import contextlib
import functools
import json
import signal
import threading

import odl
from odl.alerts import answers
from odl.engine import processes
from odl.errors import OdlError, ParameterError

INSTRUCTIONS = (
    "Ask what is new in streams of documents, and why. Start with what_is_new. Events keep their "
    f"numbers and documents their ids, so give both in your answers. {answers.NOTE} The tools only "
    "read, and equal calls have equal answers until a stream has a new period."
)


def serve(folders, stream=None):
    """Answer an assistant on standard input and output until it closes them.

    Parameters
    ----------
    folders : sequence of path-like
        As for `odl.alerts.read.place_of`.
    stream : str, optional
        Name of the stream in folders that have several.

    Raises
    ------
    ParameterError
        If the extra `mcp` is not installed.
    DataError
        If a folder has no alerts.
    """
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"odl mcp, and {error.name} is not installed",
            "the extra mcp",
            "type pip install 'online-dictionary-learning[mcp]'",
        ) from error
    server = MCPServer("odl", instructions=INSTRUCTIONS, version=odl.__version__, log_level="ERROR")
    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    streams = answers.AskedStreams(folders, stream)
    turn = threading.Lock()  # the server calls tools in threads
    for tool in tools(streams):

        @functools.wraps(tool)
        def call(*args, tool=tool, **named):
            try:
                with turn:
                    return json.dumps(tool(*args, **named), ensure_ascii=False)
            except OdlError as error:
                raise ToolError(str(error)) from error

        server.add_tool(call, annotations=hints, structured_output=False)
    for number in processes.SIGNALS:  # a thread that waits for input would delay an orderly end
        signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=read_ahead, args=(streams, turn)).start()
    server.run("stdio")


def read_ahead(streams, turn):
    """Read all streams, so that the first question need not wait until they are read.

    A stream that cannot be read is left out: the question about it reports the error.

    Parameters
    ----------
    streams : odl.alerts.answers.AskedStreams
    turn : threading.Lock
        Lock of the functions that use `streams`.
    """
    for name in streams.places:
        with turn, contextlib.suppress(OdlError):
            streams.watch(name)


def tools(streams):
    """Return the tools as functions; an assistant reads their names, docstrings and annotations.

    Parameters
    ----------
    streams : odl.alerts.answers.AskedStreams
    """

    def what_is_new(since: str = "", stream: str = "") -> dict:
        """Return the headlines of a stream with their events, evidence and example documents.

        since: a date (2026-03-01, 2026-03, 2026) or a time before the newest document (7d, 2w,
        3mo) from which headlines are listed; empty: the last period. stream: name of the stream;
        empty: all streams.
        """
        if stream or len(streams.places) == 1:
            return answers.what_is_new(streams.watch(stream), since)
        room = answers.MAX_CHARACTERS // len(streams.places)
        return {
            "streams": [
                answers.what_is_new(streams.watch(name), since, room) for name in streams.places
            ]
        }

    def explain(event: int | str, stream: str = "") -> dict:
        """Explain an event (states, sizes, own words, headlines) or the score of a document.

        event: number of the event, or id of the document. stream: name of the stream, if there are
        several.
        """
        return answers.explain_event(streams.watch(stream), event)

    def search(words: str, n: int = 10, stream: str = "") -> dict:
        """Return the events, and the n documents (at most 50), that contain most of the words.

        words: words with spaces between them. stream: name of the stream, if there are several.
        """
        return answers.search(streams.watch(stream), words, n)

    def documents(event: int | str, n: int = 10, stream: str = "") -> dict:
        """Return n documents (at most 50) of an event with their ids, times, sources and texts.

        Central documents come first. event: number of the event. stream: name of the stream, if
        there are several.
        """
        return answers.documents_of(streams.watch(stream), event, n)

    return what_is_new, explain, search, documents
