"""Directive `commands`: the help of `odl` and of each command, and the steps that rules call."""

import contextlib
import io

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from odl import cli


class Commands(SphinxDirective):
    """A section for each command, then the list of steps."""

    def run(self):
        return [section(name) for name in [*cli.commands(), "step"]]


def section(name):
    """Return the section of a command: its name and its help."""
    help = io.StringIO()
    with contextlib.redirect_stdout(help), contextlib.suppress(SystemExit):
        cli.main([name, "--help"])
    part = nodes.section(ids=[f"odl-{name}"], names=[f"odl {name}"])
    part += nodes.title(text=f"odl {name}")
    part += nodes.literal_block(text=help.getvalue().rstrip(), language="none")
    return part


def setup(app):
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
