"""Words in a fixed number of buckets: a vocabulary whose size is a setting, and the words that its columns show.

The column of a word is a hash of it, the same in every stream and whatever came before, so that nothing grows. Words of
one bucket are one term: their counts are added up, without the signs that hashing often gives them, since likenesses
need counts that are not negative.

A bucket shows the word that leads by documents. What is kept of it is one word and its lead, never more than the
documents that have the word; a word with more than half of all counted words of its bucket is the one that is kept
(majority vote, batch by batch). The words of a document are exact: those that do not lead are kept beside its counts.
"""

import hashlib

import numpy as np
from scipy import sparse

from odl.files import rows, storage
from odl.stream import terms

OTHERS, BOTH = "+", "|"  # behind a word of a bucket that others may have as much of; between words of one document


def buckets_of(words, n_buckets):
    """Return the bucket of each word: its BLAKE2b digest of eight bytes, little end first, modulo their number.

    Examples
    --------
    >>> from odl.stream.buckets import buckets_of
    >>> buckets_of(["oil", "tanker", "größe"], 1 << 18).tolist()
    [164907, 180276, 129268]
    """
    digests = b"".join(hashlib.blake2b(word.encode(), digest_size=8).digest() for word in words)
    return (np.frombuffer(digests, dtype="<u8") % np.uint64(n_buckets)).astype(np.int32)


def leads(columns, documents):
    """Return the leading word of each bucket of a batch.

    Parameters
    ----------
    columns, documents : ndarray of int
        Bucket of each word, and documents with it.

    Returns
    -------
    buckets, words : ndarray of int
        Ascending, and the position of the word in most documents, of these the first.
    lead : ndarray of int
        Its documents less those of all other words of the bucket; 0 where it has fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.stream.buckets import leads
    >>> [part.tolist() for part in leads(np.array([4, 2, 4, 4]), np.array([1, 3, 7, 2]))]
    [[2, 4], [1, 2], [3, 4]]
    """
    order = np.lexsort((-documents, columns))
    buckets, firsts = np.unique(columns[order], return_index=True)
    words = order[firsts]
    total = np.add.reduceat(documents[order], firsts) if len(firsts) else documents[:0]
    return buckets, words, np.maximum(2 * documents[words] - total, 0)


class Buckets:
    """The buckets known before a batch: words that lead, their leads, frequencies.

    Parameters
    ----------
    before : odl.stream.features.Features or None
        The timestep before.
    n_buckets : int
    """

    def __init__(self, before, n_buckets):
        self.n_buckets = n_buckets
        if before:
            self.words, self.lead = list(before.stored_words), np.array(before.lead)
            self.frequencies = before.frequencies_after()
        else:
            self.words, self.lead = [""] * n_buckets, np.zeros(n_buckets, dtype=np.int64)
            self.frequencies = np.zeros(n_buckets, dtype=np.int64)

    @property
    def n_terms(self):
        return self.n_buckets

    @property
    def attributes(self):
        """What the file says of them."""
        return {"n_initial": self.n_buckets, "hash_terms": self.n_buckets}

    def columns(self, words):
        """Return the columns of a batch's words."""
        return buckets_of(words, self.n_buckets)

    def write_counts(self, file, counts, columns, words, cut=None):
        """Store the counts of a batch under buckets, and beside them those of the words that do not lead theirs.

        Parameters
        ----------
        file : h5py.File
            Features that are written.
        counts : odl.files.rows.Matrix
            Under the words of the batch.
        columns : ndarray of int32
            Bucket of each word.
        words : list of str
        cut : odl.stream.boilerplate.Cut, optional
            What is left out.
        """
        documents = np.zeros(len(words), dtype=np.int64)
        for part in terms.parts(counts, cut):
            documents += np.bincount(part.indices, minlength=len(words))
        used = np.flatnonzero(documents)
        self._vote(words, used, columns[used], documents[used])
        n_documents = counts.shape[0]
        merged = (terms.under(part, columns, self.n_buckets) for part in terms.parts(counts, cut))
        rows.write_csr(file, "counts", merged, (n_documents, self.n_buckets), np.int32)
        others = np.array([at for at in used.tolist() if self.words[columns[at]] != words[at]], dtype=np.int64)
        group = file.create_group("others")
        few = (sparse.csr_array(part[:, others]).astype(np.int32) for part in terms.parts(counts, cut))
        rows.write_csr(group, "counts", few, (n_documents, len(others)), np.int32)
        storage.write_strings(group, "words", [words[at] for at in others.tolist()])

    def _vote(self, words, used, columns, documents):
        """Count the words of a batch for their buckets."""
        for bucket, at, lead in zip(*(part.tolist() for part in leads(columns, documents)), strict=True):
            word, rival = words[used[at]], int(self.lead[bucket])
            if self.words[bucket] == word:
                self.lead[bucket] = rival + lead
            elif lead > rival or not self.words[bucket]:
                self.words[bucket], self.lead[bucket] = word, lead - rival
            else:
                self.lead[bucket] = rival - lead

    def write(self, file):
        """Store them."""
        storage.write_strings(file, "vocabulary", self.words)
        storage.write_array(file, "lead", self.lead)


