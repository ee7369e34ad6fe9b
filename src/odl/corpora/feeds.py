"""Items of feeds: RSS 0.9 to 2.0, Atom and JSON Feed.

XML is parsed by expat, one item at a time. After a syntax error, each remaining item is parsed
separately, and repaired if necessary. HTML entities, which feeds use without declaring them, are
replaced by their characters.
"""

import codecs
import io
import json
import re
from functools import partial
from html import entities
from itertools import chain
from urllib.parse import urljoin
from xml.parsers import expat

from odl.corpora import fields
from odl.corpora.checks import MAX_LINE, Unreadable
from odl.corpora.encodings import (
    FALLBACK,
    UTF8,
    WIDE_ENCODINGS,
    Encoding,
    codecs_of,
    encoding_of_mark,
)
from odl.errors import DataError
from odl.files.listing import CATEGORY

ROOT_ELEMENTS = {"rss", "rdf", "feed", "channel"}
ITEM_ELEMENTS = {"item", "entry"}
FEED_VOCABULARY = "own"  # vocabulary of the elements of RSS and Atom
VOCABULARIES = {  # namespace, without its scheme and last / or #, -> vocabulary
    "": FEED_VOCABULARY,
    "www.w3.org/2005/atom": FEED_VOCABULARY,
    "purl.org/atom/ns": FEED_VOCABULARY,
    "purl.org/rss/1.0": FEED_VOCABULARY,
    "my.netscape.com/rdf/simple/0.9": FEED_VOCABULARY,
    "backend.userland.com/rss2": FEED_VOCABULARY,
    "purl.org/rss/1.0/modules/content": "content",
    "purl.org/dc/elements/1.1": "dc",
    "purl.org/dc/terms": "dcterms",
    "www.w3.org/1999/xhtml": "xhtml",
    "search.yahoo.com/mrss": "media",
    "video.search.yahoo.com/mrss": "media",
    "www.rssboard.org/media-rss": "media",
    "www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "www.google.com/schemas/play-podcasts/1.0": "googleplay",
}
# Prefix -> namespace, for feeds that do not declare their prefixes.
PREFIXES = {name: f"http://{uri}" for uri, name in VOCABULARIES.items() if name != FEED_VOCABULARY}
PREFIXES |= {"atom": "http://www.w3.org/2005/Atom", "a10": "http://www.w3.org/2005/Atom"}
PREFERENCES = {  # role -> elements, the best first; media:caption is the description of an image
    "id": "guid id dc:identifier",
    "title": "title dc:title media:title itunes:title",
    "text": "content:encoded content xhtml:body description summary dc:description"
    " dcterms:abstract itunes:summary googleplay:description"
    " media:description itunes:subtitle media:caption",
    "time": "pubdate published issued dc:date date dcterms:issued dcterms:created updated modified"
    " dcterms:modified",
    "url": "link",
    "author": "author dc:creator itunes:author",
    CATEGORY: "category dc:subject",
}
ELEMENT_ROLES = {
    tuple(name.rpartition(":")[::2]): (role, rank)
    for role, names in PREFERENCES.items()
    for rank, name in enumerate(names.split())
}
JSON_PREFERENCES = {
    "id": ("id",),
    "title": ("title",),
    "text": ("content_html", "content_text", "summary"),
    "time": ("date_published", "date_modified"),
    "url": ("url", "external_url"),
}
HIDDEN_ELEMENTS = {"script", "style", "email", "uri"}  # their text is ignored in other elements
CONTAINER_ELEMENTS = {("media", "group"), ("media", "content")}
LOWEST_RANK = 99  # rank of a value that is used if there is no other
XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace "
RDF_ABOUT = "http://www.w3.org/1999/02/22-rdf-syntax-ns# about"
DECLARED_ENCODING = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"'>]{1,40})["']""")
BEFORE_XML = re.compile(
    rb"\A(?![{]|<[?!]).*?(?=<\?xml\s|<(?:[\w.-]+:)?(?:rss|feed|rdf)[\s>])", re.S | re.I
)
ITEM_START = re.compile(rb"<(?:[\w.-]+:)?(?:item|entry)(?=[\s>/])", re.I)
ITEM_END = re.compile(rb"</(?:[\w.-]+:)?(?:item|entry)\s*>", re.I)
USED_PREFIX = re.compile(rb"[<\s/]([A-Za-z_][\w.-]*):[\w.-]+")
# A character that XML does not allow.
INVALID_CHARACTER = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")
BARE_AMPERSAND = re.compile(rb"(<!\[CDATA\[.*?\]\]>)|&(?!(?:\w+|#\d+|#[xX][\da-fA-F]+);)", re.S)
CAPTION_ELEMENTS = re.compile(
    rb"<((?:media|itunes|googleplay):[\w-]+)\b[^>]*?(?:/>|>.*?</\1\s*>)", re.S | re.I
)
TEXT_ELEMENT = re.compile(rb"<(?:[\w.-]+:)?(?:description|summary|content|encoded)\b", re.I)
FEED_BYTES = 1 << 16  # number of bytes that are read at once
MAX_TAG_BYTES = 64  # largest number of bytes of the tag that begins or ends an item
MAX_ITEM_BYTES = 1 << 24  # largest number of bytes of an item that is repaired


