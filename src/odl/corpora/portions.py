"""A share of a person's own files, read by a job of its own, and the corpus that shares are joined to.

The corpus has the bytes that reading all files at once gives (`odl.corpora.collection`), and so have its errors their
words: where something is wrong that no share sees alone, the files are read at once for it.
"""

from pathlib import Path

import numpy as np
from scipy import sparse

from odl.corpora import collection
from odl.corpora.formats import find_files
from odl.errors import DataError
from odl.files import documents as docs
from odl.files import passages, storage
from odl.files.documents import Documents, Dropped
from odl.text import cleaning

KIND = "share"
CAME = "files that stay while they are read", "run the same command again"


def write(output, sources, options, first, last):
    """Read some of the files that sources name, and return the documents.

    Parameters
    ----------
    output : path-like
        Written: the documents, a digest of the content of each (``contents``, those left out last), id and content of
        the rows whose id occurred before (``again``), and the length of vectors that were read from a column (attribute
        ``dimensions``, else 0).
    sources : list of path-like
    options : dict
        As for `odl.corpora.collection.read`.
    first, last : str
        Paths of the first and the last file; those between them, in the order of the sources, are read as well.

    Returns
    -------
    Documents
    """
    form, gathered = collection.form_of(options), collection.Collection(options)
    files = find_files(sources, form.kind)
    places = [Path(path) for _, path in files]
    if Path(first) not in places or Path(last) not in places:
        gone = first if Path(first) not in places else last
        raise DataError(f"{gone} is not among the files of the sources any more", *CAME)
    for name, path in files[places.index(Path(first)) : places.index(Path(last)) + 1]:
        gathered.add_file(name, path, form)
    found = gathered.documents()
    names = [*found.ids, *(found.dropped.ids if found.dropped else [])]
    with storage.writing(output, KIND, dimensions=gathered.n_dimensions or 0) as file:
        docs.write_fields(file, found)
        storage.write_array(file, "digests", found.digests())
        storage.write_array(file, "contents", _stored([gathered.ids.contents[name] for name in names]))
        again = file.create_group("again")
        storage.write_strings(again, "ids", [identity for identity, _ in gathered.ids.again])
        storage.write_array(again, "contents", _stored([content for _, content in gathered.ids.again]))
    return found


def join(output, paths, sources, options):
    """Write the corpus that shares make, and return its documents.

    Parameters
    ----------
    output : path-like
        Written: as `odl.files.documents.write` writes what `odl.corpora.collection.read` returns for the sources.
    paths : list of path-like
        The shares, in order.
    sources, options
        Of the shares.

    Returns
    -------
    Documents
    """
    ids = collection.Register(options.get("changed", "keep"))
    shares, digests, lengths = [], [], set()
    for path in paths:
        with storage.reading(path, KIND) as file:
            share, own = docs.read_fields(file), storage.read_array(file, "digests", "u", ndim=2)
            contents = _contents(file)
            again = list(zip(storage.read_strings(file["again"], "ids"), _contents(file["again"]), strict=True))
            lengths.add(int(file.attrs["dimensions"]))
            n_left_out = len(share.dropped.ids) if share.dropped else 0
            if not len(contents) == len(share) + n_left_out or len(own) != len(share):
                raise ValueError("documents, digests and contents differ in number")
        share, own = _part(share, own, _names(share, contents, ids))
        ids.again += again
        shares.append(share)
        digests.append(own)
    if len(lengths - {0}) > 1:
        collection.read(sources, options)
        raise DataError("a vector of another length is gone from the files", *CAME)
    found = _joined(shares, cleaning.Cleaning(options.get("clean")).names)
    collection.check_held(found, options)
    found.repeats = ids.repeats()
    docs.write(output, found, digests=np.concatenate(digests), reader=collection.READER)
    return found


def _stored(contents):
    return np.frombuffer(b"".join(contents), dtype=np.uint8).reshape(-1, collection.DIGEST)


def _contents(file):
    return [row.tobytes() for row in storage.read_array(file, "contents", "u", ndim=2)]


def forget(paths):
    """Delete the shares beside these: of files that are no longer read, or are read with others."""
    kept = {Path(path).name for path in paths}
    for path in Path(paths[0]).parent.glob("*.h5"):
        if path.name not in kept:
            path.unlink(missing_ok=True)


def _names(share, contents, ids):
    """Return the id of each document of a share, those left out last; None where a share before has it."""
    own = [*share.ids, *(share.dropped.ids if share.dropped else [])]
    names = [None] * len(own)
    # The first row with an id bears it alone, and has to come before those with other content (`collection.ending`).
    for place in sorted(range(len(own)), key=lambda place: own[place].endswith(collection.ending(contents[place]))):
        content = contents[place]
        identity = own[place].removesuffix(collection.ending(content))
        names[place] = ids.name(identity, content)
        if names[place] is not None:
            ids.enter(names[place], content)
    return names


def _part(share, digests, names):
    """Return a share, and its digests, under other ids and without the documents that have none."""
    n, dropped = len(share), share.dropped
    stay = np.array([name is not None for name in names[n:]], dtype=bool)
    if dropped is not None:
        left_out = [name for name in names[n:] if name is not None]
        dropped = Dropped(left_out, dropped.times[stay], dropped.words[stay])
    rows = [row for row in range(n) if names[row] is not None]
    renamed = [place for place, row in enumerate(rows) if names[row] != share.ids[row]]
    if len(rows) < n:
        share, digests = share.select(rows), digests[rows]
    share.ids, share.dropped = [names[row] for row in rows], dropped
    if renamed:
        digests = digests.copy()
        digests[renamed] = share.select(renamed).digests()
    return share, digests


def _joined(shares, cleaners):
    """Return the documents of shares as one; what each of the cleaners took out is stored in their order."""
    words = sorted(set().union(*(share.vocabulary for share in shares)))
    place = {word: number for number, word in enumerate(words)}
    columns = [np.array([place[word] for word in share.vocabulary], dtype=np.int32) for share in shares]
    counts = []
    for share, places in zip(shares, columns, strict=True):
        held = share.counts
        moved = (held.data, places[held.indices], held.indptr)
        counts.append(sparse.csr_array(moved, shape=(len(share), len(words))))
    first, vectors = shares[0], [share.vectors for share in shares if share.vectors is not None]
    with_urls, with_dropped = any(share.urls for share in shares), first.dropped is not None
    return Documents(
        counts=_stacked(counts),
        vocabulary=words,
        times=np.concatenate([share.times for share in shares]),
        **{name: _chained(shares, name) for name in ("ids", "topics", "titles", "files")},
        removed={name: np.concatenate([share.removed[name] for share in shares]) for name in cleaners},
        dropped=Dropped(
            [identity for share in shares for identity in share.dropped.ids],
            *(np.concatenate([getattr(share.dropped, name) for share in shares]) for name in ("times", "words")),
        )
        if with_dropped
        else None,
        shingles=_stacked([share.shingles for share in shares]) if first.shingles is not None else None,
        passages=None
        if first.passages is None
        else passages.joined([share.passages for share in shares], columns, len(words)),
        vectors=np.concatenate(vectors) if vectors else None,
        texts=_chained(shares, "texts") if any(share.texts for share in shares) else [],
        urls=[url for share in shares for url in share.urls or [""] * len(share)] if with_urls else [],
    )


def _chained(shares, name):
    return [value for share in shares for value in getattr(share, name)]


def _stacked(matrices):
    return sparse.csr_array(sparse.vstack(matrices, format="csr"))
