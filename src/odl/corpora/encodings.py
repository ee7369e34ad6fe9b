"""Decoding of files: the option ``encoding``, conversion to UTF-8, and wrongly stated encodings."""

import codecs
import io
import re
from dataclasses import dataclass
from functools import lru_cache

import webencodings

from odl.errors import ConfigError, DataError

ENCODING_SCHEMA = {
    "type": ["string", "array"],
    "items": {"type": "string"},
    "minLength": 1,
    "minItems": 1,
}
ASCII_BYTES = bytes(range(128))
SHOWN_BYTES = 12  # number of bytes before and after a wrong byte that a message shows
BYTE_ORDER_MARKS = (
    # UTF-32 is tested first, because its mark begins with the mark of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
WIDE_ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
FOREIGN_HEADS = {
    b"%PDF": "a PDF",
    b"GIF8": "a GIF image",
    b"PAR1": "Parquet",
    b"\x89PNG": "a PNG image",
}
CONTROL_BYTES = {*range(1, 9), *range(14, 27), 28, 29, 30, 31}  # they do not occur in text
MAX_CONTROL_BYTES = 2  # largest number of different control characters in a text with zeros
# In UTF-16, largest ratio of the numbers of zero bytes at even and odd positions (the smaller
# divided by the larger), and smallest share of zero bytes.
MAX_ZERO_RATIO, MIN_ZERO_SHARE = 0.7, 0.1
ZERO_BYTES = 4096  # number of first bytes of a file that are searched for zero bytes
RECODED_BYTES = 1 << 16  # number of bytes that are converted at once
REPLACEMENT = "\ufffd"  # character in place of bytes that cannot be decoded
FALLBACK = "cp1252"  # encoding of bytes that are not UTF-8, if none is stated
# Start of the names of Python's codecs that decode text. Others convert bytes to bytes.
TEXT_CODECS = re.compile(r"cp|iso|koi8|mac|gb|big5|euc|shift|johab|hz|utf|tis|ptcp|kz|hp")
CODE_PAGE = re.compile(r"(?:x-)?(?:cp|win|windows|ibm|dos|ms)[-_ ]?(\d{3,5})$")
SEVEN_BIT = re.compile(r"iso2022|hz|utf-7")  # 7-bit encodings, which are valid UTF-8
ISO2022_ESCAPE = b"\x1b$"  # escape sequence before characters of two bytes in ISO-2022
# Encodings in which characters above U+07FF have several bytes.
MULTIBYTE = ("gb18030", "big5hkscs", "cp932", "cp949", "euc_jp", "johab", "cp874")
MAX_CHANCE_CHARACTERS = 6  # non-ASCII characters in a text that may be valid UTF-8 by chance
NEXT_TO_LATIN = re.compile(r"[A-Za-z][^\0-\x7f]|[^\0-\x7f][A-Za-z]")
# An incomplete UTF-8 character at the end of a text.
CUT_CHARACTER = re.compile(
    rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z"
)
# Codec -> codecs with the characters that vendors added, in the order in which they are tried.
WIDER_CODECS = {
    "gbk": ["gb18030"],
    "big5hkscs": ["big5hkscs", "cp950"],
    "euc_jp": ["euc_jp", "euc_jis_2004"],
    "iso2022_jp": ["iso2022_jp_ext", "iso2022_jp"],
}
# Escape sequences of ISO-2022-JP, which switch between character sets.
JIS_ESCAPE = re.compile(rb"(\x1b(?:\$[@B]|\([BJI]))")
JIS_TWO_BYTES, JIS_KATAKANA = b"\x1b$", b"\x1b(I"  # their starts: kanji, half-width katakana
META_CHARSET = re.compile(rb"<meta\b[^>]{0,200}?\bcharset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.I)
META_BYTES = 4096  # number of first bytes of HTML that are searched for a meta element


@dataclass(frozen=True)
class Encoding:
    """An encoding, and optionally a second one for bytes that do not fit the first.

    Parameters
    ----------
    name : str
        Python's name of the encoding.
    second : str, optional
        Encoding of bytes that do not fit `name`, for a file whose older lines have another
        encoding.
    """

    name: str = "utf-8"
    second: str = ""

    @property
    def errors(self):
        """Name of Python's error handler for bytes that do not fit."""
        if not self.second:
            return "strict"
        codecs.register_error(f"odl.{self.second}", self._decode_by_second)
        return f"odl.{self.second}"

    def _decode_by_second(self, error):
        """Decode the bytes that caused an error by `second` (error handler for `codecs`)."""
        return error.object[error.start : error.end].decode(self.second, "replace"), error.end

    @property
    def wide(self):
        """Whether all characters have at least two bytes (UTF-16, UTF-32)."""
        return codecs.lookup(self.name).name in WIDE_ENCODINGS

    def start(self):
        """Return the name of the codec for the start of a file, which removes a byte order mark."""
        return "utf-8-sig" if codecs.lookup(self.name).name == "utf-8" else self.name

    def text(self, data, first=False):
        """Decode bytes; at the start of a file (`first`), remove a byte order mark of UTF-8."""
        return data.decode(self.start() if first else self.name, self.errors)


UTF8 = Encoding()


@lru_cache(maxsize=256)
def codecs_of(label: str) -> list[str]:
    """Return the names of the Python codecs to try for an encoding label.

    Labels are interpreted as browsers do. The list is empty for unknown labels, and for ASCII,
    because files labelled ASCII often have another encoding.

    Examples
    --------
    >>> [codecs_of(label) for label in ("ISO-8859-1", "gb2312", "cp-850", "us-ascii", "rot13")]
    [['cp1252'], ['gb18030'], ['cp850'], [], []]
    """
    label = label.strip(" \t\r\n\"'").lower()
    web_encoding = webencodings.lookup(label)
    if web_encoding is not None and web_encoding.name not in ("replacement", "x-user-defined"):
        name = web_encoding.codec_info.name
        if name == "cp1252" and _codec(label) == "ascii":
            return []
    else:
        code_page = CODE_PAGE.match(label)
        spellings = [f"cp{code_page[1]}"] if code_page else []
        spellings += [label, label.removeprefix("x-")]
        name = next(filter(None, map(_codec, spellings)), "")
    return WIDER_CODECS.get(name, [name] if name else [])


def _codec(label):
    """Return Python's name of the text codec with this label, or ""."""
    try:
        name = codecs.lookup(label).name if label else ""
    except (LookupError, ValueError):
        return ""
    return name if name == "ascii" or TEXT_CODECS.match(name) else ""


def decode(data: bytes, label: str = "", default: Encoding = UTF8) -> tuple[str, int]:
    """Decode a text whose encoding may be stated wrongly.

    UTF-8 is tried first, since few other texts are valid UTF-8, then the stated encoding as
    browsers interpret it. If most of a text is UTF-8, only the other bytes are decoded by the
    stated encoding.

    Parameters
    ----------
    data : bytes
    label : str
        Stated encoding, which may be wrong, unknown or missing.
    default : Encoding
        Encoding of bytes that are not UTF-8 if none is stated; for UTF-8, windows-1252 is used.

    Returns
    -------
    text : str
    n_replaced : int
        Number of characters replaced by U+FFFD.

    Examples
    --------
    >>> decode("“Größe”".encode("cp1252"), "iso-8859-1"), decode("Größe".encode(), "us-ascii")
    (('“Größe”', 0), ('Größe', 0))
    """
    names = codecs_of(label) or [name for name in codecs_of(default.name) if name != "utf-8"]
    has_escapes = bool(names and SEVEN_BIT.match(names[0]))
    if not has_escapes and data.isascii() and ISO2022_ESCAPE in data:
        # ISO-2022-JP is often not stated.
        has_escapes, names = True, WIDER_CODECS["iso2022_jp"]
    if data.isascii() and not has_escapes and b"\0" not in data:
        return data.decode("ascii"), 0
    wide = encoding_of_mark(data)
    if wide is None and names and names[0] in WIDE_ENCODINGS and b"\0" in data:
        wide = names[0]
    if wide is not None:
        return _decode_replacing(data, wide)
    if has_escapes:
        return _decode_with_escapes(data, names)
    data = data.removeprefix(codecs.BOM_UTF8)
    text = _decode_strictly(data, ["utf-8"])
    if text is not None and not (names and names[0] in MULTIBYTE and _short_by_chance(text)):
        return text, 0
    names = [name for name in names if name != "utf-8" and name not in WIDE_ENCODINGS]
    names = names or [default.second or FALLBACK]
    is_mostly_utf8 = text is None and _mostly_utf8(data)
    # An encoding with one byte per character fits any bytes, so it is no evidence.
    tried = [name for name in names if name in MULTIBYTE] if is_mostly_utf8 else names
    text_by_label = _decode_strictly(data, tried)
    if text_by_label is not None or text is not None:
        return text if text_by_label is None else text_by_label, 0
    if is_mostly_utf8:
        return _decode_mixed(data, names[0])
    return _decode_replacing(data, names[0])


def encoding_of_mark(data):
    """Return "utf-16" or "utf-32" if bytes begin with its byte order mark, else None."""
    return next((name for mark, name in BYTE_ORDER_MARKS if data.startswith(mark)), None)


def _decode_strictly(data, names):
    """Decode bytes by the first codec in `names` that raises no error; return None if all do."""
    for name in names:
        try:
            return data.decode(name)
        except (UnicodeError, LookupError):
            pass
    return None


def _short_by_chance(text):
    """Return whether the bytes of a text may be valid UTF-8 by chance, in another encoding.

    This is possible if the text has few non-ASCII characters, all of two bytes in UTF-8, and none
    next to a Latin letter.
    """
    non_ascii = text.translate(dict.fromkeys(range(128)))
    return (
        len(non_ascii) <= MAX_CHANCE_CHARACTERS
        and max(non_ascii, default="") < "\u0800"
        and not NEXT_TO_LATIN.search(text)
    )


def _decode_mixed(data, second):
    """Decode UTF-8 in which some bytes are in another encoding; return values as `decode`."""
    complete = CUT_CHARACTER.sub(b"", data)
    text = Encoding(second=second).text(complete)
    if len(complete) < len(data):
        text += REPLACEMENT
    return text, max(0, text.count(REPLACEMENT) - data.count(REPLACEMENT.encode()))


def _decode_replacing(data, name):
    """Decode bytes by one codec; return (text, number of characters replaced by U+FFFD)."""
    text = data.decode(name, "replace")
    return text, text.count(REPLACEMENT)


def _mostly_utf8(data):
    """Return whether more than half of the non-ASCII bytes belong to valid UTF-8 characters."""
    valid = data.decode("utf-8", "ignore").encode()
    n_valid, n_all = (len(part.translate(None, ASCII_BYTES)) for part in (valid, data))
    return 2 * n_valid > n_all


def _decode_with_escapes(data, names):
    """Return the result of `decode` for codecs with escape sequences, such as ISO-2022-JP.

    Text that ISO-2022-JP does not fit is converted to cp932, which has more characters.
    """
    text = _decode_strictly(data, names)
    if text is not None:
        return text, 0
    if not data.isascii():
        return decode(data, "utf-8")
    if names[0].startswith("iso2022_jp"):
        return _decode_replacing(_iso2022_to_cp932(data), "cp932")
    return _decode_replacing(data, names[0])


def _iso2022_to_cp932(data):
    """Convert bytes in ISO-2022-JP to bytes in cp932.

    The two-byte characters have other positions in cp932 (`_cp932_pair`). Half-width katakana, one
    byte each, have the highest bit set there.
    """
    converted, escape = [], b""
    for part in JIS_ESCAPE.split(data):
        if JIS_ESCAPE.fullmatch(part):
            escape = part
        elif escape.startswith(JIS_TWO_BYTES):
            converted += map(_cp932_pair, part[::2], part[1::2])
        elif escape == JIS_KATAKANA:
            converted.append(bytes(byte | 0x80 for byte in part))
        else:
            converted.append(part)
    return b"".join(converted)


def _cp932_pair(row, cell):
    """Return the two bytes in cp932 of a character with the bytes `row` and `cell` in ISO-2022-JP.

    The first byte in cp932 stands for two rows of 94 characters in ISO-2022-JP. It is never 0xA0 to
    0xDF (katakana), and the second byte is never 0x7F. Bytes that are no character become U+FFFD
    when they are decoded.
    """
    # The usual conversion from JIS X 0208 to Shift JIS.
    lead = (row + 1) // 2 + (0x70 if row < 0x5F else 0xB0)
    trail = cell + 0x7E
    if row % 2 == 1:
        trail = cell + (0x1F if cell < 0x60 else 0x20)
    return bytes((lead & 0xFF, trail & 0xFF))


def meta_charset(html: bytes) -> str:
    """Return the encoding in the meta element of HTML, or ""."""
    match = META_CHARSET.search(html, 0, META_BYTES)
    return match[1].decode("ascii", "replace") if match else ""


def check_encoding(value):
    """Return the `Encoding` for the option ``encoding``: a name, or a list of two.

    Raises
    ------
    ConfigError
        If a name is unknown, or the encoding is neither UTF-16, UTF-32 nor a superset of ASCII.
    """
    names = [value] if isinstance(value, str) else value
    if not 1 <= len(names) <= 2:
        raise ConfigError(
            f"encoding is {value!r}",
            "a name such as utf-8, or a list of two names",
            "write one name, or two names in brackets",
        )
    for name in names:
        try:
            is_wide = len(names) == 1 and Encoding(name).wide
            fits = is_wide or ASCII_BYTES.decode(name) == ASCII_BYTES.decode("ascii")
        except (LookupError, TypeError, ValueError):
            fits = False
        if not fits:
            raise ConfigError(
                f"encoding is {name!r}",
                "a name such as utf-8, cp1252, utf-16 or latin-1, "
                "in a list of two only encodings that extend ASCII",
                "name another encoding, or convert the files to UTF-8",
            )
    return Encoding(*names)


def not_decoded(path, location, encoding, error):
    """Return a DataError for bytes that cannot be decoded; it suggests a second encoding."""
    data, start = error.object, error.start
    line = data[max(0, start - SHOWN_BYTES) : start + SHOWN_BYTES].split(b"\n")[0]
    excerpt = line.decode("cp1252", "replace")
    name = "UTF-8" if error.encoding.replace("_", "-").startswith("utf-8") else encoding.name
    second = "latin-1" if name.lower() == "cp1252" else "cp1252"
    return DataError(
        f"{path} {location} is not {name} (byte 0x{data[start]:02x})",
        f"{name} text",
        f"set the option encoding, such as [{name.lower()}, {second}], "
        f"which reads {excerpt!r} there, or convert the file",
    )


def recoded(file, path, encoding):
    """Return (open file, encoding of its bytes), with UTF-16 and UTF-32 converted to UTF-8.

    The conversion takes place while the file is read.

    Parameters
    ----------
    file : binary file
        At its beginning.
    path : path-like
        For messages.
    encoding : Encoding
        Encoding of files that are not UTF-16 or UTF-32.

    Raises
    ------
    DataError
        If the file contains zeros but is not UTF-16 or UTF-32, or is a PDF, an image or Parquet.
    """
    file = file if hasattr(file, "peek") else io.BufferedReader(file)
    name = (
        codecs.lookup(encoding.name).name
        if encoding.wide
        else wide_name(file.peek(ZERO_BYTES)[:ZERO_BYTES], path)
    )
    if name is None:
        return file, encoding
    return io.BufferedReader(_Recoded(file, path, name), RECODED_BYTES), Encoding()


def wide_name(head, path):
    """Return "utf-16" or "utf-32" for a file with its byte order mark, None for other text.

    DataError is raised for binary files and for UTF-16 without a byte order mark. `head` contains
    the first bytes of the file.
    """
    for magic, file_type in FOREIGN_HEADS.items():
        if head.startswith(magic):
            raise DataError(
                f"{path} begins like {file_type}",
                "a text file",
                "convert it, or name the files to read",
            )
    name = encoding_of_mark(head)
    if name is not None or _is_text(head):
        return name
    if len({*head} & CONTROL_BYTES) > MAX_CONTROL_BYTES:
        raise DataError(
            f"{path} contains NUL bytes and control characters, like an image or a compressed file",
            "a text file",
            "convert it, or name the files to read",
        )
    raise DataError(
        f"{path} contains zeros, like UTF-16 without a byte order mark",
        "a text file",
        "convert it, or set the option encoding to utf-16-le or utf-16-be",
    )


def _is_text(head):
    """Return whether a file that begins with these bytes is text with one byte per ASCII character.

    Bytes without zeros are. Bytes with zeros may be the log of a crash, which is text too, a binary
    file, which has several control characters, or UTF-16, in which every second byte of ASCII text
    is zero.
    """
    if b"\0" not in head:
        return True
    if len({*head} & CONTROL_BYTES) > MAX_CONTROL_BYTES:
        return False
    even, odd = head[::2].count(0), head[1::2].count(0)
    is_alternating = min(even, odd) < MAX_ZERO_RATIO * max(even, odd)
    return not (is_alternating and even + odd > MIN_ZERO_SHARE * len(head))


class _Recoded(io.RawIOBase):
    """A file in UTF-16 or UTF-32 that is converted to UTF-8 while it is read.

    Parameters
    ----------
    file : binary file
    path : path-like
        For messages.
    name : str
        Encoding of the file.
    """

    def __init__(self, file, path, name):
        self.file, self.path, self.name = file, path, name
        self.decoder = codecs.getincrementaldecoder(name)()
        self.left = b""  # bytes in UTF-8 that the next calls of `readinto` return

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self.left:
            block = self.file.read(RECODED_BYTES)
            try:
                self.left = self.decoder.decode(block, not block).encode("utf-8", "replace")
            except UnicodeError as error:
                reason = getattr(error, "reason", error)
                raise DataError(
                    f"{self.path} is not valid {self.name.upper()} ({reason})",
                    f"a complete file in {self.name.upper()}",
                    "create it again, or convert it to UTF-8",
                ) from error
            if not block:
                break
        output, self.left = self.left[: len(buffer)], self.left[len(buffer) :]
        buffer[: len(output)] = output
        return len(output)

    def close(self):
        self.file.close()
        super().close()
