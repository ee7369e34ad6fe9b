"""Items of feeds: RSS 0.9 to 2.0, Atom and JSON Feed.

XML is read by expat, an item at a time. What expat refuses is split into items, each of which is read by itself, and
repaired where that is needed. Entities of HTML, which feeds use without declaring them, are known.
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
from odl.corpora.checks import LONGEST_LINE, Unreadable
from odl.corpora.encodings import FALLBACK, MARKS, UTF8, WIDE, Encoding, codecs_of
from odl.errors import DataError
from odl.files.listing import CATEGORY

ROOTS = {"rss", "rdf", "feed", "channel"}
ITEMS = {"item", "entry"}
OWN = "own"  # elements of RSS and Atom themselves
VOCABULARIES = {  # namespaces, without what is before :// and a sign at their end
    **dict.fromkeys(("", "www.w3.org/2005/atom", "purl.org/atom/ns", "purl.org/rss/1.0"), OWN),
    **dict.fromkeys(("my.netscape.com/rdf/simple/0.9", "backend.userland.com/rss2"), OWN),
    "purl.org/rss/1.0/modules/content": "content",
    "purl.org/dc/elements/1.1": "dc",
    "purl.org/dc/terms": "dcterms",
    "www.w3.org/1999/xhtml": "xhtml",
    **dict.fromkeys(("search.yahoo.com/mrss", "video.search.yahoo.com/mrss", "www.rssboard.org/media-rss"), "media"),
    "www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "www.google.com/schemas/play-podcasts/1.0": "googleplay",
}
PREFIXES = {name: f"http://{uri}" for uri, name in VOCABULARIES.items() if name != OWN}  # of feeds that declare none
PREFIXES |= {"atom": "http://www.w3.org/2005/Atom", "a10": "http://www.w3.org/2005/Atom"}
PREFERENCES = {  # role of an item -> elements, the best first; media:caption is the description of one picture
    "id": "guid id dc:identifier",
    "title": "title dc:title media:title itunes:title",
    "text": "content:encoded content xhtml:body description summary dc:description dcterms:abstract itunes:summary"
    " googleplay:description media:description itunes:subtitle media:caption",
    "time": "pubdate published issued dc:date date dcterms:issued dcterms:created updated modified dcterms:modified",
    "url": "link",
    "author": "author dc:creator itunes:author",
    CATEGORY: "category dc:subject",
}
ROLES = {
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
HIDDEN = {"script", "style", "email", "uri"}  # within an element that has a role; the last two are of persons
CONTAINERS = {("media", "group"), ("media", "content")}
LAST = 99  # rank of what stands in where nothing else is
XML = "http://www.w3.org/XML/1998/namespace "
ABOUT = "http://www.w3.org/1999/02/22-rdf-syntax-ns# about"
DECLARED = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"'>]{1,40})["']""")
BEFORE = re.compile(rb"\A(?![{]|<[?!]).*?(?=<\?xml\s|<(?:[\w.-]+:)?(?:rss|feed|rdf)[\s>])", re.S | re.I)  # messages
START = re.compile(rb"<(?:[\w.-]+:)?(?:item|entry)(?=[\s>/])", re.I)
END = re.compile(rb"</(?:[\w.-]+:)?(?:item|entry)\s*>", re.I)
PREFIX = re.compile(rb"[<\s/]([A-Za-z_][\w.-]*):[\w.-]+")
NO_CHARACTER = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")  # that XML may hold
AMPERSAND = re.compile(rb"(<!\[CDATA\[.*?\]\]>)|&(?!(?:\w+|#\d+|#[xX][\da-fA-F]+);)", re.S)
CAPTIONS = re.compile(rb"<((?:media|itunes|googleplay):[\w-]+)\b[^>]*?(?:/>|>.*?</\1\s*>)", re.S | re.I)
HOLDS_TEXT = re.compile(rb"<(?:[\w.-]+:)?(?:description|summary|content|encoded)\b", re.I)
BLOCK = 1 << 16
TAG = 64  # bytes of the longest tag of an item
LONGEST = 1 << 24  # bytes of an item that is repaired


