"""Completion in a shell: ``odl completion``, and what stands for a folder when a person presses Tab."""

import glob
import os

from odl.cli.declare import argument, command

SHELLS = ("bash", "zsh", "fish")
MARKS = ("odl.yaml", "plan.json")  # one of them is in a folder that odl init wrote, and in results/STUDY


@command(
    "print what completes commands in your shell",
    argument("shell", choices=SHELLS),
    more='Add to ~/.bashrc:                    eval "$(odl completion bash)"\n'
    'Add to ~/.zshrc, after compinit:     eval "$(odl completion zsh)"\n'
    "Add to ~/.config/fish/config.fish:   odl completion fish | source",
    examples=('eval "$(odl completion bash)"',),
)
def completion(args):
    import argcomplete

    print(argcomplete.shellcode(["odl"], shell=args.shell))


def complete(parser):
    """Answer the shell that asks, and end."""
    import argcomplete

    argcomplete.autocomplete(parser, always_complete_options=False)


def folders(prefix, **_):
    """Return the folders to ask about that begin so; where there are none, all folders."""
    start = glob.escape(os.path.expanduser(prefix))
    studies = [path for path in (*glob.glob(f"{start}*"), *glob.glob(f"{start}*/*")) if _is_study(path)]
    return sorted(studies) or sorted(glob.glob(f"{start}*/"))


def _is_study(path):
    return any(os.path.exists(os.path.join(path, mark)) for mark in MARKS)
