"""Provenance of a file: its step, the digests of what it read, its settings and the stamp of its code.

The record stands in the file, beside its content: digests of content leave it out, so that a file that is made anew
from something else, and comes out the same, leaves what was made of it as it is.
"""

import contextlib
import hashlib
import json
from contextvars import ContextVar

FORMAT = 3  # of HDF5 files of this version
ATTRIBUTES = ("digest", "made", "made_digest")  # of the root of an HDF5 file: not of its content
RECORD_START, RECORD_END = "<!-- odl ", " -->\n"  # enclose the record at the end of an HTML page
_current: ContextVar = ContextVar("record", default=None)


@contextlib.contextmanager
def recording(record):
    """Write a record into every file that is finished inside the block.

    Parameters
    ----------
    record : dict or None
        Of `odl.config.steps.record_of`; none: files get no record.

    Yields
    ------
    list of str
        Digests of the contents of the files, in the order in which they were finished.
    """
    outputs = []
    token = _current.set((record, outputs) if record is not None else None)
    try:
        yield outputs
    finally:
        _current.reset(token)


def text_of(record):
    """Return a record as text, the same for equal records."""
    return json.dumps(record, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def finish(file, digest):
    """Store the record of the moment in a finished HDF5 file; the files that its step finished before are noted."""
    if _current.get() is not None:
        record, outputs = _current.get()
        text = text_of({**record, "beside": outputs})
        file.attrs["made"] = text
        outputs.append(digest)


def note(digest):
    """Take note of a finished file that holds no record."""
    if _current.get() is not None:
        _current.get()[1].append(digest)


def page(text):
    """Return a page with the record of the moment at its end, if there is one."""
    if _current.get() is None:
        return text
    record, outputs = _current.get()
    digest = _sum(text)
    text_of_record = text_of({**record, "beside": outputs, "digest": digest})
    outputs.append(digest)
    return text + RECORD_START + text_of_record.replace(">", "\\u003e") + RECORD_END


def of_page(text):
    """Return the digest of a page's content and its record, None where it has none that fits."""
    content, mark, text_of_record = text.rpartition(RECORD_START)
    if not mark:
        return _sum(text), None
    try:
        record = json.loads(text_of_record.removesuffix(RECORD_END))
        fits = record.pop("digest") == _sum(content)
    except (ValueError, KeyError, AttributeError):
        fits = False
    return (_sum(content), record) if fits else (_sum(text), None)


def of_attributes(attributes):
    """Return the record in the attributes of an HDF5 file, None where there is none."""
    text = attributes.get("made")
    with contextlib.suppress(ValueError, TypeError):
        record = json.loads(text)
        return record if isinstance(record, dict) else None
    return None


def goes_on(attributes):
    """Tell whether the step of the moment, with its settings and its code, made the HDF5 file of these attributes."""
    if _current.get() is None or not (record := of_attributes(attributes)):
        return False
    now = json.loads(text_of(_current.get()[0]))
    return all(record.get(key) == now[key] for key in ("step", "code", "settings"))


def joint(names):
    """Return one digest of several texts in their order, such as the digests of files."""
    return _sum("\n".join(names))


def _sum(text):
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