def feed_rows(file, path, encoding=UTF8):
    """Yield (place, row) of each item of a feed.

    A row has id, time, text, title and url, and, if the item has them, author and category (a list).

    The id is the item's own (guid, id), or else its address. The text is the title with the first of the elements of
    `PREFERENCES` that says something; the time is the first that is a date. ``repaired`` is true of an item that is not
    XML as it stands; ``replaced`` counts characters in no encoding. (place, `Unreadable`) stands for an item that
    cannot be repaired. Memory is that of one item; a JSON feed is read at once.

    Parameters
    ----------
    file : binary file
        That can be read twice.
    path : path-like
        For messages.
    encoding : odl.corpora.encodings.Encoding
        Of a feed that states none and is not UTF-8.

    Raises
    ------
    DataError
        If it is no feed; naming the line at which it is not XML, if no item can be found there.
    """
    blocks = _blocks(file, encoding)
    first = next(blocks, b"")
    rows = _json_rows([first, *_at_most(blocks, path)], path) if first[:1] == b"{" else _xml_rows(first, blocks, path)
    for number, row in enumerate(rows, start=1):
        yield f"item {number}", row


def _xml_rows(first, blocks, path):
    """Yield the rows of the items of RSS or Atom."""
    parser, blocks, found = _Items(path), chain([first] * bool(first), blocks, [b""]), False
    try:
        for block in blocks:
            for row in parser.feed(block, not block):
                found = True
                yield row
    except expat.ExpatError as error:
        for row in chain(parser.complete, _repaired(parser, blocks)):
            found = True
            yield row
        if not found:
            fault = f"{path} line {error.lineno} is not XML ({expat.ErrorString(error.code)})"
            raise DataError(fault, "a feed, RSS or Atom", "fetch it again, or correct it") from error


def _blocks(file, encoding):
    """Yield the bytes of a feed in UTF-8, whatever they are in; what stands before the XML is left out."""
    block = file.read(BLOCK)
    name, errors = _encoding_of(file, block, encoding)
    decoder, start = codecs.getincrementaldecoder(name)(errors), True
    while block:
        following = file.read(BLOCK)
        text = decoder.decode(block, not following)
        data, block = text.encode("utf-8", "replace"), following
        if start:
            data = BEFORE.sub(b"", data.lstrip(b" \t\r\n\0" + codecs.BOM_UTF8), count=1)
            start = not data
        if data:
            yield data


def _encoding_of(file, head, encoding):
    """Return the encoding of a feed, and how Python is to treat bytes that do not fit it."""
    if marked := next((name for mark, name in MARKS if head.startswith(mark)), None):
        return marked, "replace"
    if b"\0" in head[:2]:
        return ("utf-16-be" if head[0] == 0 else "utf-16-le"), "replace"
    declared = DECLARED.match(head.removeprefix(codecs.BOM_UTF8))
    names = codecs_of(declared[1].decode("ascii", "replace")) if declared else []
    names = [name for name in names if name != "utf-8" and name not in WIDE]
    if not names:
        other = codecs_of(encoding.name)
        return "utf-8", Encoding(
            second=encoding.second or (other[0] if other and other != ["utf-8"] else FALLBACK)
        ).errors
    fitting = (name for name in ("utf-8", *names) if _fits(file, name))
    return next(fitting, names[0]), "replace"


def _fits(file, name):
    """Return whether a file is in an encoding throughout; its place in the file stays."""
    place, decoder = file.tell(), codecs.getincrementaldecoder(name)()
    file.seek(0)
    try:
        for block in iter(lambda: file.read(BLOCK), b""):
            decoder.decode(block)
        decoder.decode(b"", True)
        return True
    except UnicodeError:
        return False
    finally:
        file.seek(place)


