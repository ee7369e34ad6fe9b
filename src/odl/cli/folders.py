"""The commands for a folder of one's own documents: ``odl init`` and ``odl run``."""

import os

from odl.cli.declare import argument, subcommand
from odl.files.listing import KINDS

ROLES = ("id", "time", "text", "title", "url", "topics")
FILES = "JSONL, CSV, Parquet, mbox, RSS, Atom or text files, folders, patterns; none: what lies in FOLDER"
ANSWERS = (*ROLES, "kind", "delimiter", "encoding", "dates", "times", "period", "stop_words", "only")


@subcommand(
    "look at your documents and write a folder to run",
    argument("folder", help="folder to write, made if it is not there"),
    argument("sources", nargs="*", default=[], help=FILES),
    *(argument(f"--{role}", metavar="COLUMN", help=f"column of the {role}; '' for none") for role in ROLES),
    argument("--kind", choices=KINDS, help="what the files are"),
    argument("--delimiter", help="between the fields of CSV files"),
    argument("--encoding", help="such as cp1252, or utf-8,cp1252 where both occur"),
    argument("--dates", choices=("day-first", "month-first"), help="what 03/04/2026 begins with"),
    argument("--times", choices=("name", "front-matter", "modified"), help="where texts have their times"),
    argument("--period", choices=("day", "week", "month", "year"), help="what makes a batch"),
    argument("--stop-words", metavar="LANGUAGE", help="language whose frequent words are left out, or none"),
    argument("--only", action="store_true", help="read the files that are named, and none that come later"),
    argument("--force", action="store_true", help="replace what an earlier odl init wrote"),
    argument("--snakemake", action="store_true", help="write a Snakefile: for a cluster, in place of odl run"),
    more="It says what was understood, and writes FOLDER/odl.yaml.",
    examples=("odl init news posts/*.jsonl", "odl init mail archive.mbox --period month"),
)
def init(args):
    from odl.cli import init

    answers = {name: getattr(args, name) for name in ANSWERS}
    report = init.write(args.folder, args.sources, answers, args.force, args.snakemake)
    print(f"{report.n_documents:,} documents" + (f", {report.span}" if report.span else ""))
    for what, why in report.said:
        print(f"  {what.replace('_', ' '):<10}{why}")
    then = f"cd {args.folder} && snakemake --cores 2" if args.snakemake else f"odl run {args.folder}"
    print(f"wrote {os.path.join(args.folder, init.FILE)}; now: {then}")


@subcommand(
    "run a folder that odl init wrote",
    argument("folder"),
    argument("--dry-run", "-n", action="store_true", help="say what would be done, and why; do nothing"),
    argument("--again", action="store_true", help="do again what another version of odl made"),
    argument("--check", action="store_true", help="read and verify every file, whatever is remembered of it"),
    argument("--wait", type=float, default=0.0, metavar="SECONDS", help="wait for another run of the folder"),
    argument("--cores", type=int, metavar="N", help="processes that read files at a time (default: all cores)"),
    more="It reads, scores and learns what is new; what was done before is not done again.",
    examples=("odl run news", "odl run news --dry-run", "odl run news --wait 600"),
)
def run(args):
    from odl.cli import run
    from odl.config import project

    project.check(args.folder)
    options = {"again": args.again, "check": args.check, "dry": args.dry_run, "wait": args.wait, "cores": args.cores}
    print(run.run(args.folder, **options))
