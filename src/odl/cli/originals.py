"""Original texts: ``odl show`` prints one from its file, ``odl forget`` takes one out of all that is stored."""

import contextlib
import os

from odl.cli.declare import argument, command
from odl.errors import DataError

FOLDER = argument("folder", help="a folder with odl.yaml")
IDENT = argument("id", help="the id of a document, as odl new and odl explain name it")


@command(
    "print the whole text of a document, by file and line",
    *(FOLDER, IDENT),
    more="It is read from the file it came from, not from the results.",
    examples=("odl show news d21",),
)
def show(args):
    from odl.files.escaping import visible

    with contextlib.chdir(args.folder):
        place, row = _row_of(args.folder, args.id)
    text = row.get("text") or "\n".join(f"{word} {count}" for word, count in (row.get("counts") or {}).items())
    head = [place, *(str(row[name]) for name in ("time", "title", "url") if row.get(name))]
    print("\n".join([*map(visible, head), "", *map(visible, str(text).splitlines())]))


@command(
    "take a document out of all that is stored",
    *(FOLDER, IDENT),
    argument("--dry-run", "-n", action="store_true", help="say what would be learned again; do nothing"),
    more="Its text, its words and what was learned from them go: the stream is learned again from its period on.\n"
    "Its row in your own file stays, and is not read any more: a digest of the id in forgotten.txt keeps it out.",
    examples=("odl forget news d21 --dry-run", "odl forget news d21"),
)
def forget(args):
    from odl.alerts import feedback
    from odl.cli import run
    from odl.config import project
    from odl.corpora import collection

    with contextlib.chdir(args.folder):
        place, row = _row_of(args.folder, args.id)
    t, n = _period_of(args)
    cost = f"{n - t} of {n} periods are learned again" if t is not None else "no period has it"
    if args.dry_run:
        print(f"{args.id} ({place}): {cost}, and nothing of it stays in results.")
        return
    project.forget(args.folder, collection.forgotten_as(row["id"]))
    feedback.remove(args.folder, args.id)
    if project.read(args.folder).get(project.DRIVER) == "snakemake":
        print(f"{args.id} is not read any more. Now run snakemake in {args.folder}: {cost}.")
        return
    print(run.run(args.folder))
    print(f"{args.id} is forgotten, {cost}. Its row is yours to delete: {place}.")


def _period_of(args):
    """Return the period of a document, None where no result has it, and the number of periods."""
    from odl.alerts import explain, read

    try:
        watched = read.place_of(args.folder)
    except DataError:  # never run
        return None, 0
    found = explain.find(watched, args.id)
    return found and found[0], read.first_of(watched, 0)


def _row_of(folder, ident):
    """Return where a row of the sources is, in words, and its values by role; called in the folder of odl.yaml."""
    from odl.corpora import collection, fields
    from odl.corpora.formats import find_files, rows
    from odl.engine import folder as folders
    from odl.files import listing

    stream = folders.opened().stream
    form, columns = collection.form_of(stream["options"]), collection.columns_of(stream["options"])
    for name, path in find_files(stream["sources"], form.kind):
        kind = form.of(path)
        roles = columns if kind in listing.TABULAR else collection.own_columns(kind, columns)
        for place, values in rows(path, form, name):
            row = {role: collection.value_of(values, column) for role, column in roles.items()}
            with contextlib.suppress(ValueError):  # said by the run
                identity = collection.identity_of(row, name, place)
                if ident in (identity, identity + collection.ending(collection.content_of(row))):
                    values = {role: value for role, value in row.items() if not fields.missing(value)}
                    return f"{os.path.normpath(os.path.join(folder, path))} {place}", {**values, "id": identity}
    raise DataError(f"no row of the sources of {folder} has the id {ident}", "the id of one", "look at odl new")
