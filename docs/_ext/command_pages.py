"""`commands`: what `odl` and each of its commands say with `--help`, and the steps that rules call."""

import argparse

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from odl import cli


class Commands(SphinxDirective):
    """A section for each command, then the list of steps."""

    def run(self):
        (listed,) = (one for one in cli._parser()._actions if isinstance(one, argparse._SubParsersAction))
        return [section(name, parser) for name, parser in listed.choices.items()]


def section(name, parser):
    """Return the section of a command: its name and its help."""
    part = nodes.section(ids=[f"odl-{name}"], names=[f"odl {name}"])
    part += nodes.title(text=f"odl {name}")
    part += nodes.literal_block(text=parser.format_help().rstrip(), language="none")
    return part


def setup(app):
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
