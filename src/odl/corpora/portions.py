"""Reading of user files in shares: each job reads some files, and a list joins all documents.

A share contains the words of its documents. The list contains only what is needed to order a
stream, so adding a file to a long stream is cheap. Documents and errors are the same as if
`odl.corpora.collection` read all files at once. For an error that concerns several shares, all
files are read again.
"""

import contextlib
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
    """Return (name, path) of each source file from the path `first` to the path `last`.

    Raises
    ------
    DataError
        If `first` or `last` is no longer among the files of the sources.
    """
    files = find_files(sources, options.get("kind"))
    paths = [Path(path) for _, path in files]
    for end in map(Path, (first, last)):
        if end not in paths:
            raise DataError(f"{end} is no longer among the files of the sources", *FILES_CHANGED)
    return files[paths.index(Path(first)) : paths.index(Path(last)) + 1]


def write(output, files, options):
    """Read some files of the sources, write them as a share, and return the documents.

    Parameters
    ----------
    output : path-like
        Share to write. It contains the documents; ``contents``, a digest of each row's content,
        where documents with too few words come last; ``again``, ids and digests of repeated rows;
        and the attribute ``dimensions``, the length of vectors (0 without vectors).
    files : list of (str, path-like)
        Names and paths.
    options : dict
        Options of `odl.corpora.collection.read`.

    Returns
    -------
    Documents
    """
    form, gathered = collection.form_of(options), collection.Collection(options)
    for name, path in files:
        gathered.add_file(name, path, form)
    return store(output, gathered)


def store(output, gathered):
    """Write the documents of a collection as a share of the corpus, and return them."""
    documents = gathered.documents()
    names = _ids(documents)
    with storage.writing(output, docs.SHARE, dimensions=gathered.n_dimensions or 0) as file:
        docs.write_fields(file, documents)
        storage.write_array(file, "digests", documents.digests())
        storage.write_array(
            file, "contents", _as_array([gathered.ids.contents[name] for name in names])
        )
        again = file.create_group("again")
        storage.write_strings(again, "ids", [identity for identity, _ in gathered.ids.again])
        storage.write_array(
            again, "contents", _as_array([content for _, content in gathered.ids.again])
        )
    return documents


def join(output, paths, sources, options, digests=None, appended=True):
    """Write the list of all documents in the shares, and return the documents without words.

    Parameters
    ----------
    output : path-like
        List to write: id, time, topics, file and digest of each document, and the share and row
        that contain its words (`odl.files.documents.Shares`).
    paths : list of path-like
        The shares, in order.
    sources, options
        As in `odl.corpora.collection.read`.
    digests : list of str, optional
        Digests of the shares, if known.
    appended : bool
        Whether to start from the existing list: shares that it contains are not read.

    Returns
    -------
    Documents
    """
    digests = digests or [storage.digest_of(path, docs.SHARE) for path in paths]
    share_digests = [(Path(path).stem, digest) for path, digest in zip(paths, digests, strict=True)]
    parts, sizes, accounts = _read_unchanged(output, share_digests) if appended else ([], [], [])
    listed_ids = {name for documents, _, _ in parts for name in _ids(documents)}
    register = collection.Register(options.get("changed", "keep"))
    for path in paths[len(sizes) :]:
        with storage.reading(path, docs.SHARE) as file:
            repeats, length = register.repeats(), int(file.attrs["dimensions"])
            expected = next((one.dimensions for one in accounts if one.dimensions), length)
            part = _read_new_documents(file, register)
            if length not in (0, expected) and not options.get("strict", True):
                part = _set_aside(
                    *part, f"the vector has {length} numbers, earlier ones {expected}"
                )
            parts.append(part)
            sizes.append(len(parts[-1][0]))
            accounts.append(_account(file, parts[-1][0], repeats, register.repeats()))
    # An id occurs again in a new share: the contents must be compared, so all shares are read.
    if not listed_ids.isdisjoint(register.contents):
        return join(output, paths, sources, options, digests, appended=False)
    if options.get("strict", True) and len({account.dimensions for account in accounts} - {0}) > 1:
        collection.read(sources, options)
        raise DataError("a vector of another length has disappeared from the files", *FILES_CHANGED)
    documents = _join_documents(
        [part[0] for part in parts], cleaning.Cleaning(options.get("clean")).names
    )
    documents.repeats = Repeats(
        *(sum(getattr(account, name) for account in accounts) for name in Repeats._fields)
    )
    collection.check_held(documents, options, sum(account.terms for account in accounts))
    with storage.writing(output, "documents", reader=collection.READER) as file:
        docs.write_fields(file, documents)
        storage.write_array(file, "digests", np.concatenate([digests for _, digests, _ in parts]))
        rows = np.concatenate([rows for _, _, rows in parts])
        docs.write_shares(
            file, docs.Shares(*zip(*share_digests, strict=True), sizes), accounts, rows
        )
    return documents