def feed_rows(file, path, encoding=UTF8):
    """Yield (location, row) for each item in a feed.

    The row is an `Unreadable` if the item cannot be repaired, else a dict with these keys. If
    several elements of an item have one role, `PREFERENCES` gives their order.

    - ``id``: guid or id of the item, else its address
    - ``text``: the title, followed by the first text element that is not empty
    - ``time``: the first time element that is a date
    - ``title``, ``url``
    - ``author``, ``category`` (a list): if the item has them
    - ``repaired``: true if the item is not valid XML
    - ``replaced``: number of characters that could not be decoded, if there are any

    One item of an XML feed is in memory at a time. A JSON feed is read completely.

    Parameters
    ----------
    file : binary file
        Seekable.
    path : path-like
        For messages.
    encoding : odl.corpora.encodings.Encoding
        Encoding of a feed that declares no encoding and is not UTF-8.

    Raises
    ------
    DataError
        If the file is not a feed.
    """
    blocks = _blocks(file, encoding)
    first = next(blocks, b"")
    rows = (
        _json_rows([first, *_at_most(blocks, path)], path)
        if first[:1] == b"{"
        else _xml_rows(first, blocks, path)
    )
    for number, row in enumerate(rows, start=1):
        yield f"item {number}", row


def _xml_rows(first, blocks, path):
    """Yield the rows of an RSS or Atom feed. After a syntax error, items are repaired one by one.

    The feed consists of the bytes `first`, followed by those of the iterator `blocks`. DataError is
    raised if there is a syntax error and no item.
    """
    parser, blocks, has_rows = _ItemParser(path), chain([first] if first else [], blocks), False
    try:
        for block in chain(blocks, [b""]):
            for row in parser.feed(block, last=not block):
                has_rows = True
                yield row
    except expat.ExpatError as error:
        for row in chain(parser.complete, _repair_items(parser, blocks)):
            has_rows = True
            yield row
        if not has_rows:
            raise DataError(
                f"{path} line {error.lineno} is not XML ({expat.ErrorString(error.code)})",
                "a feed, RSS or Atom",
                "download it again, or correct its XML",
            ) from error


def _blocks(file, encoding):
    """Yield the bytes of a feed in UTF-8, in blocks, without those before the first XML tag."""
    block = file.read(FEED_BYTES)
    name, errors = _encoding_of(file, block, encoding)
    decoder, start = codecs.getincrementaldecoder(name)(errors), True
    while block:
        following = file.read(FEED_BYTES)
        text = decoder.decode(block, not following)
        data, block = text.encode("utf-8", "replace"), following
        if start:
            data = BEFORE_XML.sub(b"", data.lstrip(b" \t\r\n\0" + codecs.BOM_UTF8), count=1)
            start = not data
        if data:
            yield data


