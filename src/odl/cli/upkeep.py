"""Commands around a study: digests, compiled kernels, the schema, completion in a shell."""

import glob
import os
import sys

from odl.cli.declare import STEPS, argument, command, step

SHELLS = ("bash", "zsh", "fish")
MARKS = ("odl.yaml", "plan.json")  # one of them is in a folder that odl init wrote, and in results/STUDY


@command(
    "hold every file of a study to its digests",
    argument("folder", help="results/STUDY"),
    more="Compiled kernels too. It names what is damaged and what to delete, and ends with status 1 if there is any.",
    examples=("odl verify results/default", "odl verify news/results/news"),
)
def verify(args):
    from odl.config import steps
    from odl.files import verify
    from odl.kernels import native

    n_files, wrong = verify.verify(args.folder, steps.inputs_of)
    n_libraries, damaged = native.verify()
    wrong += damaged
    for sentence in wrong:
        print(sentence)
    fits = f"{len(wrong)} of which {'do' if len(wrong) > 1 else 'does'} not fit" if wrong else "all of which fit"
    print(f"odl verify: {n_files} files and {n_libraries} libraries of kernels, {fits}")
    if wrong:
        sys.exit(1)


@step(
    "compile the numerical kernels of learners, before jobs need them",
    argument("algorithm", nargs="*", help="algorithms or topics; all if none is named"),
    argument("--stamp", help="empty file to write when done"),
    argument("--cores", type=int, default=1, metavar="N", help="make so many libraries at a time; 0: one on each core"),
    name="compile",
)
def compile_kernels(args):
    from odl import learners, rooms
    from odl.engine import forking
    from odl.files import joblog
    from odl.jobs import compile as ahead
    from odl.jobs import update
    from odl.kernels import marshalling

    joblog.aloud()
    at_once = args.cores or forking.cores()
    if "topics" in args.algorithm:
        rooms.papers("emerging")
    names = ahead.needed(args.algorithm) if args.algorithm else marshalling.names()
    for name in ahead.build_all(names, joblog.say, at_once=at_once):
        print(f"odl step compile: no C compiler made a library of {name}; jobs load numba instead", file=sys.stderr)
    # What has no library numba compiles when it is first called: what two algorithms share, only once.
    with ahead.alone("__init__"):
        for algorithm in args.algorithm or [*learners.LEARNERS, *["topics"] * rooms.has_papers()]:
            if algorithm == "topics":
                rooms.papers("emerging").warm_up()
            else:
                update.warm_up(algorithm)
    if args.stamp:
        open(args.stamp, "w").close()


@step(
    "print the schema of the configuration",
    argument("--write", action="store_true", help="write it where the workflow reads it"),
    argument("--folder", default="workflow/schemas", help="where it lies"),
    more="It has what the workflow has to know of learners, readers and experiments.",
)
def schema(args):
    from odl.cli import registry

    if args.write:
        registry.write(STEPS, args.folder)
    else:
        print(registry.text(registry.schema(STEPS)), end="")


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
