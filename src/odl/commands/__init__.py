"""What the subcommands of ``odl`` do with their arguments: check them and call one module, imported only then.

A subcommand is declared beside its function (`odl.commands.declare`), in the file of its subject.
"""

from odl import rooms

from odl.commands import asking, streams, runs, results, pages, upkeep, completing  # isort: skip  (the help's order)
from odl.commands.declare import COMMANDS, STEPS

if rooms.has_papers():
    rooms.papers("stages")

__all__ = ["COMMANDS", "PIPELINE", "STEPS", "asking", "completing", "pages", "results", "runs"]
__all__ += ["streams", "upkeep"]
PIPELINE = (  # the steps in the order in which a study takes them
    *("download", "read", "index", "batch", "features", "compile", "score", "update", "ranks", "rank"),
    *("baselines", "topics", "emerging", "alerts", "newpage", "evaluate", "regret", "plan", "summarise"),
    *("emergings", "regrets"),
    *("figures", "measure", "experiment", "page", "schema"),
)
