"""Steps of a stream: the files that each step reads and writes, and the settings it depends on.

The rules of the workflow, the loop of `odl run` and the command `odl step NAME` share the argument
names in `STEPS`. The output of a step records its inputs and settings (`odl.files.provenance`).
"""

from typing import NamedTuple

from odl.config import chains
from odl.config.sections import Alerts, Order
from odl.config.setting import without
from odl.files import provenance

CORPUS_FOLDER = "{root}/{corpus}"
STREAM_FOLDER = CORPUS_FOLDER + "/seed{seed}"
RUN_FOLDER = STREAM_FOLDER + "/{run}/k{k}"
SHARE_FILE, DOCUMENTS_FILE = CORPUS_FOLDER + "/shares/{share}.h5", CORPUS_FOLDER + "/documents.h5"
ORDER_FILE, BATCH_FILE = STREAM_FOLDER + "/order.h5", STREAM_FOLDER + "/batches/{t}.h5"
FEATURES_FILE, LAST_FEATURES = (
    STREAM_FOLDER + "/features/{t}.h5",
    STREAM_FOLDER + "/features/{last}.h5",
)
STATE_FILE, STATE_BEFORE, SCORES_FILE = (
    RUN_FOLDER + "/{t}.h5",
    RUN_FOLDER + "/{before}.h5",
    RUN_FOLDER + "/scores/{t}.h5",
)
ALERTS_FILE = RUN_FOLDER + "/alerts/{t}.h5"


class Step(NamedTuple):
    """Files and settings of a step.

    Attributes
    ----------
    reads : dict
        Name of an argument -> path pattern of the input file. ``{before}`` is the previous
        timestep.
    writes : dict
        Name of an argument -> path pattern of the output file, in the order of writing. The record
        in the last file determines whether the step has to run again.
    settings : tuple of str
        Names of the arguments that are not files.
    untraced : tuple of str
        Names in `reads` that the record omits, because the step uses only a part of the file. A
        setting has the digest of this part.
    """

    reads: dict
    writes: dict
    settings: tuple
    untraced: tuple = ()


STEPS = {
    "share": Step({"sources": ""}, {"output": SHARE_FILE}, ("options",)),
    "read": Step(
        {"sources": "", "shares": SHARE_FILE}, {"output": DOCUMENTS_FILE}, ("reader", "options")
    ),
    "index": Step(
        {"documents": DOCUMENTS_FILE},
        {"table": STREAM_FOLDER + "/index.tsv", "order": ORDER_FILE},
        ("seed", "stream"),
    ),
    "batch": Step(
        {"documents": DOCUMENTS_FILE, "order": ORDER_FILE},
        {"output": BATCH_FILE},
        ("t", "sha256"),
        ("documents", "order"),
    ),
    "features": Step(
        {"batch": BATCH_FILE, "previous": STREAM_FOLDER + "/features/{before}.h5"},
        {"output": FEATURES_FILE},
        ("max_terms",),
    ),
    "update": Step(
        {"features": FEATURES_FILE, "previous": STATE_BEFORE, "corpus_features": LAST_FEATURES},
        {"state": STATE_FILE, "scores": SCORES_FILE},
        ("run",),
    ),
    "alerts": Step(
        {
            "features": FEATURES_FILE,
            "batch": BATCH_FILE,
            "scores": SCORES_FILE,
            "state": STATE_FILE,
            "known": STATE_BEFORE,
            "previous": RUN_FOLDER + "/alerts/{before}.h5",
            "corpus_features": LAST_FEATURES,
        },
        {"output": ALERTS_FILE},
        ("run", "settings"),
    ),
    "newpage": Step(
        {
            "alerts": ALERTS_FILE,
            "documents": DOCUMENTS_FILE,
            "features": LAST_FEATURES,
            "feedback": "feedback.csv",
            "order": "odl.yaml",  # has the setting order_by_verdicts
        },
        {"atom": "new.atom", "feed": "new.json", "output": "new.html"},
        (),
    ),
}


def record_of(name, arguments, digest_of):
    """Return the provenance record of a step.

    Parameters
    ----------
    name : str
        Key of `STEPS`.
    arguments : dict
        Arguments of the step: files, settings, and ``code``, the digest of its code ("" if
        unknown). A file is a path. Several files are a list of paths, or of (name, path) if the
        ids of documents contain the names.
    digest_of : callable
        Maps a path to the digest of the file's content.

    Returns
    -------
    dict
        ``step``, ``code``, ``settings``, and ``inputs`` with the digest of each input.
    """
    step = STEPS[name]
    traced = [role for role in step.reads if role not in step.untraced and arguments.get(role)]
    settings = {key: _as_recorded(key, arguments[key]) for key in step.settings}
    inputs = {role: _joint(arguments[role], digest_of) for role in traced}
    return {
        "step": name,
        "code": arguments.get("code") or "",
        "settings": settings,
        "inputs": inputs,
    }


def _as_recorded(key, value):
    """Return an argument as the record contains it: without new settings that have no effect.

    A record therefore does not change when a version adds a setting. The argument ``run`` lacks
    such settings already (`odl.config.chains.run_of`).
    """
    earlier = {
        "settings": Alerts.earlier,
        "stream": Order.earlier,
        "options": chains.earlier_options,
    }
    return without(value, earlier[key]()) if key in earlier else value


def _joint(paths, digest_of):
    """Return the digest of a file, or a joint digest of a list of files and their names."""
    if isinstance(paths, str):
        return digest_of(paths)
    names_and_paths = [path if isinstance(path, tuple) else ("", path) for path in paths]
    return provenance.joint([f"{name}\0{digest_of(path)}" for name, path in names_and_paths])


def is_retained(t, last, keep):
    """Return whether checkpoint t of a chain is retained (keep=0 retains all).

    The chain ends with timestep `last`. The last two checkpoints are always
    retained: the next run resumes from the last one, or repeats it.

    Examples
    --------
    >>> from odl.config.steps import is_retained
    >>> [t for t in range(10) if is_retained(t, 9, 4)]
    [0, 4, 8, 9]
    """
    return not keep or t % keep == 0 or t >= last - 1
