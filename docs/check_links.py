"""Checks every link within the site: python docs/check_links.py build/site. Other sites are not asked."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors and links of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found.get("id"), found.get("name") if tag == "a" else None}
        self.links += [found[name] for name in ("href", "src") if found.get(name)]


def broken(site):
    """Yield page and link for every link that leads to no file or no anchor of the site."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = target.exists() and site in target.parents
            anchor = unquote(parts.fragment)
            if not there or (anchor and target in pages and anchor not in pages[target].anchors):
                yield path.relative_to(site), link


def main():
    found = list(broken(Path(sys.argv[1]).resolve()))
    for page, link in found:
        print(f"{page}: {link} leads nowhere")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
