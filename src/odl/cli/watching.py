"""The commands of what is live: ``odl watch`` and ``odl trust``."""

import contextlib

from odl.cli.declare import argument, subcommand


@subcommand(
    "answer documents as they come, and learn periods as they end",
    argument("folder", help="a folder that odl init wrote, with times and calendar periods"),
    argument("--tolerance", type=float, default=0.0, metavar="SECONDS", help="how long a period waits for late ones"),
    argument("--clock", action="store_true", help="a period ends by the clock too, not by documents of the next alone"),
    argument("--http", metavar="ADDRESS", help="take documents by HTTP instead, show the page, the feeds and metrics"),
    argument("--strict", action="store_true", help="end at a line that cannot be read"),
    more="Documents come as lines of JSON on standard input, answers go to standard output.\n"
    "They are stored in FOLDER/inbox, which odl run reads: the same results, live or at once.",
    examples=("odl watch news", "odl watch news --http 127.0.0.1:8080", "odl watch news --tolerance 3600 --strict"),
)
def watch(args):
    from odl.config import project
    from odl.live import server, standardinput

    project.check(args.folder)
    with contextlib.chdir(args.folder):
        if args.http:
            server.run(args.http, args.tolerance, args.clock)
        else:
            standardinput.run(args.tolerance, args.clock, args.strict)


@subcommand(
    "let odl run the command that a folder names",
    argument("folder"),
    more="odl run gives each alert to the command `notify` of odl.yaml. Another command has to be trusted anew.",
    examples=("odl trust news",),
)
def trust(args):
    from odl.live import notify

    print(f"odl trust: on this machine odl run may start {notify.trust(args.folder)} in {args.folder}")