class _Items:
    """Reads XML with expat, and returns the items that are complete.

    Parameters
    ----------
    path : path-like
        For messages.
    """

    def __init__(self, path):
        self.path, self.complete, self.item, self.role, self.depth = path, [], None, None, 0
        self.uri, self.names, self.namespaces, self.bases = "", {}, {}, []
        self.data, self.offset, self.begin = bytearray(), 0, 0  # what follows the last item, from a byte of the file
        self.parser = parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = True
        parser.UseForeignDTD(True)  # an entity that is not declared is skipped, not an error
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.SkippedEntityHandler = self._text, self._skipped
        parser.StartNamespaceDeclHandler = self._namespace
        parser.ExternalEntityRefHandler = lambda *_: 1  # nothing is fetched

    def feed(self, block, last=False):
        """Take the next bytes; return the items that they complete, which `complete` has if XML ends there."""
        self.data += block
        self.parser.Parse(block, last)
        if self.item is None:
            self.begin = self.parser.CurrentByteIndex
        del self.data[: self.begin - self.offset]
        self.offset = self.begin
        complete, self.complete = self.complete, []
        return complete

    def remaining(self):
        """Return the bytes from the beginning of the item that is not complete, or from the end of the last one."""
        return bytes(self.data[self.begin - self.offset :])

    def _namespace(self, prefix, uri):
        self.namespaces.setdefault(prefix or "", uri or "")

    def _start(self, name, attributes):
        self.depth += 1
        vocabulary, bare = self.names.get(name) or self._name(name)
        if f"{XML}base" in attributes:
            self.bases.append((self.depth, urljoin(self._base(), attributes[f"{XML}base"])))
        if self.item is None:
            if self.depth == 1:
                self._check_root(bare)
            if bare in ITEMS:
                self._begin_item(name, attributes)
        elif self.depth == self.level:
            self._begin_element(vocabulary, bare, attributes)
        elif self.role is not None:
            self.hidden = self.hidden or (self.depth if bare in HIDDEN else 0)
            self._text(" ")  # content that is XML itself: its tags part words

    def _name(self, name):
        """Return the vocabulary of an element, "" for that of feeds and of items, and its name in it."""
        uri, _, bare = name.rpartition(" ")
        known = VOCABULARIES.get((uri.partition("://")[2] or uri).lower().rstrip("/#"), "")
        vocabulary = "" if uri in ("", self.uri) or known == OWN else known or uri
        self.names[name] = vocabulary, bare.lower()
        return self.names[name]

    def _check_root(self, bare):
        if bare not in ROOTS:
            raise DataError(f"{self.path} is XML with the root {bare!r}", "a feed, RSS or Atom", "remove it")

    def _begin_item(self, name, attributes):
        if (uri := name.rpartition(" ")[0]) != self.uri:
            self.uri, self.names = uri, {}
        self.item, self.inner, self.level = {CATEGORY: {0: []}}, self.depth, self.depth + 1
        self.link, self.hidden, self.caption, self.begin = False, 0, 0, self.parser.CurrentByteIndex
        if ABOUT in attributes:
            self.item |= {"id": {LAST: [attributes[ABOUT]]}, "url": {LAST: [attributes[ABOUT]]}}

    def _begin_element(self, vocabulary, bare, attributes):
        """Note which role an element of an item has, or go into one that holds others."""
        if (vocabulary, bare) in CONTAINERS:
            self.level += 1
            self.caption = self.caption or (self.depth if bare == "content" else 0)
            return
        if self.caption and vocabulary == "media" and bare == "description":
            bare = "caption"
        role, rank = ROLES.get((vocabulary, bare), (None, 0))
        if role == CATEGORY:
            self.role = self.item[CATEGORY][0]
            self._text("\n" + attributes.get("label", attributes.get("term", "")))
        elif role == "url" and "href" in attributes:
            if attributes.get("rel", "alternate") == "alternate":
                rank += "html" not in attributes.get("type", "html")
                self.item.setdefault(role, {}).setdefault(rank, [urljoin(self._base(), attributes["href"])])
        elif role is not None and not (attributes and _is_binary(bare, attributes)):
            texts = self.item.setdefault(role, {})
            self.role = texts.setdefault(rank, []) if not texts.get(rank) else None
            self.link = self.role is not None and role == "url"
            if bare == "guid" and self.role is not None and attributes.get("isPermaLink", "true") == "true":
                self.item.setdefault("url", {})[LAST] = self.role

    def _base(self):
        return self.bases[-1][1] if self.bases else ""

    def _end(self, name):
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
        if self.role is not None and not self.hidden:
            self.role.append(text)

    def _skipped(self, name, is_parameter):
        if not is_parameter:
            self._text(entities.html5.get(f"{name};", " "))


def _is_binary(bare, attributes):
    """Return whether an element of Atom holds a file, such as a picture."""
    kind = attributes.get("type", "")
    text = kind.startswith("text/") or kind.endswith(("xml", "html"))
    return bare in ("content", "summary") and (attributes.get("mode") == "base64" or ("/" in kind and not text))


def _feed_row(item):
    """Return the row of an item: role -> rank -> pieces of text."""
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
    """Return the first text that says something, "" if none does."""
    return next(_by_rank(ranks), "")


def _by_rank(ranks):
    """Yield the texts that say something, the best first."""
    for rank in sorted(ranks or ()):
        if text := "".join(ranks[rank]).strip():
            yield text


def _time(ranks):
    """Return the first text that is a date, of several; the first otherwise, or None."""
    texts = list(_by_rank(ranks))
    for text in texts if len(texts) > 1 else ():
        try:
            fields.parse_time(text)
            return text
        except (ValueError, OverflowError):
            continue
    return texts[0] if texts else None