def _encoding_of(file, head, encoding):
    """Determine the encoding of a feed; return (encoding, Python's error handler for it).

    A byte order mark, or a zero byte at the start of UTF-16, decides. Since many feeds declare a
    wrong encoding, UTF-8 and the declared encoding are tried on the entire file. The first encoding
    that fits is used; if none fits, the declared encoding.

    A feed that declares no encoding, or UTF-8, is read as UTF-8. Bytes that do not fit are decoded
    by the encoding in the options, by default `FALLBACK`.

    Parameters
    ----------
    file : binary file
        Seekable.
    head : bytes
        First bytes of the file.
    encoding : odl.corpora.encodings.Encoding
        Encoding in the options.
    """
    if name := encoding_of_mark(head):
        return name, "replace"
    if b"\0" in head[:2]:
        return ("utf-16-be" if head[0] == 0 else "utf-16-le"), "replace"
    declared = DECLARED_ENCODING.match(head.removeprefix(codecs.BOM_UTF8))
    names = codecs_of(declared[1].decode("ascii", "replace")) if declared else []
    names = [name for name in names if name != "utf-8" and name not in WIDE_ENCODINGS]
    if not names:
        other = codecs_of(encoding.name)
        default = other[0] if other and other != ["utf-8"] else FALLBACK
        return "utf-8", Encoding(second=encoding.second or default).errors
    fitting = (name for name in ("utf-8", *names) if _fits(file, name))
    return next(fitting, names[0]), "replace"


def _fits(file, name):
    """Return whether all bytes in a file fit an encoding. The file's position is restored."""
    position, decoder = file.tell(), codecs.getincrementaldecoder(name)()
    file.seek(0)
    try:
        for block in iter(lambda: file.read(FEED_BYTES), b""):
            decoder.decode(block)
        decoder.decode(b"", True)
        return True
    except UnicodeError:
        return False
    finally:
        file.seek(position)


