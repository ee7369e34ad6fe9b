"""Passages of a text: lines and sentences, told by their words alone."""

from collections import Counter

from odl.text import splitter


def test_lines_and_sentences_but_not_the_title_and_what_is_short():
    left, found = splitter.split("Re: one two three\nThanks\nHe came home. It was very late!\nsee you, then")
    assert left == "Re: one two three\nThanks"
    assert list(found.values()) == ["He came home.", "It was very late!", "see you, then"]


def test_the_key_is_of_the_words_alone_and_the_same_in_every_process():
    (one,), (other,) = (splitter.split(f"t\n{text}")[1] for text in ("Page 3 of THE list", "page 12: of the -- list"))
    assert one == other == 10440166898563632097


def test_the_words_are_those_of_the_text():
    text = "Title\nso it is so. And so on and so on, so\n\nso it is so."
    counts, found, parts = splitter.count_words(text, str.split)
    assert counts == dict(Counter(text.split()))
    assert sum(map(len, parts.values())) and found.keys() == parts.keys()
