"""Commands for users: set up and run a folder, list and explain what is new, give feedback."""

import contextlib
import json
import os
import sys
from typing import NamedTuple

from odl.cli import argument, subcommand
from odl.errors import DataError, ParameterError
from odl.files.escaping import visible
from odl.files.listing import KINDS

COLUMN_ROLES = ("id", "time", "text", "title", "url", "topics", "author")
SOURCES_HELP = (
    "JSONL, CSV, Parquet, mbox, RSS, Atom or text files, folders, patterns; "
    "without any: the files in FOLDER"
)
INIT_ANSWERS = (
    *COLUMN_ROLES,
    "kind",
    "delimiter",
    "encoding",
    "dates",
    "time_format",
    "times",
    "period",
    "stop_words",
    "only",
    "meaning",
    "strict",
    "unquoted",
)
# Exit status of `odl new --fail`: something is new; otherwise, an alarm needs attention.
NEWS, ALARM = 10, 11
SINCE_LAST = "last"  # value of --since for the mark that --seen stores
MARKS_FILE = ".seen.json"  # file of these marks
STREAM_OPTION = argument("--stream", help="name of the stream, if the folder has several")
FOLDER_ARGUMENT = argument(
    "folder",
    nargs="?",
    default=".",
    help="a folder with odl.yaml, or results/STUDY (default: the current folder)",
)
OWN_FOLDER_ARGUMENT = argument(
    "folder",
    nargs="?",
    default=".",
    help="a folder that odl init wrote (default: the current folder)",
)
WHAT_ARGUMENT = argument(
    "what",
    help="number of an event (12 or event:12), id of a document, or source:FILE as odl new "
    "prints it",
)
UNTIL_OPTION = argument(
    "--until",
    default="",
    help="date from which this has no effect; grows: it has no effect while the event grows",
)
FEEDBACK_HELP = (
    "The command writes a line into feedback.csv. `odl new` applies it at once, the page after the "
    "next run. No score changes."
)
BY_OPTION = argument(
    "--by", default="", help="name of the user who judges (default: your login name)"
)
NOTE_OPTION = argument("--note", default="", help="reason, which is stored in feedback.csv")


class Mark(NamedTuple):
    """Last period of a stream that a user has seen, with the number of documents it had then."""

    period: int
    documents: int


NO_MARK = Mark(-1, 0)


@subcommand(
    "inspect your documents and write a folder for odl run",
    argument("folder", help="folder to write; it is created if it does not exist"),
    argument("sources", nargs="*", default=[], help=SOURCES_HELP),
    *(
        argument(
            f"--{role}", metavar="COLUMN", help=f"name of the column with the {role}; '' for none"
        )
        for role in COLUMN_ROLES
    ),
    argument("--kind", choices=KINDS, help="format of the files"),
    argument("--delimiter", help="character between the fields of CSV files"),
    argument(
        "--unquoted",
        action="store_true",
        help="treat quotation marks in CSV files as part of the texts",
    ),
    argument(
        "--encoding", help="encoding of the files, such as cp1252, or utf-8,cp1252 if both occur"
    ),
    argument(
        "--dates",
        choices=("day-first", "month-first"),
        help="order of day and month in dates such as 03/04/2026",
    ),
    argument(
        "--time-format",
        action="append",
        metavar="FORMAT",
        help="format of times, as for strptime; may be repeated",
    ),
    argument(
        "--times",
        choices=("name", "front-matter", "modified"),
        help="where to find the times of text files, and the years of logs",
    ),
    argument(
        "--period", choices=("day", "week", "month", "quarter", "year"), help="length of a batch"
    ),
    argument(
        "--stop-words", metavar="LANGUAGE", help="language whose stop words are ignored, or none"
    ),
    argument(
        "--meaning",
        action="store_true",
        help="also compare texts by vectors; needs the extra meaning",
    ),
    argument(
        "--strict",
        action="store_true",
        help="end with an error at a document that cannot be read, instead of setting it aside",
    ),
    argument(
        "--only",
        action="store_true",
        help="read only the named files; ignore files that are added later",
    ),
    argument("--force", action="store_true", help="overwrite the files of an earlier odl init"),
    argument(
        "--snakemake",
        action="store_true",
        help="write a Snakefile, for a cluster; Snakemake then replaces odl run",
    ),
    details="It prints what it detected, and writes FOLDER/odl.yaml.",
    examples=("odl init news posts/*.jsonl", "odl init mail archive.mbox --period month"),
)
def init(args):
    """Inspect documents, write a folder and print what was detected."""
    from odl.cli import init

    answers = {name: getattr(args, name) for name in INIT_ANSWERS}
    report = init.write(args.folder, args.sources, answers, args.force, args.snakemake)
    print(f"{report.n_documents:,} documents" + (f", {report.span}" if report.span else ""))
    for label, why in report.lines:
        print(f"  {label.replace('_', ' '):<10}{why}")
    then = (
        f"cd {args.folder} && snakemake --cores 2" if args.snakemake else f"odl run {args.folder}"
    )
    print(f"wrote {os.path.join(args.folder, init.CONFIG_FILE)}; now: {then}")