class _ItemParser:
    """Parser of XML that returns the items of a feed, each when it is complete.

    Parameters
    ----------
    path : path-like
        For messages.

    Attributes
    ----------
    complete : list of dict
        Rows of the items that ended since the last call of `feed`.
    item : dict or None
        Role -> rank -> pieces of text of the current item; None outside items.
    role : list of str or None
        Pieces of text to which characters are added; None to ignore them.
    depth : int
        Number of open elements.
    inner, level : int
        Depth of the current item, and of its elements that may have a role.
    uri : str
        Namespace of the current item.
    names : dict
        Cache of `_name` for this namespace.
    namespaces : dict
        Prefix -> namespace, as declared in the feed.
    bases : list of (int, str)
        Depth and address of the open elements with ``xml:base``.
    link : bool
        Whether the open element with a role is an address.
    hidden : int
        Depth of the open element whose text is ignored, 0 without one.
    caption : int
        Depth of the open element ``media:content``, 0 without one.
    data : bytearray
        Bytes from the start of the incomplete item, or from the end of the last item.
    offset : int
        Position of these bytes in the feed.
    begin : int
        Position in the feed from which bytes are stored at the end of `feed`.
    """

    def __init__(self, path):
        self.path, self.complete, self.item, self.role, self.depth = path, [], None, None, 0
        self.uri, self.names, self.namespaces, self.bases = "", {}, {}, []
        self.data, self.offset, self.begin = bytearray(), 0, 0
        self.parser = parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = True
        parser.UseForeignDTD(True)  # undeclared entities are skipped without an error
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.SkippedEntityHandler = self._text, self._skipped
        parser.StartNamespaceDeclHandler = self._namespace
        parser.ExternalEntityRefHandler = lambda *_: 1  # external entities are not fetched

    def feed(self, block, last=False):
        """Parse bytes; return the rows that they complete.

        If expat raises an error, the attribute `complete` has the rows before the error.
        """
        self.data += block
        self.parser.Parse(block, last)
        if self.item is None:
            self.begin = self.parser.CurrentByteIndex
        del self.data[: self.begin - self.offset]
        self.offset = self.begin
        complete, self.complete = self.complete, []
        return complete

    def remaining(self):
        """Return the bytes from the start of the incomplete item, or after the last item."""
        return bytes(self.data[self.begin - self.offset :])

    def _namespace(self, prefix, uri):
        """Store the declaration of a namespace."""
        self.namespaces.setdefault(prefix or "", uri or "")

    def _start(self, name, attributes):
        """Handle the start tag of the root, an item, an element of an item, or markup in it."""
        self.depth += 1
        vocabulary, bare = self.names.get(name) or self._name(name)
        if base := attributes.get(f"{XML_NAMESPACE}base"):
            self.bases.append((self.depth, urljoin(self._base(), base)))
        if self.item is None:
            if self.depth == 1:
                self._check_root(bare)
            if bare in ITEM_ELEMENTS:
                self._begin_item(name, attributes)
        elif self.depth == self.level:
            self._begin_element(vocabulary, bare, attributes)
        elif self.role is not None:
            self.hidden = self.hidden or (self.depth if bare in HIDDEN_ELEMENTS else 0)
            self._text(" ")  # tags inside an element separate words

    def _name(self, name):
        """Return (vocabulary, name without namespace) of an element; the result is cached.

        In `name`, expat has joined the namespace and the name by a space. The vocabulary is "" for
        elements of RSS and Atom and for elements in the item's own namespace. For other known
        namespaces it is the value in `VOCABULARIES`, for unknown namespaces the namespace itself.
        """
        uri, _, bare = name.rpartition(" ")
        without_scheme = uri.partition("://")[2] or uri
        vocabulary = VOCABULARIES.get(without_scheme.lower().rstrip("/#"), uri)
        if uri in ("", self.uri) or vocabulary == FEED_VOCABULARY:
            vocabulary = ""
        self.names[name] = vocabulary, bare.lower()
        return self.names[name]

    def _check_root(self, bare):
        """Raise DataError if the root element is not the root of an RSS or Atom feed."""
        if bare not in ROOT_ELEMENTS:
            raise DataError(
                f"{self.path} is XML with the root {bare!r}", "a feed, RSS or Atom", "remove it"
            )

    def _begin_item(self, name, attributes):
        """Set the attributes for a new item."""
        if (uri := name.rpartition(" ")[0]) != self.uri:
            self.uri, self.names = uri, {}
        self.item, self.inner, self.level = {CATEGORY: {0: []}}, self.depth, self.depth + 1
        self.link, self.hidden, self.caption, self.begin = False, 0, 0, self.parser.CurrentByteIndex
        if address := attributes.get(RDF_ABOUT):
            self.item |= {"id": {LOWEST_RANK: [address]}, "url": {LOWEST_RANK: [address]}}

    def _begin_element(self, vocabulary, bare, attributes):
        """Handle the start tag of an element in an item.

        If its text is used, `self.role` becomes the list that collects the text. The address of an
        Atom link is stored at once. The elements inside one of `CONTAINER_ELEMENTS` are handled
        like elements of the item.
        """
        if (vocabulary, bare) in CONTAINER_ELEMENTS:
            self.level += 1
            self.caption = self.caption or (self.depth if bare == "content" else 0)
            return
        if self.caption and vocabulary == "media" and bare == "description":
            bare = "caption"
        role, rank = ELEMENT_ROLES.get((vocabulary, bare), (None, 0))
        if role is None or _is_binary(bare, attributes):
            return
        if role == CATEGORY:
            self.role = self.item[CATEGORY][0]
            self._text("\n" + attributes.get("label", attributes.get("term", "")))
            return
        texts = self.item.setdefault(role, {})
        if role == "url" and "href" in attributes:
            if attributes.get("rel", "alternate") == "alternate":
                rank += "html" not in attributes.get("type", "html")  # prefer addresses of HTML
                texts.setdefault(rank, [urljoin(self._base(), attributes["href"])])
        elif not texts.get(rank):  # no earlier element has a text for this role and rank
            self.role = texts.setdefault(rank, [])
            self.link = role == "url"
            if bare == "guid" and attributes.get("isPermaLink", "true") == "true":
                self.item.setdefault("url", {})[LOWEST_RANK] = self.role

    def _base(self):
        """Return the address to which addresses in the open element are relative."""
        return self.bases[-1][1] if self.bases else ""

    def _end(self, name):
        """Handle an end tag; at the end of an item, append the row of the item to `complete`."""
        if self.item is not None:
            if self.depth == self.level:
                if self.link:
                    self.role[:] = [urljoin(self._base(), "".join(self.role).strip())]
                self.role, self.link = None, False
            elif self.depth == self.inner:
                self.complete.append(_feed_row(self.item))
                self.item, self.begin = None, self.parser.CurrentByteIndex
            elif self.depth < self.level:
                self.level -= 1
                self.caption = 0 if self.depth == self.caption else self.caption
            elif self.depth == self.hidden:
                self.hidden = 0
        if self.bases and self.bases[-1][0] == self.depth:
            self.bases.pop()
        self.depth -= 1

    def _text(self, text):
        """Append characters to the text of the open element."""
        if self.role is not None and not self.hidden:
            self.role.append(text)

    def _skipped(self, name, is_parameter):
        """Append the character of an HTML entity that the feed does not declare."""
        if not is_parameter:
            self._text(entities.html5.get(f"{name};", " "))


