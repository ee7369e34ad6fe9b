"""Steps of a study, each of which a rule of the workflow calls in a separate process."""

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
    """Download a file of the registry.

    FILE is its folder and name. It is downloaded from the mirror in ODL_MIRROR if possible.
    """
    from odl.corpora import download

    download.download(file, output, registry, mirror=os.environ.get("ODL_MIRROR"))


def _declare(function):
    """Declare a step that is in `odl.config.steps.STEPS`.

    The step writes the same provenance record as in the loop of `odl run`. Its inputs from the
    previous timestep are options of the command.
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
    defaults["code"] = ""  # digest of the code
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
        for name, value in defaults.items()
    ]
    parameters = [*inspect.signature(function).parameters.values(), *options]
    do.__signature__ = inspect.Signature(parameters)
    return step(do)


def _prune(state):
    """Delete checkpoints before `state` that are not retained.

    The interval between retained checkpoints is the environment variable ODL_KEEP. It is not an
    argument because it does not affect results.
    """
    from odl.files import agentfiles

    agentfiles.prune(state, partial(is_retained, keep=int(os.environ.get("ODL_KEEP") or 0)))


def _files(arguments):
    """Return (name, path) of the user's files that the step ``read`` reads.

    The list is empty for other readers than ``documents``, and if the step joins shares.
    """
    from odl.corpora import collection, portions
    from odl.files import listing

    source, options = arguments["source"], arguments["options"]
    ends, shares = arguments["files"], arguments["shares"]
    is_collection = arguments["reader"] == collection.READER
    if (ends and shares) or ((ends or shares) and not is_collection):
        raise ParameterError(
            f"--files or --shares is not allowed here (reader {arguments['reader']})",
            "at most one of the two, and only with the reader documents",
            "omit --files or --shares",
        )
    if ends:
        return portions.members(source, options, *ends)
    if shares or not is_collection:
        return []
    return listing.find_files(source, options.get("kind"))


def _page_inputs(arguments):
    """Return {argument: path or list of paths} of the files from which a page is computed."""
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
    """Read a corpus and write its documents.

    --files FIRST LAST: read only the user's files from FIRST to LAST. --shares: outputs of such
    calls for all files, which are joined.
    """


@_declare
def index(documents, table, order, *, seed: int, stream: Json, made=None):
    """Divide the stream into batches.

    --stream: JSON with the settings batches, protocol, topic_entry, ties. --made: folder of
    existing batches, from which late documents are detected.
    """


@step
def aside(documents, output):
    """Write the table of the documents that could not be read."""
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

    --sha256: digest of these documents in the index; it is stored in the provenance record.
    """


@_declare
def features(output, batch, *, max_terms: int = 0):
    """Write vocabulary, frequencies and near-duplicates of one timestep.

    --previous: features of the previous timestep. --max-terms: maximum size of the vocabulary, 0
    for no limit.
    """


@_declare
def update(features, *, state, scores, timings, run: Json, corpus_features=None, history=None):
    """Score one timestep, then learn from it.

    --run: JSON with corpus, seed, run, atoms, learner, features. --previous: previous checkpoint.
    --corpus-features: features of the last timestep, for idf: corpus. --history: folder of all
    features, for batch learners.
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

    --known and --previous: checkpoint and alerts of the previous timestep. --batch: documents of
    the timestep, from which the names of their files are read. --settings: JSON with the settings
    of alerts, such as budget and level.
    """


@_declare
def newpage(output, folder, *, stream=None, home=None, study=None, atom=None, feed=None):
    """Write the page with the alerts of a stream.

    FOLDER contains odl.yaml, or is results/STUDY, or contains the alerts. --home: folder of
    feedback.csv, by default FOLDER. --study: page of the study, to which the page links if
    documents have topics. --atom, --feed: paths of the Atom and JSON feeds.
    """


@step
def rank(n: int, features, *, state, timings, run: Json, previous=None, corpus_features=None):
    """Score one timestep and learn from it on N MPI ranks.

    The learner is diffusion, and each rank has some of its agents. Start this step by
    `mpiexec -n N odl step rank N ...`.
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

    --past: folder of the features of earlier timesteps. --window: number of earlier timesteps in
    which neighbours are searched; 0: all. By default all earlier documents are searched, or the
    last 10,000 if there are more than 50,000.
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

    --options: JSON with timesteps, min_novel, topics, bootstrap and other settings of evaluation.
    """
    from odl.config import sections
    from odl.evaluation import averages

    sections.EvaluatedStream.from_map(options, "--options")
    averages.write_evaluation(scores, auc, summary, **options)


@step
def plan(output, *, config: Json):
    """Write the plan of a study: the list of its chains."""
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
    """Write the tables of a study, with averages over seeds."""
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
            "PLAN is given without FIGURES", "OUTPUT PLAN TABLES FIGURES", "name all of them"
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
    """Print the schema of a configuration.

    It also has facts about learners, readers and experiments for the workflow. --write: write it
    and the schema of odl.yaml to --folder instead.
    """
    from odl import cli
    from odl.cli import registry

    if write:
        registry.write(cli.steps(), folder)
    else:
        print(registry.text(registry.schema(cli.steps())), end="")
