"""Reading of user files in shares, by several jobs.

A share is an HDF5 file with the documents of some of the user's files. The list of a corpus
contains the ids, times and topics of the documents in all shares, without their words. So adding a
file to a long stream takes little time. Documents and errors are the same as if
`odl.corpora.collection` read all files at once.
"""

import contextlib
from itertools import chain
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
    """Read some files of the sources, write their documents as a share, and return the documents.

    Parameters
    ----------
    output : path-like
        Share to write. In addition to the documents, it contains:

        - ``contents``: a digest of each row's content, with documents of too few words last
        - ``again``: ids and digests of repeated rows
        - attribute ``dimensions``: length of the vectors, 0 without vectors
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
        List to write. It contains the id, time, topics, file and digest of each document, and the
        share and row with its words (`odl.files.documents.Shares`).
    paths : list of path-like
        The shares, in order.
    sources, options
        As in `odl.corpora.collection.read`.
    digests : list of str, optional
        Digests of the shares, if known.
    appended : bool
        Whether the existing list is extended. Unchanged shares in it are not read again.

    Returns
    -------
    Documents
    """
    digests = digests or [storage.digest_of(path, docs.SHARE) for path in paths]
    share_digests = [(Path(path).stem, digest) for path, digest in zip(paths, digests, strict=True)]
    parts, sizes, accounts = _read_unchanged(output, share_digests) if appended else ([], [], [])
    listed_ids = {name for documents, _, _ in parts for name in _ids(documents)}
    register = collection.Register(options.get("changed", "keep"))
    strict = options.get("strict", True)
    for path in paths[len(sizes) :]:
        part, account = _read_share(path, register, accounts, strict)
        parts.append(part)
        sizes.append(len(part[0]))
        accounts.append(account)
    if not listed_ids.isdisjoint(register.contents):
        # An id of the existing list occurs in a new share. Their contents must be compared.
        return join(output, paths, sources, options, digests, appended=False)
    if strict and len({account.dimensions for account in accounts} - {0}) > 1:
        collection.read(sources, options)  # raises an error that names the document
        raise DataError("a vector of another length has disappeared from the files", *FILES_CHANGED)
    shares, digests, rows = zip(*parts, strict=True)
    documents = _join_documents(shares, cleaning.Cleaning(options.get("clean")).names)
    documents.repeats = Repeats(
        same=sum(account.same for account in accounts),
        changed=sum(account.changed for account in accounts),
    )
    collection.check_held(documents, options, sum(account.terms for account in accounts))
    with storage.writing(output, "documents", reader=collection.READER) as file:
        docs.write_fields(file, documents)
        storage.write_array(file, "digests", np.concatenate(digests))
        share_table = docs.Shares(*zip(*share_digests, strict=True), sizes)
        docs.write_shares(file, share_table, accounts, np.concatenate(rows))
    return documents


def _read_share(path, register, accounts, strict):
    """Read the documents of a share that no earlier share has.

    Parameters
    ----------
    path : path-like
    register : odl.corpora.collection.Register
        Ids in earlier shares; extended by those of this share.
    accounts : list of Account
        Accounts of the earlier shares.
    strict : bool
        If false, the documents of the share are set aside if their vectors have another length
        than the vectors in earlier shares. If true, the caller raises an error.

    Returns
    -------
    part : tuple
        Result of `_read_new_documents` for the share.
    account : Account
        Numbers that the reader reports for the share.
    """
    with storage.reading(path, docs.SHARE) as file:
        before, length = register.repeats(), int(file.attrs["dimensions"])
        expected = next((one.dimensions for one in accounts if one.dimensions), length)
        part = _read_new_documents(file, register)
        if length not in (0, expected) and not strict:
            reason = f"the vector has {length} numbers, earlier vectors {expected}"
            part = _set_aside(*part, reason)
        after, documents = register.repeats(), part[0]
        return part, docs.Account(
            dropped=len(_ids(documents)) - len(documents),
            same=after.same - before.same,
            changed=after.changed - before.changed,
            terms=int(file["vocabulary"].attrs["length"]),
            dimensions=length,
            aside=len(documents.aside),
        )


