"""Steps that score and learn: one timestep of a run or of the baselines."""

import json
import os
import sys

from odl.cli.declare import argument, begins_in, parse_map, parse_span, step

STATE = argument("--state", required=True, help="checkpoint to write")
SCORES = argument("--scores", required=True, help="score file to write")
TIMINGS = argument("--timings", required=True, help="CPU seconds to write")
CHAIN = (
    argument("--run", type=parse_map, required=True, help="JSON: corpus, seed, run, atoms, learner, features"),
    argument("--previous", help="checkpoint of the timestep before"),
    argument("--corpus-features", help="last features of the stream, for idf: corpus"),
)


@step(
    "score one timestep, then learn from it",
    argument("features"),
    STATE,
    SCORES,
    TIMINGS,
    *CHAIN,
    argument("--history", metavar="FOLDER", help="of the features of all timesteps before, for batch learners"),
    argument("--shards", nargs="*", default=[], help="what odl step score wrote of this batch, in order"),
)
def update(args):
    from odl.jobs import runs, update

    update.update(
        args.features,
        args.state,
        args.scores,
        args.timings,
        run=runs.parse(args.run),
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


@step(
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


@step(
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
@begins_in("jobs/mpi", "learners/diffusion")
def ranks(args):
    from odl.jobs import mpi, runs

    chain = {"run": runs.parse(args.run), "previous": args.previous, "corpus_features": args.corpus_features}
    words = [args.features, "--state", args.state, "--timings", args.timings, "--run", json.dumps(args.run)]
    for option in ("previous", "corpus_features"):
        words += [f"--{option.replace('_', '-')}", chain[option]] if chain[option] else []
    mpi.launch(words, args.n, args.launcher, args.state)
    mpi.collect(args.features, args.state, args.scores, **chain)
    _prune(args.state)


@step(
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


@step(
    "continue the chain of alerts: items, topics, reasons",
    argument("features"),
    argument("scores"),
    argument("state", help="checkpoint of the timestep"),
    argument("output", help="alerts to write"),
    CHAIN[0],
    argument("--known", help="checkpoint of the timestep before"),
    argument("--previous", help="alerts of the timestep before"),
    argument("--batch", help="batch of the timestep, for the sources of its documents"),
    CHAIN[2],
    argument("--settings", type=parse_map, default={}, help="JSON: budget, level, window, ..."),
)
def alerts(args):
    from odl.config import sections
    from odl.jobs import alerts, runs

    files = {"known": args.known, "previous": args.previous, "batch": args.batch, "whole": args.corpus_features}
    chain = {"run": runs.parse(args.run), "settings": sections.Alerts.of(args.settings, "--settings"), **files}
    alerts.follow(args.features, args.scores, args.state, args.output, **chain)


@step(
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
