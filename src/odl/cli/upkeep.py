"""Commands about the files of a folder or study: show, forget, table, verify."""

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
    "print the text of a document, and its file and line",
    *(FOLDER_ARGUMENT, ID_ARGUMENT),
    details="The text is read from the source file, not from the results.",
    examples=("odl show news d21",),
)
def show(args):
    """Print the location, title and text of a document."""
    from odl.corpora import collection, fields
    from odl.files.escaping import readable, visible

    with contextlib.chdir(args.folder):
        place, row = _row_of(args.folder, args.id)
    text = fields.join_pieces(row.get("text"))
    if not text:
        counts = (row.get("counts") or {}).items()
        text = "\n".join(f"{word} {count}" for word, count in counts)
    is_forgotten = collection.forgotten_as(row["id"]) in project.forgotten(args.folder)
    note = ["forgotten: odl no longer reads this row of your file"] if is_forgotten else []
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
        help="print how many periods would be learned again; change nothing",
    ),
    details="Its text, its words and everything learned from them are removed: later periods are "
    "learned again.\n"
    "Its line in the inbox is removed. Its row in your own file remains, but is no longer read, "
    "because\n"
    "forgotten.txt contains a digest of its id.",
    examples=("odl forget news d21 --dry-run", "odl forget news d21"),
)
def forget(args):
    """Remove a document from results, inbox and feedback.csv, and learn later periods again.

    With --dry-run, only the number of these periods is printed. In a folder that Snakemake runs,
    the user has to start Snakemake to learn them. A killed command can be repeated, since the id is
    recorded before anything is removed.
    """
    from odl.cli import run
    from odl.files.escaping import visible
    from odl.live import inbox

    project.check(args.folder)
    location, identity = _find_document(args.folder, args.id)
    cost = _relearning_cost(args.folder, args.id)
    if args.dry_run:
        message = f"{args.id} ({location}) would be removed from all results: {cost}."
        print(visible(message))
        return
    _remove_document(args.folder, args.id, identity)
    if project.read(args.folder).get(project.DRIVER) == "snakemake":
        print(visible(f"{args.id} is no longer read. Now run snakemake in {args.folder}: {cost}."))
        return
    print(run.run(args.folder))
    # The inbox contains copies, so its row was deleted. A user's file is never changed.
    is_in_inbox = f"/{inbox.FOLDER}/" in location
    note = "" if is_in_inbox else f" Its row remains in your file: {location}."
    print(visible(f"{args.id} is forgotten, {cost}.{note}"))


def _find_document(folder, ident):
    """Return (file and line of a document, id of its row).

    If a killed call of `forget` has removed the row from the inbox, the id is the given one, so
    that the command can be repeated.

    Raises
    ------
    DataError
        If no row has the id.
    """
    from odl.corpora import collection
    from odl.live import inbox

    # The id of a changed row ends with "~" and 8 digits (`collection.name_end`).
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
    """Remove a document from all files except the results, which the next run computes again.

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
        # The cache does not store ids, so the vectors of all documents are deleted.
        Path(project.VECTORS).unlink(missing_ok=True)
    feedback.remove(folder, ident, by=None)


def _relearning_cost(folder, ident):
    """Return a phrase with the number of periods to learn again if a document is removed."""
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
            except ValueError:  # odl run reports the invalid id
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
        help="compare the study with the scores in this CSV file, which has columns id and score",
    ),
    argument("--stream", help="with --beside: stream to compare, if the study has several"),
    argument("--seed", type=int, help="with --beside: seed of the batches (default: the first)"),
    details="The table has the AUC of novel documents for each run and number of atoms. Documents\n"
    "need topics. The file report.html has all other results.",
    examples=("odl table results/default", "odl table results/default --beside mine.csv"),
)
def table(args):
    """Print the main table of a study, or with --beside its comparison with a user's scores."""
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
    """Raise DataError if a folder has no tables, which the last steps of a study write.

    If the folder has an odl.yaml, the message suggests the first finished study in its results.
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
    "verify every file of a study against its digest",
    argument(
        "folder",
        nargs="?",
        default=".",
        help="results/STUDY, or a folder with odl.yaml (default: the current folder)",
    ),
    details="In a folder with odl.yaml, the inbox, forgotten.txt and the positions in followed "
    "files are\n"
    "verified too. Each damaged file is printed with what to do. The exit status is 1 if a file "
    "is damaged.",
    examples=("odl verify results/default", "odl verify news"),
)
def verify(args):
    """Verify the files of a study or folder against their digests, and print damaged files."""
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
    """Return the folder of results of a folder with odl.yaml; return another folder unchanged."""
    if not os.path.exists(os.path.join(folder, project.FILE)):
        return folder
    study = project.read(folder).get("study") or project.name_of(Path(folder).resolve().name)
    return os.path.join(folder, project.results_of(folder), str(study))


def _verify_own(folder):
    """Verify inbox, forgotten.txt and positions; return (number of files, sentences on damages)."""
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
    """Return the paths of pages new*.html in a folder of results and in its folder of odl.yaml."""
    home = folder.parent.parent
    folders = [folder, home] if (home / project.FILE).exists() else [folder]
    return [
        path
        for parent in folders
        for name in ("new.html", "new-*.html")
        for path in sorted(parent.glob(name))
    ]


def _inputs_of(path, record):
    """Yield (role, pattern, digest) of each input from which a file of a timestep was computed.

    Parameters
    ----------
    path : str
        Path of the file, with the folder of results.
    record : dict
        Provenance record of the file (`odl.config.steps.record_of`).

    Yields
    ------
    tuple of (str, str, str)
        Name of the input, pattern of its path, and its digest. Files outside the stream and the
        features of the last timestep, whose number is not known, are omitted. The pattern matches
        any seed, since several seeds may share the files of a stream.
    """
    from odl.config import steps

    step = steps.STEPS.get(record["step"])
    for written in step.writes.values() if step else ():
        # "{root}/{corpus}/seed{seed}/..." as a regular expression with named groups.
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(written))
        pattern = pattern.replace("[^/]+", ".+", 1)  # only the root may contain slashes
        match = re.fullmatch(pattern, path)
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