def _read_unchanged(path, share_digests):
    """Read the unchanged beginning of an existing list: its shares before the first changed one.

    Nothing is read from a list that is missing, is damaged, or was written with other settings.

    Parameters
    ----------
    path : path-like
        The list.
    share_digests : iterable of (str, str)
        Name and digest of each present share.

    Returns
    -------
    parts : list of (Documents, ndarray, ndarray)
        At most one entry: the documents in the unchanged shares, their digests, and their rows.
    sizes : list of int
        Number of documents in each unchanged share.
    accounts : list of Account
    """
    with contextlib.suppress(StorageError), storage.reading(path, "documents") as file:
        if provenance.goes_on(file.attrs) and "shares" in file:
            shares, accounts = docs.read_shares(file), docs.read_accounts(file)
            listed_digests = zip(shares.names, shares.digests, strict=True)
            n_unchanged = 0
            for listed, share, _ in zip(listed_digests, share_digests, accounts, strict=False):
                if listed != share:
                    break
                n_unchanged += 1
            sizes = shares.sizes[:n_unchanged].tolist()
            n_dropped, aside = (
                sum(getattr(account, name) for account in accounts[:n_unchanged])
                for name in ("dropped", "aside")
            )
            documents = docs.read_list(file, sum(sizes), n_dropped, aside)
            digests = storage.read_array(file, "digests", "u", ndim=2)[: sum(sizes)]
            part = documents, digests, storage.read_array(file["shares"], "rows", "i")[: sum(sizes)]
            return [part] if n_unchanged else [], sizes, accounts[:n_unchanged]
    return [], [], []


def _account(file, documents, before, after):
    """Return the `Account` of a share.

    Parameters
    ----------
    file : h5py.File
        The share.
    documents : Documents
        Its documents that no earlier share has.
    before, after : Repeats
        Numbers of repeated rows before and after this share.
    """
    return docs.Account(
        dropped=len(_ids(documents)) - len(documents),
        same=after.same - before.same,
        changed=after.changed - before.changed,
        terms=int(file["vocabulary"].attrs["length"]),
        dimensions=int(file.attrs["dimensions"]),
        aside=len(documents.aside),
    )


def _as_array(contents):
    """Return row digests (bytes) as an array of uint8 with one digest per row."""
    return np.frombuffer(b"".join(contents), dtype=np.uint8).reshape(-1, collection.DIGEST_BYTES)


def _contents(file):
    """Read the array ``contents`` of an open share or group: a list of row digests (bytes)."""
    return [row.tobytes() for row in storage.read_array(file, "contents", "u", ndim=2)]


def forget(paths):
    """Delete the other shares in the folder of the given ones."""
    remaining = {Path(path).name for path in paths}
    for path in Path(paths[0]).parent.glob("*.h5"):
        if path.name not in remaining:
            path.unlink(missing_ok=True)


def _read_new_documents(file, register):
    """Return (documents, digests, rows) for the documents that are new in an open share.

    Documents whose id an earlier share has are omitted, or renamed if their content differs and
    the option ``changed`` is "new". The register is updated.
    """
    share, digests = docs.read_list(file), storage.read_array(file, "digests", "u", ndim=2)
    n, dropped = len(share), share.dropped
    contents, ids = _contents(file), storage.read_strings(file["again"], "ids")
    register.again += zip(ids, _contents(file["again"]), strict=True)
    names = _names(share, contents, register)
    rows = np.array([row for row in range(n) if names[row] is not None], dtype=np.int64)
    if renamed := [row for row in rows.tolist() if names[row] != share.ids[row]]:
        full_documents = docs.read_fields(file).select(renamed)
        full_documents.ids = [names[row] for row in renamed]
        digests[renamed] = full_documents.digests()
    is_new = np.array([name is not None for name in names[n:]], dtype=bool)
    dropped_documents = dropped and Dropped(
        [name for name in names[n:] if name is not None],
        dropped.times[is_new],
        dropped.words[is_new],
    )
    documents = share if len(rows) == n else share.select(rows)
    documents.ids, documents.dropped, documents.aside = (
        [names[row] for row in rows.tolist()],
        dropped_documents,
        share.aside,
    )
    return documents, digests[rows], rows


def _set_aside(documents, digests, rows, reason):
    """Set all documents of a share aside for a reason; return (documents, digests, rows).

    The results are empty, except that each document is added to the list ``aside``.
    """
    no_documents = documents.select(np.arange(0))
    names = zip(documents.files, documents.ids, strict=True)
    no_documents.aside = [
        *documents.aside,
        *(setaside.aside(file, f"document {name}", reason) for file, name in names),
    ]
    no_documents.dropped = documents.dropped
    return no_documents, digests[:0], rows[:0]


def _ids(documents):
    """Return the ids of the documents, then the ids of those dropped for having too few words."""
    return [*documents.ids, *(documents.dropped.ids if documents.dropped else [])]


def _names(share, contents, register):
    """Return the final id for each document in a share, and add these ids to the register.

    Documents with too few words come last. The id of a document is None if the document is omitted
    because an earlier one has its id (`odl.corpora.collection.Register.name`).

    Parameters
    ----------
    share : Documents
    contents : sequence of bytes
        Digest of each document's row, in the same order.
    register : odl.corpora.collection.Register
    """
    all_ids = _ids(share)
    if register.changed == "keep" and register.contents.keys().isdisjoint(all_ids):
        register.contents.update(zip(all_ids, contents, strict=True))
        return all_ids
    names = [None] * len(all_ids)
    # Ids without a suffix come first: the original row must be registered before the rows that have
    # its id but other content.
    for position in sorted(
        range(len(all_ids)),
        key=lambda position: all_ids[position].endswith(collection.name_end(contents[position])),
    ):
        content = contents[position]
        identity = all_ids[position].removesuffix(collection.name_end(content))
        names[position] = register.name(identity, content)
        if names[position] is not None:
            register.enter(names[position], content)
    return names


def _join_documents(shares, cleaners):
    """Return the documents of all shares without words.

    Counts of removed parts are in the order of `cleaners`.
    """
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
