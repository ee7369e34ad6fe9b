"""Commands for the upkeep of a folder or study: show, forget, table, verify."""

import contextlib
import glob
import os
import re
import sys
from pathlib import Path

from odl.cli import argument, subcommand
from odl.config import project
from odl.errors import DataError, StorageError

FOLDER_ARGUMENT = argument(
    "folder", nargs="?", default=".", help="a folder with odl.yaml (default: the current folder)"
)
ID_ARGUMENT = argument("id", help="id of a document, as odl new and odl explain print it")


@subcommand(
    "print the complete text of a document, with its file and line",
    *(FOLDER_ARGUMENT, ID_ARGUMENT),
    details="The text is read from the source file, not from the results.",
    examples=("odl show news d21",),
)
def show(args):
    """Print file and line, title and text of a document in the sources."""
    from odl.corpora import collection, fields
    from odl.files.escaping import readable, visible

    with contextlib.chdir(args.folder):
        place, row = _row_of(args.folder, args.id)
    text = fields.join_pieces(row.get("text"))
    if not text:
        counts = (row.get("counts") or {}).items()
        text = "\n".join(f"{word} {count}" for word, count in counts)
    is_forgotten = collection.forgotten_as(row["id"]) in project.forgotten(args.folder)
    note = ["forgotten: this row of your file is no longer read"] if is_forgotten else []
    head = [place, *note, *(str(row[name]) for name in ("time", "title", "url") if row.get(name))]
    for line in head:
        print(visible(fields.without_ansi(line)))
    print()
    for line in str(text).splitlines():
        print(readable(line))


@subcommand(
    "remove a document from all stored results",
    *(FOLDER_ARGUMENT, ID_ARGUMENT),
    argument(
        "--dry-run",
        "-n",
        action="store_true",
        help="print what would be learned again; change nothing",
    ),
    details="Its text, its words and what was learned from them are removed: later periods are "
    "learned again.\n"
    "Its line in the inbox is removed. Its row in your own file remains, but is no longer read: "
    "forgotten.txt\n"
    "contains a digest of its id.",
    examples=("odl forget news d21 --dry-run", "odl forget news d21"),
)
def forget(args):
    """Remove a document from results, inbox and feedback.csv; learn later periods again."""
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
            # An earlier call that was killed has removed the row.
            place, row = f"/{inbox.FOLDER}/", {"id": args.id}
    t, n = _period_of(args)
    cost = "no period contains it"
    if t is not None:
        cost = f"{n - t} of {n} periods {'is' if n - t == 1 else 'are'} learned again"
    if args.dry_run:
        print(visible(f"{args.id} ({place}): {cost}, and nothing of it remains in the results."))
        return
    # First, so that a killed command can be repeated.
    project.forget(args.folder, collection.forgotten_as(row["id"]))
    with contextlib.chdir(args.folder):
        inbox.remove(row["id"])
        Path(project.VECTORS).unlink(missing_ok=True)  # its rows do not name their documents
    feedback.remove(args.folder, args.id, by=None)
    if project.read(args.folder).get(project.DRIVER) == "snakemake":
        print(visible(f"{args.id} is no longer read. Now run snakemake in {args.folder}: {cost}."))
        return
    print(run.run(args.folder))
    note = "" if f"/{inbox.FOLDER}/" in place else f" Its row remains in your file: {place}."
    print(visible(f"{args.id} is forgotten, {cost}.{note}"))


def _period_of(args):
    """Return (period of a document or None, number of periods)."""
    from odl.alerts import explain, read

    try:
        watched = read.place_of(args.folder)
    except DataError:  # never run
        return None, 0
    position = explain.find_document(watched, args.id)
    return position and position[0], read.first_of(watched, 0)


def _row_of(folder, ident):
    """Return (file and line of a row in the sources, its values by role).

    The working directory is the folder of odl.yaml.
    """
    from odl.corpora import collection, fields
    from odl.corpora.checks import Unreadable
    from odl.engine import folder as folders
    from odl.files import listing

    stream = folders.opened().stream
    form, columns = collection.form_of(stream["options"]), collection.columns_of(stream["options"])
    for name, path in listing.find_files(stream["sources"], form.kind):
        for place, row, _ in collection.documents_in(name, path, form, columns, strict=False):
            if isinstance(row, Unreadable):
                continue
            try:
                identity = collection.identity_of(row, name, place)
                of_changed_row = identity + collection.name_end(collection.content_of(row))
            except ValueError:  # no valid id; odl run reports it
                continue
            if ident in (identity, of_changed_row):
                values = {role: value for role, value in row.items() if not fields.missing(value)}
                location = f"{os.path.normpath(os.path.join(folder, path))} {place}"
                return location, {**values, "id": identity}
    raise DataError(
        f"no row of the sources of {folder} has the id {ident}",
        "an id that odl new prints",
        "correct the id",
    )


