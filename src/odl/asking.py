"""What a person asks of a stream: what is new, and why; and what a person says of it. Subcommands of ``odl``."""

import json
import os
import sys

from odl.errors import DataError, ParameterError

NEWS = 10  # exit status of `odl new --fail` where something is new
STREAM = ("--stream", {"help": "name of the stream, where the folder has several"})
FOLDER = ("folder", {"help": "a folder with odl.yaml, or results/STUDY"})
WHAT = ("what", {"help": "a topic (12 or topic:12), the id of a document, or source:FILE"})
UNTIL = ("--until", {"default": "", "help": "a date, or 'grows': until the topic grows"})
NOTE = ("--note", {"default": "", "help": "why, for whoever reads feedback.csv"})


def add(command):
    """Register the subcommands by the parser's function (name and help, then arguments)."""
    command(
        new,
        "new",
        "say what is new in a stream, and why",
        FOLDER,
        STREAM,
        ("--since", {"metavar": "DATE", "help": "all periods from this date on; by default the last one"}),
        ("--budget", {"type": float, "help": "items a period, or below 1 a share of them; by default that of the run"}),
        ("--format", {"choices": ("text", "jsonl", "csv", "md"), "default": "text"}),
        ("--fail", {"action": "store_true", "help": f"end with status {NEWS} if something is new"}),
    )
    command(
        explain,
        "explain",
        "say why a document has its score, or what a topic is",
        FOLDER,
        ("what", {"help": "the id of a document, or a topic (12 or topic:12)"}),
        STREAM,
        ("--format", {"choices": ("text", "jsonl"), "default": "text"}),
    )
    command(mute, "mute", "hold back a topic, a document or a source from now on", FOLDER, WHAT, STREAM, UNTIL, NOTE,
            ("--known", {"action": "store_true", "help": "write 'known' instead of 'muted'"}))  # fmt: skip
    command(follow, "follow", "always show a topic or a document", FOLDER, WHAT, STREAM, UNTIL, NOTE)


def new(args):
    from odl.alerts import read, show

    watch = read.alerts_of(args.folder, args.stream, args.budget)
    periods = show.since(watch, args.since)
    text = show.SHOWN[args.format](watch, periods)
    if text:
        print(text.replace("odl explain FOLDER", f"odl explain {args.folder}"))
    elif args.format == "text":
        print(f"No period since {args.since}.")
    if args.fail and any(period.alerts for period in periods):
        sys.exit(NEWS)


def explain(args):
    from odl.alerts import explain, read, show

    watch = read.alerts_of(args.folder, args.stream)
    found, number = _resolved(watch, args.what)
    if number:
        print(explain.topic_text(watch, number) if args.format == "text" else json.dumps(show.topic_map(watch, number)))
        return
    if found is None:
        raise DataError(f"{args.what} is no document or topic of {args.folder}", "the id of one", "look at odl new")
    alert, earlier = explain.document(watch.place, *found, watch)
    period = watch.periods[alert.t]
    if args.format == "text":
        print(explain.document_text(alert, earlier, period.warm_up))
    else:
        print(json.dumps(show.as_map(alert, period, earlier.id if earlier else None), ensure_ascii=False))


def mute(args):
    _say(args, "known" if args.known else "muted")


def follow(args):
    _say(args, "follow")


def _say(args, verdict):
    from odl.alerts import feedback, read

    watch = read.alerts_of(args.folder, args.stream)
    what = " ".join(args.what.split())
    if not what.startswith("source:"):
        found, number = _resolved(watch, what)
        if not number and found is None:
            raise ParameterError(f"{what} is no document or topic of {args.folder}", "one of them", "look at odl new")
        what = f"topic:{number}" if number else what
    until = feedback.parse_until(args.until)
    path = feedback.add(args.folder, feedback.Entry(what, verdict, until, " ".join(args.note.split())))
    held = sum(entry.items for period in read.alerts_of(args.folder, args.stream).periods for entry in period.withheld
               if entry.what == what)  # fmt: skip
    note = f"; it holds back {held} item{'s' * (held != 1)} so far" if verdict != "follow" else ""
    print(
        f"odl {args.command}: {what} is {verdict}{f' until {until}' if until else ''} ({os.path.basename(path)}){note}."
    )


def _resolved(watch, what):
    """Return where a document is (period, row) or None, and the number of a topic or 0; an id comes before a number."""
    from odl.alerts import explain

    found = explain.find(watch.place, what)
    number = what.removeprefix("topic:").removeprefix("#")
    if found is None and number.isdecimal() and int(number) in watch.topics:
        return None, int(number)
    return found, 0