@subcommand(
    "run a folder that odl init wrote",
    OWN_FOLDER_ARGUMENT,
    argument(
        "--dry-run",
        "-n",
        action="store_true",
        help="print what would be done and why, without doing it",
    ),
    argument(
        "--again", action="store_true", help="compute again the results of another version of odl"
    ),
    argument(
        "--check",
        action="store_true",
        help="read and verify all files, including those that have not changed",
    ),
    argument(
        "--wait",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="longest wait for another run of the folder to end",
    ),
    argument(
        "--cores",
        type=int,
        metavar="N",
        help="number of processes that read files (default: all cores)",
    ),
    details="It reads, scores and learns new documents; finished steps are not repeated.",
    examples=("odl run news", "odl run news --dry-run", "odl run news --wait 600"),
)
def run(args):
    """Run a folder and print the report."""
    from odl.cli import run
    from odl.config import project

    project.check(args.folder)
    options = {
        "again": args.again,
        "check": args.check,
        "dry": args.dry_run,
        "wait": args.wait,
        "cores": args.cores,
    }
    print(run.run(args.folder, **options))


@subcommand(
    "say what is new in a stream, and why",
    FOLDER_ARGUMENT,
    STREAM_OPTION,
    argument(
        "--since",
        metavar="WHEN",
        help="first day to list: a date, 2026, 2026-03, yesterday, 7d, 2w; last: since --seen",
    ),
    argument(
        "--until",
        metavar="WHEN",
        help="last day, month, ... to list; without --since: only the last period up to its end",
    ),
    argument(
        "--seen",
        action="store_true",
        help="mark everything shown as seen; --since last starts after it",
    ),
    argument(
        "--budget",
        type=float,
        help="largest number of headlines of a period (default: alerts.budget of odl.yaml)",
    ),
    argument("--format", choices=("text", "jsonl", "csv", "md", "slack"), default="text"),
    argument(
        "--below",
        action="store_true",
        help="include headlines that are not unusual for this stream",
    ),
    argument("--events-only", action="store_true", help="omit headlines about single documents"),
    argument(
        "--plain", action="store_true", help="sort headlines by evidence alone, not by verdicts"
    ),
    argument(
        "--words",
        action="store_true",
        help="list words that no earlier document has instead of headlines, as text or jsonl",
    ),
    argument(
        "--fail",
        action="store_true",
        help=f"end with status {NEWS} if something is new, {ALARM} at an alarm",
    ),
    details="Without options it shows the last period. Events keep their numbers; `odl explain` "
    "takes numbers and ids.\n"
    "--seen alone lists what is new since the last --seen, and marks the listed periods as seen.",
    examples=(
        "odl new news",
        "odl new news --since 7d",
        "odl new news --since 2026-01 --until 2026-02 --format md",
        "odl new news --since last --seen",
        "odl new news --below",
    ),
)
def new(args):
    """Print what is new in a stream; store the mark of --seen."""
    from odl.alerts import read, verdicts

    since = args.since or (SINCE_LAST if args.seen else None)
    if args.seen and args.until:
        raise ParameterError(
            "--seen and --until",
            "one of these options: --seen marks the last period as seen",
            "leave --seen or --until out",
        )
    mark = Mark(*_marks(args).get(_stream(args), NO_MARK)) if since == SINCE_LAST else NO_MARK
    last = None if since or args.until else 1
    if since == SINCE_LAST:
        n = read.first_of(read.place_of(args.folder, args.stream), 0)
        last = n - mark.period if mark.period < n else None  # all, if the stream is shorter now
    watch = read.alerts_of(args.folder, args.stream, args.budget, last, lone=not args.events_only)
    watch = watch if args.plain else verdicts.with_verdicts(watch)
    periods = tuple(
        period
        for period in _choose_periods(watch, since, args.until)
        if (period.t, period.documents) != mark
    )
    news = any(
        period.headlines or (period.novel and not watch.settings["gates"]) for period in periods
    )
    text = _list_text(args, watch, periods, since)
    if text:
        print(text, flush=True)
    if args.seen:
        _move_mark(args, watch)
    _sound(args, watch, news)


