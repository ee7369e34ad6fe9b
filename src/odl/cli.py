"""The ``odl`` command: one subcommand a rule of the workflow. Heavy imports wait until a subcommand needs them."""

import argparse
import os
import platform
import signal
import sys
import threading
import time

import odl
from odl import commands
from odl.arguments import parse_map, parse_span
from odl.errors import OdlError
from odl.jobs import attempts
from odl.project import commands as project


def _end_cleanly():
    """Turn SIGTERM into an exit that removes temporary files, and end when the workflow that started us is gone.

    A killed Snakemake cannot stop its jobs; the Snakefile names its process in ODL_PARENT.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parent = os.environ.get("ODL_PARENT", "")
    if parent.isdigit() and os.environ.get("ODL_HOST", platform.node()) == platform.node():
        threading.Thread(target=_watch, args=(int(parent),), daemon=True).start()


def _watch(parent):
    while True:
        try:
            os.kill(parent, 0)
        except ProcessLookupError:
            os.kill(os.getpid(), signal.SIGTERM)
            return
        except PermissionError:
            return
        time.sleep(0.5)


def _parser():
    parser = argparse.ArgumentParser(
        prog="odl", description="Online dictionary learning for novel documents: the steps of the workflow."
    )
    parser.add_argument("--version", action="version", version=f"odl {odl.__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(function, name, help, *inputs):
        inner = subparsers.add_parser(name, help=help, description=help)
        inner.set_defaults(function=function)
        for flags, options in inputs:
            inner.add_argument(*flags.split(), **options)

    project.add(subparsers)
    command(
        commands.download,
        "download",
        "fetch one file of the registry, from ODL_MIRROR first",
        ("file", {"help": "FOLDER/FILE as in the registry"}),
        ("output", {}),
        ("--registry", {"default": "data/corpora.csv"}),
    )
    command(
        commands.read,
        "read",
        "read a corpus into the internal form",
        ("reader", {}),
        ("output", {}),
        ("--source", {"nargs": "*", "default": [], "help": "files to read"}),
        ("--options", {"type": parse_map, "default": {}, "help": "JSON of the reader's options"}),
    )
    command(
        commands.index,
        "index",
        "cut the stream into batches",
        ("documents", {}),
        ("table", {"help": "index.tsv to write"}),
        ("order", {"help": "order.h5 to write"}),
        ("--seed", {"type": int, "required": True}),
        (
            "--stream",
            {"type": parse_map, "required": True, "help": "JSON: batches, protocol, topic_entry, ties"},
        ),
        ("--made", {"help": "folder of the batches made before, to warn of late documents"}),
    )
    command(
        commands.batch,
        "batch",
        "write the documents of one timestep",
        ("documents", {}),
        ("order", {}),
        ("output", {}),
        ("--t", {"type": int, "required": True}),
    )
    command(
        commands.features,
        "features",
        "continue the chain of vocabulary and frequencies by one timestep",
        ("output", {}),
        ("batch", {}),
        ("previous", {"nargs": "?"}),
    )
    state = ("--state", {"required": True, "help": "checkpoint to write"})
    scores = ("--scores", {"required": True, "help": "score file to write"})
    timings = ("--timings", {"required": True, "help": "CPU seconds to write"})
    chain = (
        (
            "--run",
            {
                "type": parse_map,
                "required": True,
                "help": "JSON: corpus, seed, run, atoms, learner, features",
            },
        ),
        ("--previous", {"help": "checkpoint of the timestep before"}),
        ("--corpus-features", {"help": "last features of the stream, for idf: corpus"}),
    )
    command(
        commands.update,
        "update",
        "score one timestep, then learn from it",
        ("features", {}),
        state,
        scores,
        timings,
        *chain,
        ("--history", {"metavar": "FOLDER", "help": "of the features of all timesteps before, for batch learners"}),
        ("--shards", {"nargs": "*", "default": [], "help": "what odl score wrote of this batch, in order"}),
    )
    command(
        commands.score,
        "score",
        "score a range of the documents of one timestep, for a later odl update --shards",
        ("features", {}),
        ("output", {"help": "scores and codes to write"}),
        ("--rows", {"type": parse_span, "required": True, "help": "FIRST:END, FIRST a multiple of 512"}),
        *chain,
    )
    command(
        commands.ranks,
        "ranks",
        "update one timestep of the diffusion learner over MPI ranks, each of which owns some of the agents",
        ("n", {"type": int, "help": "number of ranks, at most one an agent"}),
        ("features", {}),
        state,
        scores,
        timings,
        *chain,
        ("--launcher", {"default": "mpiexec", "help": "what starts ranks, before -n (default: mpiexec)"}),
    )
    command(
        commands.rank,
        "rank",
        "what each rank of odl ranks does; run it by mpiexec -n N odl rank N ...",
        ("n", {"type": int, "help": "number of ranks that there have to be"}),
        ("features", {}),
        state,
        timings,
        *chain,
    )
    command(
        commands.baselines,
        "baselines",
        "score one timestep by nearest neighbours, unknown words and length",
        ("output", {}),
        ("features", {}),
        ("--past", {"metavar": "FOLDER", "required": True, "help": "of the features of the earlier timesteps"}),
        ("--window", {"type": int, "default": 0, "help": "compare with so many timesteps (default: all)"}),
    )
    rule = (
        "--topics",
        {"choices": ["all", "dominant"], "default": "all", "help": "which topics of a document count"},
    )
    command(
        commands.topics,
        "topics",
        "group the most novel documents of one timestep into emerging topics, and print them",
        ("scores", {"help": "score file of the timestep"}),
        ("features", {"help": "features of the same timestep"}),
        ("--output", {"help": "file to write"}),
        (
            "--settings",
            {
                "type": parse_map,
                "default": {},
                "help": "JSON: share, atoms, lam, start_terms, rounds, min_support, terms",
            },
        ),
        ("--weighting", {"type": parse_map, "help": "JSON: tf, idf, min_df, vocabulary (default: those of the run)"}),
        ("--corpus-features", {"help": "last features of the stream, for idf: corpus"}),
        rule,
        ("--json", {"action": "store_true", "help": "print JSON"}),
    )
    command(
        commands.emerging,
        "emerging",
        "table of the emerging topics of one run beside the truth",
        ("table", {"help": "table to write"}),
        ("--files", {"nargs": "*", "default": [], "help": "what odl topics wrote"}),
        ("--scores", {"nargs": "*", "default": [], "help": "score files, in the same order"}),
        rule,
    )
    command(
        commands.evaluate,
        "evaluate",
        "AUC per timestep and on average of one run",
        ("auc", {"help": "table per timestep to write"}),
        ("summary", {"help": "table of averages to write"}),
        (
            "--options",
            {
                "type": parse_map,
                "required": True,
                "help": "JSON: timesteps, min_novel, topics, bootstrap ...",
            },
        ),
        ("--scores", {"nargs": "*", "default": []}),
    )
    command(
        commands.regret,
        "regret",
        "loss of a run against the best fixed dictionary in hindsight, and the bounds of the theory",
        ("output", {"help": "table to write"}),
        ("--checkpoints", {"nargs": "+", "required": True, "help": "of all timesteps, in order"}),
        ("--features", {"nargs": "+", "required": True, "help": "of all timesteps, in order"}),
        ("--options", {"type": parse_map, "default": {}, "help": "JSON: timesteps, tolerance, iterations"}),
    )
    command(
        commands.regrets,
        "regrets",
        "gather the regret of runs over seeds",
        ("plan", {}),
        ("output", {"help": "table to write"}),
        ("--options", {"type": parse_map, "required": True, "help": "JSON: runs, atoms"}),
    )
    command(
        commands.plan,
        "plan",
        "list what a study runs",
        ("output", {}),
        ("--config", {"type": parse_map, "required": True, "help": "JSON of the configuration"}),
    )
    command(
        commands.summarise,
        "summarise",
        "gather the runs of a study over seeds",
        ("plan", {}),
        ("folder", {"help": "folder of tables to write"}),
        ("--emerging", {"nargs": "*", "default": [], "help": "tables of emerging topics to gather"}),
    )
    command(
        commands.figures,
        "figures",
        "draw the figures of a study",
        ("plan", {}),
        ("tables", {}),
        ("folder", {"help": "folder of figures to write"}),
        ("--settings", {"type": parse_map, "default": {}}),
        ("--regret", {"help": "table of regret over seeds, to draw as well"}),
    )
    command(
        commands.attempt,
        "attempt",
        "say whether a submitted job that failed may be run again with more memory",
        ("folder", {"help": "what its commands left: logs/attempts/ID"}),
    )
    command(
        commands.measure,
        "measure",
        "measure one part of an experiment",
        ("name", {}),
        ("output", {"help": "file to write"}),
        ("--part", {"type": int, "required": True, "help": "seed or split"}),
        ("--settings", {"type": parse_map, "default": {}, "help": "JSON of what differs from the defaults"}),
        ("--files", {"nargs": "*", "default": [], "help": "its data"}),
    )
    command(
        commands.experiment,
        "experiment",
        "run an experiment: tables and figures beside the streams",
        ("name", {}),
        ("folder", {"help": "folder of tables and figures to write"}),
        ("--settings", {"type": parse_map, "default": {}, "help": "JSON of what differs from the defaults"}),
        ("--files", {"nargs": "*", "default": [], "help": "its data"}),
        (
            "--study",
            {"type": parse_map, "default": None, "help": "JSON of its streams, learners and evaluation"},
        ),
        ("--parts", {"nargs": "*", "default": [], "help": "what `odl measure` wrote of each, if not to be measured"}),
    )
    command(
        commands.page,
        "page",
        "write the page of a study",
        ("output", {}),
        ("plan", {"nargs": "?"}),
        ("tables", {"nargs": "?"}),
        ("figures", {"nargs": "?"}),
        ("--experiments", {"nargs": "*", "default": [], "help": "folders of finished experiments"}),
        ("--title", {"default": "Novel documents"}),
        ("--config", {"type": parse_map, "default": {}}),
        ("--settings", {"type": parse_map, "default": {}}),
    )
    command(commands.table, "table", "print the main table of a finished study", ("folder", {"help": "results/STUDY"}))
    command(
        commands.verify,
        "verify",
        "hold every file of a finished study to its digests",
        ("folder", {"help": "results/STUDY"}),
    )
    command(
        commands.compile_kernels,
        "compile",
        "compile the numerical kernels of learners once, before jobs run in parallel",
        ("algorithm", {"nargs": "*", "help": "algorithms, topics or ranks; all if none is named"}),
        ("--stamp", {"help": "empty file to write when done"}),
    )
    command(
        commands.schema,
        "schema",
        "print the schema of the configuration, with what the workflow has to know of learners, readers, experiments",
        ("--write", {"action": "store_true", "help": "write it where the workflow reads it"}),
        ("--folder", {"default": "workflow/schemas", "help": "of the part written by hand, base.json"}),
    )
    return parser


def main(words=None):
    """Run one subcommand; return the exit status."""
    args = _parser().parse_args(words)
    if words is None:
        _end_cleanly()
    with attempts.remembered(args.command, "" if args.command == "attempt" else None) as ended:
        status, end = _run(args)
        ended(status, end)
    if os.environ.get("ODL_COSTS"):
        print(f"odl {args.command}: {time.process_time():.3f} CPU s, {_peak():.1f} MB at most", file=sys.stderr)
    return status


def _peak():
    """Return the largest memory of this process in MB; what `resource` says includes that of who started it."""
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024 / 1e6
    except OSError:
        return float("nan")


def _run(args):
    """Run the subcommand; return the exit status, and a word on how it ended."""
    try:
        args.function(args)
    except OdlError as error:
        print(f"odl {args.command}: {error}", file=sys.stderr)
        return 1, "refused"
    except KeyboardInterrupt:
        return 130, "terminated"
    except MemoryError as error:
        reason = " ".join(str(error).split()) or "no more could be had"
        print(f"odl {args.command}: out of memory ({reason}); give it more, or fewer documents", file=sys.stderr)
        return 1, "memory"
    except OSError as error:
        # A full disk, a folder that may not be written: nothing half-written remains (storage.replacing).
        reason = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
        where = f" ({error.filename})" if error.filename else ""
        expected = "expected a place to read and write; check space and permissions."
        print(f"odl {args.command}: {reason}{where}; {expected}", file=sys.stderr)
        return 1, "refused"
    return 0, "finished"


if __name__ == "__main__":
    sys.exit(main())
