"""Survey of files for `odl init`: patterns of sources, and the kind, encoding and delimiter of files."""

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
from odl.files import listing, packing
from odl.files.escaping import visible

MAX_SURVEYED_LINES = 200_000  # lines that are read of a file to detect its kind
PACKED_STARTS = {  # first bytes of compressed files and archives -> advice to the user
    b"\x28\xb5\x2f\xfd": "unpack it: unzstd",
    b"PK\3\4": "unpack it: unzip; of a spreadsheet or a document, save it as CSV or text",
    b"\xd0\xcf\x11\xe0": "save it as CSV or text",
}
FOREIGN_STARTS = (  # (first bytes, format, what can be read instead, advice)
    (re.compile(rb"(?s).{257}ustar"), "a tar archive", "the files in it", "unpack it: tar xf"),
    (
        re.compile(rb"__CURSOR=|__REALTIME_TIMESTAMP="),
        "an export of the journal",
        "JSON",
        "write it by journalctl -o json",
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
        "fetch the feeds and name them",
    ),
)
TEXT_KINDS = ("jsonl", "csv", "text", "log")  # kinds that are plain text
LATIN_ENCODINGS = ("cp1250", "cp1254", "cp1257", "cp1258")
MAX_DATED_LINES = 100  # lines of a log in which times without a year are searched
MAX_NAMES, MAX_ENDINGS = 3, 8  # file names and endings in a message
CONVERSIONS = {  # ending -> advice that makes the file readable
    ".pdf": " (pdftotext makes texts)",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), " (save as CSV)"),
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".html", ".htm"), " (save as text)"),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar", ".zst", ".lz4"), " (unpack)"),
}
MAX_DETECTED_LINES = 200  # lines from which an encoding is detected; files whose kind is detected
NON_ASCII, MIN_DETECTED_BYTES = re.compile(rb"[\x80-\xff]"), 6  # with fewer, common encodings only


def find(sources, kind=None, only=False):
    """Return the sources for odl.yaml, and the kind of the files if neither names nor contents tell it.

    A folder becomes a pattern for all readable files. Sources that are all files of a folder with
    the same ending become a pattern too, so that later files are read; with `only` they do not.

    Raises
    ------
    DataError
        If a source does not exist, or no file can be read.
    """
    named, unnamed = [], listing.not_utf8(sources, kind or "text")
    if unnamed and all(
        path in unnamed
        for source in sources
        for _, path in listing.expand(source, kind or "text") or ()
    ):
        refuse_names(unnamed)
    for source in (one for one in sources if one not in unnamed):
        if not os.path.exists(source) and not glob.has_magic(source):
            raise DataError(
                f"{source} does not exist", "a file, a folder or a pattern", "correct the path"
            )
        named.append(_pattern_of(source) if os.path.isdir(source) and not kind else source)
    named = named if only else _gathered(named)
    paths = [path for source in named for _, path in listing.expand(source, kind or "text") or ()]
    unknown = [path for path in paths if not listing.kind_of(path)]
    if kind or not unknown or (len(unknown) < len(paths) and all(map(_is_left_out, unknown))):
        return named, kind
    if pdf := next((path for path in unknown if path.lower().endswith(".pdf")), None):
        raise DataError(
            f"{pdf} is a PDF",
            "texts",
            "make texts of such files, as pdftotext does, and name those",
        )
    kinds = {sniff(path) for path in unknown[:MAX_DETECTED_LINES]}
    return named, kinds.pop() if len(kinds) == 1 and len(unknown) == len(paths) else None


def _is_left_out(path):
    """Return whether a file of unknown ending is skipped in a pattern, or has a kind by its content."""
    return not listing.is_read(path) or listing.kind_in(path) is not None


def _pattern_of(folder):
    """Return the pattern for the files of a folder; ``**`` if there are readable files in subfolders."""
    every = os.path.join(glob.escape(folder), "**")
    paths = [path for _, path in listing.expand(every, "text")]
    if not paths:
        raise DataError(
            f"the folder {folder} contains no files",
            "files of " + listing.endings(),
            "put some there",
        )
    read = [path for path in paths if listing.is_read(path)] or paths
    return (
        every
        if any(os.path.dirname(path) != folder.rstrip(os.sep) for path in read)
        else every[:-1]
    )


def _gathered(sources):
    """Replace files by a pattern if they are all files of their ending in a folder; not for one file without ending."""
    groups, named = {}, []
    for source in sources:
        if os.path.isfile(source):
            folder = os.path.abspath(os.path.dirname(source))
            groups.setdefault((folder, ending(source)), []).append(source)
        else:
            named.append(source)
    for (_, end), group in groups.items():
        rotated = any(map(is_rotated, group))
        pattern = os.path.join(
            glob.escape(os.path.dirname(group[0])), f"*{end}{'*' * (rotated and end > '')}"
        )
        every = {
            os.path.abspath(path) for _, path in listing.expand(pattern) if listing.is_utf8(path)
        }
        whole = every == set(map(os.path.abspath, group)) and (end or len(group) > 1)
        named += [pattern] if whole else sorted(group)
    return list(dict.fromkeys(named))


