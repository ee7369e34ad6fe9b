"""The ``odl`` command: one subcommand a rule of the workflow. Heavy imports wait until a subcommand needs them."""

import argparse
import json
import os
import platform
import signal
import sys
import threading
import time

import odl
from odl import arguments
from odl.arguments import parse_map
from odl.errors import OdlError, ParameterError


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


def download(args):
    from odl import download

    download.download(args.file, args.output, args.registry, mirror=os.environ.get("ODL_MIRROR"))


def read(args):
    from odl import corpora, documents

    found = corpora.read(args.reader, args.source, args.options)
    documents.write(args.output, found, reader=args.reader)
    print(f"odl read: {len(found)} documents, {len(found.vocabulary)} terms")


def index(args):
    from odl import pipeline

    arguments.check(args.stream, "--stream", arguments.STREAM)
    arguments.check(args.stream["batches"], "--stream: batches", arguments.BATCHES)
    arguments.check(
        args.stream["topic_entry"], "--stream: topic_entry", arguments.ENTRY, args.stream["protocol"] != "topic-entry"
    )
    pipeline.index(args.documents, args.table, args.order, seed=args.seed, made=args.made, **args.stream)


def batch(args):
    from odl import pipeline

    pipeline.batch(args.documents, args.order, args.output, args.t)


def features(args):
    from odl import pipeline

    pipeline.advance(args.output, args.batch, args.previous)


def update(args):
    from odl import timestep

    _check_run(args.run)
    timestep.update(
        args.features,
        args.state,
        args.scores,
        args.timings,
        run=args.run,
        previous=args.previous,
        history=args.history,
        corpus_features=args.corpus_features,
    )


def _check_run(run):
    arguments.check(run, "--run", arguments.RUN)
    arguments.check(run["features"], "--run: features", arguments.FEATURES, optional=True)
    if "algorithm" not in run["learner"]:
        raise ParameterError("--run: learner has no 'algorithm'", "the name of one", "add it")


def ranks(args):
    from odl import rankstep

    _check_run(args.run)
    chain = {"run": args.run, "previous": args.previous, "corpus_features": args.corpus_features}
    words = [args.features, "--state", args.state, "--timings", args.timings, "--run", json.dumps(args.run)]
    for option in ("previous", "corpus_features"):
        words += [f"--{option.replace('_', '-')}", chain[option]] if chain[option] else []
    rankstep.launch(words, args.n, args.launcher, args.state)
    rankstep.collect(args.features, args.state, args.scores, **chain)


def rank(args):
    from odl import rankstep

    _check_run(args.run)
    chain = {"run": args.run, "previous": args.previous, "corpus_features": args.corpus_features}
    sys.exit(rankstep.rank(args.n, args.features, args.state, args.timings, **chain))


def baselines(args):
    from odl import baselines, features

    batch = features.read(args.features)
    baselines.write(args.output, batch, baselines.score(batch, map(features.read, args.past)))


def topics(args):
    from odl import emerging, topicstep

    arguments.check(args.settings, "--settings", arguments.EMERGING, optional=True)
    arguments.check(args.weighting, "--weighting", arguments.FEATURES, optional=True)
    found, batch = topicstep.find(
        args.scores,
        args.features,
        settings=args.settings,
        weighting=args.weighting,
        corpus_features=args.corpus_features,
    )
    if args.output:
        emerging.write(args.output, found)
    print((emerging.as_json if args.json else emerging.as_text)(found, batch, args.topics))


def emerging(args):
    from odl import emerging, tables

    if len(args.files) != len(args.scores):
        given = f"{len(args.files)} files of emerging topics and {len(args.scores)} score files"
        raise ParameterError(given, "one of each for every timestep", "name them in the same order")
    rows = emerging.table(list(zip(args.files, args.scores, strict=True)), args.topics)
    tables.write_table(args.table, rows, emerging.COLUMNS)


