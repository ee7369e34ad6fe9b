"""Fetch the files of the registry: mirror first, then the canonical address; checked, then renamed.

The registry (data/corpora.csv) has one row a file. `sha256` holds the accepted values; the word
``unknown`` among them says that the sum of the canonical archive is not known, so that whatever
whole archive comes from there is taken and the reader checks what is in it. `route` is
``download`` (the address is the file; of several, separated by spaces, the first that answers),
``build`` (it is made from what is at the addresses, by `odl.corpora.originals`; ``{a,b}`` in an
address stands for one address each) or ``mirror`` (the address only says where it comes from).
"""

import csv
import os
import sys
import tempfile
import urllib.parse

from odl.corpora.transfer import CHUNK, Refused, fetch
from odl.errors import DataError, DownloadError
from odl.files.storage import replacing, sha256_of

REGISTRY = "data/corpora.csv"
COLUMNS = ("corpus", "folder", "file", "url", "sha256", "route", "tried", "licence", "citation")
UNKNOWN = "unknown"


def load_registry(path=REGISTRY):
    """Return the rows of the registry.

    Returns
    -------
    list of dict
        Keys as in `COLUMNS`, all values strings.

    Raises
    ------
    DownloadError
        If the file is missing or has other columns.
    """
    try:
        with open(path, newline="", encoding="utf-8") as table:
            reader = csv.DictReader(table)
            rows, names = list(reader), reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DownloadError(f"{path} cannot be read ({error})", "the registry of corpora", "restore it") from error
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise DownloadError(f"{path} has no column {', '.join(missing)}", "the registry of corpora", "restore it")
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            given = f"line {number} of {path} has {'more' if None in row else 'fewer'} fields than the first line"
            raise DownloadError(given, "the registry of corpora", "restore it")
    return rows


def files_of(corpus, registry=REGISTRY):
    """Return the rows of one corpus, in the order its reader takes the files."""
    return [row for row in _rows(registry) if row["corpus"] == corpus]


def _rows(registry):
    return registry if isinstance(registry, list) else load_registry(registry)


def print_line(line):
    """Show a line of progress on stderr."""
    print(line, file=sys.stderr, flush=True)


def download(
    folder_file, output, registry=REGISTRY, mirror=None, progress=print_line, retries=4, wait=2.0, timeout=60.0
):
    """Fetch one file, check it, and put it at `output`; nothing is there unless it is right.

    Parameters
    ----------
    folder_file : str
        ``folder/file`` as in the registry.
    output : path-like
        Where the file shall be; if the right file is there already, nothing is done.
    registry : path-like or list of dict
        The registry or its rows.
    mirror : str, optional
        A folder or base address (http, https, file) that holds ``folder/file``; tried first.
        Without it, the environment variable ODL_MIRROR is used.
    progress : callable or None
        Is given lines of text; at most one every 5 seconds while data comes.
    retries : int
        Further attempts on each address after a failure that may pass.
    wait : float
        Seconds before the first retry; doubled for each further one, to at most 60.
    timeout : float
        Seconds without any data after which a connection counts as failed.

    Raises
    ------
    DownloadError
        Saying what each source answered, and how to set a mirror or place the file by hand.
    """
    row = _find(folder_file, _rows(registry))
    accepted = row["sha256"].split()
    show = progress or (lambda line: None)
    if os.path.isfile(output) and sha256_of(output) in accepted:
        show(f"{folder_file}: already there")
        return
    mirror = mirror or os.environ.get("ODL_MIRROR") or ""
    patience = {"retries": retries, "wait": wait, "timeout": timeout}
    sources = [(_mirrored(mirror, folder_file), False)] if mirror else []
    if row["route"] == "download":
        sources += [(url, UNKNOWN in accepted) for url in row["url"].split()]
    elif row["route"] == "build":
        sources += [(row["url"], None)]
    answers = []
    with replacing(output) as part:
        for source, any_sum in sources:
            try:
                if any_sum is None:
                    _build(folder_file, source, part, show, patience)
                else:
                    fetch(source, part, show, **patience)
                    _check(part, folder_file, accepted, any_sum)
            except (Refused, DataError) as refusal:
                where = "made of its originals" if any_sum is None else source
                answers.append(f"{where}: {refusal}")
                show(f"{folder_file}: {answers[-1]}")
                continue
            origin = "made of its originals" if any_sum is None else f"from {source}"
            show(f"{folder_file}: {os.path.getsize(part)} bytes, {origin}, checked")
            return
        raise _failure(folder_file, output, row, answers)


