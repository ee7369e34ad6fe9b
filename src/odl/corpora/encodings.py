"""Encodings: the option ``encoding``, and bytes whose stated encoding may be wrong, as in mail and feeds.

Files in UTF-16 or UTF-32 begin with a byte order mark; they are converted to UTF-8 while they are read.
"""

import codecs
import io
import re
from dataclasses import dataclass
from functools import lru_cache

import webencodings

from odl.errors import ConfigError, DataError

SCHEMA = {"type": ["string", "array"], "items": {"type": "string"}, "minLength": 1, "minItems": 1}
ASCII = bytes(range(128))
AROUND = 12  # bytes shown on both sides of a wrong one
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),  # the first begins like that of UTF-16
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
PLAIN_HEADS = {b"%PDF": "a PDF", b"GIF8": "a GIF image", b"PAR1": "Parquet", b"\x89PNG": "a PNG image"}
NO_TEXT = {*range(1, 9), *range(14, 27), 28, 29, 30, 31}  # bytes of control characters that no text has
ALTERNATE = 0.7  # zeros at even and odd places: below this share of each other, of characters of several bytes
ZEROS = 4096  # bytes in which zeros are looked for
BLOCK = 1 << 16
UTF8_MARK, REPLACED = codecs.BOM_UTF8, "\ufffd"
FALLBACK = "cp1252"  # of bytes that are not UTF-8 and have no stated encoding
KNOWN = re.compile(r"cp|iso|koi8|mac|gb|big5|euc|shift|johab|hz|utf|tis|ptcp|kz|hp")  # codecs of text, not base64
PAGE = re.compile(r"(?:x-)?(?:cp|win|windows|ibm|dos|ms)[-_ ]?(\d{3,5})$")
SHIFTED = re.compile(r"iso2022|hz|utf-7")  # of 7 bits, so that they pass for UTF-8
ESCAPED = b"\x1b$"  # begins characters of two bytes in ISO-2022
MULTIBYTE = ("gb18030", "big5hkscs", "cp932", "cp949", "euc_jp", "johab", "cp874")  # scripts from U+0800; Thai too
SHORT = 6  # characters
BESIDE_LATIN = re.compile(r"[A-Za-z][^\0-\x7f]|[^\0-\x7f][A-Za-z]")
CUT = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")  # of UTF-8, at an end
OTHERS = {"gbk": ["gb18030"], "big5hkscs": ["big5hkscs", "cp950"], "euc_jp": ["euc_jp", "euc_jis_2004"]}
OTHERS |= {"iso2022_jp": ["iso2022_jp_ext", "iso2022_jp"]}
JIS = re.compile(rb"(\x1b(?:\$[@B]|\([BJI]))")
META = re.compile(rb"<meta\b[^>]{0,200}?\bcharset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.I)  # of HTML
HEAD = 4096  # bytes of HTML in which its meta element is searched


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


@lru_cache(maxsize=256)
def codecs_of(label: str) -> list[str]:
    """Return Python's codecs for a stated encoding, those that browsers take for it; none if the name says nothing.

    Examples
    --------
    >>> codecs_of("ISO-8859-1"), codecs_of("gb2312"), codecs_of("cp-850"), codecs_of("us-ascii"), codecs_of("rot13")
    (['cp1252'], ['gb18030'], ['cp850'], [], [])
    """
    label = label.strip(" \t\r\n\"'").lower()
    found = webencodings.lookup(label)
    if found is not None and found.name not in ("replacement", "x-user-defined"):
        name = found.codec_info.name
    else:
        page = PAGE.match(label)
        name = next(filter(None, map(_codec, (f"cp{page[1]}" if page else "", label, label.removeprefix("x-")))), "")
    if name == "cp1252" and _codec(label) == "ascii":
        return []
    return OTHERS.get(name, [name] if name else [])


def _codec(label):
    """Return Python's name of a codec of text, "" if there is none."""
    try:
        name = codecs.lookup(label).name if label else ""
    except (LookupError, ValueError):
        return ""
    return name if name == "ascii" or KNOWN.match(name) else ""


def decode(data: bytes, label: str = "", default: Encoding = UTF8) -> tuple[str, int]:
    """Return the text of bytes, and the number of characters that had to be replaced by U+FFFD.

    UTF-8 comes first, since few other texts pass for it; then the encoding that browsers take for the stated one.
    A text that is UTF-8 but for a few bytes is read as such, these bytes by the stated encoding.

    Parameters
    ----------
    data : bytes
    label : str
        Stated encoding, which may be wrong, unknown or missing.
    default : Encoding
        Of bytes that are not UTF-8 and have no stated encoding; windows-1252 if this is UTF-8.

    Examples
    --------
    >>> decode("“Größe”".encode("cp1252"), "iso-8859-1"), decode("Größe".encode(), "us-ascii")
    (('“Größe”', 0), ('Größe', 0))
    """
    names = codecs_of(label) or [name for name in codecs_of(default.name) if name != "utf-8"]
    shifted = bool(names and SHIFTED.match(names[0]))
    if data.isascii() and not shifted and ESCAPED not in data and b"\0" not in data:
        return data.decode("ascii"), 0
    marked = next((name for mark, name in MARKS if data.startswith(mark)), None)
    if marked or (names and names[0] in WIDE and b"\0" in data):
        return _replacing(data, marked or names[0])
    if shifted or (data.isascii() and ESCAPED in data):
        return _shifted(data, names if shifted else OTHERS["iso2022_jp"])
    data = data.removeprefix(UTF8_MARK)
    text = _strictly(data, "utf-8")
    if text is not None and not (names and names[0] in MULTIBYTE and _short_by_chance(text)):
        return text, 0
    names = [name for name in names if name != "utf-8" and name not in WIDE] or [default.second or FALLBACK]
    mixed = text is None and _mostly_utf8(data)
    readings = (_strictly(data, name) for name in names if not mixed or name in MULTIBYTE)
    if (reading := next((one for one in readings if one is not None), text)) is not None:
        return reading, 0
    if mixed:
        text = Encoding(second=names[0]).text(CUT.sub(b"", data)) + REPLACED * bool(CUT.search(data))
        return text, max(0, text.count(REPLACED) - data.count(REPLACED.encode()))
    return _replacing(data, names[0])


def _strictly(data, name):
    try:
        return data.decode(name)
    except (UnicodeError, LookupError):
        return None


def _short_by_chance(text):
    """Return whether a text may be UTF-8 by chance: a few characters of two bytes each, none next to a Latin letter."""
    others = text.translate(dict.fromkeys(range(128)))
    return len(others) <= SHORT and max(others, default="") < "\u0800" and not BESIDE_LATIN.search(text)


def _replacing(data, name):
    text = data.decode(name, "replace")
    return text, text.count(REPLACED)


def _mostly_utf8(data):
    """Return whether most bytes beyond ASCII are UTF-8."""
    return 2 * len(data.decode("utf-8", "ignore").encode().translate(None, ASCII)) > len(data.translate(None, ASCII))


def _shifted(data, names):
    """Return the text of an encoding with escape sequences; that of Japan may hold characters of cp932."""
    readings = (_strictly(data, name) for name in names)
    if (text := next((one for one in readings if one is not None), None)) is not None:
        return text, 0
    if not data.isascii():
        return decode(data, "utf-8")
    return _replacing(_as_cp932(data), "cp932") if names[0].startswith("iso2022_jp") else _replacing(data, names[0])


def _as_cp932(data):
    """Return ISO-2022-JP as bytes of cp932, which has the characters that vendors added."""
    converted, shift = [], b""
    for part in JIS.split(data):
        if JIS.fullmatch(part):
            shift = part[1:]
        elif shift.startswith(b"$"):
            pairs = zip(part[::2], part[1::2], strict=False)
            converted += [bytes(_shift_jis(*pair)) for pair in pairs]
        else:
            converted.append(part if shift != b"(I" else bytes(byte | 0x80 for byte in part))
    return b"".join(converted)


def _shift_jis(row, cell):
    lead = ((row + 1) >> 1) + (0x70 if row < 0x5F else 0xB0)
    return lead & 0xFF, (cell + 0x1F + (cell >= 0x60) if row % 2 else cell + 0x7E) & 0xFF


def meta_charset(html: bytes) -> str:
    """Return the encoding that HTML states in a meta element, "" if none."""
    found = META.search(html, 0, HEAD)
    return found[1].decode("ascii", "replace") if found else ""


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
    if begin := next((name for begin, name in PLAIN_HEADS.items() if head.startswith(begin)), ""):
        raise DataError(f"{path} begins as {begin} does", "text", "convert it, or name the files to take")
    if marked or _is_text(head):
        return marked
    if len({*head} & NO_TEXT) > 2:
        fault = f"{path} holds zeros and other bytes that no text has, as a picture or a packed file does"
        raise DataError(fault, "text", "convert it, or name the files to take")
    todo = "convert it, or set the option encoding to utf-16-le or utf-16-be"
    raise DataError(f"{path} holds zeros, as text in UTF-16 without a mark does", "text", todo)


def _is_text(head):
    """Return whether bytes are text in which any zeros are gaps, as a crash leaves them in a log."""
    if b"\0" not in head:
        return True
    even, odd = (head[place::2].count(0) for place in (0, 1))
    alternate = min(even, odd) < ALTERNATE * max(even, odd) and 10 * (even + odd) > len(head)
    return not alternate and len({*head} & NO_TEXT) <= 2


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
