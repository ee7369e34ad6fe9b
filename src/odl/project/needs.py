"""Which cleaners texts need: those that take something out of enough of them, each tried by itself."""

import numpy as np

from odl.corpora import passages
from odl.corpora.cleaning import CHAINED, CLEANERS
from odl.stream import boilerplate

LEAST = {  # share of the documents that a cleaner takes something out of, from which on it is needed
    "headers": 0.05,
    "encoded": 0.001,
    "html": 0.05,
    "quotes": 0.05,
    "signatures": 0.02,
    CHAINED: 0.05,
}
FEWEST = 5  # words


def choose(found, texts):
    """Switch on what cleans texts, where they need it, and say why.

    Parameters
    ----------
    found : odl.project.look.Look
    texts : list of str
        A sample.
    """
    needed = {}
    for name, clean in CLEANERS.items():
        cleaned = [clean(text) for text in texts]
        share = sum(map(str.__ne__, cleaned, texts)) / max(len(texts), 1)
        if share >= LEAST[name]:
            needed[name], texts = share, cleaned
    if (share := repeating(texts)) >= LEAST[CHAINED]:
        needed[CHAINED] = share
    if needed:
        why = ", ".join(f"{name} (in {share:.1%} of the documents)" for name, share in needed.items())
        found.set("clean", list(needed), f"left out: {why}")
    if "encoded" in needed:  # what is left of a part of an encoded file is no document
        found.set("min_words", FEWEST, f"{FEWEST}; shorter ones, once cleaned, are left out and counted")
    found.set("duplicates", True)


def repeating(texts):
    """Return the share of texts that hold what `odl.stream.boilerplate` would take out, were they one timestep."""
    splitter = passages.Splitter()
    for text in texts:
        found = passages.split(text)[1]
        splitter.add(found, {key: {} for key in found})
    held, nothing = splitter.passages(np.zeros(0, dtype=np.int32), 0), boilerplate.added([])
    own = boilerplate.tally(held.starts, held.keys, held.sizes, nothing)
    gone = boilerplate.repeated(own, nothing)[np.searchsorted(own.keys, held.keys)]
    touched = np.repeat(np.arange(len(texts)), np.diff(held.starts))[gone]
    return len(np.unique(touched)) / max(len(texts), 1)