def evaluate(args):
    from odl import tables

    arguments.check(args.options, "--options", arguments.EVALUATE, optional=True)
    tables.write_evaluation(args.scores, args.auc, args.summary, **args.options)


def regret(args):
    from odl import regret

    arguments.check(args.options, "--options", arguments.REGRET, optional=True)
    regret.write(args.output, args.checkpoints, args.features, **args.options)


def regrets(args):
    from odl import regrets

    arguments.check(args.options, "--options", arguments.REGRETS)
    regrets.gather(args.plan, args.output, **args.options)


def plan(args):
    from odl import config, pipeline, study

    arguments.check(args.config, "--config", arguments.STUDY)
    study.write_plan(args.output, config.plan(args.config, pipeline.lengths(args.config)))


def summarise(args):
    from odl import study

    study.summarise(args.plan, args.folder, args.emerging)


def figures(args):
    from odl import figures

    arguments.check(args.settings, "--settings", arguments.SHOWN, optional=True)
    figures.write(args.plan, args.tables, args.folder, args.settings, regret=args.regret)


def experiment(args):
    from odl import experiments

    experiments.run(args.name, args.folder, args.settings, args.files, args.study)


def page(args):
    from odl import report

    if args.plan is not None and args.figures is None:
        raise ParameterError("a plan without tables and figures", "PLAN TABLES FIGURES", "name all three")
    arguments.check(args.settings, "--settings", arguments.SHOWN, optional=True)
    report.write(
        args.output,
        args.plan,
        args.tables,
        args.figures,
        title=args.title,
        config=args.config,
        settings=args.settings,
        experiments=args.experiments,
    )


def table(args):
    from odl import report

    print(report.main_table(f"{args.folder}/tables"))
    print(f"Report: {args.folder}/report.html")


def compile_kernels(args):
    from odl import learners, timestep

    for algorithm in args.algorithm or [*learners.LEARNERS, "topics", "ranks"]:
        if algorithm == "topics":
            from odl import topics

            topics.warm_up()
        elif algorithm == "ranks":
            from odl import rankstep

            rankstep.warm_up()
        else:
            timestep.warm_up(algorithm)
    if args.stamp:
        open(args.stamp, "w").close()


def schema(args):
    from odl import experiments, learners

    print(json.dumps((experiments if args.experiments else learners).schema(), indent=2))


