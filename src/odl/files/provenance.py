"""Provenance records: the step that wrote a file, with digests of its inputs, settings and code.

The record is stored in the file but is not part of the file's digest. So if inputs change but the
computed content does not, later steps need not run again.
"""

import contextlib
import hashlib
import json
from contextvars import ContextVar

FORMAT = 3  # version of the layout of HDF5 files
# Attributes of the root group that are not part of the digest.
ATTRIBUTES = ("digest", "made", "made_digest")
# Strings before and after the record at the end of an HTML page.
RECORD_START, RECORD_END = "<!-- odl ", " -->\n"
# (record of the current step, digests of the files that it has written), or None outside a step.
_current: ContextVar = ContextVar("record", default=None)


@contextlib.contextmanager
def recording(record):
    """Store a provenance record in every file that is written in the context.

    Parameters
    ----------
    record : dict or None
        Result of `odl.config.steps.record_of`. If it is None, no record is stored.

    Yields
    ------
    list of str
        Digests of the content of the files written so far, in order.
    """
    outputs = []
    token = _current.set((record, outputs) if record is not None else None)
    try:
        yield outputs
    finally:
        _current.reset(token)


def text_of(record):
    """Return a record as JSON text; equal records have equal texts."""
    return json.dumps(record, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def finish(file, digest):
    """Store the record of the current step in an HDF5 file; do nothing outside a step.

    The key ``beside`` of the record lists the digests of the files that the step wrote before.

    Parameters
    ----------
    file : h5py.File
    digest : str
        Digest of the file's content.
    """
    if current := _current.get():
        record, outputs = current
        file.attrs["made"] = text_of({**record, "beside": outputs})
        outputs.append(digest)


def note(digest):
    """Add the digest of a file that cannot store a record to the outputs of the current step."""
    if current := _current.get():
        _, outputs = current
        outputs.append(digest)


def page(text):
    """Return an HTML page with the record of the current step at its end, if there is a step."""
    if not (current := _current.get()):
        return text
    record, outputs = current
    digest = _sum(text)
    text_of_record = text_of({**record, "beside": outputs, "digest": digest})
    outputs.append(digest)
    return text + RECORD_START + text_of_record.replace(">", "\\u003e") + RECORD_END


def of_page(text):
    """Return (digest of the content, provenance record or None) for the text of an HTML page.

    The record is None if the page has no record, or if its digest does not match the content.
    """
    content, mark, text_of_record = text.rpartition(RECORD_START)
    if mark:
        with contextlib.suppress(ValueError, KeyError, AttributeError):
            record = json.loads(text_of_record.removesuffix(RECORD_END))
            if record.pop("digest") == _sum(content):
                return _sum(content), record
    return _sum(text), None


def of_attributes(attributes):
    """Return the provenance record in the attributes of an HDF5 file, or None."""
    text = attributes.get("made")
    with contextlib.suppress(ValueError, TypeError):
        record = json.loads(text)
        return record if isinstance(record, dict) else None
    return None


def goes_on(attributes):
    """Return whether the current step wrote an HDF5 file with the same settings and code.

    `attributes` are the attributes of the file.
    """
    record, current = of_attributes(attributes), _current.get()
    if not record or not current:
        return False
    own_record = json.loads(text_of(current[0]))
    return all(record.get(key) == own_record[key] for key in ("step", "code", "settings"))


def joint(names):
    """Return one digest for a sequence of texts, such as the digests of several files."""
    return _sum("\n".join(names))


def _sum(text):
    """Return the sha256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
