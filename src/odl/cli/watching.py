"""The commands of what is live: ``odl trust``."""

from odl.cli.declare import argument, subcommand


@subcommand(
    "let odl run the command that a folder names",
    argument("folder"),
    more="odl run gives each alert to the command `notify` of odl.yaml. Another command has to be trusted anew.",
    examples=("odl trust news",),
)
def trust(args):
    from odl.live import notify

    print(f"odl trust: on this machine odl run may start {notify.trust(args.folder)} in {args.folder}")
