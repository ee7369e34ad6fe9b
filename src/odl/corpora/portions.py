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
        Written: the documents, whether the id of each may be repeated (``again``, those left out last), how many
        were left out because theirs occurred before (attribute ``repeated``), and the length of vectors that were read
        from a column (``dimensions``, else 0).
    sources : list of path-like
    options : dict
        As for `odl.corpora.collection.read`.
    first, last : str
        Paths of the first and the last file; those between them, in the order of the sources, are read as well.

    Returns
    -------
    Documents
    """
    gathered, form = collection.begin(options)
    files = find_files(sources, form.kind)
    places = [Path(path) for _, path in files]
    if Path(first) not in places or Path(last) not in places:
        gone = first if Path(first) not in places else last
        raise DataError(f"{gone} is not among the files of the sources any more", *CAME)
    kinds = {}
    for name, path in files[places.index(Path(first)) : places.index(Path(last)) + 1]:
        gathered.add_file(name, path, form)
        kinds[name] = form.of(path) in collection.REPEATED
    found = gathered.documents()
    left_out = found.dropped.ids if found.dropped else []
    names = [*found.files, *(gathered.ids[identity].rsplit(" ", 2)[0] for identity in left_out)]
    more = {"repeated": gathered.repeated, "dimensions": gathered.n_dimensions or 0}
    with storage.writing(output, KIND, **more) as file:
        docs.write_fields(file, found)
        storage.write_array(file, "digests", found.digests())
        storage.write_array(file, "again", np.array([kinds[name] for name in names], dtype=np.uint8))
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
    seen, shares, digests, lengths, n_again, repeated = set(), [], [], set(), 0, 0
    for path in paths:
        with storage.reading(path, KIND) as file:
            share, again = docs.read_fields(file), storage.read_array(file, "again", "u")
            own, n_again = storage.read_array(file, "digests", "u", ndim=2), n_again + int(file.attrs["repeated"])
            lengths.add(int(file.attrs["dimensions"]))
            n_left_out = len(share.dropped.ids) if share.dropped else 0
            if not len(again) == len(share) + n_left_out or len(own) != len(share):
                raise ValueError("documents, digests and ids differ in number")
        kept, stay = _not_seen(share, again, seen, sources, options)
        repeated += len(again) - int(kept.sum()) - int(stay.sum())
        shares.append(_part(share, kept, stay))
        digests.append(own[kept])
    if len(lengths - {0}) > 1:
        collection.read(sources, options)
        raise DataError("a vector of another length is gone from the files", *CAME)
    found = _joined(shares, cleaning.cleaner_names(options.get("clean")))
    collection.check_held(found, options)
    found.notes = collection.notes_of(n_again + repeated)
    docs.write(output, found, digests=np.concatenate(digests), reader=collection.READER)
    return found


def forget(paths):
    """Delete the shares beside these: of files that are no longer read, or are read with others."""
    kept = {Path(path).name for path in paths}
    for path in Path(paths[0]).parent.glob("*.h5"):
        if path.name not in kept:
            path.unlink(missing_ok=True)


def _not_seen(share, again, seen, sources, options):
    """Return which documents, and which left out, have an id that no share before has; take note of all ids."""
    ids = [*share.ids, *(share.dropped.ids if share.dropped else [])]
    new = np.array([identity not in seen for identity in ids], dtype=bool)
    if np.any(~new & (again == 0)):
        collection.read(sources, options)
        raise DataError("an id that occurs twice is gone from the files", *CAME)
    seen.update(ids)
    return new[: len(share)], new[len(share) :]


def _part(share, kept, stay):
    """Return a share without the documents whose ids occurred before."""
    dropped, whole = share.dropped, share.dropped
    if dropped is not None and not stay.all():
        ids = [identity for identity, one in zip(dropped.ids, stay, strict=True) if one]
        dropped = Dropped(ids, whole.times[stay], whole.words[stay])
    if not kept.all():
        share = share.select(np.flatnonzero(kept))
    share.dropped = dropped
    return share


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
