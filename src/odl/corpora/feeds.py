"""Items of feeds (RSS 0.9 to 2.0, Atom).

They are read by expat, an item at a time. Entities of HTML, which feeds use without declaring them, are known.
"""

import codecs
import re
from html import entities
from xml.parsers import expat

from odl.errors import DataError
from odl.files.listing import CATEGORY

ITEMS = {"item", "entry"}
ROLES = {
    "guid": "id", "id": "id", "title": "title", "link": "url", "pubdate": "time", "published": "time", "date": "time",
    "updated": "later", "description": "summary", "summary": "summary", "encoded": "content", "content": "content",
}  # fmt: skip
CATEGORIES = {CATEGORY, "subject"}  # the latter of Dublin Core
DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding=["']([\w.-]+)""")  # at the beginning of XML
LARGER = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949"}  # written under these names
BLOCK = 1 << 16


def feed_rows(file, path):
    """Yield (place, row) of each item: id, time, text, title, url, and category, a list, where it has some.

    The id is the item's own (guid, id), or else its address. The text is the title with the content, or with the
    summary where there is none. The time is that of publication, or else of the last change.

    Parameters
    ----------
    file : binary file
    path : path-like
        For messages.

    Raises
    ------
    DataError
        Naming the line at which it is not XML; or if it is no feed.
    """
    block = file.read(BLOCK)
    found = DECLARED.match(block)
    name = found[1].decode() if found else "utf-8"
    try:
        single = name.lower().startswith("utf") or len(bytes(range(128, 256)).decode(name, "replace")) == 128
        larger = LARGER.get(codecs.lookup(name).name, name)
        decoder = None if single else codecs.getincrementaldecoder(larger)()
        parser = _Items(path, None if single else "utf-8")  # expat knows no other of several bytes
        while block:
            yield from parser.feed(decoder.decode(block).encode() if decoder else block)
            block = file.read(BLOCK)
    except (LookupError, UnicodeError) as error:
        raise DataError(f"{path} is not text in {name}, as it says", "its encoding", "convert it to UTF-8") from error
    yield from parser.feed(b"", True)


class _Items:
    """What expat finds: the items that are complete."""

    def __init__(self, path, encoding=None):
        self.path, self.complete, self.item, self.role, self.depth = path, [], None, None, 0
        self.number = 0
        self.parser = parser = expat.ParserCreate(encoding, " ")
        parser.buffer_text = True
        parser.UseForeignDTD(True)  # an entity that is not declared is skipped, not an error
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.SkippedEntityHandler = self._text, self._skipped
        parser.ExternalEntityRefHandler = lambda *_: 1  # nothing is fetched

    def feed(self, block, last=False):
        """Take the next bytes; return the items that they complete."""
        try:
            self.parser.Parse(block, last)
        except expat.ExpatError as error:
            fault = f"{self.path} line {error.lineno} is not XML ({expat.ErrorString(error.code)})"
            raise DataError(fault, "a feed, RSS or Atom", "fetch it again, or correct it") from error
        complete, self.complete = self.complete, []
        return complete

    def _start(self, name, attributes):
        self.depth += 1
        bare = name.rpartition(" ")[2].lower()
        if self.depth == 1 and bare not in ("rss", "rdf", "feed"):
            raise DataError(f"{self.path} is XML with the root {bare!r}", "a feed, RSS or Atom", "remove it")
        if self.item is None and bare in ITEMS:
            self.item, self.inner = {}, self.depth
        elif self.item is not None and self.depth == self.inner + 1:
            self.role = ROLES.get(bare)
            if bare == "link" and "href" in attributes and attributes.get("rel", "alternate") == "alternate":
                self.item.setdefault("url", [attributes["href"]])
            if bare in CATEGORIES:
                self.role = CATEGORY
                self._text("\n" + attributes.get("label", attributes.get("term", "")))
            elif self.role in self.item and self.role != "url":
                self.role = None  # the first of each counts
        elif self.role is not None:
            self._text(" ")  # content that is XML itself: its tags part words

    def _end(self, name):
        if self.item is not None and self.depth == self.inner:
            self.number += 1
            self.complete.append((f"item {self.number}", _feed_row(self.item)))
            self.item = None
        elif self.item is not None and self.depth == self.inner + 1:
            self.role = None
        self.depth -= 1

    def _text(self, text):
        if self.role is not None:
            self.item.setdefault(self.role, []).append(text)

    def _skipped(self, name, is_parameter):
        if not is_parameter:
            self._text(entities.html5.get(f"{name};", " "))


def _feed_row(item):
    clean = {role: "".join(texts).strip() for role, texts in item.items()}
    title = clean.get("title", "")
    row = {"title": title, "text": "\n".join([title, clean.get("content") or clean.get("summary", "")])}
    row["time"] = clean.get("time") or clean.get("later") or None
    row["url"] = clean.get("url", "")
    names = [" ".join(name.split()) for name in clean.get(CATEGORY, "").split("\n")]
    if any(names):
        row[CATEGORY] = list(dict.fromkeys(filter(None, names)))
    identity = clean.get("id") or clean.get("url")
    return {**row, "id": identity} if identity else row
