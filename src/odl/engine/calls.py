"""The functions of the steps, by the names of their arguments (`odl.config.steps`)."""


def share(arguments):
    """Read some of a person's files."""
    from odl.corpora import portions

    files = [path for _, path in arguments["sources"]]
    found = portions.write(arguments["output"], arguments["named"], arguments["options"], files[0], files[-1])
    return f"{len(found)} documents"


def read(arguments):
    """Read all files, or join the shares."""
    from odl import corpora
    from odl.corpora import portions
    from odl.files import documents

    if arguments.get("shares"):
        found = portions.join(arguments["output"], arguments["shares"], arguments["named"], arguments["options"])
        portions.forget(arguments["shares"])
    else:
        found = corpora.read(arguments["reader"], arguments["named"], arguments["options"])
        documents.write(arguments["output"], found, reader=arguments["reader"])
    counts = f"{len(found)} documents" + (f", {len(found.vocabulary)} terms" if found.vocabulary else "")
    return "; ".join(filter(None, [counts, str(found.repeats)]))


def index(arguments):
    """Cut the stream into batches."""
    from odl.stream import batching

    named = {name: arguments[name] for name in ("seed", "made")}
    batching.index(arguments["documents"], arguments["table"], arguments["order"], **named, **arguments["stream"])
    return ""


def batch(arguments):
    """Write the documents of one timestep."""
    from odl.stream import batchfile

    return batchfile.cut(arguments["documents"], arguments["order"], arguments["output"], arguments["t"])


def features(arguments, previous=None):
    """Continue the chain of vocabulary and frequencies; return the features, open."""
    from odl.stream import features

    paths = arguments["output"], arguments["batch"], previous or arguments["previous"] or None
    return features.advance(*paths, arguments["max_terms"], arguments["hash_terms"]).opened(arguments["output"])


def update(arguments, data=None, before=None):
    """Score one timestep and learn from it; return what that leaves in memory."""
    from odl.jobs import runs, update

    names = ("previous", "history", "corpus_features")
    return update.update(
        *(data or arguments["features"], arguments["state"], arguments["scores"]),
        run=runs.parse(arguments["run"]),
        **{name: arguments.get(name) or None for name in names},
        before=before,
    )


def alerts(arguments, learned=None, carried=None):
    """Continue the chain of items, topics and reasons; return what the next period goes on from."""
    from odl.config.sections import Alerts
    from odl.jobs import alerts, runs

    files = {name: arguments.get(name) or None for name in ("known", "previous", "batch")}
    return alerts.follow(
        *(arguments[name] for name in ("features", "scores", "state", "output")),
        run=runs.parse(arguments["run"]),
        settings=Alerts(**arguments["settings"]),
        whole=arguments.get("corpus_features") or None,
        **files,
        learned=learned,
        carried=carried,
    )


def newpage(arguments):
    """Write the page about what is new, and the feeds."""
    from odl.report import newpage

    feeds = {name: arguments[name] for name in ("atom", "feed")}
    newpage.write(arguments["output"], arguments["folder"], home=arguments["home"], **feeds)
    return ""


FUNCTIONS = {function.__name__: function for function in (share, read, index, batch, features, update, alerts, newpage)}


def prepare(algorithm, say):
    """Compile the kernels of a learner where their library is missing.

    Raises
    ------
    ParameterError
        If the learner is none.
    """
    from odl import learners
    from odl.jobs import compile as ahead
    from odl.jobs import update

    learners.learner_class(algorithm)
    if list(ahead.build_all(ahead.needed([algorithm]), say)):
        update.warm_up(algorithm)
