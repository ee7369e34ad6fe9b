"""Commands around a folder or a study: original texts, the main table, digests."""

import contextlib
import glob
import os
import re
import sys
from pathlib import Path

from odl.cli import argument, subcommand
from odl.config import project
from odl.errors import DataError, StorageError

FOLDER = argument("folder", help="a folder with odl.yaml")
IDENT = argument("id", help="the id of a document, as odl new and odl explain name it")


@subcommand(
    "print the whole text of a document, by file and line",
    *(FOLDER, IDENT),
    more="It is read from the file it came from, not from the results.",
    examples=("odl show news d21",),
)
def show(args):
    from odl.corpora import collection, fields
    from odl.files.escaping import readable, visible

    with contextlib.chdir(args.folder):
        place, row = _row_of(args.folder, args.id)
    counts = (row.get("counts") or {}).items()
    text = fields.joined(row.get("text")) or "\n".join(f"{word} {count}" for word, count in counts)
    gone = collection.forgotten_as(row["id"]) in project.forgotten(args.folder)
    note = ["forgotten: this row of your own file is not read any more"] * gone
    head = [place, *note, *(str(row[name]) for name in ("time", "title", "url") if row.get(name))]
    print("\n".join([*map(visible, map(fields.without_ansi, head)), "", *map(readable, str(text).splitlines())]))


@subcommand(
    "take a document out of all that is stored",
    *(FOLDER, IDENT),
    argument("--dry-run", "-n", action="store_true", help="say what would be learned again; do nothing"),
    more="Its text, its words and what was learned from them go: the stream is learned again from its period on.\n"
    "A line of the inbox goes, too. A row in your own file stays, and is not read any more: forgotten.txt has a\n"
    "digest of its id.",
    examples=("odl forget news d21 --dry-run", "odl forget news d21"),
)
def forget(args):
    from odl.alerts import feedback
    from odl.cli import run
    from odl.corpora import collection
    from odl.files.escaping import visible
    from odl.live import inbox

    project.check(args.folder)
    names = {collection.forgotten_as(name) for name in (args.id, args.id.rpartition("~")[0])}
    began = not names.isdisjoint(project.forgotten(args.folder))
    with contextlib.chdir(args.folder):
        try:
            place, row = _row_of(args.folder, args.id)
        except DataError:
            if not began:
                raise
            place, row = (
                f"/{inbox.FOLDER}/",
                {"id": args.id},
            )  # a run of this command before took the row, and was killed
    t, n = _period_of(args)
    cost = "no period has it"
    if t is not None:
        cost = f"{n - t} of {n} periods {'is' if n - t == 1 else 'are'} learned again"
    if args.dry_run:
        print(visible(f"{args.id} ({place}): {cost}, and nothing of it stays in results."))
        return
    project.forget(args.folder, collection.forgotten_as(row["id"]))  # first: what follows can be repeated after a kill
    with contextlib.chdir(args.folder):
        inbox.remove(row["id"])
        Path(project.VECTORS).unlink(missing_ok=True)  # which does not say whose they are
    feedback.remove(args.folder, args.id)
    if project.read(args.folder).get(project.DRIVER) == "snakemake":
        print(visible(f"{args.id} is not read any more. Now run snakemake in {args.folder}: {cost}."))
        return
    print(run.run(args.folder))
    left = "" if f"/{inbox.FOLDER}/" in place else f" Its row is yours to delete: {place}."
    print(visible(f"{args.id} is forgotten, {cost}.{left}"))


def _period_of(args):
    """Return the period of a document, None where no result has it, and the number of periods."""
    from odl.alerts import explain, read

    try:
        watched = read.place_of(args.folder)
    except DataError:  # never run
        return None, 0
    place = explain.find(watched, args.id)
    return place and place[0], read.first_of(watched, 0)


