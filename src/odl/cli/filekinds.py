"""Detect the kind, encoding and delimiter of files for `odl init`, and choose its sources."""

import contextlib
import csv
import glob
import os
import re
import zlib
from collections import Counter
from itertools import islice

from odl.config.chains import refuse_names
from odl.corpora.encodings import FALLBACK, UTF8, check_encoding, codecs_of, not_decoded, recoded
from odl.errors import ConfigError, DataError
from odl.files import listing
from odl.files.escaping import visible

MAX_SURVEYED_LINES = 200_000  # maximum number of lines of a file that are inspected
PACKED_STARTS = {  # first bytes of compressed files and archives -> advice to the user
    b"\x28\xb5\x2f\xfd": "unpack it: unzstd",
    b"PK\3\4": "unpack it: unzip; of a spreadsheet or a document, save it as CSV or text",
    b"\xd0\xcf\x11\xe0": "save it as CSV or text",
}
FOREIGN_STARTS = (  # (pattern of the first bytes, format, readable format, advice)
    (re.compile(rb"(?s).{257}ustar"), "a tar archive", "the files in it", "unpack it: tar xf"),
    (
        re.compile(rb"__CURSOR=|__REALTIME_TIMESTAMP="),
        "an export of the journal",
        "JSON",
        "export it with journalctl -o json",
    ),
    (
        re.compile(rb"(?:---\s*\n)?- [\w.-]+: [^\n]*\n  [\w.-]+: "),
        "YAML",
        "JSON or a table",
        "convert it, as yq does",
    ),
    (
        re.compile(rb"BABYL OPTIONS:"),
        "mail of Rmail (Babyl)",
        "an mbox file",
        "convert it, as M-x unrmail of Emacs does",
    ),
    (
        re.compile(rb"(?s)\s*(?:<[?!][^>]*>\s*)*<opml[\s>]"),
        "a list of feeds (OPML)",
        "feeds",
        "download the feeds, and name their files",
    ),
)
TEXT_KINDS = ("jsonl", "csv", "text", "log")  # kinds that are plain text
LATIN_ENCODINGS = ("cp1250", "cp1254", "cp1257", "cp1258")
MAX_DATED_LINES = 100  # number of lines of a log in which times without a year are searched
MAX_NAMES, MAX_ENDINGS = 3, 8  # maximum numbers of file names and of endings in a message
CONVERSIONS = {  # ending -> how to convert the file
    ".pdf": " (pdftotext makes texts)",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), " (save as CSV)"),
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".html", ".htm"), " (save as text)"),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar", ".zst", ".lz4"), " (unpack)"),
}
# Maximum number of lines from which an encoding is detected, and of files whose kind is detected.
MAX_DETECTED_LINES = 200
NON_ASCII = re.compile(rb"[\x80-\xff]")
MIN_DETECTED_BYTES = 6  # with fewer non-ASCII bytes, only common encodings are detected


def find(sources, kind=None, only=False):
    """Return (sources for odl.yaml, kind of the files or None).

    The kind is None if the reader recognises it from the name or the content of each file. A folder
    becomes a pattern for all its readable files.

    Parameters
    ----------
    sources : list of str
        Files, folders and patterns.
    kind : str, optional
        Kind that the user chose.
    only : bool
        Whether named files remain a list of files. Otherwise, if they are all files of a folder
        with one ending, they become a pattern such as ``folder/*.csv``, which also matches later
        files.

    Raises
    ------
    DataError
        If a source does not exist, or no file can be read.
    """
    not_utf8 = listing.not_utf8(sources, kind or "text")
    if not_utf8 and set(_expand_all(sources, kind or "text")) <= set(not_utf8):
        refuse_names(not_utf8)  # there is no other file
    named = []
    for source in sources:
        if source in not_utf8:
            continue
        if not os.path.exists(source) and not glob.has_magic(source):
            raise DataError(
                f"{source} does not exist", "a file, a folder or a pattern", "correct the path"
            )
        named.append(_pattern_of(source) if os.path.isdir(source) and not kind else source)
    named = named if only else _gather(named)
    paths = _expand_all(named, kind or "text")
    unknown = [path for path in paths if not listing.kind_of(path)]
    if kind or not unknown or (len(unknown) < len(paths) and all(map(_is_left_out, unknown))):
        return named, kind
    if pdf := next((path for path in unknown if path.lower().endswith(".pdf")), None):
        raise DataError(
            f"{pdf} is a PDF",
            "text files",
            "convert it with pdftotext, and name the text file",
        )
    kinds = {sniff(path) for path in unknown[:MAX_DETECTED_LINES]}
    return named, kinds.pop() if len(kinds) == 1 and len(unknown) == len(paths) else None


