"""Triage: the commands that say what is new in a stream and why, and what to hold back."""

import difflib
import json
import os
import sys

from odl.cli.declare import argument, command
from odl.errors import DataError, ParameterError

LONGEST = 20  # digits of a topic
NEWS = 10  # exit status of `odl new --fail` where something is new
STREAM = argument("--stream", help="name of the stream, where the folder has several")
FOLDER = argument("folder", help="a folder with odl.yaml, or results/STUDY")
WHAT = argument("what", help="a topic (12 or topic:12), the id of a document, or source:FILE as odl new names it")
UNTIL = argument(
    "--until", default="", help="a date from which on it no longer holds; grows: not while the topic grows"
)
SAID = "It is a line of feedback.csv: `odl new` obeys at once, the page after the next run. No score changes."
NOTE = argument("--note", default="", help="why, for whoever reads feedback.csv")


@command(
    "say what is new in a stream, and why",
    FOLDER,
    STREAM,
    argument("--since", metavar="DATE", help="all periods from this date on; by default the last one"),
    argument("--budget", type=float, help="what is next in line too: so many items a period, or below 1 a share"),
    argument("--format", choices=("text", "jsonl", "csv", "md"), default="text"),
    argument("--topics-only", action="store_true", help="no documents that stand alone, where alerts.gates is set"),
    argument("--fail", action="store_true", help=f"end with status {NEWS} if something is new"),
    more="The last period, or all --since a date. Topics keep their numbers; `odl explain` takes those, and ids.",
    examples=("odl new news", "odl new news --since 2026-01-01 --format md"),
)
def new(args):
    from odl.alerts import read, show

    last = None if args.since else 1
    watch = read.alerts_of(args.folder, args.stream, args.budget, last, lone=not args.topics_only)
    periods = show.since(watch, args.since)
    text = show.SHOWN[args.format](watch, periods)
    if text:
        print(text.replace("odl explain FOLDER", f"odl explain {args.folder}"))
    elif args.format == "text":
        print(f"No period since {args.since}.")
    if args.fail and any(period.alerts for period in periods):
        sys.exit(NEWS)


@command(
    "say why a document has its score, or what a topic is",
    FOLDER,
    argument("what", help="the id of a document, or a topic (12 or topic:12)"),
    STREAM,
    argument("--format", choices=("text", "jsonl"), default="text"),
    more="The shares of a document's words add up to its score; every document that was scored can be asked for.",
    examples=("odl explain news topic:3", "odl explain news d21"),
)
def explain(args):
    from odl.alerts import explain, read, show

    watch = read.alerts_of(args.folder, args.stream)
    place, number = _resolved(watch, args.what)
    if number:
        told = show.topic_map(watch, number)
        print(explain.topic_text(watch, number) if args.format == "text" else json.dumps(told, ensure_ascii=False))
        return
    if place is None:
        raise DataError(f"{args.what} is no document or topic of {args.folder}", "the id of one", "look at odl new")
    alert, earlier = explain.document(watch.place, *place, watch)
    period = watch.periods[alert.t]
    if args.format == "text":
        print(explain.document_text(alert, earlier, period.warm_up))
    else:
        print(json.dumps(show.as_map(alert, period, earlier.id if earlier else None), ensure_ascii=False))


@command(
    "hold back a topic, a document or a source from now on",
    FOLDER,
    WHAT,
    STREAM,
    UNTIL,
    NOTE,
    argument("--known", action="store_true", help="write 'known' instead of 'muted'"),
    more=SAID,
    examples=("odl mute news topic:3", "odl mute news source:spam.jsonl --note 'a mailing list'"),
)
def mute(args):
    _say(args, "known" if args.known else "muted")


@command(
    "always show a topic, a document or a source",
    *(FOLDER, WHAT, STREAM, UNTIL, NOTE),
    more=SAID,
    examples=("odl follow news topic:3", "odl follow news topic:3 --until 2026-12-31"),
)
def follow(args):
    _say(args, "follow")


def _say(args, verdict):
    """Write a line into feedback.csv, and say what it does."""
    from odl.alerts import feedback, read

    watch = read.alerts_of(args.folder, args.stream)
    what = " ".join(args.what.split())
    if what.startswith("source:"):
        _known_source(watch, what.removeprefix("source:"), args.folder)
    else:
        place, number = _resolved(watch, what)
        if not number and place is None:
            raise ParameterError(f"{what} is no document or topic of {args.folder}", "one of them", "look at odl new")
        what = f"topic:{number}" if number else what
    entry = feedback.Entry(what, verdict, feedback.parse_until(args.until), " ".join(args.note.split()))
    path = feedback.add(args.folder, entry)
    watch = read.alerts_of(args.folder, args.stream)
    n_items = sum(each.items for period in watch.periods for each in period.withheld if each.what == what)
    note = f"; it holds back {n_items} item{'s' * (n_items != 1)} so far"
    state = watch.topics[entry.topic].state if entry.topic else "new"
    note += ", none of the last period" * (not entry.holds(state, watch.periods[-1].first))
    said = "followed" if verdict == "follow" else verdict
    print(f"odl {args.command}: {what} is {said}{entry.when} ({os.path.basename(path)}){note * (verdict != 'follow')}.")


def _known_source(watch, name, folder):
    """Refuse a source of which no document came."""
    from odl.alerts import explain

    known = sorted(explain.sources(watch.place))
    if known and name not in known:
        (near,) = difflib.get_close_matches(name, known, 1, 0) or known[:1]
        fault = f"no document of {folder} came from source:{name}"
        raise ParameterError(fault, f"one such as source:{near}", "name it")


def _resolved(watch, what):
    """Return where a document is (period, row) or None, and the number of a topic or 0; an id comes before a number."""
    from odl.alerts import explain

    place = explain.find(watch.place, what)
    number = what.removeprefix("topic:").removeprefix("#")
    if place is None and number.isdecimal() and len(number) < LONGEST and int(number) in watch.topics:
        return None, int(number)
    return place, 0
