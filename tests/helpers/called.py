"""The command `odl` in the process of the tests: what it prints and its status, without the start of another one.

A process of its own (signals, its end, imports) is tested in cli/test_cli.py; a traceback ends the test.
"""

import contextlib
import io
import subprocess

from odl import cli


def odl(*words, cwd=None):
    """Run a subcommand, from a folder if one is given; return what `subprocess.run` would."""
    out, err = io.StringIO(), io.StringIO()
    place = contextlib.chdir(cwd) if cwd else contextlib.nullcontext()
    with place, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main([*map(str, words)])
        except SystemExit as left:
            status = left.code or 0
            if isinstance(status, str):  # which Python says at its end
                print(status, file=err)
                status = 1
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())
