"""Steps and commands whose results people look at: tables of scores, figures, the page and its main table."""

import glob
import os
from functools import partial

from odl.cli.declare import argument, begins_in, command, parse_map, step
from odl.errors import DataError, ParameterError


@step(
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


@step(
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


@step(
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
@begins_in("report/studypage", "rooms")  # the rule names what it asks odl.papers for
def page(args):
    from odl import rooms
    from odl.config import sections
    from odl.report import studypage

    if args.plan is not None and args.figures is None:
        raise ParameterError("a plan without tables and figures", "PLAN TABLES FIGURES", "name all three")
    sections.Shown.of(args.settings, "--settings")
    emerging = [partial(rooms.papers("emergingpage").section, args.emerging)] if args.emerging else []
    streams = studypage.Streams(args.plan, args.tables, args.figures, args.settings, {"Emerging topics": emerging})
    experiments = [rooms.papers("experiments").section(folder) for folder in args.experiments]
    shown = streams if args.plan is not None else None
    studypage.write(args.output, shown, title=args.title, config=args.config, experiments=experiments)


@step(
    "write the page about what is new in a stream",
    argument("output"),
    argument("folder", help="a folder with odl.yaml, results/STUDY, or the folder of alerts"),
    argument("--stream", help="name of the stream, where the folder has several"),
    argument("--home", help="where feedback.csv lies, if not in the folder"),
    argument("--study", help="the study page, linked where documents have topics"),
    argument("--seeds", nargs="*", default=[], help="last score files of the same run under other seeds"),
    argument("--atom", help="Atom feed to write beside it"),
    argument("--feed", help="JSON feed to write beside it"),
)
def newpage(args):
    from odl.report import newpage

    beside = {name: getattr(args, name) for name in ("home", "study", "seeds", "atom", "feed")}
    newpage.write(args.output, args.folder, args.stream, **beside)


@command(
    "print the main table of a finished study",
    argument("folder", help="results/STUDY"),
    argument("--beside", metavar="FILE", help="CSV with the columns id and score: compare these scores with the study"),
    argument("--stream", help="with --beside: which stream, where the study has several"),
    argument("--seed", type=int, help="with --beside: whose batches (default: the first)"),
    more="AUC of novel documents by run and number of atoms, where documents have topics; report.html has all.",
    examples=("odl table results/default", "odl table results/default --beside mine.csv"),
)
def table(args):
    from odl.report import studypage

    _check_finished(args.folder)
    if args.beside:
        from odl.evaluation import outside

        own = outside.read(args.beside)
        print(outside.as_text(*outside.compare(args.folder, own, stream=args.stream, seed=args.seed)))
        return
    print(studypage.main_table(f"{args.folder}/tables"))
    print(f"Report: {args.folder}/report.html")


def _check_finished(folder):
    """Refuse a folder without tables; where studies lie below it, as below a person's own, say which."""
    if os.path.isdir(os.path.join(folder, "tables")):
        return
    from odl.config import project

    below = sorted(glob.glob(os.path.join(*map(glob.escape, (folder, project.results_of(folder))), "*", "tables")))
    todo = f"name {os.path.dirname(below[0])}" if below else "run it first, or name another"
    raise DataError(f"{folder} holds no tables", "the folder results/STUDY of a finished study", todo)
