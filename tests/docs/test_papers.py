"""docs/papers.md: its commands name tests, studies and references that exist, and no item of the papers is missing."""

import ast
import re

import pytest
import reference
from places import ROOT

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
# What the texts of the papers hold, as the first cell of a row names it.
ITEMS = {
    "ICASSP 2013": [
        "definition 1",
        "(3)",
        "(4)",
        "GENNVL",
        *(f"figure 1 ({part})" for part in "abcd"),
        "figure 2",
    ],
    "NIPS 2012": [
        *(f"algorithm {n}" for n in range(1, 6)),
        *(f"lemma B.{n}" for n in range(1, 5)),
        *("theorem B.5", "theorem B.6", "table 1", "table 2", "figure 1"),
    ],
    "Distributed": [
        "(31), (37)",
        "(38), (39)",
        *(f"figure {n}" for n in range(1, 5)),
        "table I",
        "table II",
        "table III",
    ],
    "ICML 2010": [
        *("algorithm 1", "lemma 1", "lemma 2", "proposition 1", "proposition 2", "table 1"),
        *(f"figure {n}" for n in range(1, 6)),
    ],
}


def names_of(path):
    """Return the names of the tests of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def commands():
    """Return files of tests and the expression after -k of each command of the page, as in its tables."""
    for span in re.findall(r"`([^`]*test_\w+\.py[^`]*)`", PAGE):
        for command in span.split(";"):
            files = re.findall(r"(?:tests/)?((?:\w+/)?test_\w+\.py)", command)
            chosen = re.search(r'-k (?:"([^"]+)"|(\S+))', command)
            yield [f"tests/{name}" for name in files], (chosen[1] or chosen[2]) if chosen else ""


@pytest.mark.parametrize(
    ("files", "chosen"), sorted({(tuple(files), chosen) for files, chosen in commands()})
)
def test_commands_choose_tests(files, chosen):
    names = [name for path in files for name in names_of(path)]
    for word in chosen.split(" or ") if chosen else [""]:
        assert any(word in name for name in names), f"{word} in {files}"


def test_studies_programs_and_references_exist():
    for name in re.findall(r"config/[\w-]+\.yaml", PAGE):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"benchmarks/\w+\.py", PAGE):
        assert "__main__" in (ROOT / name).read_text(encoding="utf-8"), f"{name} does nothing"
    checks = PAGE.partition("## Independent checks")[2]
    named = {
        name
        for row in re.findall(r"^\| .*? \| .*? \| (.*?) \| ", checks, re.M)
        for name in re.findall(r"`(\w+)`", row)
    }
    named -= {"oiadmm_step"}  # of the package
    assert len(named) > 12 and all(hasattr(reference, name) for name in named), named


@pytest.mark.parametrize("paper", ITEMS)
def test_no_item_is_missing(paper):
    (text,) = (text for title, text in SECTIONS.items() if paper in title)
    firsts = [row.split(" | ")[0] for row in text.splitlines() if row.startswith("| ")]
    for item in ITEMS[paper]:
        assert any(item.lower() in first.lower() for first in firsts), item
    for row in text.splitlines():
        if row.startswith("| ") and not row.startswith(("| ---", "| paper item")):
            assert len(row.strip("|").split(" | ")) == 5, row