@subcommand(
    "print the main table of a finished study",
    argument("folder", help="results/STUDY"),
    argument(
        "--beside",
        metavar="FILE",
        help="CSV with the columns id and score: compare these scores with the study",
    ),
    argument("--stream", help="with --beside: the stream, if the study has several"),
    argument("--seed", type=int, help="with --beside: seed of the batches (default: the first)"),
    details="AUC of novel documents by run and number of atoms, for documents with topics; "
    "report.html has more.",
    examples=("odl table results/default", "odl table results/default --beside mine.csv"),
)
def table(args):
    """Print the main table of a study, or the comparison of a user's scores with it."""
    from odl.report import studypage

    _check_finished(args.folder)
    if args.beside:
        from odl.evaluation import outside

        scores = outside.read(args.beside)
        compared = outside.compare(args.folder, scores, stream=args.stream, seed=args.seed)
        print(outside.as_text(*compared))
        return
    print(studypage.main_table(f"{args.folder}/tables"))
    print(f"Report: {args.folder}/report.html")


def _check_finished(folder):
    """Raise `DataError` if a folder has no tables; the message names a study below it."""
    if os.path.isdir(os.path.join(folder, "tables")):
        return
    results = os.path.join(glob.escape(folder), glob.escape(project.results_of(folder)))
    tables = sorted(glob.glob(os.path.join(results, "*", "tables")))
    todo = (
        f"name {os.path.dirname(tables[0])}" if tables else "run it first, or name another folder"
    )
    raise DataError(
        f"{folder} contains no tables", "the folder results/STUDY of a finished study", todo
    )


@subcommand(
    "compare every file of a study with its digests",
    argument(
        "folder",
        nargs="?",
        default=".",
        help="results/STUDY, or a folder with odl.yaml (default: the current folder)",
    ),
    details="In a folder with odl.yaml also the inbox, forgotten.txt and the positions in followed "
    "files.\n"
    "It prints each damaged file and what to do. The exit status is 1 if a file is damaged.",
    examples=("odl verify results/default", "odl verify news"),
)
def verify(args):
    """Compare the files of a study or folder with their digests, and print those that differ."""
    from odl.files import verify

    folder = _results_of(args.folder)
    n_files, wrong = verify.verify(folder, _inputs_of, _pages(Path(folder).resolve()))
    n_own, lost = _verify_own(Path(folder).resolve().parent.parent)
    n_files, wrong = n_files + n_own, [*lost, *wrong]
    for sentence in wrong:
        print(sentence)
    fits = f"{len(wrong)} damaged" if wrong else "none damaged"
    print(f"odl verify: {n_files} files, {fits}")
    if wrong:
        sys.exit(1)


def _results_of(folder):
    """Return the folder of results of a folder with odl.yaml, any other folder unchanged."""
    if not os.path.exists(os.path.join(folder, project.FILE)):
        return folder
    study = project.read(folder).get("study") or project.name_of(Path(folder).resolve().name)
    return os.path.join(folder, project.results_of(folder), str(study))


def _verify_own(folder):
    """Verify inbox, forgotten.txt and positions; return (number of files, damages as sentences)."""
    from odl.live import inboxsums, lines, refused

    if not (folder / project.FILE).exists():
        return 0, []
    with contextlib.chdir(folder):
        wrong = [*inboxsums.check(mend=False), *refused.check(mend=False)]
        for read in (lambda: project.forgotten("."), lines.read_offsets):
            try:
                read()
            except (StorageError, OSError) as error:
                wrong.append(str(error))
        n_single = sum(map(os.path.exists, (project.FORGOTTEN, lines.OFFSETS_PATH)))
        return len(inboxsums.paths("*.jsonl*")) + n_single, wrong


def _pages(folder):
    """Return the pages new*.html in a folder of results and in the user's folder above it."""
    home = folder.parent.parent
    folders = [folder, home] if (home / project.FILE).exists() else [folder]
    return [
        path
        for parent in folders
        for name in ("new.html", "new-*.html")
        for path in sorted(parent.glob(name))
    ]


def _inputs_of(path, record):
    """Yield (role, pattern, digest) of each input that a file of a timestep was computed from.

    Parameters
    ----------
    path : str
        The file, below the folder of results.
    record : dict
        Its record (`odl.config.steps.record_of`), with the digest of each input.

    Yields
    ------
    tuple of (str, str, str)
        Inputs of the same stream, except the last features, whose timestep is not known. The
        pattern has * for the seed of files of a stream, since seeds may share these.
    """
    from odl.config import steps

    step = steps.STEPS.get(record["step"])
    for written in step.writes.values() if step else ():
        # "{root}/{corpus}/seed{seed}/..." as a regular expression with named groups; only the
        # first, the root, may contain slashes.
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(written))
        match = re.fullmatch(pattern.replace("[^/]+", ".+", 1), path)
        if not match or not match.groupdict().get("t", "").isdecimal():
            continue
        names = {name: glob.escape(value) for name, value in match.groupdict().items()}
        names["before"] = str(int(match["t"]) - 1)
        for role, digest in record["inputs"].items():
            reads = step.reads.get(role, "")
            if not reads.startswith(steps.STREAM_FOLDER) or "{last}" in reads:
                continue
            is_of_run = reads.startswith(steps.RUN_FOLDER)
            yield role, reads.format_map(names if is_of_run else {**names, "seed": "*"}), digest
