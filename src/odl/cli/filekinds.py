"""File kinds: the patterns of sources, and the kind, encoding and delimiter that files are written in."""

import contextlib
import csv
import glob
import os
import re
import zlib
from collections import Counter
from itertools import islice

from odl.corpora.encodings import FALLBACK, UTF8, check_encoding, codecs_of, not_decoded, recoded
from odl.errors import ConfigError, DataError
from odl.files import listing, packing
from odl.files.escaping import visible

MOST = 200_000  # lines of one that are looked at
PACKED = {  # how files begin, and what to do
    b"\x28\xb5\x2f\xfd": "unpack it: unzstd",
    b"PK\3\4": "unpack it: unzip; of a spreadsheet or a document, save it as CSV or text",
    b"\xd0\xcf\x11\xe0": "save it as CSV or text",
}
FOREIGN = (  # how files begin, what they are, what is read instead, and what to do
    (re.compile(rb"(?s).{257}ustar"), "a tar archive", "the files in it", "unpack it: tar xf"),
    (
        re.compile(rb"__CURSOR=|__REALTIME_TIMESTAMP="),
        "an export of the journal",
        "JSON",
        "write it by journalctl -o json",
    ),
    (re.compile(rb"(?:---\s*\n)?- [\w.-]+: [^\n]*\n  [\w.-]+: "), "YAML", "JSON or a table", "convert it, as yq does"),
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
PLAIN = ("jsonl", "csv", "text", "log")  # kinds whose bytes are text throughout
LATIN = ("cp1250", "cp1254", "cp1257", "cp1258")
FIRST = 100  # lines by which the form of times is told
SHOWN, ENDS = 3, 8  # names and endings of many
TODO = {  # ending -> what would make it one that is read
    ".pdf": " (pdftotext makes texts)",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), " (save as CSV)"),
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf", ".html", ".htm"), " (save as text)"),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar", ".zst", ".lz4"), " (unpack)"),
}
TRIED = 200  # lines from which an encoding is detected
NO_ASCII, SURE = re.compile(rb"[\x80-\xff]"), 6  # bytes beyond ASCII from which any encoding is told


def find(sources, kind=None, only=False):
    """Return the sources as they are to be written, and the kind if neither names nor contents tell it.

    A folder becomes a pattern, of which all files are read that some reader knows. Files that are all of their ending
    in a folder become a pattern too, so that later ones belong to it, unless `only` they are to be read.

    Raises
    ------
    DataError
        If a source does not exist, or none of the files is one that is read.
    """
    named = []
    for source in sources:
        if not os.path.exists(source) and not glob.has_magic(source):
            raise DataError(f"{source} does not exist", "a file, a folder or a pattern", "correct the path")
        named.append(_pattern_of(source) if os.path.isdir(source) and not kind else source)
    named = named if only else _gathered(named)
    paths = [path for source in named for _, path in listing.expand(source, kind or "text") or ()]
    unknown = [path for path in paths if not listing.kind_of(path)]
    if kind or not unknown or (len(unknown) < len(paths) and all(map(_is_left_out, unknown))):
        return named, kind
    if pdf := next((path for path in unknown if path.lower().endswith(".pdf")), None):
        raise DataError(f"{pdf} is a PDF", "texts", "make texts of such files, as pdftotext does, and name those")
    kinds = {sniff(path) for path in unknown[:TRIED]}
    return named, kinds.pop() if len(kinds) == 1 and len(unknown) == len(paths) else None


def _is_left_out(path):
    """Return whether a file is one of a pattern that is not read, or one whose content tells its kind."""
    return not listing.is_read(path) or listing.kind_in(path) is not None


def _pattern_of(folder):
    """Return the pattern for the files of a folder, also those of folders in it if one of these is read."""
    every = os.path.join(glob.escape(folder), "**")
    paths = [path for _, path in listing.expand(every, "text")]
    if not paths:
        raise DataError(f"the folder {folder} holds no files", "files of " + listing.endings(), "put some there")
    read = [path for path in paths if listing.is_read(path)] or paths
    return every if any(os.path.dirname(path) != folder.rstrip(os.sep) for path in read) else every[:-1]


def _gathered(sources):
    """Return patterns in the place of files that are all of their ending in a folder; one without any stays alone."""
    groups, named = {}, []
    for source in sources:
        if os.path.isfile(source):
            folder = os.path.abspath(os.path.dirname(source))
            groups.setdefault((folder, ending(source)), []).append(source)
        else:
            named.append(source)
    for (_, end), group in groups.items():
        rotated = any(listing.bare_name(path) != _unpacked(path) for path in group)
        pattern = os.path.join(glob.escape(os.path.dirname(group[0])), f"*{end}{'*' * (rotated and end > '')}")
        every = {os.path.abspath(path) for _, path in listing.expand(pattern)}
        whole = every == set(map(os.path.abspath, group)) and (end or len(group) > 1)
        named += [pattern] if whole else sorted(group)
    return list(dict.fromkeys(named))


