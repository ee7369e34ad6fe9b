"""The page about what is new in a stream: one file that needs nothing else, and no labels."""

import base64
import importlib.util
import os

from odl.alerts import alarms, explain, feedback, read, wordlist
from odl.alerts.model import NONE
from odl.errors import DataError
from odl.files import provenance, storage
from odl.report import newfeeds, newhealth, newparts, newtext, page
from odl.report.newtext import dates, plural
from odl.report.page import Markup
from odl.stream import losses

SHOWN = 100  # periods; what the page costs does not grow with the stream
TIMES = (0.5, 2)  # other budgets that the page tells of, times the one that is set
PARTS = (("words", "Words never seen before"), ("before", "Periods before"),
         ("topics", "Topics over time"), ("scores", "Scores over time"),
         ("all-alerts", "All alerts"), ("health", "How the watch itself is doing"))  # fmt: skip
LIBRARY = "html/dt_bundle.js"  # DataTables, by which tables sort and search, in the wheel of itables


def write(path, folder, stream=None, *, home=None, study=None, atom=None, feed=None):
    """Write the page of a stream, and its feeds.

    Parameters
    ----------
    path : path-like
    folder : path-like
        As for `odl.alerts.read.alerts_of`.
    stream : str, optional
        Which stream, where the folder has several.
    home : path-like, optional
        Where feedback.csv lies, if not in `folder`.
    study : str, optional
        The study page, linked where documents have topics.
    atom, feed : path-like, optional
        Where the Atom and the JSON feed are written; none: they are not.

    Raises
    ------
    DataError
        If the folder has no alerts, those of several streams, or the script of the tables is not installed.
    StorageError
        If a file is damaged.
    """
    place = read.place_of(folder, stream)
    entries = feedback.read(place.home if home is None else home)
    first = read.first_of(place, SHOWN)
    records = list(read.records(place, first))
    watch = read.watch(records, entries, None, place, read.Earlier(place, first))
    before = read.Earlier(place, records[-1].t)
    others = [(each, read.watch(records[-1:], entries, each, place, before)) for each in other_budgets(watch)]
    corpus = os.path.dirname(os.path.dirname(place.features))
    taken = losses.sentence(os.path.join(corpus, "documents.h5"), place.features)
    link = os.path.relpath(study, os.path.dirname(os.path.abspath(path))) if study else None
    told = {alert.topic for alert in watch.periods[-1].alerts} - {NONE}
    members = explain.members(place, [watch.topics[number] for number in sorted(told)], watch.settings["silence"])
    sounded = alarms.of(watch)
    stories = newfeeds.entries(watch, sounded)
    for place_of_feed, form in ((atom, newfeeds.atom), (feed, newfeeds.as_json)):
        if place_of_feed:
            newfeeds.write(place_of_feed, form(watch, stories))
    with storage.replacing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(provenance.page(text(watch, others, link, taken, members, sounded)))


def other_budgets(watch):
    """Return half and twice the budget of a stream, as far as they are others."""
    budget = watch.settings["budget"]
    budgets = [budget * times if budget < 1 else max(1, int(budget * times)) for times in TIMES]
    return [each for each in budgets if each != budget and (each < 1 or each == int(each))]


def text(watch, others=(), study=None, taken="", members=None, sounded=()):
    """Return the page as HTML.

    Parameters
    ----------
    watch : odl.alerts.model.Watch
    others : sequence of (budget, Watch)
        The latest period with other budgets.
    study : str, optional
        Address of the study page, relative to this one.
    taken : str
        What was taken out of the texts before words were counted.
    members : dict, optional
        All documents of the topics of the latest period (`odl.alerts.explain.members`).
    sounded : sequence of odl.alerts.alarms.Alarm
    """
    last = watch.periods[-1]
    when = dates(last) or f"period {last.t}"
    macros, findings = parts(), newhealth.findings(watch, others, taken, sounded)
    drawn = {"words": macros.unseen, "before": macros.before, "topics": macros.topics}
    drawn |= {"scores": macros.scores, "all-alerts": macros.alerts}
    bodies = {name: part(watch) for name, part in drawn.items()} | {"health": macros.health(findings)}
    return page.render(
        "newpage.jinja",
        title=f"What is new in {watch.corpus}, {when}",
        heading=f"What is new in {watch.corpus}",
        when=when + (f" (period {last.t})" if dates(last) else ""),
        parts=PARTS,
        bodies=bodies,
        latest=macros.latest(watch, members or {}),
        mark=f"odl {watch.corpus} {watch.run} {watch.atoms}",
        last=last.t,
        how=_how(watch),
        study=study if watch.labelled else None,
        library=Markup(library()),
    )


def parts():
    """Return the parts of the page as functions of a watch."""
    return page.macros("newparts.jinja", facts=newparts, words=newtext, wordlist=wordlist)


def _how(watch):
    return (
        f"{plural(watch.periods[-1].t + 1, 'period')}, learner {watch.run} with {watch.atoms} atoms, "
        f"seed {watch.seed}. "
        "A score is how much of a document the word patterns learned so far leave unexplained; the shares beside words "
        "say how much of it each word is."
    )


def library():
    """Return the module of DataTables as an address that holds it.

    Raises
    ------
    DataError
        If itables is not installed.
    """
    package = importlib.util.find_spec("itables")  # not imported: it would load pandas' own extras
    path = os.path.join(package.submodule_search_locations[0], LIBRARY) if package else ""
    if not os.path.exists(path):
        fault = "the package itables, which has the script of the tables, is not installed"
        raise DataError(fault, "itables 2.9 or later", "install it (pip install itables)")
    with open(path, "rb") as file:
        return "data:text/javascript;base64," + base64.b64encode(file.read()).decode("ascii")