def _choose_periods(watch, since, until):
    """Return the periods of `watch` that --since and --until select."""
    from odl.alerts import spans

    if since != SINCE_LAST:
        return spans.periods_between(watch.periods, since, until)
    return spans.periods_between(watch.periods, "0001", until) if until else watch.periods


def _list_text(args, watch, periods, since):
    """Return the list of periods in the chosen format.

    Without periods, a sentence says so in the format text, and other formats have no lines of
    content.
    """
    from odl.alerts import maps, show, views

    forms = {
        "text": show.as_text,
        "jsonl": maps.as_jsonl,
        "csv": maps.as_csv,
        "md": show.as_markdown,
        "slack": show.as_slack,
    }
    if args.words:
        forms = {"text": show.words_as_text, "jsonl": maps.words_as_jsonl}
    if args.format not in forms:
        raise ParameterError(
            f"--format {args.format} with --words",
            f"one of {', '.join(forms)}",
            "choose one of these formats",
        )
    if not periods and args.format == "text":
        limits = (("since", since), ("until", args.until))
        named = " ".join(f"{word} {when}" for word, when in limits if when)
        return "Nothing since the last time." if since == SINCE_LAST else f"No period {named}."
    if not periods and args.format != "csv":  # CSV has a line of names even without periods
        return ""
    text = forms[args.format](watch, views.with_below(periods) if args.below else periods)
    if args.format == "text":
        text = text.replace("odl explain FOLDER", f"odl explain {args.folder}")
        text = text.replace("odl new FOLDER", f"odl new {args.folder}")
    return text


@subcommand(
    "compare stored headlines with those for other settings of alerts",
    OWN_FOLDER_ARGUMENT,
    argument(
        "--set",
        dest="assignments",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting of alerts, such as alerts.level=.02; several values, as in "
        "alerts.level=.01,.02,.05, are compared in one pass; may be repeated, then for all "
        "combinations",
    ),
    argument(
        "--from",
        dest="since",
        metavar="WHEN",
        help="compare from this date on: 2026, 2026-03, 2026-03-14",
    ),
    argument("--format", choices=("text", "json", "html"), default="text"),
    details="It computes the headlines of all periods again from stored features and scores, and "
    "changes nothing in\n"
    "FOLDER. Settings without --set are those of odl.yaml. --format html prints a page: write it "
    "into a file.",
    examples=(
        "odl backtest news --set alerts.level=.02",
        "odl backtest news --set alerts.level=.01,.02,.05 --from 2026-03",
        "odl backtest news --set alerts.certain=0 --format html",
    ),
)
def backtest(args):
    """Print the comparison of stored headlines with those of other settings."""
    from odl.cli import backtest

    print(backtest.report(args.folder, args.assignments, args.since, args.format))


@subcommand(
    "open the page about what is new in a browser",
    FOLDER_ARGUMENT,
    STREAM_OPTION,
    details="Without a browser, as over ssh, it prints the path of the page.",
    examples=("odl open news",),
)
def open(args):
    """Open the page of a folder in a browser, or print its path."""
    import webbrowser
    from pathlib import Path

    name = f"new-{args.stream}.html" if args.stream else "new.html"
    path = Path(args.folder, name).absolute()
    if not path.is_file():
        raise DataError(
            f"{args.folder} has no {name}",
            "a folder that was run",
            f"type odl run {args.folder}, or name another {'stream' if args.stream else 'folder'}",
        )
    try:
        opened = webbrowser.open(path.as_uri())
    except (webbrowser.Error, OSError):
        opened = False
    print(visible(f"{'opened' if opened else 'no browser was found; the page is'} {path}"))