def ending(path):
    """Return how the name of a file ends, such as ``.jsonl`` or ``.jsonl.gz``; that of a log before its rotation."""
    if listing.bare_name(path) != _unpacked(path):
        return (listing.ENDING.search(listing.bare_name(path)) or [""])[0]
    return re.search(r"(\.[^\W\d]\w*)?(\.(?:gz|bz2|xz))?$", os.path.basename(path))[0]


def _unpacked(path):
    name = os.path.basename(path).lower()
    return next((name.removesuffix(end) for end in packing.ENDINGS if name.endswith(end)), name)


def beside(sources, kind=None):
    """Return the files that lie in the folders of those that are read, end as they do, and are not read."""
    read = {os.path.abspath(path) for source in sources for _, path in listing.expand(source, kind) or ()}
    patterns = {os.path.join(glob.escape(os.path.dirname(path)), f"*{end}") for path in read if (end := ending(path))}
    patterns |= {f"{pattern}*" for pattern in patterns if pattern.endswith(".log")}
    return sorted({path for pattern in patterns for _, path in listing.expand(pattern)} - read)


def account(sources, named):
    """Return whether files that come later are read, for the sources that a person gave and those that are written."""
    files, others = [], []
    for source in named:
        (files if os.path.isfile(source) else others).append(source)
    said = []
    if others:
        gathered = any(os.path.isfile(source) and source not in files for source in sources)
        rest = "; --only keeps to those that are there" if gathered else ""
        said.append(f"{_few(others)}: files that come later are read too{rest}")
    if files:
        what = f"the {len(files):,} files that are" if len(files) > 1 else f"{visible(files[0])}, which is"
        said.append(f"{what} named; files that come later are not read")
    return "; ".join(said)


def unread(paths):
    """Return a sentence's part that names some of the files that are not read."""
    shown = [min(path, os.path.relpath(path), key=len) for path in paths[:SHOWN]]
    return f"{_few([*shown, *paths[SHOWN:]])}, of the same kind beside the sources"


def left_out(sources, kind=None):
    """Return a sentence's part on files of folders and patterns that are not read, "" if there are none."""
    wide = [source for source in sources if kind is None and not os.path.isfile(source)]
    every = {path for source in wide for _, path in listing.expand(source, "text") or ()}
    others = sorted(every - {path for source in wide for _, path in listing.expand(source) or ()})
    counts = Counter((listing.ENDING.search(path.lower()) or ["no ending"])[0] for path in others)
    parts = [f"{n:,} in {end}{TODO.get(end, '')}" for end, n in counts.most_common(ENDS)]
    more = sum(counts.values()) - sum(n for _, n in counts.most_common(ENDS))
    parts += [f"{more:,} others"] * bool(more)
    said = [f"{len(others):,} files of other kinds: {', '.join(parts)}"] * bool(others)
    paths = [path for source in sources for _, path in listing.expand(source, kind) or ()]
    copies = sorted(listing.packed_copies(paths).items())
    named = [f"{os.path.basename(path)} (the same as {os.path.basename(plain)})" for path, plain in copies]
    what = "copies" if len(copies) > 1 else "copy"
    said += [f"{len(copies):,} packed {what}: {_few(named)}"] * bool(copies)
    mail = listing.hidden_mail(sources)
    n, folders = sum(n for _, n in mail), _few([folder for folder, _ in mail])
    return "; ".join(said + [f"{n:,} messages in hidden folders, to be named by themselves: {folders}"] * bool(mail))


def _few(names):
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(map(visible, names[:SHOWN])) + more


def sniff(path):
    """Return the kind of a file whose name does not tell it.

    Raises
    ------
    DataError
        If it is none that is read.
    """
    with open(path, "rb") as file:
        start = file.read(16)
    with contextlib.suppress(OSError, EOFError, ValueError, zlib.error), packing.opened(path) as file:
        head = file.read(512)
        if foreign := next((told for begin, *told in FOREIGN if begin.match(head)), None):
            raise DataError(f"{path} is {foreign[0]}", foreign[1], foreign[2])
    if unpack := next((unpack for begin, unpack in PACKED.items() if start.startswith(begin)), None):
        raise DataError(f"{path} is packed", "plain files, .gz, .bz2 or .xz", unpack)
    kind = listing.kind_in(path)
    if kind is None:
        raise DataError(f"{path} is no text", "files of " + listing.endings(), "convert it, or say --kind")
    return kind


