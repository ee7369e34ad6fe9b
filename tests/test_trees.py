"""Trees of atoms: shapes, orders, groups, and one clear sentence for what is no tree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odl import trees
from odl.errors import ParameterError


@st.composite
def forests(draw, most=12):
    """Forests with shuffled node numbers."""
    count = draw(st.integers(1, most))
    parents = [draw(st.integers(-1, node - 1)) for node in range(count)]
    names = draw(st.permutations(range(count)))
    shuffled = [0] * count
    for node, parent in enumerate(parents):
        shuffled[names[node]] = names[parent] if parent >= 0 else -1
    return trees.Tree(tuple(shuffled))


def test_balanced_by_levels():
    tree = trees.balanced((3, 2))
    assert tree.parents == (-1, 0, 0, 0, 1, 1, 2, 2, 3, 3)
    assert tree.depths == (0, 1, 1, 1, 2, 2, 2, 2, 2, 2) and tree.roots == (0,)
    assert tree.children[0] == (1, 2, 3) and tree.children[2] == (6, 7) and tree.children[9] == ()
    assert trees.balanced(()).parents == (-1,)
    assert trees.balanced((2,), roots=2).parents == (-1, -1, 0, 0, 1, 1)


@pytest.mark.parametrize("depth", range(6))
def test_complete_binary_trees_agree_with_balanced(depth):
    assert trees.binary(2 ** (depth + 1) - 1).parents == trees.balanced((2,) * depth).parents


def test_the_21_nodes_of_a_published_tree_are_counted():
    """p1 = 100, p2 = 3 is the largest of depth 3 in ICML 2010: 401 elements."""
    assert trees.balanced((100, 3)).n_nodes == 401


def test_other_shapes():
    assert trees.binary(6).parents == (-1, 0, 0, 1, 1, 2)
    assert trees.path(4).parents == (-1, 0, 1, 2) and trees.path(1).parents == (-1,)
    assert trees.flat(3).groups() == [[0], [1], [2]]
    assert trees.path(3).groups() == [[0, 1, 2], [1, 2], [2]]


@pytest.mark.slow
@given(forests())
@settings(max_examples=150)
def test_groups_are_nested_or_apart_and_preorder_runs_through_subtrees(tree):
    groups = [set(group) for group in tree.groups()]
    assert set().union(*groups) == set(range(tree.n_nodes))
    for node, group in enumerate(groups):
        assert node in group
        if tree.parents[node] >= 0:
            assert group <= groups[tree.parents[node]]
        assert all(not group & other or group <= other or other <= group for other in groups)
    place = {node: position for position, node in enumerate(tree.preorder)}
    assert sorted(place) == list(range(tree.n_nodes))
    for node, parent in enumerate(tree.parents):
        assert parent < 0 or place[parent] < place[node]
        under = {
            other
            for other in range(tree.n_nodes)
            if groups[other] <= groups[node] and descends(tree, other, node)
        }
        assert {place[other] for other in under} == set(
            range(place[node], place[node] + len(under))
        )


def descends(tree, node, ancestor):
    """Say whether a node lies under another, by walking up."""
    while node >= 0:
        if node == ancestor:
            return True
        node = tree.parents[node]
    return False


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ((), "no node"),
        ((1, 0), "nodes 0, 1 are in a cycle"),
        ((-1, 1), "nodes 1 are in a cycle"),
        ((-1, 3, 1, 2), "nodes 1, 2, 3 are in a cycle or below a cycle"),
        (
            (-1, 5),
            "the parent of node 1 is 5, which does not exist; expected one of the nodes 0 to 1, or -1",
        ),
        ((-1, -2), "node 1 is -2"),
        ((-1, 0.5), "contain 0.5"),
        ((-1, True), "contain True"),
        (("a",), "integers"),
        ((float("nan"),), "integers"),
        (3, "integers"),
    ],
)
def test_what_is_no_tree_is_refused_in_one_sentence(parents, message):
    with pytest.raises(ParameterError, match=message) as caught:
        trees.Tree(parents)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("text", "n_atoms", "parents"),
    [
        ("binary", 3, (-1, 0, 0)),
        ("2,1", 5, (-1, 0, 0, 1, 2)),
        (" 2 , 1 ", 5, (-1, 0, 0, 1, 2)),
        ("2 x 1", 4, (-1, -1, 0, 1)),
        ("parents 1, -1,1", 3, (1, -1, 1)),
        ("parents: -1 -1", 2, (-1, -1)),
    ],
)
def test_settings(text, n_atoms, parents):
    assert trees.parse(text, n_atoms).parents == parents


@pytest.mark.parametrize(
    ("text", "n_atoms", "message"),
    [
        ("10,2", 30, "has 31 nodes and the dictionary 30 atoms.*set atoms to 31"),
        ("parents -1,0", 3, "has 2 nodes"),
        ("bianry", 3, "the tree is 'bianry'"),
        ("", 3, "the tree is ''"),
        ("10,,2", 3, "the tree is"),
        ("-2", 3, "-2 children"),
        ("0 x 2", 3, "0 children or roots"),
        ("parents 1,0", 2, "cycle"),
        ("100000,100000", 5, "more than 10000000 nodes"),
        ("binary", 0, "of 0 nodes"),
    ],
)
def test_wrong_settings(text, n_atoms, message):
    with pytest.raises(ParameterError, match=message):
        trees.parse(text, n_atoms)


@pytest.mark.slow
def test_a_long_path_needs_no_recursion():
    tree = trees.path(50_000)
    assert tree.depths[-1] == 49_999 and tree.preorder[-1] == 49_999
