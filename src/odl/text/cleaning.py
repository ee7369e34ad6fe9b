"""Cleaning of texts before their words are counted: what is not said by the document itself, taken out and counted."""

from array import array
from typing import Any

import numpy as np

from odl.errors import ConfigError, check_options
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
    """Return the names of the cleaners of an option that go over each text, in the order of `CLEANERS`.

    Parameters
    ----------
    clean : list of str, dict or None
        Names, or name -> whether it is applied.

    Raises
    ------
    ConfigError
        If it is something else, or a name is unknown.

    Examples
    --------
    >>> from odl.text.cleaning import cleaner_names
    >>> cleaner_names({"quotes": True, "html": True, "signatures": False})
    ['html', 'quotes']
    """
    clean = {} if clean is None else clean
    if isinstance(clean, list) and all(isinstance(name, str) for name in clean):
        clean = dict.fromkeys(clean, True)
    if not isinstance(clean, dict) or not all(isinstance(value, bool) for value in clean.values()):
        expected = "a list of names, or a map of them to true or false, among " + ", ".join(NAMES)
        raise ConfigError(f"clean is {clean!r}", expected, "correct it")
    check_options("clean", clean, NAMES)
    return [name for name in CLEANERS if clean.get(name)]


def keeps_passages(clean):
    """Say whether an option that `cleaner_names` took asks for boilerplate to be taken out."""
    return CHAINED in clean and (isinstance(clean, list) or clean[CHAINED]) if clean else False


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
        self.names, self.boilerplate = cleaner_names(clean), keeps_passages(clean)
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


def check_min_words(value):
    """Return the fewest words that a document may have, refusing what is no whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(f"min_words is {value!r}", "a whole number from 0", "correct it")
    return value
