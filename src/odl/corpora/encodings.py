"""Encodings of text files: the option ``encoding``, and what is said of bytes that do not fit it.

Files in UTF-16 or UTF-32 are told by their mark, and are read as UTF-8 made of them.
"""

import codecs
import io
from dataclasses import dataclass

from odl.errors import ConfigError, DataError

SCHEMA = {"type": ["string", "array"], "items": {"type": "string"}, "minLength": 1, "minItems": 1}
ASCII = bytes(range(128))
AROUND = 12  # bytes shown on both sides of a wrong one
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),  # the first begins like that of UTF-16
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
PLAIN_HEADS = (b"%PDF", b"GIF8", b"PAR1")  # of files that may hold no zero
ZEROS = 4096  # bytes in which zeros are looked for
BLOCK = 1 << 16


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

    @property
    def wide(self):
        """Whether characters have several bytes each, so that a file is read as UTF-8 made of it."""
        return codecs.lookup(self.name).name in WIDE

    def start(self):
        """Name of the encoding of a file's beginning, where a mark of UTF-8 may stand."""
        return "utf-8-sig" if codecs.lookup(self.name).name == "utf-8" else self.name

    def text(self, data, first=False):
        """Decode bytes; `first` of a file, a mark of UTF-8 is left out."""
        return data.decode(self.start() if first else self.name, self.errors)


UTF8 = Encoding()


def check_encoding(value):
    """Return the `Encoding` of an option: a name, or a list of two.

    Raises
    ------
    ConfigError
        If Python knows none of that name, or it is neither UTF-16 nor contains ASCII.
    """
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not 1 <= len(names) <= 2:
        raise ConfigError(f"encoding is {value!r}", "a name such as utf-8, or a list of two", "correct it")
    for name in names:
        try:
            fits = (len(names) == 1 and Encoding(name).wide) or ASCII.decode(name) == ASCII.decode("ascii")
        except (LookupError, TypeError, ValueError):
            fits = False
        if not fits:
            expected = "a name such as utf-8, cp1252, utf-16 or latin-1, two only if ASCII is ASCII in both"
            raise ConfigError(f"encoding is {name!r}", expected, "correct it, or convert the files to UTF-8")
    return Encoding(*names)


def not_decoded(path, place, encoding, error):
    """Return the error of bytes that do not fit: where they are, and what would read them."""
    data, byte = error.object, error.object[error.start]
    near = data[max(0, error.start - AROUND) : error.start + AROUND].split(b"\n")[0].decode("cp1252", "replace")
    name = "UTF-8" if error.encoding.replace("_", "-").startswith("utf-8") else encoding.name
    second = "latin-1" if name.lower() == "cp1252" else "cp1252"
    todo = f"set the option encoding, such as [{name.lower()}, {second}], which reads {near!r} there"
    return DataError(
        f"{path} {place} is not {name} (byte 0x{byte:02x})", f"{name} text", f"{todo}, or convert the file"
    )


def recoded(file, path, encoding):
    """Return an open file as one of bytes that the second result, an `Encoding`, fits.

    Parameters
    ----------
    file : binary file
        At its beginning.
    path : path-like
        For messages.
    encoding : Encoding
        Of files that are not wide.

    Raises
    ------
    DataError
        If the file holds zeros that are no part of UTF-16, or begins as a PDF, a GIF image or Parquet.
    """
    file = file if hasattr(file, "peek") else io.BufferedReader(file)
    name = codecs.lookup(encoding.name).name if encoding.wide else wide_name(file.peek(ZEROS)[:ZEROS], path)
    if name is None:
        return file, encoding
    return io.BufferedReader(_Recoded(file, path, name), BLOCK), Encoding()


def wide_name(head, path):
    """Return the name of the encoding of a file that begins so, where characters have several bytes; or None."""
    marked = next((name for mark, name in MARKS if head.startswith(mark)), None)
    if marked or not (b"\0" in head or head.startswith(PLAIN_HEADS)):
        return marked
    fault = f"{path} holds zeros or begins as no text does, such as a picture, a PDF or a packed file"
    todo = "convert it, name the files to take, or set the option encoding to utf-16-le or utf-16-be"
    raise DataError(fault, "text", todo)


class _Recoded(io.RawIOBase):
    """The characters of a file in another encoding, as UTF-8."""

    def __init__(self, file, path, name):
        self.file, self.path, self.name, self.left = file, path, name, b""
        self.decoder = codecs.getincrementaldecoder(name)()

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self.left:
            block = self.file.read(BLOCK)
            try:
                self.left = self.decoder.decode(block, not block).encode("utf-8", "replace")
            except UnicodeError as error:
                reason = getattr(error, "reason", error)
                fault = f"{self.path} is not {self.name.upper()} throughout ({reason})"
                raise DataError(fault, "a whole file", "make it again, or convert it to UTF-8") from error
            if not block:
                break
        taken, self.left = self.left[: len(buffer)], self.left[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def close(self):
        self.file.close()
        super().close()
