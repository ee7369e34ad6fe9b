"""Steps of a study. A rule of the workflow calls each step in a separate process."""

import functools
import inspect
import os
import sys
from functools import partial

from odl.cli import Json, step
from odl.config.steps import STEPS, is_retained, record_of
from odl.errors import ParameterError


@step
def download(file, output, *, registry="data/corpora.csv"):
    """Fetch FOLDER/FILE of the registry, from ODL_MIRROR first."""
    from odl.corpora import download

    download.download(file, output, registry, mirror=os.environ.get("ODL_MIRROR"))


def _declare(function):
    """Declare a step that `odl.config.steps` describes.

    It writes the same record as the loop of `odl run`. Its inputs from the previous timestep become
    options.
    """

    @functools.wraps(function)
    def do(**arguments):
        from odl.engine import calls, ledger
        from odl.files import provenance

        name = function.__name__
        if name == "read":
            name = "share" if arguments["files"] else name
            arguments["sources"] = _files(arguments)
        if name == "newpage":
            arguments |= _page_inputs(arguments)
        with provenance.recording(record_of(name, arguments, lambda path: ledger.read(path)[0])):
            lines, _ = calls.FUNCTIONS[name](arguments)
        for line in lines:
            print(f"odl {function.__name__}: {line}")
        if name == "update":
            _prune(arguments["state"])

    reads = STEPS[function.__name__].reads
    defaults = {role: None for role, pattern in reads.items() if "{before}" in pattern}
    defaults["code"] = ""  # stamp of the code
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
        for name, value in defaults.items()
    ]
    parameters = [*inspect.signature(function).parameters.values(), *options]
    do.__signature__ = inspect.Signature(parameters)
    return step(do)


def _prune(state):
    """Delete checkpoints that are not retained.

    The interval comes from the environment variable ODL_KEEP, since it changes no result.
    """
    from odl.files import agentfiles

    agentfiles.prune(state, partial(is_retained, keep=int(os.environ.get("ODL_KEEP") or 0)))


def _files(arguments):
    """Return (name, path) of the user files that the step ``read`` reads.

    The list is empty for readers of other corpora, and if the step joins shares.
    """
    from odl.corpora import collection, portions
    from odl.files import listing

    source, options = arguments["source"], arguments["options"]
    ends, shares = arguments["files"], arguments["shares"]
    is_collection = arguments["reader"] == collection.READER
    if (ends and shares) or ((ends or shares) and not is_collection):
        raise ParameterError(
            f"--files or --shares of {arguments['reader']}",
            "only one of these options, for the reader documents",
            "leave --files or --shares out",
        )
    if ends:
        return portions.members(source, options, *ends)
    if shares or not is_collection:
        return []
    return listing.find_files(source, options.get("kind"))


def _page_inputs(arguments):
    """Return the files that a page is computed from."""
    from odl.alerts import feedback, read

    place = read.place_of(arguments["folder"], arguments["stream"])
    n = read.first_of(place, 0)
    inputs = {
        "documents": place.documents,
        "features": os.path.join(place.features, f"{n - 1}.h5"),
        "feedback": os.path.join(arguments["home"] or place.home, feedback.FEEDBACK_FILE),
    }
    inputs = {name: path if os.path.exists(path) else "" for name, path in inputs.items()}
    return {"alerts": [os.path.join(place.alerts, f"{t}.h5") for t in range(n)], **inputs}


@_declare
def read(
    reader,
    output,
    *,
    source: list = (),
    options: Json = "{}",
    files: tuple[str, str] = (),
    shares: list = (),
):
    """Read a corpus into the internal form.

    --files FIRST LAST: read only these user files and those between. --shares: outputs of --files
    for all files.
    """


@_declare
def index(documents, table, order, *, seed: int, stream: Json, made=None):
    """Divide the stream into batches.

    --stream: JSON of batches, protocol, topic_entry, ties. --made: folder of existing batches, to
    find late documents.
    """


@step
def aside(documents, output):
    """Write the table of the documents that were set aside."""
    from odl.files import setaside, storage, tables
    from odl.files.escaping import guarded

    with storage.reading(documents, "documents") as file:
        entries = setaside.read(file)
    columns = setaside.Aside._fields
    rows = [dict(zip(columns, map(guarded, entry), strict=True)) for entry in entries]
    tables.write_table(output, rows, columns)


@_declare
def batch(documents, order, output, *, t: int, sha256=""):
    """Write the documents of one timestep.

    --sha256: digest of its documents, as in the index, for the record.
    """


@_declare
def features(output, batch, *, max_terms: int = 0):
    """Update vocabulary, frequencies and near-duplicates by a timestep.

    Earlier batches are in the same folder. --max-terms: maximum size of the vocabulary; 0:
    unlimited.
    """


@_declare
def update(features, *, state, scores, timings, run: Json, corpus_features=None, history=None):
    """Score one timestep, then learn from it.

    --run: JSON of corpus, seed, run, atoms, learner, features. --previous: previous checkpoint.
    --corpus-features: last features of the stream, for idf: corpus. --history: folder of all
    earlier features, for batch learners.
    """


