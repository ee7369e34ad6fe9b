"""The steps of a stream: which files each reads and writes, which settings it depends on, which checkpoints stay.

A rule of the workflow and the loop of `odl run` give a step its arguments under these names; `odl step NAME` has the
same. What is listed as read or as a setting stands in the record of what the step writes (`odl.files.provenance`).
"""

from typing import NamedTuple

from odl.config import chains
from odl.config.sections import Alerts, Order
from odl.config.setting import without
from odl.files import provenance

CORPUS = "{root}/{corpus}"
STREAM = CORPUS + "/seed{seed}"
RUN = STREAM + "/{run}/k{k}"
SHARE, DOCUMENTS = CORPUS + "/shares/{share}.h5", CORPUS + "/documents.h5"
ORDER, BATCH = STREAM + "/order.h5", STREAM + "/batches/{t}.h5"
FEATURES, LAST = STREAM + "/features/{t}.h5", STREAM + "/features/{last}.h5"
STATE, BEFORE, SCORES = RUN + "/{t}.h5", RUN + "/{before}.h5", RUN + "/scores/{t}.h5"
ALERTS = RUN + "/alerts/{t}.h5"


class Step(NamedTuple):
    """One step.

    Attributes
    ----------
    reads : dict
        Argument to the pattern of the file or files that it names; those of the timestep before say ``{before}``.
    writes : dict
        Argument to the pattern of the file, in the order in which they are finished; the last holds the record that
        tells whether all are fresh.
    settings : tuple of str
        Arguments that are no files.
    untraced : tuple of str
        Of `reads`, those whose content others stand for: the part of documents that a batch takes has a digest of its
        own, and what came before a checkpoint is in its digest.
    """

    reads: dict
    writes: dict
    settings: tuple
    untraced: tuple = ()


STEPS = {
    "share": Step({"sources": ""}, {"output": SHARE}, ("options",)),
    "read": Step({"sources": "", "shares": SHARE}, {"output": DOCUMENTS}, ("reader", "options")),
    "index": Step({"documents": DOCUMENTS}, {"table": STREAM + "/index.tsv", "order": ORDER}, ("seed", "stream")),
    "batch": Step({"documents": DOCUMENTS, "order": ORDER}, {"output": BATCH}, ("t", "sha256"), ("documents", "order")),
    "features": Step(
        {"batch": BATCH, "previous": STREAM + "/features/{before}.h5"}, {"output": FEATURES}, ("max_terms",)
    ),
    "update": Step(
        {"features": FEATURES, "previous": BEFORE, "corpus_features": LAST},
        {"state": STATE, "scores": SCORES}, ("run",),
    ),
    "alerts": Step(
        {
            "features": FEATURES, "batch": BATCH, "scores": SCORES, "state": STATE, "known": BEFORE,
            "previous": RUN + "/alerts/{before}.h5", "corpus_features": LAST,
        },
        {"output": ALERTS}, ("run", "settings"),
    ),
    "newpage": Step(
        {"alerts": ALERTS, "documents": DOCUMENTS, "features": LAST, "feedback": "feedback.csv"},
        {"atom": "new.atom", "feed": "new.json", "output": "new.html"}, (),
    ),
}  # fmt: skip


def record_of(name, arguments, digest_of):
    """Return the record of a step with these arguments.

    Parameters
    ----------
    name : str
    arguments : dict
        Of the step: paths, settings, ``code`` (the stamp of its code; "" where nobody said it).
    digest_of : callable
        Of a path the digest of its content. An argument may be a path, or several, of which one digest is made; a
        person's files come as (name, path), since documents are named after them.

    Returns
    -------
    dict
    """
    step = STEPS[name]
    traced = [role for role in step.reads if role not in step.untraced and arguments.get(role)]
    settings = {key: _as_recorded(key, arguments[key]) for key in step.settings}
    inputs = {role: _joint(arguments[role], digest_of) for role in traced}
    return {"step": name, "code": arguments.get("code") or "", "settings": settings, "inputs": inputs}


def _as_recorded(key, value):
    """Return the settings of an argument without those that have the value of an earlier version, which lacked them.

    Those of a run are without them already (`odl.config.chains.run_of`).
    """
    earlier = {"settings": Alerts.earlier, "stream": Order.earlier, "options": chains.earlier_options}
    return without(value, earlier[key]()) if key in earlier else value


def _joint(paths, digest_of):
    """Return the digest of a file, or one of several with their names."""
    if isinstance(paths, str):
        return digest_of(paths)
    named = [path if isinstance(path, tuple) else ("", path) for path in paths]
    return provenance.joint([f"{name}\0{digest_of(path)}" for name, path in named])


def stays(t, last, keep):
    """Tell whether the checkpoint of a timestep stays in a chain that ends with `last`; `keep` 0: all do.

    The last two do, since the last one is gone on from, and may itself have to be done again.

    Examples
    --------
    >>> from odl.config.steps import stays
    >>> [t for t in range(10) if stays(t, 9, 4)]
    [0, 4, 8, 9]
    """
    return not keep or t % keep == 0 or t >= last - 1
