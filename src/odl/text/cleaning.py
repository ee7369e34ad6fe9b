"""Cleaning of texts before their words are counted: what is not said by the document itself, taken out and counted."""

from array import array
from typing import Any

import numpy as np

from odl.text.encoded import drop_encoded
from odl.text.html import drop_html
from odl.text.mailparts import drop_headers, drop_quotes, drop_signatures

# In the order in which they are applied: what is encoded may look like markup, which hides what a line begins with.
CLEANERS = {
    "headers": drop_headers,
    "encoded": drop_encoded,
    "html": drop_html,
    "quotes": drop_quotes,
    "signatures": drop_signatures,
}
CHAINED = "boilerplate"  # told by other documents: `odl.stream.boilerplate` takes it out, after all others
NAMES = (*CLEANERS, CHAINED)
SCHEMA = {
    "type": ["array", "object"],
    "items": {"type": "string", "enum": list(NAMES)},
    "additionalProperties": False,
    "properties": {name: {"type": "boolean"} for name in NAMES},
}


def cleaner_names(clean: Any) -> list[str]:
    """Return the names of an option, as `SCHEMA` allows it, of cleaners that are applied, in the order of `NAMES`.

    Examples
    --------
    >>> from odl.text.cleaning import cleaner_names
    >>> cleaner_names({"quotes": True, "html": True, "signatures": False})
    ['html', 'quotes']
    """
    clean = dict.fromkeys(clean or (), True) if not isinstance(clean, dict) else clean
    return [name for name in NAMES if clean.get(name)]


class Cleaning:
    """Cleaners, and how many characters each took out of each document.

    Parameters
    ----------
    clean : list of str, dict or None
        See `cleaner_names`.

    Attributes
    ----------
    names : list of str
        Of the cleaners.
    boilerplate : bool
        Whether passages are to be kept, for what is taken out later.

    Examples
    --------
    >>> from odl.text.cleaning import Cleaning
    >>> cleaner = Cleaning(["html"])
    >>> text, removed = cleaner.apply("<p>Rain</p>")
    >>> text.strip(), removed  # characters that each cleaner took out
    ('Rain', [6])
    """

    def __init__(self, clean: Any = None) -> None:
        names = cleaner_names(clean)
        self.names, self.boilerplate = [name for name in names if name != CHAINED], CHAINED in names
        self.taken = {name: array("i") for name in self.names}

    def apply(self, text: str) -> tuple:
        """Return the text cleaned, and the characters that each cleaner took out."""
        counts = []
        for name in self.names:
            before, text = len(text), CLEANERS[name](text)
            counts.append(before - len(text))
        return text, counts

    def count(self, counts: Any) -> None:
        """Count what was taken out of the next document."""
        for name, count in zip(self.names, counts, strict=True):
            self.taken[name].append(count)

    def removed(self) -> dict[str, np.ndarray]:
        """Return cleaner -> characters that it took out of each document."""
        return {name: np.array(taken, dtype=np.int32) for name, taken in self.taken.items()}