def _row_of(folder, ident):
    """Return where a row of the sources is, in words, and its values by role; called in the folder of odl.yaml."""
    from odl.corpora import collection, fields
    from odl.corpora.checks import Unreadable
    from odl.engine import folder as folders
    from odl.files import listing

    stream = folders.opened().stream
    form, columns = collection.form_of(stream["options"]), collection.columns_of(stream["options"])
    for name, path in listing.find_files(stream["sources"], form.kind):
        for place, row, _ in collection.documents_in(name, path, form, columns, strict=False):
            with contextlib.suppress(ValueError):  # said by the run
                if isinstance(row, Unreadable):
                    continue
                identity = collection.identity_of(row, name, place)
                if ident in (identity, identity + collection.name_end(collection.content_of(row))):
                    values = {role: value for role, value in row.items() if not fields.missing(value)}
                    return f"{os.path.normpath(os.path.join(folder, path))} {place}", {**values, "id": identity}
    raise DataError(f"no row of the sources of {folder} has the id {ident}", "the id of one", "look at odl new")


@subcommand(
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
    below = sorted(glob.glob(os.path.join(*map(glob.escape, (folder, project.results_of(folder))), "*", "tables")))
    todo = f"name {os.path.dirname(below[0])}" if below else "run it first, or name another"
    raise DataError(f"{folder} holds no tables", "the folder results/STUDY of a finished study", todo)


@subcommand(
    "hold every file of a study to its digests",
    argument("folder", help="results/STUDY, or a folder with odl.yaml"),
    more="Of a folder with odl.yaml also the inbox, forgotten.txt and up to where files are followed.\n"
    "It names what is damaged and what to do, and ends with status 1 if there is any.",
    examples=("odl verify results/default", "odl verify news"),
)
def verify(args):
    from odl.files import verify

    folder = _results_of(args.folder)
    n_files, wrong = verify.verify(folder, _inputs_of, _pages(Path(folder).resolve()))
    n_own, lost = _verify_own(Path(folder).resolve().parent.parent)
    n_files, wrong = n_files + n_own, [*lost, *wrong]
    for sentence in wrong:
        print(sentence)
    fits = f"{len(wrong)} of which {'do' if len(wrong) > 1 else 'does'} not fit" if wrong else "all of which fit"
    print(f"odl verify: {n_files} files, {fits}")
    if wrong:
        sys.exit(1)


def _results_of(folder):
    """Return the results of a folder that odl init wrote, where it is one; else the folder itself."""
    if not os.path.exists(os.path.join(folder, project.FILE)):
        return folder
    study = project.read(folder).get("study") or project.name_of(Path(folder).resolve().name)
    return os.path.join(folder, project.results_of(folder), str(study))


def _verify_own(folder):
    """Return the number of the files that a folder holds the only copy of, and a sentence for each that was changed."""
    from odl.live import inboxsums, lines, refused

    wrong: list[str] = []
    if not (folder / project.FILE).exists():
        return 0, wrong
    with contextlib.chdir(folder):
        wrong += [*inboxsums.check(mend=False), *refused.check(mend=False)]
        for read in (lambda: project.forgotten("."), lines.read_places):
            try:
                read()
            except (StorageError, OSError) as error:
                wrong.append(str(error))
        return len(inboxsums.paths("*.jsonl*")) + sum(map(os.path.exists, (project.FORGOTTEN, lines.READ))), wrong


def _pages(folder):
    """Return the pages about what is new of a folder of results, or of the folder of one's own that it is of."""
    own = folder.parent.parent
    places = [folder, own] if (own / project.FILE).exists() else [folder]
    return [path for place in places for name in ("new.html", "new-*.html") for path in sorted(place.glob(name))]


def _inputs_of(path, record):
    """Yield (name, path with a * for the seed of a stream that seeds may share, digest) of what a file was made from.

    As far as the description of its step and its record say it.
    """
    from odl.config import steps

    step = steps.STEPS.get(record["step"])
    for written in step.writes.values() if step else ():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(written)).replace("[^/]+", ".+", 1)
        match = re.fullmatch(pattern, path)
        if not match or not match.groupdict().get("t", "").isdecimal():
            continue
        names = {name: glob.escape(value) for name, value in match.groupdict().items()}
        names["before"] = int(match["t"]) - 1
        for role, digest in record["inputs"].items():
            place = step.reads.get(role, "")
            if place.startswith(steps.STREAM) and "{last}" not in place:
                yield role, place.format(**names if place.startswith(steps.RUN) else {**names, "seed": "*"}), digest