@_declare
def alerts(
    features,
    scores,
    state,
    output,
    *,
    run: Json,
    batch=None,
    corpus_features=None,
    settings: Json = "{}",
):
    """Compute the alerts of one timestep: headlines, events, reasons.

    --known and --previous: checkpoint and alerts of the previous timestep. --batch: for the sources
    of its documents. --settings: JSON of budget, level, window, ....
    """


@_declare
def newpage(output, folder, *, stream=None, home=None, study=None, atom=None, feed=None):
    """Write the page about what is new in a stream.

    FOLDER contains odl.yaml, or is results/STUDY, or contains the alerts. --home: folder of
    feedback.csv, if it is another one. --study: the study page, linked if documents have topics.
    --atom, --feed: Atom and JSON feeds to write.
    """


@step
def rank(n: int, features, *, state, timings, run: Json, previous=None, corpus_features=None):
    """Update one timestep of diffusion on N MPI ranks.

    Each rank owns some of the agents. Run it by `mpiexec -n N odl step rank N ...`.
    """
    from odl.distributed import messages

    def work(comm):
        from odl.jobs import mpi, runs

        parsed = messages.together(comm, lambda: runs.parse(run))
        chain = {"run": parsed, "previous": previous, "corpus_features": corpus_features}
        mpi.work(comm, features, state, timings, **chain)

    sys.exit(messages.take_part(n, work))


rank.begins_in = "jobs/mpi", "learners/diffusion"


@step
def collect(features, *, state, scores, run: Json, previous=None, corpus_features=None):
    """Write the scores of a timestep from the files of all ranks."""
    from odl.jobs import mpi, runs

    chain = {"run": runs.parse(run), "previous": previous, "corpus_features": corpus_features}
    mpi.collect(features, state, scores, **chain)
    _prune(state)


@step
def baselines(output, features, *, past, window: int | None = None):
    """Score one timestep by neighbours, unknown words and length.

    --past: folder of the features of earlier timesteps. --window: number of earlier timesteps to
    compare with; 0: all. Default: all documents if there are at most 50,000, else the last 10,000.
    """
    from odl.evaluation import baselines, scorefiles
    from odl.files import storage
    from odl.stream.features import read

    batch, name = read(features), ""
    if window is not None or batch.n_before <= baselines.LONGEST_PAST:
        before = map(read, storage.earlier(past, batch.t, window or 0))
        if window and window < batch.t:
            name = f"last{window}timesteps"
    else:
        newest_first = (storage.earlier(past, t, 1)[0] for t in range(batch.t, 0, -1))
        before = baselines.latest(map(read, newest_first), baselines.PAST_WINDOW)
        name = f"last{baselines.PAST_WINDOW}"
    scorefiles.write_baselines(output, batch, baselines.score(batch, before), name)


@step
def evaluate(auc, summary, *, options: Json, scores: list = ()):
    """Write the AUC of a run, per timestep and on average.

    --options: JSON of timesteps, min_novel, topics, bootstrap, ....
    """
    from odl.config import sections
    from odl.evaluation import averages

    sections.EvaluatedStream.from_map(options, "--options")
    averages.write_evaluation(scores, auc, summary, **options)


@step
def plan(output, *, config: Json):
    """Write the plan of a study: all its runs."""
    from odl.config import chains, sections
    from odl.evaluation import study

    if missing := [name for name in sections.PLANNED if name not in config]:
        raise ParameterError(
            f"--config has no '{missing[0]}'", "a complete configuration", "add the missing keys"
        )
    study.write_plan(output, chains.plan(config, chains.lengths(config)))


plan.begins_in = "config/chains", "config/sections", "evaluation/study"


@step
def summarise(plan, folder):
    """Write tables of all runs of a study, averaged over seeds."""
    from odl.evaluation import study

    study.summarise(plan, folder)


@step
def figures(plan, tables, folder, *, settings: Json = "{}"):
    """Draw the figures of a study."""
    from odl.report import figures

    figures.write(plan, tables, folder, settings)


@step
def page(
    output,
    plan=None,
    tables=None,
    figures=None,
    *,
    emerging=None,
    experiments: list = (),
    config: Json = "{}",
    settings: Json = "{}",
):
    """Write the page of a study.

    --emerging: table of emerging topics over seeds. --experiments: folders of finished experiments.
    """
    from odl.config import places
    from odl.report import studypage

    if plan is not None and figures is None:
        raise ParameterError(
            "a plan without tables and figures", "PLAN TABLES FIGURES", "name all three"
        )
    subject, streams = "Experiments", None
    if plan is not None:
        topics = [partial(places.papers("emergingfiles").section, emerging)] if emerging else []
        subject = "Novel documents"
        streams = studypage.Streams(plan, tables, figures, settings, {"Emerging topics": topics})
    title = f"{subject}: {config.get('study', 'a study')}"
    shown = [places.papers("experiments").section(folder) for folder in experiments]
    studypage.write(output, streams, title=title, config=config, experiments=shown)


page.begins_in = "report/studypage", "config/places"  # the rule adds the modules of odl.papers


@step
def schema(*, write: bool = False, folder="workflow/schemas"):
    """Print the schema of the configuration.

    It includes the facts that the workflow needs about learners, readers and experiments. --write:
    write it to the file of the workflow.
    """
    from odl import cli
    from odl.cli import registry

    if write:
        registry.write(cli.steps(), folder)
    else:
        print(registry.text(registry.schema(cli.steps())), end="")
