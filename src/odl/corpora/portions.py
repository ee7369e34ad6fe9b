"""Reading of user files in shares: each job reads some of the files, and a list of all documents is joined from them.

A share contains words. The list contains only what orders a stream, so adding a file to a long
stream is cheap. The documents and errors are those of reading all files at once
(`odl.corpora.collection`). If an error concerns several shares, the files are read at once to raise
it.
"""

import contextlib
from itertools import takewhile
from pathlib import Path

import numpy as np
from scipy import sparse

from odl.corpora import collection
from odl.errors import DataError, StorageError
from odl.files import documents as docs
from odl.files import provenance, setaside, storage
from odl.files.documents import Documents, Dropped, Repeats
from odl.files.listing import find_files
from odl.text import cleaning

FILES_CHANGED = "files that do not change while they are read", "run the same command again"


def members(sources, options, first, last):
    """Return (name, path) of the files of the sources from the path `first` to the path `last`.

    Raises
    ------
    DataError
        If one of the two does not exist any more.
    """
    files = find_files(sources, options.get("kind"))
    places = [Path(path) for _, path in files]
    for end in map(Path, (first, last)):
        if end not in places:
            raise DataError(f"{end} is no longer among the files of the sources", *FILES_CHANGED)
    return files[places.index(Path(first)) : places.index(Path(last)) + 1]


def write(output, files, options):
    """Read some files of the sources, write them as a share, and return the documents.

    Parameters
    ----------
    output : path-like
        Share: the documents, a digest of each document's content (``contents``, of documents with
        too few words last), id and content of repeated rows (``again``), and the length of vectors
        (attribute ``dimensions``, 0 without vectors).
    files : list of (str, path-like)
        Names and paths.
    options : dict
        As for `odl.corpora.collection.read`.

    Returns
    -------
    Documents
    """
    form, gathered = collection.form_of(options), collection.Collection(options)
    for name, path in files:
        gathered.add_file(name, path, form)
    return store(output, gathered)


def store(output, gathered):
    """Write a collection as a share, and return its documents."""
    documents = gathered.documents()
    names = _ids(documents)
    with storage.writing(output, docs.SHARE, dimensions=gathered.n_dimensions or 0) as file:
        docs.write_fields(file, documents)
        storage.write_array(file, "digests", documents.digests())
        storage.write_array(
            file, "contents", _stored([gathered.ids.contents[name] for name in names])
        )
        again = file.create_group("again")
        storage.write_strings(again, "ids", [identity for identity, _ in gathered.ids.again])
        storage.write_array(
            again, "contents", _stored([content for _, content in gathered.ids.again])
        )
    return documents


def join(output, paths, sources, options, digests=None, appended=True):
    """Write the list of the documents of all shares, and return them without their words.

    Parameters
    ----------
    output : path-like
        List: ids, times, topics, files and digests of all documents, and the share and row with the
        words of each (`odl.files.documents.Shares`).
    paths : list of path-like
        The shares, in order.
    sources, options
        As for `odl.corpora.collection.read`.
    digests : list of str, optional
        Digests of the shares, if known.
    appended : bool
        Whether to start from the existing list: shares that it contains are not read.

    Returns
    -------
    Documents
    """
    digests = digests or [storage.digest_of(path, docs.SHARE) for path in paths]
    named = [(Path(path).stem, digest) for path, digest in zip(paths, digests, strict=True)]
    parts, sizes, accounts = _before(output, named) if appended else ([], [], [])
    listed = {name for documents, _, _ in parts for name in _ids(documents)}
    register = collection.Register(options.get("changed", "keep"))
    for path in paths[len(sizes) :]:
        with storage.reading(path, docs.SHARE) as file:
            repeats, length = register.repeats(), int(file.attrs["dimensions"])
            expected = next((one.dimensions for one in accounts if one.dimensions), length)
            part = _listed(file, register)
            if length not in (0, expected) and not options.get("strict", True):
                part = _set_aside(
                    *part, f"the vector has {length} numbers, earlier ones {expected}"
                )
            parts.append(part)
            sizes.append(len(parts[-1][0]))
            accounts.append(_account(file, parts[-1][0], repeats, register.repeats()))
    if not listed.isdisjoint(
        register.contents
    ):  # an id of an unread share: its content is known only there
        return join(output, paths, sources, options, digests, appended=False)
    if options.get("strict", True) and len({account.dimensions for account in accounts} - {0}) > 1:
        collection.read(sources, options)
        raise DataError("a vector of another length has disappeared from the files", *FILES_CHANGED)
    documents = _joined([part[0] for part in parts], cleaning.Cleaning(options.get("clean")).names)
    documents.repeats = Repeats(
        *(sum(getattr(account, name) for account in accounts) for name in Repeats._fields)
    )
    collection.check_held(documents, options, sum(account.terms for account in accounts))
    with storage.writing(output, "documents", reader=collection.READER) as file:
        docs.write_fields(file, documents)
        storage.write_array(file, "digests", np.concatenate([digests for _, digests, _ in parts]))
        rows = np.concatenate([rows for _, _, rows in parts])
        docs.write_shares(file, docs.Shares(*zip(*named, strict=True), sizes), accounts, rows)
    return documents