def _expand_all(sources, kind=None):
    """Return the paths of all files that the sources match; a missing source matches none."""
    return [path for source in sources for _, path in listing.expand(source, kind) or ()]


def _is_left_out(path):
    """Return whether a file has an ending that is not read, or its content has a known kind."""
    return not listing.is_read(path) or listing.kind_in(path) is not None


def _pattern_of(folder):
    """Return the pattern for the files of a folder, with ``**`` if subfolders have files too."""
    every = os.path.join(glob.escape(folder), "**")
    paths = [path for _, path in listing.expand(every, "text")]
    if not paths:
        raise DataError(
            f"the folder {folder} contains no files",
            "files ending in " + listing.endings(),
            "put files into it, or name another folder",
        )
    read = [path for path in paths if listing.is_read(path)] or paths
    has_subfolders = any(os.path.dirname(path) != folder.rstrip(os.sep) for path in read)
    return every if has_subfolders else every[:-1]


def _gather(sources):
    """Replace files of a folder by a pattern if no other file in the folder has their ending.

    A single file without an ending is not replaced. In the result, sources that are not files are
    first, and each source occurs once.
    """
    groups, named = {}, []
    for source in sources:
        if os.path.isfile(source):
            folder = os.path.abspath(os.path.dirname(source))
            groups.setdefault((folder, ending(source)), []).append(source)
        else:
            named.append(source)
    for (_, end), group in groups.items():
        pattern = os.path.join(glob.escape(os.path.dirname(group[0])), f"*{end}")
        if end and any(map(is_rotated, group)):
            pattern += "*"
        matches = {
            os.path.abspath(path) for _, path in listing.expand(pattern) if listing.is_utf8(path)
        }
        is_complete = matches == set(map(os.path.abspath, group)) and (end or len(group) > 1)
        named += [pattern] if is_complete else sorted(group)
    return list(dict.fromkeys(named))


def ending(path):
    """Return the ending of a file name, such as ``.jsonl`` or ``.jsonl.gz``.

    For a rotated log, such as ``app.log.1``, this is the ending before the rotation (``.log``).
    """
    if is_rotated(path):
        return (listing.NAME_ENDING.search(listing.bare_name(path)) or [""])[0]
    return re.search(r"(\.[^\W\d]\w*)?(\.(?:gz|bz2|xz))?$", os.path.basename(path))[0]


def is_rotated(path):
    """Return whether the name of a file is that of a rotated log, such as ``app.log.1``."""
    return listing.bare_name(path) != listing.unpacked_name(os.path.basename(path).lower())


def unread_siblings(sources, kind=None):
    """Return unread files that are in the folders of the sources and have the same endings."""
    read, patterns = set(map(os.path.abspath, _expand_all(sources, kind))), set()
    for path in read:
        if end := ending(path):
            pattern = os.path.join(glob.escape(os.path.dirname(path)), f"*{end}")
            patterns |= {pattern, f"{pattern}*"} if end.endswith(".log") else {pattern}
    return sorted(set(_expand_all(patterns)) - read)


def account(sources, named):
    """Return a phrase about the sources: the patterns and files in `named`."""
    files, patterns = [], []
    for source in named:
        (files if os.path.isfile(source) else patterns).append(source)
    phrases = []
    if patterns:
        gathered = any(os.path.isfile(source) and source not in files for source in sources)
        hint = "; --only reads the named files only" if gathered else ""
        phrases.append(f"{_few(patterns)}: later files are read too{hint}")
    if len(files) == 1:
        phrases.append(f"the file {visible(files[0])}; later files are not read")
    elif files:
        phrases.append(f"the {len(files):,} named files; later files are not read")
    return "; ".join(phrases)


def unread(paths):
    """Return a phrase with the first of the unread files next to the sources."""
    shown = [min(path, os.path.relpath(path), key=len) for path in paths[:MAX_NAMES]]
    return f"{_few([*shown, *paths[MAX_NAMES:]])}, of the same kind as the sources"


