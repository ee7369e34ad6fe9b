"""Passages of a text, lines and the sentences in them: what boilerplate is told by and taken out in.

Which passages repeat is not known when a text is read, so its words are kept passage by passage
(`odl.files.passages`), and `odl.stream.boilerplate` takes out what the documents before show to repeat.
"""

import hashlib
import re
from array import array
from collections import Counter

import numpy as np
from scipy import sparse

from odl.files.passages import Passages

FEWEST = 3  # words; less is no passage: "Thanks" says nothing, and a name on a line of its own may be the topic
SPLIT = re.compile(r"\n|(?<=[.!?])\s+")
WORD = re.compile(r"[^\W\d_]+")  # digits aside: page 3 of 12, (c) 2026


class Splitter:
    """Passages of one text after another, and the words of each."""

    def __init__(self):
        self.keys, self.sizes, self.starts = array("Q"), array("i"), array("q", [0])
        self.indices, self.data, self.indptr = array("i"), array("i"), array("q", [0])

    def add(self, passages, counts):
        """Store the passages of the next document.

        Parameters
        ----------
        passages : dict
            As `split` returns them.
        counts : dict
            Key -> {number of a word: count}.
        """
        for key, part in passages.items():
            self.keys.append(key)
            self.sizes.append(len(part))
            self.indices.extend(counts[key])
            self.data.extend(counts[key].values())
            self.indptr.append(len(self.indices))
        self.starts.append(len(self.keys))

    def passages(self, columns, n_terms):
        """Return what was stored, with so many terms; `columns` are of the words in the order of their numbers."""
        indices = columns[np.asarray(self.indices)] if len(self.indices) else np.zeros(0, dtype=np.int32)
        parts = (np.array(self.data, dtype=np.int32), indices, np.array(self.indptr))
        words = sparse.csr_array(parts, shape=(len(self.keys), n_terms)).sorted_indices()
        return Passages(np.array(self.starts), np.array(self.keys, np.uint64), np.array(self.sizes, np.int32), words)


def split(text):
    """Return (what is no passage, key -> passage) of a text; a passage that occurs twice has both of its texts.

    The first line, which is or stands for the title, and what has fewer than `FEWEST` words are none. Two passages of
    the same words, whatever their case, digits and marks, have the same key, the same one in every process.
    """
    first, _, rest = text.lstrip().partition("\n")
    left, passages = [first], {}
    for part in SPLIT.split(rest):
        words = WORD.findall(part.lower())
        if len(words) < FEWEST:
            left.append(part)
            continue
        key = int.from_bytes(hashlib.blake2b(" ".join(words).encode(), digest_size=8).digest(), "little")
        passages[key] = f"{passages[key]}\n{part}" if key in passages else part
    return "\n".join(left), passages


def count_words(text, words_of):
    """Return the words of a text by `words_of`, its passages, and the words of each; words, or numbers, are counted."""
    left, passages = split(text)
    parts = {key: Counter(words_of(part)) for key, part in passages.items()}
    counts = Counter(words_of(left))
    for part in parts.values():
        counts.update(part)
    return counts, passages, parts
