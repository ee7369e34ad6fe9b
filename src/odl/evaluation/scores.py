"""Score files: what the tables, the figures and a reader of alerts need of one timestep; small."""

import numpy as np

from odl.evaluation import metrics
from odl.files import storage


def words(pairs, vocabulary):
    """Format (term, share) pairs as ``word:0.034 word:0.021``."""
    return " ".join(f"{vocabulary[term]}:{share:.3f}" for term, share in pairs)


def write(path, batch, novelty, *, top, missing, top_atoms, atom_use, vocabulary, **attributes):
    """Write the scores of one timestep.

    Parameters
    ----------
    path : path-like
    batch : odl.stream.features.FeatureBatch or odl.stream.featurerows.Stored
        The documents that were scored.
    novelty : odl.novelty.Novelty
        Their scores.
    top : ndarray of int
        Rows of the most novel documents, most novel first.
    missing : list of list of (int, float)
        Their unexplained terms.
    top_atoms : list of list of (int, float)
        Top terms of each atom after learning.
    atom_use : ndarray
        Sum of the codes of each atom over the batch.
    vocabulary : list of str
    **attributes
        run, corpus, seed, atoms, solver: what the scores belong to.
    """
    aucs = {"auc": batch.novel, "auc_dominant": batch.novel_dominant}
    attributes |= {
        "t": batch.t,
        "initialisation": batch.t == 0,
        "uncoded": novelty.uncoded,
        "gap": novelty.gap,
    }
    for name, labels in aucs.items():
        attributes[name] = np.nan if batch.t == 0 else metrics.auc(novelty.score, labels)
    with storage.writing(path, "scores", **attributes) as file:
        batch.write_names(file)
        for name in ("times", "novel", "novel_dominant"):
            storage.write_array(file, name, getattr(batch, name))
        for name in ("score", "residual", "penalty"):
            storage.write_array(file, name, getattr(novelty, name))
        storage.write_array(file, "empty", novelty.empty.astype(np.uint8))
        group = file.create_group("top")
        storage.write_array(group, "rows", top)
        storage.write_strings(group, "words", [words(pairs, vocabulary) for pairs in missing])
        group = file.create_group("atoms")
        storage.write_strings(group, "words", [" ".join(vocabulary[term] for term, _ in pairs) for pairs in top_atoms])
        storage.write_strings(
            group, "weights", [" ".join(f"{weight:.3g}" for _, weight in pairs) for pairs in top_atoms]
        )
        storage.write_array(group, "use", atom_use)