def _parser():
    parser = argparse.ArgumentParser(
        prog="odl", description="Online dictionary learning for novel documents: the steps of the workflow."
    )
    parser.add_argument("--version", action="version", version=f"odl {odl.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(function, name, help, *inputs):
        inner = commands.add_parser(name, help=help, description=help)
        inner.set_defaults(function=function)
        for flags, options in inputs:
            inner.add_argument(*flags.split(), **options)

    command(
        download,
        "download",
        "fetch one file of the registry, from ODL_MIRROR first",
        ("file", {"help": "FOLDER/FILE as in the registry"}),
        ("output", {}),
        ("--registry", {"default": "data/corpora.csv"}),
    )
    command(
        read,
        "read",
        "read a corpus into the internal form",
        ("reader", {}),
        ("output", {}),
        ("--source", {"nargs": "*", "default": [], "help": "files to read"}),
        ("--options", {"type": parse_map, "default": {}, "help": "JSON of the reader's options"}),
    )
    command(
        index,
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
        batch,
        "batch",
        "write the documents of one timestep",
        ("documents", {}),
        ("order", {}),
        ("output", {}),
        ("--t", {"type": int, "required": True}),
    )
    command(
        features,
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
        update,
        "update",
        "score one timestep, then learn from it",
        ("features", {}),
        state,
        scores,
        timings,
        *chain,
        ("--history", {"nargs": "*", "default": [], "help": "features of all timesteps before, for batch learners"}),
    )
    command(
        ranks,
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
        rank,
        "rank",
        "what each rank of odl ranks does; run it by mpiexec -n N odl rank N ...",
        ("n", {"type": int, "help": "number of ranks that there have to be"}),
        ("features", {}),
        state,
        timings,
        *chain,
    )
    command(
        baselines,
        "baselines",
        "score one timestep by nearest neighbours, unknown words and length",
        ("output", {}),
        ("features", {}),
        ("--past", {"nargs": "*", "default": [], "help": "features of the earlier timesteps, in order"}),
    )
    rule = (
        "--topics",
        {"choices": ["all", "dominant"], "default": "all", "help": "which topics of a document count"},
    )
    command(
        topics,
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
        ("--weighting", {"type": parse_map, "default": {}, "help": "JSON: tf, idf, min_df, vocabulary of the run"}),
        ("--corpus-features", {"help": "last features of the stream, for idf: corpus"}),
        rule,
        ("--json", {"action": "store_true", "help": "print JSON"}),
    )
    command(
        emerging,
        "emerging",
        "table of the emerging topics of one run beside the truth",
        ("table", {"help": "table to write"}),
        ("--files", {"nargs": "*", "default": [], "help": "what odl topics wrote"}),
        ("--scores", {"nargs": "*", "default": [], "help": "score files, in the same order"}),
        rule,
    )
    command(
        evaluate,
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
        regret,
        "regret",
        "loss of a run against the best fixed dictionary in hindsight, and the bounds of the theory",
        ("output", {"help": "table to write"}),
        ("--checkpoints", {"nargs": "+", "required": True, "help": "of all timesteps, in order"}),
        ("--features", {"nargs": "+", "required": True, "help": "of all timesteps, in order"}),
        ("--options", {"type": parse_map, "default": {}, "help": "JSON: timesteps, tolerance, iterations"}),
    )
    command(
        regrets,
        "regrets",
        "gather the regret of runs over seeds",
        ("plan", {}),
        ("output", {"help": "table to write"}),
        ("--options", {"type": parse_map, "required": True, "help": "JSON: runs, atoms"}),
    )
    command(
        plan,
        "plan",
        "list what a study runs",
        ("output", {}),
        ("--config", {"type": parse_map, "required": True, "help": "JSON of the configuration"}),
    )
    command(
        summarise,
        "summarise",
        "gather the runs of a study over seeds",
        ("plan", {}),
        ("folder", {"help": "folder of tables to write"}),
        ("--emerging", {"nargs": "*", "default": [], "help": "tables of emerging topics to gather"}),
    )
    command(
        figures,
        "figures",
        "draw the figures of a study",
        ("plan", {}),
        ("tables", {}),
        ("folder", {"help": "folder of figures to write"}),
        ("--settings", {"type": parse_map, "default": {}}),
        ("--regret", {"help": "table of regret over seeds, to draw as well"}),
    )
    command(
        experiment,
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
    )
    command(
        page,
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
    command(table, "table", "print the main table of a finished study", ("folder", {"help": "results/STUDY"}))
    command(
        compile_kernels,
        "compile",
        "compile the numerical kernels of learners once, before jobs run in parallel",
        ("algorithm", {"nargs": "*", "help": "algorithms, topics or ranks; all if none is named"}),
        ("--stamp", {"help": "empty file to write when done"}),
    )
    command(
        schema,
        "schema",
        "print the configuration schema of the learners, or of the experiments",
        ("--experiments", {"action": "store_true"}),
    )
    return parser


def main(words=None):
    """Run one subcommand; return the exit status."""
    args = _parser().parse_args(words)
    if words is None:
        _end_cleanly()
    try:
        args.function(args)
    except OdlError as error:
        print(f"odl {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # A full disk, a folder that may not be written: nothing half-written remains (storage.replacing).
        reason = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
        where = f" ({error.filename})" if error.filename else ""
        expected = "expected a place to read and write; check space and permissions."
        print(f"odl {args.command}: {reason}{where}; {expected}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
