"""What the subcommands of ``odl`` do with their arguments: check them and call one module, imported only then."""

import json
import os
import sys

from odl import arguments
from odl.errors import ParameterError


def begins_in(*files):
    """Say where the code of a result begins, for a subcommand that imports more or less than makes it.

    It is read, not called: `odl.registry` tells the rules, which follow the imports from there (`odl.config.sources`).
    """
    return lambda function: function


def download(args):
    from odl.corpora import download

    download.download(args.file, args.output, args.registry, mirror=os.environ.get("ODL_MIRROR"))


def read(args):
    from odl import corpora
    from odl.files import documents

    found = corpora.read(args.reader, args.source, args.options)
    documents.write(args.output, found, reader=args.reader)
    print("; ".join([f"odl read: {len(found)} documents, {len(found.vocabulary)} terms", *found.notes]))


def index(args):
    from odl.stream import batching

    arguments.check(args.stream, "--stream", arguments.STREAM)
    arguments.check(args.stream["batches"], "--stream: batches", arguments.BATCHES)
    arguments.check(
        args.stream["topic_entry"], "--stream: topic_entry", arguments.ENTRY, args.stream["protocol"] != "topic-entry"
    )
    batching.index(args.documents, args.table, args.order, seed=args.seed, made=args.made, **args.stream)


def batch(args):
    from odl.stream import batchfile

    print("odl batch:", batchfile.cut(args.documents, args.order, args.output, args.t))


def features(args):
    from odl.stream import features

    features.advance(args.output, args.batch, args.previous)


def attempt(args):
    from odl.jobs import attempts

    attempts.ask(args.folder)


def update(args):
    from odl.jobs import timestep

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
        shards=args.shards,
    )
    _prune(args.state)


def _prune(state):
    """Delete old checkpoints where the workflow says so; by environment, since it changes no result."""
    from odl.files import checkpoints

    checkpoints.prune(state, int(os.environ.get("ODL_KEEP") or 0))


def score(args):
    from odl.jobs import shards

    _check_run(args.run)
    shards.score(
        args.features, args.previous, args.output, rows=args.rows, run=args.run, corpus_features=args.corpus_features
    )


def _check_run(run):
    arguments.check(run, "--run", arguments.RUN)
    arguments.check(run["features"], "--run: features", arguments.FEATURES, optional=True)
    if "algorithm" not in run["learner"]:
        raise ParameterError("--run: learner has no 'algorithm'", "the name of one", "add it")


@begins_in("jobs/rankstep", "learners/diffusion")
def ranks(args):
    from odl.jobs import rankstep

    _check_run(args.run)
    chain = {"run": args.run, "previous": args.previous, "corpus_features": args.corpus_features}
    words = [args.features, "--state", args.state, "--timings", args.timings, "--run", json.dumps(args.run)]
    for option in ("previous", "corpus_features"):
        words += [f"--{option.replace('_', '-')}", chain[option]] if chain[option] else []
    rankstep.launch(words, args.n, args.launcher, args.state)
    rankstep.collect(args.features, args.state, args.scores, **chain)
    _prune(args.state)


def rank(args):
    from odl.jobs import rankstep

    _check_run(args.run)
    chain = {"run": args.run, "previous": args.previous, "corpus_features": args.corpus_features}
    sys.exit(rankstep.rank(args.n, args.features, args.state, args.timings, **chain))


def baselines(args):
    from odl.evaluation import baselines, scores
    from odl.files import storage
    from odl.stream import features

    batch = features.read(args.features)
    past = storage.earlier(args.past, batch.t, args.window)
    scores.write_baselines(args.output, batch, baselines.score(batch, map(features.read, past)))