def _read_unchanged(path, share_digests):
    """Read the documents in an existing list, up to its first share that has changed.

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
        Empty, or one entry: the documents in all unchanged shares, their digests, and their rows.
    sizes : list of int
        Number of documents in each unchanged share.
    accounts : list of Account
    """
    with contextlib.suppress(StorageError), storage.reading(path, "documents") as file:
        if provenance.goes_on(file.attrs) and "shares" in file:
            shares, n_unchanged = docs.read_shares(file), 0
            listed = zip(shares.names, shares.digests, strict=True)
            for listed_share, share in zip(listed, share_digests, strict=False):
                if listed_share != share:
                    break
                n_unchanged += 1
            accounts = docs.read_accounts(file)[:n_unchanged]
            sizes = shares.sizes[:n_unchanged].tolist()
            n, n_dropped = sum(sizes), sum(account.dropped for account in accounts)
            n_aside = sum(account.aside for account in accounts)
            documents = docs.read_list(file, n, n_dropped, n_aside)
            digests = storage.read_array(file, "digests", "u", ndim=2)[:n]
            rows = storage.read_array(file["shares"], "rows", "i")[:n]
            return [(documents, digests, rows)] if accounts else [], sizes, accounts
    return [], [], []


def _as_array(contents):
    """Return row digests (bytes) as an array of uint8 with one digest per row."""
    return np.frombuffer(b"".join(contents), dtype=np.uint8).reshape(-1, collection.DIGEST_BYTES)


def _contents(file):
    """Read the array ``contents`` of an open share or group: a list of row digests (bytes)."""
    return [row.tobytes() for row in storage.read_array(file, "contents", "u", ndim=2)]


def forget(paths):
    """Delete all files except the given shares from the folder of the shares."""
    remaining = {Path(path).name for path in paths}
    for path in Path(paths[0]).parent.glob("*.h5"):
        if path.name not in remaining:
            path.unlink(missing_ok=True)


def _read_new_documents(file, register):
    """Read the documents in an open share that no earlier share has, and register their ids.

    A document whose id an earlier share has is omitted. If its content differs and the option
    ``changed`` is "new", it gets another id instead.

    Returns
    -------
    documents : Documents
    digests : ndarray of uint8, shape (n_documents, 32)
    rows : ndarray of int64
        Rows of the documents in the share.
    """
    share, digests = docs.read_list(file), storage.read_array(file, "digests", "u", ndim=2)
    n, dropped = len(share), share.dropped
    contents, ids = _contents(file), storage.read_strings(file["again"], "ids")
    register.again += zip(ids, _contents(file["again"]), strict=True)
    names = _names(share, contents, register)
    is_new = np.array([name is not None for name in names], dtype=bool)
    rows = np.flatnonzero(is_new[:n])
    if renamed := [row for row in rows.tolist() if names[row] != share.ids[row]]:
        full_documents = docs.read_fields(file).select(renamed)
        full_documents.ids = [names[row] for row in renamed]
        digests[renamed] = full_documents.digests()
    documents = share if len(rows) == n else share.select(rows)
    documents.ids, documents.aside = [names[row] for row in rows.tolist()], share.aside
    if dropped is not None:
        dropped_ids = [name for name in names[n:] if name is not None]
        is_new = is_new[n:]
        documents.dropped = Dropped(dropped_ids, dropped.times[is_new], dropped.words[is_new])
    return documents, digests[rows], rows


def _set_aside(documents, digests, rows, reason):
    """Set all documents of a share aside for a reason.

    The parameters are the results of `_read_new_documents`. The returned values have no documents,
    except in the list ``aside``.
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
    """Return the ids of the documents, then the ids of those with too few words (``dropped``)."""
    return [*documents.ids, *(documents.dropped.ids if documents.dropped else [])]


def _names(share, contents, register):
    """Return the final id of each document in a share, and register these ids.

    The order is that of `_ids`. The id is None if the document is omitted because an earlier one
    has its id (`odl.corpora.collection.Register.name`).

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
    suffixes = [collection.name_end(content) for content in contents]
    has_suffix = list(map(str.endswith, all_ids, suffixes))
    # A row must be registered before the rows that have its id, but other content and a suffix.
    for position in sorted(range(len(all_ids)), key=has_suffix.__getitem__):
        identity = all_ids[position].removesuffix(suffixes[position])
        names[position] = register.name(identity, contents[position])
        if names[position] is not None:
            register.enter(names[position], contents[position])
    return names


def _join_documents(shares, cleaners):
    """Return the documents of all shares, without words.

    `cleaners` has the names of the cleaners whose counts of removed characters are joined.
    """
    n, dropped = sum(map(len, shares)), None
    if shares[0].dropped is not None:
        ids, times, words = zip(*(share.dropped for share in shares), strict=True)
        dropped = Dropped([*chain.from_iterable(ids)], np.concatenate(times), np.concatenate(words))
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
        dropped=dropped,
    )