def left_out(sources, kind=None):
    """Return a phrase about unread files in the folders and patterns of the sources, or ""."""
    phrases = []
    wide = [source for source in sources if kind is None and not os.path.isfile(source)]
    if skipped := sorted(set(_expand_all(wide, "text")) - set(_expand_all(wide))):
        phrases.append(f"{len(skipped):,} files of other kinds: {_count_endings(skipped)}")
    copies = listing.packed_copies(_expand_all(sources, kind))
    if copies:
        noun = "copies" if len(copies) > 1 else "copy"
        named = [
            f"{os.path.basename(path)} (the same as {os.path.basename(plain)})"
            for path, plain in sorted(copies.items())
        ]
        phrases.append(f"{len(copies):,} compressed {noun}: {_few(named)}")
    if not_utf8 := [os.path.normpath(path) for path in listing.not_utf8(sources, kind)]:
        verb = "files whose names are" if len(not_utf8) > 1 else "file whose name is"
        names = _few(map(listing.printable_name, not_utf8))
        phrases.append(f"{len(not_utf8):,} {verb} not UTF-8 (rename): {names}")
    if mail := listing.hidden_mail(sources):
        n, folders = sum(n for _, n in mail), _few([folder for folder, _ in mail])
        phrases.append(f"{n:,} messages in hidden folders, which are read only if named: {folders}")
    return "; ".join(phrases)


def _count_endings(paths):
    """Return a phrase with the number of files of each ending and how to convert them."""
    counts = Counter(
        (listing.NAME_ENDING.search(path.lower()) or ["no ending"])[0] for path in paths
    )
    listed = counts.most_common(MAX_ENDINGS)
    parts = [f"{n:,} in {end}{CONVERSIONS.get(end, '')}" for end, n in listed]
    if n_more := len(paths) - sum(n for _, n in listed):
        parts.append(f"{n_more:,} with other endings")
    return ", ".join(parts)


def _few(names):
    """Return a phrase with the first `MAX_NAMES` names and the number of the remaining ones."""
    names = list(names)
    note = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(map(visible, names[:MAX_NAMES])) + note


def sniff(path):
    """Detect the kind of a file from its content.

    Raises
    ------
    DataError
        If the file has a format that odl does not read.
    """
    with open(path, "rb") as file:
        start = file.read(16)
    with (
        contextlib.suppress(OSError, EOFError, ValueError, zlib.error),
        listing.opened(path) as file,
    ):
        head = file.read(512)
        for beginning, form, expected, todo in FOREIGN_STARTS:
            if beginning.match(head):
                raise DataError(f"{path} is {form}", expected, todo)
    for beginning, todo in PACKED_STARTS.items():
        if start.startswith(beginning):
            raise DataError(
                f"{path} is compressed", "files that are uncompressed, .gz, .bz2 or .xz", todo
            )
    kind = listing.kind_in(path)
    if kind is None:
        raise DataError(
            f"{path} is not a text file",
            "files ending in " + listing.endings(),
            "convert it, or name its kind with --kind",
        )
    return kind


def encoding_of(files, kind=None):
    """Return the option ``encoding`` of the text files, and a phrase that explains it.

    The encoding is detected from lines that are not UTF-8. UTF-16 with a byte order mark needs no
    option.

    Parameters
    ----------
    files : list of (str, str)
        Names and paths.
    kind : str, optional
        Kind of all files.

    Returns
    -------
    encoding : None, str or list of str
        None if all lines are UTF-8. A list of UTF-8 and the detected encoding if the files have
        lines in both encodings.
    phrase : str
        The encoding and the first line in it; "" if all lines are UTF-8.
    """
    text_files = [path for _, path in files if (kind or listing.kind_in(path)) in TEXT_KINDS]
    n_utf8, n_others, first, sample = _survey_encodings(text_files)
    if not n_others:
        return None, ""
    name = detect_encoding(b"".join(sample))
    place, excerpt = first
    phrase = f"{name}: {n_others} lines are not UTF-8; the first, {place}, becomes "
    phrase += repr(excerpt.decode(name, "replace").strip())
    if n_utf8:
        phrase += f"; {n_utf8} other lines are UTF-8"
    return ["utf-8", name] if n_utf8 else name, f"{phrase}; --encoding sets another encoding"


def _survey_encodings(paths):
    """Count the lines of text files that are UTF-8 and those that are not; skip ASCII lines.

    Returns
    -------
    n_utf8, n_others : int
        Number of lines that are UTF-8, and number of lines that are not.
    first : (str, bytes) or None
        Location of the first line that is not UTF-8, and the bytes around its first error.
    sample : list of bytes
        First lines that are not UTF-8, to detect their encoding. It has no lines of UTF-8 in which
        a character is truncated.
    """
    n_utf8, n_others, first, sample = 0, 0, None, []
    for path in paths:
        for number, line in _lines(path):
            if line.isascii():
                continue
            try:
                line.decode("utf-8")
                n_utf8 += 1
            except UnicodeDecodeError as error:
                n_others += 1
                around = slice(max(0, error.start - 12), error.start + 12)
                first = first or (f"{path}:{number}", line[around])
                # If half of the non-ASCII bytes are valid, the line is UTF-8 with an error.
                valid = NON_ASCII.findall(line.decode("utf-8", "ignore").encode())
                is_utf8 = 2 * len(valid) >= len(NON_ASCII.findall(line))
                if n_others <= MAX_DETECTED_LINES and not is_utf8:
                    sample.append(line)
    return n_utf8, n_others, first, sample


