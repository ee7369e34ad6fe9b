"""Style of what people read: length of sentences, share of passives, words to avoid."""

import re

import pytest
from places import ROOT

LONGEST = 25  # words of a sentence
AVOIDED = re.compile(
    r"\b(utilis\w+|utiliz\w+|leverag\w+|seamless\w*|robustly|powerful|simply|obviously|in order to)\b", re.I
)
PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being)(?: not| never| then| also)? (?:\w+ed|made|put|kept|said|taken|read|written)\b"
)
# What the site shows, but for the history of versions: every page is held to the same.
PAGES = sorted(
    path
    for place in (".", "docs", "docs/guides", "docs/results", "config", "benchmarks", "paper")
    for path in (ROOT / place).glob("*.md")
    if path.name != "CHANGELOG.md"
)
MOST = (16, 5, 15)  # mean words of a sentence, per cent of sentences over 25 words, per cent with a passive
FEW = 10  # sentences below which a share says nothing


def prose(text):
    """Return the paragraphs of a page, without code, tables, headings, captions and the targets of links."""
    text = re.sub(r"^ *```.*?^ *```$|(?<=^\n)(?: {4}[^\n]*\n)+", "", text, flags=re.M | re.S)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"^(?: *\||#).*$", "\n", text, flags=re.M)
    text = re.sub(r"^\s*(?:- |\d+\. |: )", "\n", text, flags=re.M)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def sentences(text):
    """Return the sentences of a page; what a colon or a semicolon parts counts as one."""
    return [
        one
        for part in prose(text)
        for one in re.split(r"(?<=[.!?:])\*{0,2}\s+(?=[A-Z*\[\"(c])", part)
        if re.search(r"\w", one)
    ]


def words(sentence):
    return len(re.findall(r"[\w.,%'/-]*\w", sentence))


def measured(text):
    """Return mean words of a sentence, per cent of sentences over 25 words and per cent with a passive."""
    lines = sentences(text)
    lengths = [words(line) for line in lines]
    over, passive = sum(length > LONGEST for length in lengths), sum(bool(PASSIVE.search(line)) for line in lines)
    return sum(lengths) / len(lines), 100 * over / len(lines), 100 * passive / len(lines)


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_sentences_of_the_readme_are_short():
    assert len(README.splitlines()) <= 120
    assert [line for line in sentences(README) if words(line) > LONGEST] == []
    assert [part for text in prose(README) for part in re.findall(r"\([^()]*\d[^()]*\)", text)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_words_to_avoid_are_avoided(path):
    assert AVOIDED.findall(" ".join(prose(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_are_plain(path):
    text = path.read_text(encoding="utf-8")
    if len(sentences(text)) >= FEW:
        scores = measured(text)
        long = [line for line in sentences(text) if words(line) > LONGEST]
        assert all(score <= most for score, most in zip(scores, MOST, strict=True)), (scores, MOST, long)
