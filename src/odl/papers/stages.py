"""Steps of the papers' studies: emerging topics, regret, experiments (`odl step NAME`)."""

from dataclasses import asdict

from odl.cli import argument, parse_map, subcommand
from odl.errors import ParameterError


@subcommand(
    "group the emerging topics of one timestep",
    argument("scores", help="score file of the timestep"),
    argument("features", help="features of the same timestep"),
    argument("--output", required=True, help="file to write"),
    argument(
        "--settings",
        type=parse_map,
        default={},
        help="JSON: share, atoms, lam, start_terms, rounds, min_support, terms",
    ),
    argument("--corpus-features", help="last features of the stream, for idf: corpus"),
)
def topics(args):
    from odl.config import sections
    from odl.papers import emerging, emergingfiles

    settings = sections.SmallDictionary.of(args.settings, "--settings")
    clusters, _ = emerging.of_timestep(args.scores, args.features, settings, args.corpus_features)
    emergingfiles.write(args.output, clusters)


@subcommand(
    "write the table of the emerging topics of one run",
    argument("table", help="table to write"),
    argument("--files", nargs="*", default=[], help="what odl step topics wrote"),
    argument("--scores", nargs="*", default=[], help="score files, in the same order"),
    argument("--topics", choices=["all", "dominant"], default="all", help="which topics of a document count"),
)
def emerging(args):
    from odl.files import tables
    from odl.papers import emergingfiles

    if len(args.files) != len(args.scores):
        defect = f"{len(args.files)} files of emerging topics and {len(args.scores)} score files"
        raise ParameterError(defect, "one of each for every timestep", "name them in the same order")
    rows = emergingfiles.table(list(zip(args.files, args.scores, strict=True)), args.topics)
    tables.write_table(args.table, rows, emergingfiles.COLUMNS)


@subcommand(
    "gather the emerging topics of runs over seeds",
    argument("plan"),
    argument("output", help="table to write"),
    argument("--tables", nargs="*", default=[], help="what odl step emerging wrote of each run"),
)
def emergings(args):
    from odl.papers import emergingfiles

    emergingfiles.gather(args.plan, args.output, args.tables)


@subcommand(
    "write the loss of a run against the best dictionary in hindsight",
    argument("output", help="table to write"),
    argument("--checkpoints", nargs="+", required=True, help="of all timesteps, in order"),
    argument("--features", nargs="+", required=True, help="of all timesteps, in order"),
    argument("--options", type=parse_map, default={}, help="JSON: timesteps, tolerance, iterations"),
)
def regret(args):
    from odl.config import sections
    from odl.papers import hindsight

    options = asdict(sections.BestFixed.of(args.options, "--options"))
    hindsight.write(args.output, args.checkpoints, args.features, **options)


@subcommand(
    "gather the regret of runs over seeds",
    argument("plan"),
    argument("output", help="table to write"),
    argument("--options", type=parse_map, required=True, help="JSON: runs, atoms"),
)
def regrets(args):
    from odl.config import sections
    from odl.papers import hindsight

    of = sections.Regret.of(args.options, "--options")
    hindsight.gather_regret(args.plan, args.output, runs=of.runs, sizes=of.sizes)


@subcommand(
    "measure one part of an experiment",
    argument("name"),
    argument("output", help="file to write"),
    argument("--part", type=int, required=True, help="seed or split"),
    argument("--settings", type=parse_map, default={}, help="JSON of what differs from the defaults"),
    argument("--files", nargs="*", default=[], help="its data"),
)
def measure(args):
    from odl.papers import experiments

    experiments.measure(args.name, args.output, args.part, args.settings, args.files)


@subcommand(
    "run an experiment beside the streams: tables and figures",
    argument("name"),
    argument("folder", help="folder of tables and figures to write"),
    argument("--settings", type=parse_map, default={}, help="JSON of what differs from the defaults"),
    argument("--files", nargs="*", default=[], help="its data"),
    argument("--study", type=parse_map, default=None, help="JSON of its streams, learners and evaluation"),
    argument("--parts", nargs="*", default=[], help="what `odl step measure` wrote of each, if not to be measured"),
)
def experiment(args):
    from odl.papers import experiments

    experiments.run(args.name, args.folder, args.settings, args.files, args.study, args.parts)
