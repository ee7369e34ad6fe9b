"""Provenance records: which step wrote a file, from which inputs, settings and code (digests).

The record is stored in the file but is not part of the file's digest. So if a file is computed from
changed inputs and its content does not change, later steps need not run again.
"""

import contextlib
import hashlib
import json
from contextvars import ContextVar

FORMAT = 3  # version of the layout of HDF5 files
# Attributes of the root that are not part of the digest.
ATTRIBUTES = ("digest", "made", "made_digest")
# Strings before and after the record at the end of an HTML page.
RECORD_START, RECORD_END = "<!-- odl ", " -->\n"
_current: ContextVar = ContextVar("record", default=None)


@contextlib.contextmanager
def recording(record):
    """Store a provenance record in every file that is written inside the block.

    Parameters
    ----------
    record : dict or None
        Record from `odl.config.steps.record_of`. None: no record is stored.

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
    """Return a record as JSON text; equal records have equal text."""
    return json.dumps(record, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def finish(file, digest):
    """Store the provenance record of the current step in an HDF5 file; do nothing outside a step.

    The record contains the digests of the files that the step wrote before. `digest` is that of
    the content of this file, for the records of later files.
    """
    if _current.get() is not None:
        record, outputs = _current.get()
        text = text_of({**record, "beside": outputs})
        file.attrs["made"] = text
        outputs.append(digest)


def note(digest):
    """Add a digest to the outputs of the current step, for a file that cannot store a record."""
    if _current.get() is not None:
        _current.get()[1].append(digest)


def page(text):
    """Return an HTML page with the current record at its end, if there is a current record."""
    if _current.get() is None:
        return text
    record, outputs = _current.get()
    digest = _sum(text)
    text_of_record = text_of({**record, "beside": outputs, "digest": digest})
    outputs.append(digest)
    return text + RECORD_START + text_of_record.replace(">", "\\u003e") + RECORD_END


def of_page(text):
    """Return (digest of the content, provenance record) for the text of an HTML page.

    The record is None if the page has no record, or if its digest does not match the content.
    """
    content, mark, text_of_record = text.rpartition(RECORD_START)
    if not mark:
        return _sum(text), None
    try:
        record = json.loads(text_of_record.removesuffix(RECORD_END))
        matches = record.pop("digest") == _sum(content)
    except (ValueError, KeyError, AttributeError):
        matches = False
    return (_sum(content), record) if matches else (_sum(text), None)


def of_attributes(attributes):
    """Return the provenance record in the attributes of an HDF5 file, or None."""
    text = attributes.get("made")
    with contextlib.suppress(ValueError, TypeError):
        record = json.loads(text)
        return record if isinstance(record, dict) else None
    return None


def goes_on(attributes):
    """Return whether the current step wrote an HDF5 file, with the same settings and code.

    `attributes` are the attributes of the file.
    """
    if _current.get() is None or not (record := of_attributes(attributes)):
        return False
    current = json.loads(text_of(_current.get()[0]))
    return all(record.get(key) == current[key] for key in ("step", "code", "settings"))


def joint(names):
    """Return a single digest for a sequence of texts, such as the digests of several files."""
    return _sum("\n".join(names))


def _sum(text):
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