def detect_encoding(data):
    """Return the encoding that chardet detects in bytes that are not UTF-8.

    The result is cp1252 if the decoded text is the same. With fewer than `MIN_DETECTED_BYTES`
    non-ASCII bytes, only encodings of web pages are detected, and the result is cp1252 for all
    encodings of Latin letters.
    """
    import chardet

    few = len(NON_ASCII.findall(data)) < MIN_DETECTED_BYTES
    era = chardet.EncodingEra.MODERN_WEB if few else chardet.EncodingEra.ALL
    name = next(iter(codecs_of(chardet.detect(data, encoding_era=era)["encoding"] or "")), FALLBACK)
    with contextlib.suppress(UnicodeDecodeError, ConfigError):
        check_encoding(["utf-8", name])
        is_equal = data.decode(name) == data.decode(FALLBACK, "replace")
        return FALLBACK if is_equal or (few and name in LATIN_ENCODINGS) else name
    return FALLBACK


def _texts(path, reader):
    """Yield (number, text) of each line of a file."""
    for number, line in _lines(path, reader):
        try:
            yield number, (UTF8 if reader.wide else reader).text(line, number == 1)
        except UnicodeDecodeError as error:
            raise not_decoded(path, f"line {number}", reader, error) from error


def _lines(path, encoding=UTF8):
    """Yield (number, bytes) of each line of a file, up to line `MAX_SURVEYED_LINES`.

    A damaged file ends early, without an error.
    """
    from odl.corpora import formats

    with (
        contextlib.suppress(DataError, OSError, EOFError, zlib.error),
        formats.opened(path) as file,
    ):
        lines = formats.lines(recoded(file, path, encoding)[0], path)
        yield from islice(enumerate(lines, start=1), MAX_SURVEYED_LINES)


def yearless(files, kind, encoding):
    """Return (path, first time) of the first log whose times and name have no year, or None."""
    from odl.corpora import formats, logs

    reader = check_encoding(encoding or "utf-8")
    for name, path in files:
        if (kind or listing.kind_in(path)) == "log" and not formats.day_of(name):
            lines = islice(_lines(path, reader), MAX_DATED_LINES)
            if first := logs.lacks_year(line.decode("utf-8", "replace") for _, line in lines):
                return path, first
    return None


def delimiter_of(files, kind, encoding):
    """Return a phrase about the delimiter and header of the first table, or "" if usual."""
    from odl.corpora import formats

    path = next((path for _, path in files if (kind or listing.kind_in(path)) == "csv"), None)
    if path is None:
        return ""
    reader, head = check_encoding(encoding or "utf-8"), []
    for number, text in _texts(path, reader):
        head += [] if formats.LEADING_LINE.fullmatch(text.rstrip("\r\n")) else [text]
        if number == formats.HEADER_LINES:
            break
    best, above = formats.beginning_of(head, path)
    header = next((line.strip() for line in head[above:] if line.strip()), "")
    phrase = f"{best!r}, as in {header[:60]!r}"
    if above:
        return f"{phrase}; lines above this header are skipped in {path}"
    return "" if best == formats.usual_delimiter(path) else phrase


def find_unquoted(files, options):
    """Return the path of the first tab-separated table with literal quotation marks, or None."""
    from odl.corpora import formats

    if options.get("delimiter", "\t") != "\t":
        return None
    kind, reader = options.get("kind"), check_encoding(options.get("encoding", "utf-8"))
    for _, path in files:
        has_tabs = "delimiter" in options or ".tsv" in path.lower()
        is_table = has_tabs and (kind or listing.kind_in(path)) == "csv"
        if is_table and _has_wrong_rows(path, reader, quoted=True):
            head = [text for _, text in islice(_texts(path, reader), formats.HEADER_LINES)]
            if formats.has_backslashes(head, "\t") or _has_wrong_rows(path, reader, quoted=False):
                return None
            return path
    return None


def _has_wrong_rows(path, reader, quoted):
    """Return whether a tab-separated table has invalid rows, or rows of different lengths.

    With `quoted`, quotation marks enclose fields. Otherwise they are part of the text.
    """
    from odl.corpora import formats

    try:
        rows = csv.reader(
            (text for _, text in _texts(path, reader)),
            delimiter="\t",
            strict=True,
            quoting=formats.QUOTING[quoted],
        )
        return len({len(row) for row in rows if row}) > 1
    except csv.Error:
        return True
