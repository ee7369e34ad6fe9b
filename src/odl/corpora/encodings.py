"""How bytes become text: the option ``encoding``, and what is said of bytes that do not fit it."""

import codecs
from dataclasses import dataclass

from odl.errors import ConfigError, DataError

SCHEMA = {"type": ["string", "array"], "items": {"type": "string"}, "minLength": 1, "minItems": 1}
ASCII = bytes(range(128))
AROUND = 12  # bytes shown on both sides of a wrong one


@dataclass(frozen=True)
class Encoding:
    """A name of Python's, and one for the bytes that it does not fit, if any.

    Parameters
    ----------
    name : str
    second : str, optional
        Read byte by byte where `name` does not fit: old lines of a file that later ones write in another way.
    """

    name: str = "utf-8"
    second: str = ""

    @property
    def errors(self):
        """Name of Python's way to treat bytes that do not fit."""
        if not self.second:
            return "strict"
        codecs.register_error(f"odl.{self.second}", self._by_second)
        return f"odl.{self.second}"

    def _by_second(self, error):
        if not isinstance(error, UnicodeDecodeError):
            raise error
        return error.object[error.start : error.end].decode(self.second, "replace"), error.end

    def start(self):
        """Name of the encoding of a file's beginning, where a mark of UTF-8 may stand."""
        return "utf-8-sig" if codecs.lookup(self.name).name == "utf-8" else self.name

    def text(self, data, first=False):
        """Decode bytes; `first` of a file, a mark of UTF-8 is left out."""
        return data.decode(self.start() if first else self.name, self.errors)


def check_encoding(value):
    """Return the `Encoding` of an option: a name, or a list of two.

    Raises
    ------
    ConfigError
        If Python knows none of that name, or it does not contain ASCII.
    """
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not 1 <= len(names) <= 2:
        raise ConfigError(f"encoding is {value!r}", "a name such as utf-8, or a list of two", "correct it")
    for name in names:
        try:
            fits = ASCII.decode(name) == ASCII.decode("ascii")
        except (LookupError, TypeError, ValueError):
            fits = False
        if not fits:
            expected = "a name such as utf-8, cp1252 or latin-1, in which ASCII is ASCII"
            raise ConfigError(f"encoding is {name!r}", expected, "correct it, or convert the files to UTF-8")
    return Encoding(*names)


def not_decoded(path, place, error):
    """Return the error of bytes that do not fit: where they are, and what would read them."""
    data, byte = error.object, error.object[error.start]
    near = data[max(0, error.start - AROUND) : error.start + AROUND].split(b"\n")[0].decode("cp1252", "replace")
    name = "UTF-8" if error.encoding.replace("_", "-").startswith("utf-8") else error.encoding
    return DataError(
        f"{path} {place} is not {name} (byte 0x{byte:02x})",
        f"{name} text",
        f"set the option encoding, such as [{name.lower()}, cp1252], which reads {near!r} there, or convert the file",
    )