def _before(path, named):
    """Return (parts, sizes, accounts) of the first shares in an existing list that are unchanged."""
    with contextlib.suppress(StorageError), storage.reading(path, "documents") as file:
        if provenance.goes_on(file.attrs) and "shares" in file:
            shares, accounts = docs.read_shares(file), docs.read_accounts(file)
            pairs = zip(
                zip(shares.names, shares.digests, strict=True), named, accounts, strict=False
            )
            n = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            sizes = shares.sizes[:n].tolist()
            left_out, aside = (
                sum(getattr(one, name) for one in accounts[:n]) for name in ("dropped", "aside")
            )
            documents = docs.read_list(file, sum(sizes), left_out, aside)
            digests = storage.read_array(file, "digests", "u", ndim=2)[: sum(sizes)]
            part = documents, digests, storage.read_array(file["shares"], "rows", "i")[: sum(sizes)]
            return [part] * bool(n), sizes, accounts[:n]
    return [], [], []


def _account(file, documents, before, after):
    """Return the account of a share: its numbers of dropped, repeated and set-aside rows, terms and dimensions.

    `before` and `after` are the repeats before and after this share.
    """
    dropped = len(_ids(documents)) - len(documents)
    repeats = (now - was for now, was in zip(after, before, strict=True))
    terms = int(file["vocabulary"].attrs["length"])
    return docs.Account(
        dropped, *repeats, terms, int(file.attrs["dimensions"]), len(documents.aside)
    )


def _stored(contents):
    return np.frombuffer(b"".join(contents), dtype=np.uint8).reshape(-1, collection.DIGEST_BYTES)


def _contents(file):
    return [row.tobytes() for row in storage.read_array(file, "contents", "u", ndim=2)]


def forget(paths):
    """Delete the other shares in the folder of the given ones."""
    kept = {Path(path).name for path in paths}
    for path in Path(paths[0]).parent.glob("*.h5"):
        if path.name not in kept:
            path.unlink(missing_ok=True)


def _listed(file, register):
    """Return (documents, digests, rows) of a share that no earlier share contains."""
    share, own = docs.read_list(file), storage.read_array(file, "digests", "u", ndim=2)
    n, dropped = len(share), share.dropped
    contents, ids = _contents(file), storage.read_strings(file["again"], "ids")
    register.again += zip(ids, _contents(file["again"]), strict=True)
    names = _names(share, contents, register)
    rows = np.array([row for row in range(n) if names[row] is not None], dtype=np.int64)
    if renamed := [row for row in rows.tolist() if names[row] != share.ids[row]]:
        whole = docs.read_fields(file).select(renamed)
        whole.ids = [names[row] for row in renamed]
        own[renamed] = whole.digests()
    stay = np.array([name is not None for name in names[n:]], dtype=bool)
    left_out = dropped and Dropped(
        [name for name in names[n:] if name is not None], dropped.times[stay], dropped.words[stay]
    )
    listed = share if len(rows) == n else share.select(rows)
    listed.ids, listed.dropped, listed.aside = (
        [names[row] for row in rows.tolist()],
        left_out,
        share.aside,
    )
    return listed, own[rows], rows


def _set_aside(documents, digests, rows, reason):
    """Return the result of `_listed` with all documents of the share set aside for a reason."""
    none = documents.select(np.arange(0))
    names = zip(documents.files, documents.ids, strict=True)
    none.aside = [
        *documents.aside,
        *(setaside.aside(file, f"document {name}", reason) for file, name in names),
    ]
    none.dropped = documents.dropped
    return none, digests[:0], rows[:0]


def _ids(documents):
    """Return the ids of documents, followed by those of documents with too few words."""
    return [*documents.ids, *(documents.dropped.ids if documents.dropped else [])]


def _names(share, contents, ids):
    """Return the ids of the documents of a share, those with too few words last; None if an earlier share has one."""
    own = _ids(share)
    if ids.changed == "keep" and ids.contents.keys().isdisjoint(own):
        ids.contents.update(zip(own, contents, strict=True))
        return own
    names = [None] * len(own)
    # The first row with an id must be registered before those with other content, whose ids have a
    # suffix.
    for place in sorted(
        range(len(own)), key=lambda place: own[place].endswith(collection.name_end(contents[place]))
    ):
        content = contents[place]
        identity = own[place].removesuffix(collection.name_end(content))
        names[place] = ids.name(identity, content)
        if names[place] is not None:
            ids.enter(names[place], content)
    return names


def _joined(shares, cleaners):
    """Return the documents of all shares without words. Counts of removed parts are in the order of `cleaners`."""
    dropped, n = [share.dropped for share in shares], sum(map(len, shares))
    return Documents(
        counts=sparse.csr_array((n, 0), dtype=np.int32),
        vocabulary=[],
        titles=[""] * n,
        times=np.concatenate([share.times for share in shares]),
        **{
            name: [value for share in shares for value in getattr(share, name)]
            for name in docs.LIST_FIELDS
        },
        removed={
            name: np.concatenate([share.removed[name] for share in shares]) for name in cleaners
        },
        aside=[entry for share in shares for entry in share.aside],
        dropped=dropped[0]
        and Dropped(
            [identity for part in dropped for identity in part.ids],
            *(
                np.concatenate([getattr(part, name) for part in dropped])
                for name in ("times", "words")
            ),
        ),
    )
