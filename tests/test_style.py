"""Style of the README and the guides: length of sentences, share of passives, words to avoid."""

import re

import pytest
from places import ROOT

LONGEST = 25  # words of a sentence of the README
AVOIDED = re.compile(
    r"\b(utilis\w+|utiliz\w+|leverag\w+|seamless\w*|robustly|powerful|simply|obviously|in order to)\b", re.I
)
PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being)(?: not| never| then| also)? (?:\w+ed|made|put|kept|said|taken|read|written)\b"
)
GUIDES = [*sorted((ROOT / "docs" / "guides").glob("*.md")), ROOT / "docs" / "alerts.md", ROOT / "docs" / "glossary.md"]
STUDIES = [
    ROOT / "docs" / "results" / f"{name}.md"
    for name in (
        "agents",
        "alerts-cost",
        "batch-sizes",
        "meaning",
        "online-batch",
        "other-methods",
        "packages",
        "reuters",
        "speed",
        "tdt2",
        "trees",
    )
]
# Most that a page may have: mean words of a sentence, per cent of sentences over 25 words, per cent with a passive.
LIMITS = {
    "README": (12, 4, 13),
    "believing": (14, 10, 15),
    "choosing": (15, 7, 19),
    "documents": (16, 10, 20),
    "index": (9, 4, 4),
    "live": (12, 2, 4),
    "python": (16, 10, 4),
    "running": (16, 8, 20),
    "studies": (16, 13, 26),
    "alerts": (19, 19, 38),
    "glossary": (7, 4, 7),
}
STUDY = (17, 12, 15)


def prose(text):
    """Return the paragraphs of a page, without code, tables, headings, captions and the targets of links."""
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"^(?:\||#).*$", "\n", text, flags=re.M)
    text = re.sub(r"^\s*(?:- |\d+\. |: )", "\n", text, flags=re.M)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def sentences(text):
    """Return the sentences of a page; what a colon or a semicolon parts counts as one."""
    return [
        one
        for part in prose(text)
        for one in re.split(r"(?<=[.!?:])\s+(?=[A-Z*\[\"(c])", part)
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


@pytest.mark.parametrize("path", [ROOT / "README.md", *GUIDES, *STUDIES], ids=lambda path: path.stem)
def test_words_to_avoid_are_avoided(path):
    assert AVOIDED.findall(" ".join(prose(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize("path", [ROOT / "README.md", *GUIDES, *STUDIES], ids=lambda path: path.stem)
def test_pages_stay_as_plain_as_they_are(path):
    scores, limits = measured(path.read_text(encoding="utf-8")), LIMITS.get(path.stem, STUDY)
    assert all(value <= limit for value, limit in zip(scores, limits, strict=True)), (scores, limits)
