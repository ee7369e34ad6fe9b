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
    """Remove a document from results, inbox and feedback.csv, and learn later periods again.

    With --dry-run, only the number of these periods is printed. A folder that Snakemake runs is not
    learned here. A killed command can be repeated, since the id is recorded before any removal.
    """
    from odl.cli import run
    from odl.files.escaping import visible
    from odl.live import inbox

    project.check(args.folder)
    location, identity = _find_document(args.folder, args.id)
    cost = _relearning_cost(args.folder, args.id)
    if args.dry_run:
        print(visible(f"{args.id} ({location}): {cost}, and nothing of it remains in the results."))
        return
    _remove_document(args.folder, args.id, identity)
    if project.read(args.folder).get(project.DRIVER) == "snakemake":
        print(visible(f"{args.id} is no longer read. Now run snakemake in {args.folder}: {cost}."))
        return
    print(run.run(args.folder))
    # Rows of the inbox are odl's own copies, which were deleted. A user's file is never changed.
    is_in_inbox = f"/{inbox.FOLDER}/" in location
    note = "" if is_in_inbox else f" Its row remains in your file: {location}."
    print(visible(f"{args.id} is forgotten, {cost}.{note}"))


def _find_document(folder, ident):
    """Return (file and line of a document, id of its row); raise `DataError` if there is no row.

    After a call of `forget` that was killed, the row may be missing from the inbox. Then the id is
    the given one, and the rest of the removal can be repeated.
    """
    from odl.corpora import collection
    from odl.live import inbox

    # The id of a changed row is the id of the row and "~" with 8 digits (`collection.name_end`).
    id_of_row = ident.rpartition("~")[0]
    digests = {collection.forgotten_as(ident), collection.forgotten_as(id_of_row)}
    is_forgotten = not digests.isdisjoint(project.forgotten(folder))
    with contextlib.chdir(folder):
        try:
            location, row = _row_of(folder, ident)
        except DataError:
            if not is_forgotten:
                raise
            return f"/{inbox.FOLDER}/", ident
    return location, row["id"]


def _remove_document(folder, ident, identity):
    """Remove a document from everything except the results, which the next run computes again.

    Parameters
    ----------
    folder : path-like
        Folder with odl.yaml.
    ident : str
        Id that the user gave, as in feedback.csv.
    identity : str
        Id of the row in its source.
    """
    from odl.alerts import feedback
    from odl.corpora import collection
    from odl.live import inbox

    # The id is recorded first, so that a killed command can be repeated.
    project.forget(folder, collection.forgotten_as(identity))
    with contextlib.chdir(folder):
        inbox.remove(identity)
        # All cached vectors are deleted, since the cache does not store which document has which.
        Path(project.VECTORS).unlink(missing_ok=True)
    feedback.remove(folder, ident, by=None)


def _relearning_cost(folder, ident):
    """Return a phrase with the number of periods that are learned again without a document."""
    from odl.alerts import explain, read

    try:
        watched = read.place_of(folder)
    except DataError:  # the folder was never run
        return "no period contains it"
    position = explain.find_document(watched, ident)
    if position is None:
        return "no period contains it"
    n_periods = read.first_of(watched, 0)
    n_again = n_periods - position[0]
    return f"{n_again} of {n_periods} periods {'is' if n_again == 1 else 'are'} learned again"


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
    """Print the main table of a study. With --beside, compare a user's scores with the study."""
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
    """Raise `DataError` if a folder has no tables, which the last step of a study writes.

    If the folder is that of an odl.yaml, the message suggests the first finished study in its
    folder of results.
    """
    if os.path.isdir(os.path.join(folder, "tables")):
        return
    results = os.path.join(glob.escape(folder), glob.escape(project.results_of(folder)))
    tables = sorted(glob.glob(os.path.join(results, "*", "tables")))
    if tables:
        todo = f"name {os.path.dirname(tables[0])}"
    else:
        todo = "run it first, or name another folder"
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
    """Return the folder of results that belongs to an odl.yaml; any other folder unchanged."""
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
