"""Steps of a study: shards, ranks, baselines, tables over runs and seeds, figures, page, kernels and schema."""

import json
import os
import sys
from functools import partial

from odl.cli import CHAIN, SCORES, STATE, TIMINGS, argument, begins_in, parse_map, parse_span, subcommand
from odl.errors import ParameterError


@subcommand(
    "score a range of the documents of one timestep",
    argument("features"),
    argument("output", help="scores and codes to write"),
    argument("--rows", type=parse_span, required=True, help="FIRST:END, FIRST a multiple of 512"),
    *CHAIN,
    more="What it writes is for a later `odl step update --shards`.",
)
def score(args):
    from odl.jobs import runs, shards

    run = runs.parse(args.run)
    shards.score(
        args.features, args.previous, args.output, rows=args.rows, run=run, corpus_features=args.corpus_features
    )


@subcommand(
    "update one timestep of the diffusion learner over MPI ranks",
    argument("n", type=int, help="number of ranks, at most one an agent"),
    argument("features"),
    STATE,
    SCORES,
    TIMINGS,
    *CHAIN,
    argument("--launcher", default="mpiexec", help="what starts ranks, before -n (default: mpiexec)"),
    more="Each rank owns some of the agents.",
)
@begins_in("jobs/mpi", "learners/diffusion", "files/thinning")
def ranks(args):
    from odl.files import thinning
    from odl.jobs import mpi, runs

    chain = {"run": runs.parse(args.run), "previous": args.previous, "corpus_features": args.corpus_features}
    words = [args.features, "--state", args.state, "--timings", args.timings, "--run", json.dumps(args.run)]
    for option in ("previous", "corpus_features"):
        words += [f"--{option.replace('_', '-')}", chain[option]] if chain[option] else []
    mpi.launch(words, args.n, args.launcher, args.state)
    mpi.collect(args.features, args.state, args.scores, **chain)
    thinning.prune(args.state, int(os.environ.get("ODL_KEEP") or 0))


@subcommand(
    "what each rank of odl step ranks does",
    argument("n", type=int, help="number of ranks that there have to be"),
    argument("features"),
    STATE,
    TIMINGS,
    *CHAIN,
    more="Run it by `mpiexec -n N odl step rank N ...`.",
)
def rank(args):
    from odl.distributed import messages

    def work(comm):
        from odl.jobs import mpi, runs

        run = messages.together(comm, lambda: runs.parse(args.run))
        chain = {"run": run, "previous": args.previous, "corpus_features": args.corpus_features}
        mpi.work(comm, args.features, args.state, args.timings, **chain)

    sys.exit(messages.take_part(args.n, work))


@subcommand(
    "score one timestep by neighbours, unknown words and length",
    argument("output"),
    argument("features"),
    argument("--past", metavar="FOLDER", required=True, help="of the features of the earlier timesteps"),
    argument("--window", type=int, help="compare with so many timesteps, 0: all (default: with the last documents)"),
    more="By default with all documents of a past of 50,000, with the last 10,000 of a longer one.",
)
def baselines(args):
    from odl.evaluation import baselines, scorefiles
    from odl.files import storage
    from odl.stream import features

    batch, window = features.read(args.features), ""
    if args.window is not None or batch.n_before <= baselines.LONGEST:
        past = map(features.read, storage.earlier(args.past, batch.t, args.window or 0))
        if args.window and args.window < batch.t:
            window = f"last{args.window}timesteps"
    else:
        newest_first = (storage.earlier(args.past, t, 1)[0] for t in range(batch.t, 0, -1))
        past, window = baselines.latest(map(features.read, newest_first), baselines.LAST), f"last{baselines.LAST}"
    scorefiles.write_baselines(args.output, batch, baselines.score(batch, past), window)


@subcommand(
    "write AUC per timestep and on average of one run",
    argument("auc", help="table per timestep to write"),
    argument("summary", help="table of averages to write"),
    argument("--options", type=parse_map, required=True, help="JSON: timesteps, min_novel, topics, bootstrap ..."),
    argument("--scores", nargs="*", default=[]),
)
def evaluate(args):
    from odl.config import sections
    from odl.evaluation import averages

    sections.EvaluatedStream.of(args.options, "--options")
    averages.write_evaluation(args.scores, args.auc, args.summary, **args.options)


