"""The command `odl` in the process of the tests: what it prints and its status, without the start of another one.

A process of its own (signals, its end, imports) is tested in cli/test_cli.py; a traceback ends the test.
"""

import contextlib
import io
import subprocess
import sys
import tempfile
from unittest import mock

from odl import cli


@contextlib.contextmanager
def standard_input(text):
    """Replace standard input by a file with a text, which ends."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        file.write(text)
        file.seek(0)
        with mock.patch.object(sys, "stdin", file):
            yield


def odl(*words, cwd=None, given=""):
    """Run a subcommand from a folder, with a text as its standard input; return what `subprocess.run` would."""
    out, err = io.StringIO(), io.StringIO()
    place = contextlib.chdir(cwd) if cwd else contextlib.nullcontext()
    with place, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), standard_input(given):
        try:
            status = cli.main([*map(str, words)])
        except SystemExit as left:
            status = left.code or 0
            if isinstance(status, str):  # which Python says at its end
                print(status, file=err)
                status = 1
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())