def topics(args):
    from odl.alerts import emerging
    from odl.jobs import topicstep

    arguments.check(args.settings, "--settings", arguments.EMERGING, optional=True)
    arguments.check(args.weighting or {}, "--weighting", arguments.FEATURES, optional=True)
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
    from odl.alerts import emerging
    from odl.evaluation import tables

    if len(args.files) != len(args.scores):
        given = f"{len(args.files)} files of emerging topics and {len(args.scores)} score files"
        raise ParameterError(given, "one of each for every timestep", "name them in the same order")
    rows = emerging.table(list(zip(args.files, args.scores, strict=True)), args.topics)
    tables.write_table(args.table, rows, emerging.COLUMNS)


def evaluate(args):
    from odl.evaluation import tables

    arguments.check(args.options, "--options", arguments.EVALUATE, optional=True)
    tables.write_evaluation(args.scores, args.auc, args.summary, **args.options)


def regret(args):
    from odl.evaluation import regret

    arguments.check(args.options, "--options", arguments.REGRET, optional=True)
    regret.write(args.output, args.checkpoints, args.features, **args.options)


def regrets(args):
    from odl.evaluation import regretmeans

    arguments.check(args.options, "--options", arguments.REGRETS)
    regretmeans.gather_regret(args.plan, args.output, **args.options)


@begins_in("config/__init__", "evaluation/plan")
def plan(args):
    from odl import config
    from odl.evaluation import plan

    arguments.check(args.config, "--config", arguments.STUDY)
    plan.write_plan(args.output, config.plan(args.config, config.lengths(args.config)))


def summarise(args):
    from odl.evaluation import study

    study.summarise(args.plan, args.folder, args.emerging)


def figures(args):
    from odl.report import figures

    arguments.check(args.settings, "--settings", arguments.SHOWN, optional=True)
    figures.write(args.plan, args.tables, args.folder, args.settings, regret=args.regret)


def measure(args):
    from odl import experiments

    experiments.measure(args.name, args.output, args.part, args.settings, args.files)


def experiment(args):
    from odl import experiments

    experiments.run(args.name, args.folder, args.settings, args.files, args.study, args.parts)


def page(args):
    from odl import experiments
    from odl.report import studypage

    if args.plan is not None and args.figures is None:
        raise ParameterError("a plan without tables and figures", "PLAN TABLES FIGURES", "name all three")
    arguments.check(args.settings, "--settings", arguments.SHOWN, optional=True)
    studypage.write(
        args.output,
        args.plan,
        args.tables,
        args.figures,
        title=args.title,
        config=args.config,
        settings=args.settings,
        experiments=[experiments.section(folder) for folder in args.experiments],
    )


def table(args):
    from odl.report import studypage

    print(studypage.main_table(f"{args.folder}/tables"))
    print(f"Report: {args.folder}/report.html")


def verify(args):
    from odl.files import verify

    n_files, wrong = verify.verify(args.folder)
    for sentence in wrong:
        print(sentence)
    fits = f"{len(wrong)} of which {'do' if len(wrong) > 1 else 'does'} not fit" if wrong else "all of which fit"
    print(f"odl verify: {n_files} files, {fits}")
    if wrong:
        sys.exit(1)


def compile_kernels(args):
    from odl import learners
    from odl.jobs import compile as ahead
    from odl.jobs import timestep
    from odl.kernels import native

    for name in native.FUNCTIONS:
        if not ahead.build(name):
            print(f"odl compile: no C compiler made a library of odl.{name}; jobs load numba instead", file=sys.stderr)
    for algorithm in args.algorithm or [*learners.LEARNERS, "topics", "ranks"]:
        if algorithm == "topics":
            from odl.alerts import topics

            topics.warm_up()
        elif algorithm == "ranks":
            from odl.jobs import rankstep

            rankstep.warm_up()
        else:
            timestep.warm_up(algorithm)
    if args.stamp:
        open(args.stamp, "w").close()


def schema(args):
    from odl import registry

    if args.write:
        registry.write(args.folder)
    else:
        print(registry.text(registry.schema(args.folder)), end="")
