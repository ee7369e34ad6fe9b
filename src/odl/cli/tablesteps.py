"""The commands that make tables of scores: evaluation, and over seeds."""

from odl.arguments import parse_map
from odl.cli.declare import argument, begins_in, step


@step(
    "write AUC per timestep and on average of one run",
    argument("auc", help="table per timestep to write"),
    argument("summary", help="table of averages to write"),
    argument("--options", type=parse_map, required=True, help="JSON: timesteps, min_novel, topics, bootstrap ..."),
    argument("--scores", nargs="*", default=[]),
)
def evaluate(args):
    from odl.config import sections
    from odl.evaluation import tables

    sections.EvaluatedStream.of(args.options, "--options")
    tables.write_evaluation(args.scores, args.auc, args.summary, **args.options)


@step(
    "list what a study runs",
    argument("output"),
    argument("--config", type=parse_map, required=True, help="JSON of the configuration"),
)
@begins_in("config/__init__", "evaluation/plan")
def plan(args):
    from odl import config
    from odl.config import sections
    from odl.evaluation import plan

    sections.Planned.of(args.config, "--config")
    plan.write_plan(args.output, config.plan(args.config, config.lengths(args.config)))


@step(
    "gather the runs of a study over seeds",
    argument("plan"),
    argument("folder", help="folder of tables to write"),
)
def summarise(args):
    from odl.evaluation import study

    study.summarise(args.plan, args.folder)