def ending(path):
    """Return the ending of a file name, such as ``.jsonl`` or ``.jsonl.gz``; of a rotated log, that before rotation."""
    if is_rotated(path):
        return (listing.NAME_ENDING.search(listing.bare_name(path)) or [""])[0]
    return re.search(r"(\.[^\W\d]\w*)?(\.(?:gz|bz2|xz))?$", os.path.basename(path))[0]


def is_rotated(path):
    """Return whether the name of a file has an ending of rotation, as app.log.1 has."""
    return listing.bare_name(path) != packing.unpacked_name(os.path.basename(path).lower())


def unread_siblings(sources, kind=None):
    """Return the unread files in the folders of the sources that have the same ending as the sources."""
    read = {
        os.path.abspath(path)
        for source in sources
        for _, path in listing.expand(source, kind) or ()
    }
    patterns = {
        os.path.join(glob.escape(os.path.dirname(path)), f"*{end}")
        for path in read
        if (end := ending(path))
    }
    patterns |= {f"{pattern}*" for pattern in patterns if pattern.endswith(".log")}
    return sorted({path for pattern in patterns for _, path in listing.expand(pattern)} - read)


def account(sources, named):
    """Return a phrase for `odl init`: sources that are patterns, whose later files are read, and named files."""
    files, others = [], []
    for source in named:
        (files if os.path.isfile(source) else others).append(source)
    said = []
    if others:
        gathered = any(os.path.isfile(source) and source not in files for source in sources)
        rest = "; --only reads the named files only" if gathered else ""
        said.append(f"{_few(others)}: later files are read too{rest}")
    if files:
        what = (
            f"the {len(files):,} files that are"
            if len(files) > 1
            else f"{visible(files[0])}, which is"
        )
        said.append(f"{what} named; later files are not read")
    return "; ".join(said)


def unread(paths):
    """Return a phrase that names some of the unread files next to the sources."""
    shown = [min(path, os.path.relpath(path), key=len) for path in paths[:MAX_NAMES]]
    return f"{_few([*shown, *paths[MAX_NAMES:]])}, of the same kind as the sources"


def left_out(sources, kind=None):
    """Return a phrase about files in folders and patterns that are not read; "" if there are none."""
    wide = [source for source in sources if kind is None and not os.path.isfile(source)]
    every = {path for source in wide for _, path in listing.expand(source, "text") or ()}
    others = sorted(every - {path for source in wide for _, path in listing.expand(source) or ()})
    counts = Counter(
        (listing.NAME_ENDING.search(path.lower()) or ["no ending"])[0] for path in others
    )
    parts = [
        f"{n:,} in {end}{CONVERSIONS.get(end, '')}" for end, n in counts.most_common(MAX_ENDINGS)
    ]
    more = sum(counts.values()) - sum(n for _, n in counts.most_common(MAX_ENDINGS))
    parts += [f"{more:,} others"] * bool(more)
    said = [f"{len(others):,} files of other kinds: {', '.join(parts)}"] * bool(others)
    paths = [path for source in sources for _, path in listing.expand(source, kind) or ()]
    copies = sorted(listing.packed_copies(paths).items())
    named = [
        f"{os.path.basename(path)} (the same as {os.path.basename(plain)})"
        for path, plain in copies
    ]
    what = "copies" if len(copies) > 1 else "copy"
    said += [f"{len(copies):,} packed {what}: {_few(named)}"] * bool(copies)
    mail = listing.hidden_mail(sources)
    if unnamed := [os.path.normpath(path) for path in listing.not_utf8(sources, kind)]:
        names = "files whose names are" if len(unnamed) > 1 else "file whose name is"
        said.append(
            f"{len(unnamed):,} {names} not UTF-8 (rename): {_few(map(listing.printable_name, unnamed))}"
        )
    n, folders = sum(n for _, n in mail), _few([folder for folder, _ in mail])
    return "; ".join(
        said
        + [f"{n:,} messages in hidden folders, which are read only if named: {folders}"]
        * bool(mail)
    )


def _few(names):
    """Return the first names as text, and the number of the others."""
    names = list(names)
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(map(visible, names[:MAX_NAMES])) + more