def _find(folder_file, rows):
    for row in rows:
        if f"{row['folder']}/{row['file']}" == folder_file:
            return row
    known = ", ".join(f"{row['folder']}/{row['file']}" for row in rows)
    raise DownloadError(f"{folder_file} is not in the registry", f"one of {known}", "correct the name")


def _mirrored(mirror, folder_file):
    """Return the path or address of a file on a mirror."""
    if "://" not in mirror:
        return os.path.join(os.path.expanduser(mirror), *folder_file.split("/"))
    scheme = mirror.split("://")[0].lower()
    try:
        urllib.parse.urlsplit(mirror)
    except ValueError:  # such as http://[bad
        scheme = None
    if scheme not in ("http", "https", "file"):
        raise DownloadError(f"the mirror {mirror}", "a folder, or an http, https or file address", "correct it")
    return mirror.rstrip("/") + "/" + urllib.parse.quote(folder_file)


def _failure(folder_file, output, row, answers):
    if answers:
        given = f"{folder_file} could not be fetched ({'; '.join(answers)})"
    elif row["route"] == "download":
        given = f"{folder_file} has no address in the registry"
    else:
        given = f"{folder_file} is only on mirrors (it comes from {row['url']}) and none is set"
    return DownloadError(
        given,
        "a source that holds the right file",
        f"set ODL_MIRROR (or mirror: in the configuration) to a folder or address that holds {folder_file}, "
        f"or place the file at {os.fspath(output)} yourself",
    )


def _check(part, folder_file, accepted, any_sum):
    """Refuse a file that is not the one wanted."""
    digest = sha256_of(part)
    if digest in accepted:
        return
    if not any_sum:
        raise Refused(f"another file, with sha256 {digest}")
    _check_whole(part, folder_file)  # not an error page, not half an archive; the reader checks the rest


def _check_whole(path, name):
    """Refuse a packed file (by its name) that is damaged or truncated."""
    import gzip
    import lzma
    import zipfile
    import zlib

    form = name.rpartition(".")[2]
    try:
        if form == "zip":
            with zipfile.ZipFile(path) as archive:
                if archive.testzip() is not None:
                    raise Refused("a damaged zip archive")
        elif form in ("gz", "xz"):
            with {"gz": gzip, "xz": lzma}[form].open(path) as file:
                while file.read(CHUNK):
                    pass
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, ValueError) as error:
        raise Refused(f"no whole {form} file ({error})") from error


def _build(folder_file, addresses, part, show, patience):
    """Fetch the originals of a file and make it of them."""
    from odl.corpora.originals import BUILDERS  # heavy, and seldom needed

    urls = [url for address in addresses.split() for url in _expanded(address)]
    with tempfile.TemporaryDirectory(prefix=".originals.", dir=os.path.dirname(part)) as folder:
        paths = []
        for number, url in enumerate(urls, start=1):
            show(f"{folder_file}: original {number} of {len(urls)}, {url}")
            paths.append(os.path.join(folder, url.rpartition("/")[2]))
            try:
                fetch(url, paths[-1], show, **patience)
                _check_whole(paths[-1], url)
            except Refused as refusal:
                raise Refused(f"original {url}: {refusal}") from refusal
        BUILDERS[folder_file](paths, part)


def _expanded(address):
    """Return the addresses that one with ``{a,b}`` stands for."""
    before, opened, rest = address.partition("{")
    inside, _, after = rest.partition("}")
    return [before + name + after for name in inside.split(",")] if opened else [address]
