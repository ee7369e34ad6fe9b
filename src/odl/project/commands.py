"""The commands for a person's own documents: ``odl init`` and ``odl run``."""

import argparse
import os

from odl.errors import ConfigError

HELP = {"init": "look at your documents and write a folder to run", "run": "run a folder that odl init wrote"}


def add(subparsers, completer):
    """Add the commands to the parser of ``odl``; `completer` names folders for a shell."""
    one = subparsers.add_parser(
        "init",
        help=HELP["init"],
        description="Look at your documents, say what was understood, and write FOLDER/odl.yaml.",
        epilog="examples:\n  odl init news posts/*.jsonl\n  odl init mail archive.mbox --period month",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.set_defaults(function=init)
    one.add_argument("folder", help="folder to write, made if it is not there").completer = completer
    sources = "JSONL, CSV, Parquet, mbox, RSS, Atom or text files, folders, patterns; none: what lies in FOLDER"
    one.add_argument("sources", nargs="*", default=[], help=sources)
    for role in ("id", "time", "text", "title", "url", "topics"):
        one.add_argument(f"--{role}", metavar="COLUMN", help=f"column of the {role}; '' for none")
    one.add_argument("--kind", choices=["jsonl", "csv", "parquet", "mail", "feed", "text"], help="what the files are")
    one.add_argument("--delimiter", help="between the fields of CSV files")
    one.add_argument("--encoding", help="such as cp1252, or utf-8,cp1252 where both occur")
    one.add_argument("--dates", choices=["day-first", "month-first"], help="what 03/04/2026 begins with")
    one.add_argument("--times", choices=["name", "front-matter", "modified"], help="where texts have their times")
    one.add_argument("--period", choices=["day", "week", "month", "year"], help="what makes a batch")
    one.add_argument("--stop-words", metavar="LANGUAGE", help="language whose frequent words are left out, or none")
    one.add_argument("--only", action="store_true", help="read the files that are named, and none that come later")
    one.add_argument("--force", action="store_true", help="replace what an earlier odl init wrote")
    one.add_argument("--snakemake", action="store_true", help="write a Snakefile: for a cluster, in place of odl run")
    two = subparsers.add_parser(
        "run",
        help=HELP["run"],
        description="Read, score and learn what is new; what was done before is not done again.",
        epilog="examples:\n  odl run news\n  odl run news --dry-run\n  odl run news --wait 600",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    two.set_defaults(function=run)
    two.add_argument("folder").completer = completer
    two.add_argument("--dry-run", "-n", action="store_true", help="say what would be done, and why; do nothing")
    two.add_argument("--again", action="store_true", help="do again what another version of odl made")
    two.add_argument("--check", action="store_true", help="read and verify every file, whatever is remembered of it")
    two.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="wait for another run of the folder")
    two.add_argument("--cores", type=int, metavar="N", help="processes that read files at a time (default: all cores)")
    two.add_argument("options", nargs="*", default=[], help=argparse.SUPPRESS)  # of Snakemake, in versions before


def init(args):
    from odl.project import init as writing

    names = (
        "id",
        "time",
        "text",
        "title",
        "url",
        "topics",
        "kind",
        "delimiter",
        "encoding",
        "dates",
        "times",
        "period",
    )
    given = {name: getattr(args, name) for name in (*names, "stop_words", "only")}
    found = writing.init(args.folder, args.sources, given, args.force, args.snakemake)
    print(f"{found.n_documents:,} documents" + (f", {found.span}" if found.span else ""))
    for what, why in found.said:
        print(f"  {what.replace('_', ' '):<10}{why}")
    then = f"cd {args.folder} && snakemake --cores 2" if args.snakemake else f"odl run {args.folder}"
    print(f"wrote {os.path.join(args.folder, writing.FILE)}; now: {then}")


def run(args):
    from odl.config import project
    from odl.project import run as running

    if not os.path.isfile(os.path.join(args.folder, project.FILE)):
        raise ConfigError(
            f"{args.folder} holds no {project.FILE}", "a folder that odl init wrote", "run odl init first"
        )
    if args.options:
        given = f"{' '.join(args.options)} behind `odl run {args.folder}`"
        todo = f"type: odl run {args.folder} --help, or `odl init --snakemake` for a folder that Snakemake drives"
        raise ConfigError(given, "options of `odl run`, which no longer runs Snakemake", todo)
    options = {"again": args.again, "check": args.check, "dry": args.dry_run, "wait": args.wait, "cores": args.cores}
    print(running.run(args.folder, **options))