def _repaired(parser, blocks):
    """Yield the rows of the items from the place where expat stopped, each read by itself."""
    data, at = parser.remaining(), 0
    while True:
        start = START.search(data, at)
        if start is None:
            data, at = data[max(at, len(data) - TAG) :], 0
            if not (block := next(blocks, b"")):
                return
            data += block
            continue
        data, ended = data[start.start() :], False
        searched = 1
        while not (end := END.search(data, searched)) and len(data) < LONGEST and not ended:
            searched = max(1, len(data) - TAG)
            block = next(blocks, b"")
            data, ended = data + block, not block
        following = START.search(data, 1, end.start() if end else len(data))
        if following:
            yield _item_row(data[: following.start()], parser)
            at = following.start()
        elif end:
            yield _item_row(data[: end.end()], parser)
            at = end.end()
        else:
            yield Unreadable("the file ends within it" if ended else f"it is longer than {LONGEST >> 20} MiB")
            at = len(data)


def _item_row(data, parser):
    """Return the row of an item that stands alone, repaired if it is no XML."""
    prefixes = {prefix.decode() for prefix in PREFIX.findall(data)} - {"xml", "xmlns"}
    known = {**PREFIXES, **parser.namespaces}
    declared = [f'xmlns="{known.get("", "")}"', *(f'xmlns:{one}="{known.get(one, "urn:" + one)}"' for one in prefixes)]
    begin, end = f"<rss {' '.join(declared)}>".encode(), b"</rss>"
    mended = AMPERSAND.sub(lambda match: match[1] or b"&amp;", NO_CHARACTER.sub(b" ", data))
    for text in (data, mended) if mended != data else (data,):
        reader = _Items(parser.path)
        try:
            row = reader.feed(begin + text + end, True)[0]
            return row if text is data else {**row, "repaired": True}
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
    for text in (CAPTIONS.sub(b"", mended), mended):
        row = _loose_row(begin + text + end)
        if row["text"].removeprefix(row["title"]).strip() or (row["title"] and not HOLDS_TEXT.search(text)):
            return {**row, "repaired": True}
    return Unreadable(f"it is not XML ({reason}), and cannot be repaired")


def _loose_row(data):
    """Return the row of the item that feedparser finds; which date it has, and what it says, is decided here."""
    import feedparser

    data = io.BytesIO(b'<?xml version="1.0" encoding="utf-8"?>' + data)
    found = feedparser.parse(data, sanitize_html=False, resolve_relative_uris=False).entries
    get = partial(dict.get, found[0] if found else {})  # the method of entries takes one date for another
    texts = [*(content.get("value", "") for content in get("content", ())), get("summary", "")]
    names = [tag.get("label") or tag.get("term") or "" for tag in get("tags", ())]
    roles = {"id": ["id"], "title": ["title"], "time": ["published", "created", "updated"], "url": ["link"]}
    roles["author"] = ["author"]
    item = {role: {rank: [get(name) or ""] for rank, name in enumerate(keys)} for role, keys in roles.items()}
    return _feed_row({**item, "text": dict(enumerate(map(list, texts))), CATEGORY: {0: ["\n".join(names)]}})


def _at_most(blocks, path):
    """Yield blocks; refuse more than `LONGEST_LINE` bytes."""
    size = 0
    for block in blocks:
        size += len(block)
        if size > LONGEST_LINE:
            raise DataError(f"{path} is a JSON feed of more than {LONGEST_LINE >> 20} MiB", "a smaller one", "split it")
        yield block


def _json_rows(blocks, path):
    """Yield the rows of the items of a JSON feed."""
    try:
        items = [item if isinstance(item, dict) else {} for item in json.loads(b"".join(blocks))["items"]]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DataError(f"{path} is no JSON feed ({error})", "a feed: RSS, Atom or JSON Feed", "remove it") from error
    for item in items:
        roles = {
            role: {rank: [str(item.get(name) or "")] for rank, name in enumerate(names)}
            for role, names in JSON_PREFERENCES.items()
        }
        authors = [item.get("author"), *(item.get("authors") if isinstance(item.get("authors"), list) else [])]
        roles["author"] = {0: [fields.parse_author(authors)]}
        tags = item.get("tags") if isinstance(item.get("tags"), list) else []
        yield _feed_row({**roles, CATEGORY: {0: ["\n".join(map(str, tags))]}})