@subcommand(
    "list what a study runs",
    argument("output"),
    argument("--config", type=parse_map, required=True, help="JSON of the configuration"),
)
@begins_in("config/chains", "config/sections", "evaluation/study")
def plan(args):
    from odl.config import chains, sections
    from odl.evaluation import study

    sections.Planned.of(args.config, "--config")
    study.write_plan(args.output, chains.plan(args.config, chains.lengths(args.config)))


@subcommand(
    "gather the runs of a study over seeds",
    argument("plan"),
    argument("folder", help="folder of tables to write"),
)
def summarise(args):
    from odl.evaluation import study

    study.summarise(args.plan, args.folder)


@subcommand(
    "draw the figures of a study",
    argument("plan"),
    argument("tables"),
    argument("folder", help="folder of figures to write"),
    argument("--settings", type=parse_map, default={}),
    argument("--regret", help="table of regret over seeds, to draw as well"),
)
def figures(args):
    from odl.config import sections
    from odl.report import figures

    sections.Shown.of(args.settings, "--settings")
    figures.write(args.plan, args.tables, args.folder, args.settings, regret=args.regret)


@subcommand(
    "write the page of a study",
    argument("output"),
    argument("plan", nargs="?"),
    argument("tables", nargs="?"),
    argument("figures", nargs="?"),
    argument("--emerging", help="table of emerging topics over seeds, to show as well"),
    argument("--experiments", nargs="*", default=[], help="folders of finished experiments"),
    argument("--title", default="Novel documents"),
    argument("--config", type=parse_map, default={}),
    argument("--settings", type=parse_map, default={}),
)
@begins_in("report/studypage", "config/places")  # the rule names what it asks odl.papers for
def page(args):
    from odl.config import places, sections
    from odl.report import studypage

    if args.plan is not None and args.figures is None:
        raise ParameterError("a plan without tables and figures", "PLAN TABLES FIGURES", "name all three")
    sections.Shown.of(args.settings, "--settings")
    emerging = [partial(places.papers("emergingfiles").section, args.emerging)] if args.emerging else []
    streams = studypage.Streams(args.plan, args.tables, args.figures, args.settings, {"Emerging topics": emerging})
    experiments = [places.papers("experiments").section(folder) for folder in args.experiments]
    shown = streams if args.plan is not None else None
    studypage.write(args.output, shown, title=args.title, config=args.config, experiments=experiments)


@subcommand(
    "compile the numerical kernels of learners, before jobs need them",
    argument("algorithm", nargs="*", help="algorithms or topics; all if none is named"),
    argument("--stamp", help="empty file to write when done"),
    argument("--cores", type=int, default=1, metavar="N", help="make so many libraries at a time; 0: one on each core"),
)
def compile(args):
    from odl import learners
    from odl.config import places
    from odl.engine import forking
    from odl.jobs import compile as ahead
    from odl.jobs import update
    from odl.kernels import marshalling

    at_once = args.cores or forking.cores()
    if "topics" in args.algorithm:
        places.papers("emerging")
    names = ahead.needed(args.algorithm) if args.algorithm else marshalling.names()
    for name in ahead.build_all(names, ahead.aloud, at_once=at_once):
        print(f"odl step compile: no C compiler made a library of {name}; jobs load numba instead", file=sys.stderr)
    # What has no library numba compiles when it is first called: what two algorithms share, only once.
    with ahead.alone("__init__"):
        for algorithm in args.algorithm or [*learners.LEARNERS, *["topics"] * places.has_papers()]:
            if algorithm == "topics":
                places.papers("emerging").warm_up()
            else:
                update.warm_up(algorithm)
    if args.stamp:
        open(args.stamp, "w").close()


@subcommand(
    "print the schema of the configuration",
    argument("--write", action="store_true", help="write it where the workflow reads it"),
    argument("--folder", default="workflow/schemas", help="where it lies"),
    more="It has what the workflow has to know of learners, readers and experiments.",
)
def schema(args):
    from odl import cli
    from odl.cli import registry

    if args.write:
        registry.write(cli.steps(), args.folder)
    else:
        print(registry.text(registry.schema(cli.steps())), end="")
