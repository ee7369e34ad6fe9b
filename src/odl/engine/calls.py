"""Functions that execute the steps of a stream, with arguments as in `odl.config.steps.STEPS`."""

from typing import Any, NamedTuple


class Done(NamedTuple):
    """Result of a step.

    Attributes
    ----------
    lines : tuple of str
        Lines to print.
    value : object
        Result in memory, which later steps can use.
    """

    lines: tuple = ()
    value: Any = None


def share(arguments):
    """Read one share of the user's files."""
    from odl.corpora import portions

    return _read(portions.write(arguments["output"], arguments["sources"], arguments["options"]))


def read(arguments, digests=None):
    """Read all files, or join the shares.

    Parameters
    ----------
    arguments : dict
    digests : list of str, optional
        Digests of the shares. By default they are read from the shares.
    """
    from odl import corpora
    from odl.files import documents

    output, options = arguments["output"], arguments["options"]
    if arguments.get("shares"):
        from odl.corpora import portions

        corpus = portions.join(output, arguments["shares"], arguments["source"], options, digests)
        portions.forget(arguments["shares"])
    else:
        corpus = corpora.read(arguments["reader"], arguments["source"], options)
        documents.write(output, corpus, reader=arguments["reader"])
    return _read(corpus)


def _read(corpus):
    """Return the `Done` of a step that read a corpus, with a line about its documents."""
    from odl.files import setaside

    counts = f"{len(corpus)} documents"
    if corpus.vocabulary:
        counts += f", {len(corpus.vocabulary)} terms"
    phrases = [counts, str(corpus.repeats), setaside.account(corpus.aside)]
    return Done(("; ".join(filter(None, phrases)),))


def index(arguments):
    """Divide the stream into batches."""
    from odl.config.sections import Order
    from odl.stream import batching

    options = {
        "stream": Order.from_map(arguments["stream"], "--stream"),
        "seed": arguments["seed"],
        "made": arguments["made"],
    }
    batching.index(arguments["documents"], arguments["table"], arguments["order"], **options)
    return Done()


def batch(arguments):
    """Write the documents of one timestep."""
    from odl.stream import batchfile

    paths = (arguments[name] for name in ("documents", "order", "output"))
    return Done((batchfile.cut(*paths, arguments["t"]),))


def features(arguments, previous=None):
    """Compute the features of a batch from the previous features; return the open file."""
    from odl.stream import features

    paths = arguments["output"], arguments["batch"], previous or arguments["previous"] or None
    return Done(value=features.advance(*paths, arguments["max_terms"]))


def update(arguments, data=None, before=None):
    """Score a timestep and learn from it; return scores and state (`odl.jobs.update.Learned`)."""
    from odl.jobs import runs, update

    paths = [arguments.get(name) or None for name in ("state", "scores", "timings")]
    run, past = runs.parse(arguments["run"]), runs.Before.from_arguments(arguments, before)
    return Done(value=update.update(data or arguments["features"], *paths, run=run, before=past))


def alerts(arguments, learned=None, carried=None):
    """Compute the alerts of a period; return the state that the next period needs."""
    from odl.config.sections import Alerts
    from odl.jobs import alerts, runs

    run = runs.parse(arguments["run"])
    settings = Alerts.from_map(arguments["settings"], "--settings")
    learned = learned or alerts.Written(*map(arguments.get, alerts.Written._fields))
    inputs = {
        "before": runs.Before.from_arguments(arguments, carried),
        "batch": arguments.get("batch") or None,
    }
    return Done(
        value=alerts.follow(learned, arguments["output"], run=run, settings=settings, **inputs)
    )


def newpage(arguments):
    """Write new.html and the feeds; return the alerts that they show."""
    from odl.report import newpage

    options = {name: arguments.get(name) for name in ("stream", "home", "study", "atom", "feed")}
    return Done(value=newpage.write_page(arguments["output"], arguments["folder"], **options))


FUNCTIONS = {
    function.__name__: function
    for function in (share, read, index, batch, features, update, alerts, newpage)
}