@subcommand(
    "answer assistants about streams, by the Model Context Protocol",
    argument(
        "folders",
        nargs="*",
        default=["."],
        metavar="folder",
        help="folders with odl.yaml, or results/STUDY (default: the current folder)",
    ),
    STREAM_OPTION,
    details="It reads requests from standard input and answers on standard output, so a client "
    "starts it. Its tools\n"
    "what_is_new, explain, search and documents only read. It needs the extra mcp.",
    examples=("odl mcp news", "odl mcp news tickets"),
)
def mcp(args):
    """Answer an assistant until it closes standard input."""
    from odl.cli import assistants

    assistants.serve(args.folders, args.stream)


def _sound(args, watch, news):
    """Print alarms about the stream on standard error, and exit if --fail requires it.

    With --fail, the exit status is `NEWS` if there is news, `ALARM` if there is only an alarm, and
    the function returns if there is neither. Without --fail, only the alarm about times in the
    future is checked, since the other alarms need many earlier periods.
    """
    import time

    from odl.alerts import alarms, read

    now = time.time_ns() // 1_000_000
    if args.fail:
        sounded = alarms.find_alarms(
            read.alerts_of(args.folder, args.stream, last=alarms.MAX_PAST + alarms.CHANGED_PERIODS),
            now,
        )
    else:
        sounded = list(filter(None, [alarms.ahead(watch.periods, now)]))
    for alarm in sounded:
        print(f"odl new: {alarm.text} {alarm.todo}", file=sys.stderr)
    if args.fail and (news or sounded):
        sys.exit(NEWS if news else ALARM)


def _move_mark(args, watch):
    """Store the last period as seen, with its number of documents.

    If the period gets more documents later, it counts as unseen again.
    """
    from odl.files import tables

    _refuse_links(args.folder)
    last = watch.periods[-1]
    tables.write_json(
        _place_of_mark(args), {**_marks(args), _stream(args): Mark(last.t, last.documents)}
    )


def _refuse_links(folder):
    """Raise an error if odl would write through a link in a folder with odl.yaml."""
    from odl.config import project
    from odl.files import atomic

    if os.path.exists(os.path.join(folder, project.FILE)):
        atomic.refuse_links(folder, project.results_of(folder))


def _stream(args):
    """Return the name of the stream that the arguments select."""
    from odl.alerts import read

    return read.place_of(args.folder, args.stream).stream


def _marks(args):
    """Return the marks of a folder by stream; an empty dict if --seen was never used."""
    from odl.files import tables

    path = _place_of_mark(args)
    return tables.read_json(path) if os.path.exists(path) else {}


def _place_of_mark(args):
    """Return the path of the file of marks; it is in the folder with odl.yaml."""
    from odl.config import project

    if not os.path.exists(os.path.join(args.folder, project.FILE)):
        raise DataError(
            f"{args.folder} contains no {project.FILE}, and no mark is stored in results",
            "a folder that odl init wrote",
            "name such a folder, or a date: --since 2026-03-01",
        )
    return os.path.join(args.folder, MARKS_FILE)


@subcommand(
    "say why a document has its score, or what an event is",
    FOLDER_ARGUMENT,
    argument("what", help="the id of a document, or an event (12 or event:12)"),
    STREAM_OPTION,
    argument("--format", choices=("text", "jsonl"), default="text"),
    details="The shares of a document's words add up to its score. Every scored document can be "
    "explained.",
    examples=("odl explain news event:3", "odl explain news d21"),
)
def explain(args):
    """Print the explanation of a document or an event."""
    from odl.alerts import explain, maps, read

    watch = read.alerts_of(args.folder, args.stream)
    position, number = explain.find_named(watch, args.what)
    if number:
        print(
            explain.event_text(watch, number)
            if args.format == "text"
            else json.dumps(maps.event_map(watch, number), ensure_ascii=False)
        )
        return
    if position is None:
        raise DataError(
            f"{args.what} is no document or event of {args.folder}",
            "the id of a document or the number of an event",
            f"type odl new {args.folder} to list them",
        )
    document, earlier, meant = explain.explain_document(watch.place, *position)
    if args.format == "text":
        print(explain.document_text(watch, document, earlier, meant))
    else:
        values = maps.explained_map(watch, document, earlier[0].id if earlier else None)
        print(json.dumps(values, ensure_ascii=False))


