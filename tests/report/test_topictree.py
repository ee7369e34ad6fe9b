"""The tree of topics as a nested list and as a picture: every node once, at its place, and nothing unescaped."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from test_trees import forests

from odl import trees
from odl.errors import ParameterError
from odl.report import topictree

SVG = "{http://www.w3.org/2000/svg}"


def words_for(tree):
    return [[f"a{atom}", f"b{atom}"] for atom in range(tree.n_nodes)]


def read(item):
    """Return (atoms, [subtrees]) of a list item."""
    atoms = [int(small.text) for small in item.findall("small") if not small.text.endswith("%")]
    return atoms, [read(child) for under in item.findall("ul") for child in under.findall("li")]


def shape(tree, node):
    return [node], [shape(tree, child) for child in tree.children[node]]


@given(forests())
@settings(max_examples=60)
def test_the_list_nests_as_the_tree_does(tree):
    root = ElementTree.fromstring(topictree.nested_list(tree, words_for(tree)))
    assert [read(item) for item in root.findall("li")] == [shape(tree, node) for node in tree.roots]


@given(forests())
@settings(max_examples=60)
def test_the_picture_shows_every_atom_and_edge_and_no_boxes_overlap(tree):
    root = ElementTree.fromstring(topictree.svg(tree, words_for(tree)))
    assert sorted(text.text for text in root.iter(f"{SVG}text")) == sorted(", ".join(w) for w in words_for(tree))
    assert len(list(root.iter(f"{SVG}path"))) == tree.n_nodes - len(tree.roots)
    boxes = [
        [float(box.get(key)) for key in ("x", "y", "width", "height")]
        for box in root.iter(f"{SVG}rect")
        if box.get("x")
    ]
    assert len(boxes) == tree.n_nodes
    assert all(
        x >= 0 and x + w <= float(root.get("width")) and y + h <= float(root.get("height")) for x, y, w, h in boxes
    )
    of_node = dict(zip(tree.preorder, boxes, strict=True))
    for node in range(tree.n_nodes):  # with room for an edge, of two letters at least
        assert all(of_node[child][0] >= of_node[node][0] + of_node[node][2] + 24 for child in tree.children[node])
    leaves = [box for box, node in zip(boxes, tree.preorder, strict=True) if not tree.children[node]]
    for (_, above, _, height), (_, below, _, _) in pairwise(leaves):
        assert below >= above + height - 0.11


def test_use_is_shown_and_words_are_escaped():
    tree, words = trees.path(2), [["<b>", "x&y"], []]
    shown = topictree.nested_list(tree, words, use=[3.0, 1.0])
    assert "&lt;b&gt;, x&amp;y" in shown and "75.0%" in shown and "25.0%" in shown and "no word" in shown
    drawn = topictree.svg(tree, words, use=[3.0, 1.0], title="a < b")
    assert "<title>a &lt; b</title>" in drawn and "&lt;b&gt;, x&amp;y" in drawn
    assert topictree.nested_list(tree, words, use=[0.0, 0.0]).count("%") == 0


def test_another_tree_is_refused():
    with pytest.raises(ParameterError, match="words of 2 atoms for a tree of 3"):
        topictree.svg(trees.path(3), [["a"], ["b"]])