def read(file, data):
    """Return the leads, and the counts of words that do not lead, of an open file of features, checked.

    Parameters
    ----------
    file : h5py.File
    data : odl.stream.features.Features
        What is read of it so far.

    Returns
    -------
    lead : ndarray of int64, shape (n_terms,)
    others : odl.files.rows.Matrix

    Raises
    ------
    ValueError
        If they do not fit.
    """
    lead, others = storage.read_array(file, "lead", "i"), rows.Matrix(file["others"], "counts")
    n_words = int(file["others"]["words"].attrs["length"])
    if (
        {len(lead), data.counts.shape[1]} != {data.hash_terms}
        or not 0 <= lead.min(initial=0) <= lead.max(initial=0) <= data.n_before + data.counts.shape[0]
        or others.shape != (data.counts.shape[0], n_words)
        or others.dtype.kind not in "iu"
    ):
        raise ValueError("the words of its buckets do not fit")
    return lead, others


def shown(words, lead, frequencies):
    """Return what the buckets show: their leading words, marked where these may have half of the documents or less.

    Parameters
    ----------
    words : list of str
    lead : ndarray of int
    frequencies : ndarray of int
        Documents with the bucket, those of the batch included.

    Examples
    --------
    >>> import numpy as np
    >>> from odl.stream.buckets import shown
    >>> shown(["oil", "gas", ""], np.array([5, 2, 0]), np.array([7, 4, 0]))
    ['oil', 'gas+', '']
    """
    labels = list(words)
    for bucket in np.flatnonzero((2 * lead <= frequencies) & (frequencies > 0)).tolist():
        labels[bucket] += OTHERS
    return labels


def sentence(lead, frequencies):
    """Return how many buckets are used, and how many by several words: those whose documents are not all its lead."""
    used = frequencies > 0
    shared = int(np.count_nonzero(used & (lead < frequencies)))
    return f"{int(used.sum()):,} of {len(used):,} buckets are used, {shared:,} of them by several words"


class Words(dict):
    """The words of one document by its terms; of other terms what their buckets show."""

    def __init__(self, own, vocabulary):
        super().__init__(own)
        self.vocabulary = vocabulary

    def __missing__(self, term):
        return self.vocabulary[term]


def of_document(data, row):
    """Return the words of a document by its terms; several of one bucket are joined.

    Parameters
    ----------
    data : odl.stream.features.Features
    row : int

    Returns
    -------
    Words
    """
    whole, part = data.counts[row : row + 1], data.others[row : row + 1]
    words = [data.other_words[at] for at in part.indices.tolist()]
    left, of_bucket = dict(zip(whole.indices.tolist(), whole.data.tolist(), strict=True)), {}
    for bucket, word, count in zip(buckets_of(words, data.hash_terms).tolist(), words, part.data.tolist(), strict=True):
        left[bucket] = left.get(bucket, 0) - count
        of_bucket.setdefault(bucket, []).append(word)
    own = {
        term: BOTH.join(([data.stored_words[term]] if count > 0 else []) + of_bucket.get(term, []))
        for term, count in left.items()
    }
    return Words(own, data.vocabulary)