@subcommand(
    "hold back an event, a document or a source from now on",
    FOLDER_ARGUMENT,
    WHAT_ARGUMENT,
    STREAM_OPTION,
    UNTIL_OPTION,
    NOTE_OPTION,
    argument("--known", action="store_true", help="write 'known' instead of 'muted'"),
    details=FEEDBACK_HELP,
    examples=("odl mute news event:3", "odl mute news source:spam.jsonl --note 'a mailing list'"),
)
def mute(args):
    """Write a line that mutes into feedback.csv."""
    _write_line(args, "known" if args.known else "muted")


@subcommand(
    "always show an event, a document or a source",
    *(FOLDER_ARGUMENT, WHAT_ARGUMENT, STREAM_OPTION, UNTIL_OPTION, NOTE_OPTION),
    details=FEEDBACK_HELP,
    examples=("odl follow news event:3", "odl follow news event:3 --until 2026-12-31"),
)
def follow(args):
    """Write a line that follows into feedback.csv."""
    _write_line(args, "follow")


@subcommand(
    "no longer mute or follow an event, a document or a source",
    FOLDER_ARGUMENT,
    argument("what", help="name that was given to odl mute or odl follow"),
    details="The command deletes a line of feedback.csv. `odl new` applies this at once, the page "
    "after the next run.",
    examples=("odl unmute news event:3", "odl unmute news source:spam.jsonl"),
)
def unmute(args):
    """Delete the line that mutes or follows from feedback.csv."""
    from odl.alerts import explain, feedback

    _refuse_links(args.folder)
    what = " ".join(args.what.split())
    number = explain.event_number(what)
    names = (what, f"event:{number}", f"topic:{number}")
    gone = next((lines for name in names if (lines := feedback.remove(args.folder, name))), None)
    if not gone:
        known = ", ".join(entry.what for entry in feedback.read(args.folder) if entry.verdict)
        raise ParameterError(
            f"{feedback.FEEDBACK_FILE} of {args.folder} says nothing about {what}",
            f"one of {known}" if known else "a name that is muted or followed",
            "name one of these" if known else "mute or follow it first",
        )
    line = gone[-1]
    print(
        visible(f"odl unmute: {line.what} was {line.verdict}; its line is gone from feedback.csv.")
    )


@subcommand(
    "judge a headline; later lists are sorted by the verdicts",
    FOLDER_ARGUMENT,
    argument(
        "what", help="number of an event (12 or event:12), or id of a document under a headline"
    ),
    argument(
        "answer",
        choices=("yes", "no", "known", "undo"),
        help="yes: you want such headlines; no: you do not; known: correct, but you knew it; undo: "
        "delete your verdict",
    ),
    STREAM_OPTION,
    BY_OPTION,
    NOTE_OPTION,
    details="The command writes a line into feedback.csv. No score changes and nothing is hidden: "
    "headlines like those that you want\n"
    "move up in `odl new` and on the page. `odl new --plain` shows the order without verdicts.",
    examples=(
        "odl judge news 3 yes",
        "odl judge news d21 no --note 'an advertisement'",
        "odl judge news 3 undo",
    ),
)
def judge(args):
    """Write, replace or delete the verdict of a user in feedback.csv."""
    import getpass

    from odl.alerts import feedback, read, verdicts

    watch = read.alerts_of(args.folder, args.stream, last=1)
    what, by = " ".join(args.what.split()), args.by or getpass.getuser()
    _refuse_links(args.folder)
    answer = "" if args.answer == "undo" else args.answer
    line, changed = verdicts.judge(args.folder, watch, what, answer, by, args.note)
    if not changed:
        raise ParameterError(
            f"{line.by} has not judged {line.what}",
            "a verdict of this name",
            "name another user with --by",
        )
    effect = f"{line.what} is judged {answer} by {line.by} ({feedback.FEEDBACK_FILE})"
    if not answer:
        effect = f"the verdict of {line.by} on {line.what} is gone from {feedback.FEEDBACK_FILE}"
    print(visible(f"odl judge: {effect}."))
    watch = read.alerts_of(args.folder, args.stream, last=1)  # again, with the new verdict
    for text in verdicts.with_verdicts(watch).verdict_lines:
        print(text)


