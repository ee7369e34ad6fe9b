"""Subcommands of ``odl``, in the order of the help: each checks its arguments and calls one module, imported only then.

A subcommand is declared beside its function (`odl.cli.declare`), in the file of its subject; the imports below are in
the order of a study, and so are `COMMANDS` and `STEPS`.
"""

# isort: skip_file
from odl import rooms
from odl.cli.declare import COMMANDS, STEPS
from odl.cli import folders, triage, originals, streamsteps, learningsteps, pagesteps

if rooms.has_papers():
    rooms.papers("stages")

from odl.cli import upkeep
