"""Checks every link within the site, and that no page asks another site for anything.

python docs/check_links.py build/site
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors and links of a page, and what it asks for when it is opened."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.asked = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found.get("id"), found.get("name") if tag == "a" else None}
        links = [found[name] for name in ("href", "src") if found.get(name)]
        self.links += links
        if tag != "a" and found.get("rel") not in ("canonical", "author"):
            self.asked += links


def broken(site):
    """Yield page and link for every link that leads to no file or no anchor of the site."""
    pages = {
        path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts
    }
    for path, page in pages.items():
        if "_modules" in path.parts:  # what is known by two names leads back by the other one
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.asked and parts.scheme != "data":
                    yield path.relative_to(site), link
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = target.exists() and site in target.parents
            anchor = unquote(parts.fragment)
            if not there or (anchor and target in pages and anchor not in pages[target].anchors):
                yield path.relative_to(site), link


def main():
    found = list(broken(Path(sys.argv[1]).resolve()))
    for page, link in found:
        print(f"{page}: {link} leads nowhere, or out of the site for a part of the page")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