def encoding_of(files, kind=None):
    """Return the option ``encoding``, None for UTF-8, and what to say of it.

    chardet proposes it from lines that are not UTF-8. Files in UTF-16 need none: they begin with a byte order mark.
    """
    good, wrong, first, lines = 0, 0, (), []
    for _, path in files:
        for number, line in _lines(path) if (kind or listing.kind_in(path)) in PLAIN else ():
            if line.isascii():
                continue
            try:
                line.decode("utf-8")
                good += 1
            except UnicodeDecodeError as error:
                first = first or (f"{path}:{number}", line[max(0, error.start - 12) : error.start + 12])
                wrong += 1
                kept = NO_ASCII.findall(line.decode("utf-8", "ignore").encode())  # UTF-8 with a character that is cut
                lines += [line] * (wrong <= TRIED and 2 * len(kept) < len(NO_ASCII.findall(line)))
    if not wrong:
        return None, ""
    name = detected(b"".join(lines))
    option, others = (["utf-8", name], f"; {good} others are UTF-8") if good else (name, "")
    first = f"the first, {first[0]}, reads {first[1].decode(name, 'replace').strip()!r} so"
    return option, f"{name}: {wrong} lines are not UTF-8; {first}{others}; --encoding names another"


def detected(data):
    """Return the encoding that chardet proposes for bytes that are not UTF-8; cp1252 if it reads them in the same way.

    From a few letters, it chooses among the encodings of web pages, and cp1252 among those of Latin letters.
    """
    import chardet

    few = len(NO_ASCII.findall(data)) < SURE
    era = chardet.EncodingEra.MODERN_WEB if few else chardet.EncodingEra.ALL
    name = next(iter(codecs_of(chardet.detect(data, encoding_era=era)["encoding"] or "")), FALLBACK)
    with contextlib.suppress(UnicodeDecodeError, ConfigError):
        check_encoding(["utf-8", name])
        same = data.decode(name) == data.decode(FALLBACK, "replace")
        return FALLBACK if same or (few and name in LATIN) else name
    return FALLBACK


def _texts(path, reader):
    """Yield the numbered lines of a file, decoded."""
    for number, line in _lines(path, reader):
        try:
            yield number, (UTF8 if reader.wide else reader).text(line, number == 1)
        except UnicodeDecodeError as error:
            raise not_decoded(path, f"line {number}", reader, error) from error


def _lines(path, encoding=UTF8):
    """Yield the numbered lines of a file as bytes, up to a bound."""
    from odl.corpora import formats

    with contextlib.suppress(DataError, OSError, EOFError, zlib.error), formats.opened(path) as file:  # set aside later
        for number, line in enumerate(formats.lines(recoded(file, path, encoding)[0], path), start=1):
            if number > MOST:
                return
            yield number, line


def yearless(files, kind, encoding):
    """Return (log, time) of the first log whose times and name have no year, None if there is none."""
    from odl.corpora import formats, logs

    reader = check_encoding(encoding or "utf-8")
    for name, path in files:
        if (kind or listing.kind_in(path)) == "log" and not formats.day_of(name):
            head = (line.decode("utf-8", "replace") for _, line in islice(_lines(path, reader), FIRST))
            if first := logs.lacks_year(head):
                return path, first
    return None


def delimiter_of(files, kind, encoding):
    """Return what to print of the delimiter of the first table, "" if it is the usual one."""
    from odl.corpora import formats

    path = next((path for _, path in files if (kind or listing.kind_in(path)) == "csv"), None)
    if path is None:
        return ""
    reader, head = check_encoding(encoding or "utf-8"), []
    for number, text in _texts(path, reader):
        head += [] if formats.LEAD.fullmatch(text.rstrip("\r\n")) else [text]
        if number == formats.HEADER_LINES:
            break
    best, above = formats.beginning_of(head, path)
    header = next((line.strip() for line in head[above:] if line.strip()), "")
    skipped = f"; lines above it are no rows of {path}" * (above > 0)
    same = best == formats.usual_delimiter(path) and not above
    return "" if same else f"{best!r}, as in {header[:60]!r}{skipped}"


def unquoted(files, options):
    """Return the first table with tabs in which quotation marks enclose no fields, None where there is none."""
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
    """Return whether a table with tabs has rows of another length than its header, or that are none."""
    from odl.corpora import formats

    try:
        rows = csv.reader(
            (text for _, text in _texts(path, reader)), delimiter="\t", strict=True, quoting=formats.QUOTING[quoted]
        )
        return len({len(row) for row in rows if row}) > 1
    except csv.Error:
        return True
