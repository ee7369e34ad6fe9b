"""What the subcommands of ``odl`` do with their arguments: check them and call one module, imported only then.

A subcommand is declared beside its function (`odl.commands.declare`), in the file of its subject.
"""

from odl.commands import asking, streams, runs, results, pages, upkeep  # isort: skip  (the order of the help)
from odl.commands.declare import COMMANDS

__all__ = ["COMMANDS", "asking", "pages", "results", "runs", "streams", "upkeep"]