def sniff(path):
    """Return the kind of a file by its content.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    with open(path, "rb") as file:
        start = file.read(16)
    with (
        contextlib.suppress(OSError, EOFError, ValueError, zlib.error),
        packing.opened(path) as file,
    ):
        head = file.read(512)
        if foreign := next((told for begin, *told in FOREIGN_STARTS if begin.match(head)), None):
            raise DataError(f"{path} is {foreign[0]}", foreign[1], foreign[2])
    if unpack := next(
        (unpack for begin, unpack in PACKED_STARTS.items() if start.startswith(begin)), None
    ):
        raise DataError(f"{path} is packed", "plain files, .gz, .bz2 or .xz", unpack)
    kind = listing.kind_in(path)
    if kind is None:
        raise DataError(
            f"{path} is no text", "files of " + listing.endings(), "convert it, or say --kind"
        )
    return kind


def encoding_of(files, kind=None):
    """Return the option ``encoding`` (None for UTF-8), and a phrase about it.

    The encoding is detected from lines that are not UTF-8. UTF-16 with a byte order mark needs no
    option.
    """
    good, wrong, first, lines = 0, 0, (), []
    for _, path in files:
        for number, line in _lines(path) if (kind or listing.kind_in(path)) in TEXT_KINDS else ():
            if line.isascii():
                continue
            try:
                line.decode("utf-8")
                good += 1
            except UnicodeDecodeError as error:
                first = first or (
                    f"{path}:{number}",
                    line[max(0, error.start - 12) : error.start + 12],
                )
                wrong += 1
                kept = NON_ASCII.findall(
                    line.decode("utf-8", "ignore").encode()
                )  # more than half is UTF-8: only a cut character is wrong
                lines += [line] * (
                    wrong <= MAX_DETECTED_LINES and 2 * len(kept) < len(NON_ASCII.findall(line))
                )
    if not wrong:
        return None, ""
    name = detected(b"".join(lines))
    option, others = (["utf-8", name], f"; {good} others are UTF-8") if good else (name, "")
    first = f"the first, {first[0]}, becomes {first[1].decode(name, 'replace').strip()!r}"
    return (
        option,
        f"{name}: {wrong} lines are not UTF-8; {first}{others}; --encoding sets another one",
    )


def detected(data):
    """Return the encoding that chardet detects in bytes that are not UTF-8; cp1252 if it gives the same text.

    With few non-ASCII bytes, chardet chooses among the encodings of web pages, and other encodings
    of Latin letters than cp1252 are not taken.
    """
    import chardet

    few = len(NON_ASCII.findall(data)) < MIN_DETECTED_BYTES
    era = chardet.EncodingEra.MODERN_WEB if few else chardet.EncodingEra.ALL
    name = next(iter(codecs_of(chardet.detect(data, encoding_era=era)["encoding"] or "")), FALLBACK)
    with contextlib.suppress(UnicodeDecodeError, ConfigError):
        check_encoding(["utf-8", name])
        same = data.decode(name) == data.decode(FALLBACK, "replace")
        return FALLBACK if same or (few and name in LATIN_ENCODINGS) else name
    return FALLBACK


def _texts(path, reader):
    """Yield (number, text) of each line of a file."""
    for number, line in _lines(path, reader):
        try:
            yield number, (UTF8 if reader.wide else reader).text(line, number == 1)
        except UnicodeDecodeError as error:
            raise not_decoded(path, f"line {number}", reader, error) from error


def _lines(path, encoding=UTF8):
    """Yield (number, bytes) of each line of a file, at most `MAX_SURVEYED_LINES`."""
    from odl.corpora import formats

    with (
        contextlib.suppress(DataError, OSError, EOFError, zlib.error),
        formats.opened(path) as file,
    ):  # the reader sets the file aside
        for number, line in enumerate(
            formats.lines(recoded(file, path, encoding)[0], path), start=1
        ):
            if number > MAX_SURVEYED_LINES:
                return
            yield number, line


def yearless(files, kind, encoding):
    """Return (path, time) of the first log whose times and name have no year; None if there is none."""
    from odl.corpora import formats, logs

    reader = check_encoding(encoding or "utf-8")
    for name, path in files:
        if (kind or listing.kind_in(path)) == "log" and not formats.day_of(name):
            head = (
                line.decode("utf-8", "replace")
                for _, line in islice(_lines(path, reader), MAX_DATED_LINES)
            )
            if first := logs.lacks_year(head):
                return path, first
    return None


def delimiter_of(files, kind, encoding):
    """Return a phrase about the delimiter of the first table; "" if it is the usual one."""
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
    skipped = f"; lines above this header are skipped in {path}" * (above > 0)
    same = best == formats.usual_delimiter(path) and not above
    return "" if same else f"{best!r}, as in {header[:60]!r}{skipped}"


def unquoted(files, options):
    """Return the path of the first tab-separated table in which quotation marks do not enclose fields, or None."""
    from odl.corpora import formats

    kind, reader = options.get("kind"), check_encoding(options.get("encoding", "utf-8"))
    for _, path in files if options.get("delimiter", "\t") == "\t" else ():
        tabs = "delimiter" in options or ".tsv" in path.lower()
        if (kind or listing.kind_in(path)) == "csv" and tabs and _wrong_rows(path, reader, True):
            head = [text for _, text in islice(_texts(path, reader), formats.HEADER_LINES)]
            known = formats.has_backslashes(head, "\t") or _wrong_rows(path, reader, False)
            return None if known else path
    return None


def _wrong_rows(path, reader, quoted):
    """Return whether a tab-separated table has invalid rows, or rows of different lengths."""
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