def _is_binary(bare, attributes):
    """Return whether an Atom element contains a file, such as an image."""
    kind = attributes.get("type", "")
    is_text = kind.startswith("text/") or kind.endswith(("xml", "html"))
    is_file = attributes.get("mode") == "base64" or ("/" in kind and not is_text)
    return is_file and bare in ("content", "summary")


def _feed_row(item):
    """Convert an item to a row (see `feed_rows`).

    `item` maps a role to a dict, which maps the rank of an element in `PREFERENCES` to its texts.
    """
    title, text, url, identity = (_first(item.get(role)) for role in ("title", "text", "url", "id"))
    row = {"title": title, "text": f"{title}\n{text}", "time": _time(item.get("time")), "url": url}
    names = [" ".join(name.split()) for name in "".join(item[CATEGORY][0]).split("\n")]
    if any(names):
        row[CATEGORY] = list(dict.fromkeys(filter(None, names)))
    if replaced := row["text"].count("\ufffd"):
        row["replaced"] = replaced
    if author := _first(item.get("author")):
        row["author"] = " ".join(author.split())
    if identity or url:
        row["id"] = identity or url
    return row


def _first(ranks):
    """Return the best text that is not blank, or ""; see `_by_rank`."""
    return next(_by_rank(ranks), "")


def _by_rank(ranks):
    """Yield the texts in a dict from rank to text that are not blank, the lowest rank first."""
    for rank in sorted(ranks or ()):
        if text := "".join(ranks[rank]).strip():
            yield text


def _time(ranks):
    """Return the first text in `ranks` that is a date, else the first text, else None."""
    texts = list(_by_rank(ranks))
    for text in texts if len(texts) > 1 else ():
        try:
            fields.parse_time(text)
            return text
        except (ValueError, OverflowError):
            continue
    return texts[0] if texts else None


def _repair_items(parser, blocks):
    """Yield the row of each item that follows a syntax error, which expat cannot skip.

    Parameters
    ----------
    parser : _ItemParser
        The parser that raised the error.
    blocks : iterator of bytes
        Following blocks of the file.
    """
    data = parser.remaining()
    while True:
        start = ITEM_START.search(data)
        if start is None:
            if not (block := next(blocks, b"")):
                return
            data = data[-MAX_TAG_BYTES:] + block
            continue
        data, ended, searched = data[start.start() :], False, 1
        while not (end := ITEM_END.search(data, searched)) and not ended:
            if len(data) >= MAX_ITEM_BYTES:
                break
            searched = max(1, len(data) - MAX_TAG_BYTES)
            block = next(blocks, b"")
            data, ended = data + block, not block
        size = end.end() if end else len(data)
        following = ITEM_START.search(data, 1, end.start() if end else len(data))
        if following:  # the next item begins before this one ends
            size = following.start()
        if end or following:
            yield _item_row(data[:size], parser)
        elif ended:
            yield Unreadable("the file ends within the item")
        else:
            yield Unreadable(f"it is longer than {MAX_ITEM_BYTES >> 20} MiB")
        data = data[size:]


