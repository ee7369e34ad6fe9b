"""Call the command `odl` in the process of the tests, which saves a second of imports; a traceback fails the test.

Signals, exits and imports of a process of its own are tested in cli/test_cli.py.
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
    with (
        place,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        standard_input(given),
    ):
        try:
            status = cli.main([*map(str, words)])
        except SystemExit as left:
            status = left.code or 0
            if isinstance(status, str):  # which Python says at its end
                print(status, file=err)
                status = 1
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())