def _write_line(args, verdict):
    """Write a line that mutes or follows into feedback.csv, and print its effect."""
    from odl.alerts import explain, feedback, read

    watch = read.alerts_of(args.folder, args.stream)
    name = explain.feedback_name(watch, " ".join(args.what.split()))
    entry = feedback.FeedbackLine(
        name, verdict, feedback.parse_until(args.until), " ".join(args.note.split())
    )
    _refuse_links(args.folder)
    feedback.add(args.folder, entry)
    # Read the alerts again, because the new line changes which headlines are withheld.
    watch = read.alerts_of(args.folder, args.stream)
    print(visible(f"odl {args.command}: {_effect_of(entry, watch)}."))


def _effect_of(entry, watch):
    """Return the effect of a muting or following line on the alerts `watch`, as text.

    For a muting line, it includes the number of headlines that the line withholds.
    """
    if entry.verdict == "follow":
        return f"{entry.what} is followed{entry.when} (feedback.csv)"
    n = _count_withheld(watch, entry.what)
    effect = (
        f"{entry.what} is {entry.verdict}{entry.when} (feedback.csv); "
        f"it holds back {n} headline{'s' * (n != 1)} so far"
    )
    state = watch.events[entry.event].state if entry.event else "new"
    applies = entry.holds(state, watch.periods[-1].first)
    return effect if applies else f"{effect}, none of the last period"


def _count_withheld(watch, name):
    """Return the number of headlines that a line of feedback.csv withholds, by its name."""
    return sum(
        count
        for period in watch.periods
        for (what, _), count in period.withheld.items()
        if what == name
    )


@subcommand(
    "score documents when they arrive, and learn each finished period",
    OWN_FOLDER_ARGUMENT,
    argument(
        "--tolerance",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="how long to wait for late documents after a period ends",
    ),
    argument(
        "--clock",
        action="store_true",
        help="end periods by the clock too, not only at the first document of the next",
    ),
    argument(
        "--http",
        metavar="ADDRESS",
        help="accept documents by HTTP at this address, and serve the page, feeds and metrics",
    ),
    argument(
        "--rate",
        type=float,
        default=float("inf"),
        help="with --http: most documents per second from one client address",
    ),
    argument(
        "--follow",
        metavar="DIRECTORY",
        help="read documents from the .jsonl and .ndjson files of this directory while they grow",
    ),
    argument(
        "--strict", action="store_true", help="end with an error at a line that cannot be read"
    ),
    argument(
        "--format",
        choices=("jsonl", "text"),
        default="jsonl",
        help="text: print the headlines of learned periods as text, and no answers",
    ),
    details="Documents are lines of JSON on standard input; answers are printed on standard "
    "output.\n"
    "Documents are stored in FOLDER/inbox. odl run reads them too, and gives the same results.",
    examples=(
        "odl watch news",
        "odl watch news --follow incoming",
        "odl watch news --format text",
        "odl watch news --http 127.0.0.1:8080",
    ),
)
def watch(args):
    """Score documents as they arrive, from standard input, files or HTTP."""
    from odl.cli import runs
    from odl.config import project
    from odl.live import lines, server
    from odl.live.runner import Runner

    project.check(args.folder)
    if args.http and args.follow:
        raise ParameterError(
            "--http and --follow",
            "one of these options, since each is a source of documents",
            "leave --http or --follow out",
        )
    directory = args.follow and os.path.abspath(args.follow)
    as_text = args.format == "text"
    with contextlib.chdir(args.folder):
        runner = Runner(runs.serve)
        if args.http:
            server.run(runner, args.http, args.tolerance, args.clock, args.rate, as_text)
        else:
            lines.run(runner, directory, args.tolerance, args.clock, args.strict, as_text)


@subcommand(
    "let odl run the commands that a folder names",
    OWN_FOLDER_ARGUMENT,
    details="odl run gives each alert to the command notify of odl.yaml, and texts to "
    "options.vectors.command. If a\n"
    "command or a script of the folder that it runs changes, type odl trust again.",
    examples=("odl trust news",),
)
def trust(args):
    """Allow `odl run` to start the commands that a folder names."""
    from odl.config import commands

    words = " and ".join(map(str, commands.trust(args.folder)))
    print(f"odl trust: on this machine odl run may start {words} in {args.folder}")