def _item_row(data, parser):
    """Parse one item of a damaged feed; return its row, or an `Unreadable`.

    The item is parsed as XML with the namespaces of the feed. If this fails, bare ampersands and
    invalid characters are replaced and it is parsed again. If this fails too, feedparser is used
    (`_loose_row`). Its result is refused if it has no text although the item has a text element.
    Repaired rows have the key "repaired".
    """
    prefixes = {prefix.decode() for prefix in USED_PREFIX.findall(data)} - {"xml", "xmlns"}
    known = {**PREFIXES, **parser.namespaces}
    declared = [f'xmlns="{known.get("", "")}"']
    declared += [f'xmlns:{prefix}="{known.get(prefix, "urn:" + prefix)}"' for prefix in prefixes]
    begin, end = f"<rss {' '.join(declared)}>".encode(), b"</rss>"
    mended = INVALID_CHARACTER.sub(b" ", data)
    mended = BARE_AMPERSAND.sub(lambda match: match[1] or b"&amp;", mended)
    for text in (data, mended) if mended != data else (data,):
        try:
            row = _ItemParser(parser.path).feed(begin + text + end, last=True)[0]
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
        else:
            return row if text is data else {**row, "repaired": True}
    for text in (CAPTION_ELEMENTS.sub(b"", mended), mended):
        row = _loose_row(begin + text + end)
        has_text = bool(row["text"].removeprefix(row["title"]).strip())
        if has_text or (row["title"] and not TEXT_ELEMENT.search(text)):
            return {**row, "repaired": True}
    return Unreadable(f"it is not XML ({reason}), and cannot be repaired")


def _loose_row(data):
    """Parse an item with feedparser, which accepts malformed XML; return its row."""
    import feedparser

    data = io.BytesIO(b'<?xml version="1.0" encoding="utf-8"?>' + data)
    entries = feedparser.parse(data, sanitize_html=False, resolve_relative_uris=False).entries
    # The `get` of feedparser, unlike that of dict, replaces a missing date of publication by the
    # date of update.
    get = partial(dict.get, entries[0] if entries else {})
    texts = [*(content.get("value", "") for content in get("content", ())), get("summary", "")]
    names = [tag.get("label") or tag.get("term") or "" for tag in get("tags", ())]
    keys_of_roles = {
        "id": ["id"],
        "title": ["title"],
        "time": ["published", "created", "updated"],
        "url": ["link"],
        "author": ["author"],
    }
    item = {
        role: {rank: [get(key) or ""] for rank, key in enumerate(keys)}
        for role, keys in keys_of_roles.items()
    }
    item["text"] = {rank: [text] for rank, text in enumerate(texts)}
    item[CATEGORY] = {0: ["\n".join(names)]}
    return _feed_row(item)


def _at_most(blocks, path):
    """Yield the blocks of a file; raise DataError after `MAX_LINE` bytes."""
    size = 0
    for block in blocks:
        size += len(block)
        if size > MAX_LINE:
            raise DataError(
                f"{path} is a JSON feed of more than {MAX_LINE >> 20} MiB",
                "a smaller feed",
                "split the file",
            )
        yield block


def _json_rows(blocks, path):
    """Yield the rows of a JSON feed."""
    try:
        items = list(json.loads(b"".join(blocks))["items"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DataError(
            f"{path} is not a JSON feed ({error})", "a feed: RSS, Atom or JSON Feed", "remove it"
        ) from error
    for item in items:
        item = item if isinstance(item, dict) else {}
        roles = {
            role: {rank: [str(item.get(name) or "")] for rank, name in enumerate(names)}
            for role, names in JSON_PREFERENCES.items()
        }
        authors = item.get("authors") if isinstance(item.get("authors"), list) else []
        roles["author"] = {0: [fields.parse_author([item.get("author"), *authors])]}
        tags = item.get("tags") if isinstance(item.get("tags"), list) else []
        yield _feed_row({**roles, CATEGORY: {0: ["\n".join(map(str, tags))]}})
