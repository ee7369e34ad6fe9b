"""Subcommands of ``odl``, in the order of the help: each checks its arguments and calls one module, imported only then.

A subcommand is declared beside its function (`odl.cli.declare`), in the file of its subject.
"""

from odl import rooms
from odl.cli import completion, folders, learningsteps, pagesteps, streamsteps, triage, upkeep
from odl.cli.declare import COMMANDS, STEPS

if rooms.has_papers():
    rooms.papers("stages")

__all__ = ["COMMANDS", "PEOPLE", "PIPELINE", "STEPS", "completion", "folders", "learningsteps", "pagesteps"]
__all__ += ["streamsteps", "triage", "upkeep"]
PEOPLE = ("init", "run", "new", "explain", "mute", "follow", "table", "verify", "completion")
PIPELINE = (  # the steps in the order in which a study takes them
    *("download", "read", "index", "batch", "features", "compile", "score", "update", "ranks", "rank"),
    *("baselines", "topics", "emerging", "alerts", "newpage", "evaluate", "regret", "plan", "summarise"),
    *("emergings", "regrets"),
    *("figures", "measure", "experiment", "page", "schema"),
)
