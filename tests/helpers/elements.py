"""A page as its elements, held to be well formed."""

import re
from html.parser import HTMLParser

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Checker(HTMLParser):
    """Collects elements and attributes and insists that every element is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.words = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(re.sub("[ \n]+", " ", data).strip(" "))  # as a browser shows it

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]
