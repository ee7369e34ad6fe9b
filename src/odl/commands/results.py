"""The commands that make tables of scores: evaluation, emerging topics, regret, and over seeds."""

from odl import arguments
from odl.arguments import parse_map
from odl.commands.declare import argument, begins_in, step
from odl.errors import ParameterError

RULE = argument("--topics", choices=["all", "dominant"], default="all", help="which topics of a document count")


@step(
    "group and print the emerging topics of one timestep",
    argument("scores", help="score file of the timestep"),
    argument("features", help="features of the same timestep"),
    argument("--output", help="file to write"),
    argument(
        "--settings",
        type=parse_map,
        default={},
        help="JSON: share, atoms, lam, start_terms, rounds, min_support, terms",
    ),
    argument("--weighting", type=parse_map, help="JSON: tf, idf, min_df, vocabulary (default: those of the run)"),
    argument("--corpus-features", help="last features of the stream, for idf: corpus"),
    RULE,
    argument("--json", action="store_true", help="print JSON"),
)
def topics(args):
    from odl.alerts import emerging
    from odl.jobs import topics

    arguments.check_map(args.settings, "--settings", arguments.EMERGING, optional=True)
    arguments.check_map(args.weighting or {}, "--weighting", arguments.FEATURES, optional=True)
    found, batch = topics.find(
        args.scores,
        args.features,
        settings=args.settings,
        weighting=args.weighting,
        corpus_features=args.corpus_features,
    )
    if args.output:
        emerging.write(args.output, found)
    print((emerging.as_json if args.json else emerging.as_text)(found, batch, args.topics))


@step(
    "write the table of the emerging topics of one run",
    argument("table", help="table to write"),
    argument("--files", nargs="*", default=[], help="what odl step topics wrote"),
    argument("--scores", nargs="*", default=[], help="score files, in the same order"),
    RULE,
)
def emerging(args):
    from odl.alerts import emerging
    from odl.files import tables

    if len(args.files) != len(args.scores):
        given = f"{len(args.files)} files of emerging topics and {len(args.scores)} score files"
        raise ParameterError(given, "one of each for every timestep", "name them in the same order")
    rows = emerging.table(list(zip(args.files, args.scores, strict=True)), args.topics)
    tables.write_table(args.table, rows, emerging.COLUMNS)


@step(
    "write AUC per timestep and on average of one run",
    argument("auc", help="table per timestep to write"),
    argument("summary", help="table of averages to write"),
    argument("--options", type=parse_map, required=True, help="JSON: timesteps, min_novel, topics, bootstrap ..."),
    argument("--scores", nargs="*", default=[]),
)
def evaluate(args):
    from odl.evaluation import tables

    arguments.check_map(args.options, "--options", arguments.EVALUATE, optional=True)
    tables.write_evaluation(args.scores, args.auc, args.summary, **args.options)


@step(
    "write the loss of a run against the best dictionary in hindsight",
    argument("output", help="table to write"),
    argument("--checkpoints", nargs="+", required=True, help="of all timesteps, in order"),
    argument("--features", nargs="+", required=True, help="of all timesteps, in order"),
    argument("--options", type=parse_map, default={}, help="JSON: timesteps, tolerance, iterations"),
)
def regret(args):
    from odl.evaluation import regretruns

    arguments.check_map(args.options, "--options", arguments.REGRET, optional=True)
    regretruns.write(args.output, args.checkpoints, args.features, **args.options)


@step(
    "gather the regret of runs over seeds",
    argument("plan"),
    argument("output", help="table to write"),
    argument("--options", type=parse_map, required=True, help="JSON: runs, atoms"),
)
def regrets(args):
    from odl.evaluation import regretmeans

    arguments.check_map(args.options, "--options", arguments.REGRETS)
    regretmeans.gather_regret(args.plan, args.output, **args.options)


@step(
    "list what a study runs",
    argument("output"),
    argument("--config", type=parse_map, required=True, help="JSON of the configuration"),
)
@begins_in("config/__init__", "evaluation/plan")
def plan(args):
    from odl import config
    from odl.evaluation import plan

    arguments.check_map(args.config, "--config", arguments.STUDY)
    plan.write_plan(args.output, config.plan(args.config, config.lengths(args.config)))


@step(
    "gather the runs of a study over seeds",
    argument("plan"),
    argument("folder", help="folder of tables to write"),
    argument("--emerging", nargs="*", default=[], help="tables of emerging topics to gather"),
)
def summarise(args):
    from odl.evaluation import study

    study.summarise(args.plan, args.folder, args.emerging)
