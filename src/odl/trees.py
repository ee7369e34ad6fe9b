"""Trees of atoms, for hierarchical penalties.

A node and its descendants form a group, which the penalty sets to zero together. Standard library
only, since the check of a configuration uses this module.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from odl.errors import ParameterError

ROOT = -1  # parent of a root
MAX_DIGITS = 18  # digits of a number in a setting; `int` raises ValueError above 4300 digits
MAX_NODES = 10_000_000  # nodes of a tree; a typo in a branching factor must not fill the memory


@dataclass(frozen=True)
class Tree:
    """A tree or forest whose nodes are atoms.

    The group of a node consists of the node and its descendants. Any two groups are nested or
    disjoint, as the proximal operator requires (Jenatton, Mairal, Obozinski, Bach, ICML 2010,
    section 2.2 and definition 1).

    Parameters
    ----------
    parents : tuple of int
        Parent of every node, -1 for a root. Nodes may be in any order.

    Raises
    ------
    ParameterError
        If there is a cycle, a parent that does not exist, or no node.

    Examples
    --------
    >>> from odl.trees import Tree
    >>> tree = Tree((-1, 0, 0, 1))
    >>> tree.children, tree.depths
    (((1, 2), (3,), (), ()), (0, 1, 1, 2))
    >>> tree.groups()
    [[0, 1, 2, 3], [1, 3], [2], [3]]
    """

    parents: tuple[int, ...]

    def __post_init__(self):
        parents = _integers(self.parents, "the parents of a tree")
        object.__setattr__(self, "parents", parents)
        _check_parents(parents)
        if unreached := sorted({*range(len(parents))} - {*self.preorder}):
            first = ", ".join(map(str, unreached[:6])) + ", ..." * (len(unreached) > 6)
            raise _error(
                f"the nodes {first} are in a cycle or below a cycle", "parents that lead to a root"
            )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.parents)

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """Roots, ascending."""
        return tuple(node for node, parent in enumerate(self.parents) if parent == ROOT)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of every node, ascending."""
        below = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                below[parent].append(node)
        return tuple(map(tuple, below))

    @cached_property
    def preorder(self) -> tuple[int, ...]:
        """Nodes in depth-first order, in which the nodes of each subtree are consecutive."""
        order, todo = [], list(reversed(self.roots))
        while todo:
            node = todo.pop()
            order.append(node)
            todo.extend(reversed(self.children[node]))
        return tuple(order)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Depth of every node; a root has depth 0."""
        levels = [0] * self.n_nodes
        for node in self.preorder:
            if self.parents[node] != ROOT:
                levels[node] = levels[self.parents[node]] + 1
        return tuple(levels)

    def groups(self) -> list[list[int]]:
        """Return the group of every node, as a sorted list of nodes."""
        members = [[node] for node in range(self.n_nodes)]
        for node in reversed(self.preorder):
            if self.parents[node] != ROOT:
                members[self.parents[node]].extend(members[node])
        return [sorted(group) for group in members]


def _error(defect, expected, todo="correct the tree"):
    """Return a ParameterError about a tree."""
    return ParameterError(defect, expected, todo)


def _integers(values, role):
    """Return integers as a tuple of int; raise ParameterError for a value such as True or 1.5."""
    try:
        values = tuple(values)
        integers = tuple(int(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        raise _error(f"{role} are {values!r:.60}", "integers") from None
    for value, number in zip(values, integers, strict=True):
        if isinstance(value, (bool, str)) or value != number:
            raise _error(f"{role} contain {value!r}", "integers")
    return integers


def _check_parents(parents):
    """Raise ParameterError if a tree has no node, or a parent does not exist."""
    if not parents:
        raise _error("the tree has no node", "at least one node")
    for node, parent in enumerate(parents):
        if parent != ROOT and not 0 <= parent < len(parents):
            expected = f"one of the nodes 0 to {len(parents) - 1}, or {ROOT} for a root"
            raise _error(f"the parent of node {node} is {parent}, which does not exist", expected)


def balanced(branching: Sequence[int], roots: int = 1) -> Tree:
    """Return the tree or forest whose nodes at depth d have branching[d] children each.

    Nodes are numbered level by level.

    Parameters
    ----------
    branching : sequence of int
        ``(10, 2)`` gives a root, 10 children and 20 grandchildren; ``()`` gives one node.
    roots : int
        Number of roots.

    Examples
    --------
    >>> from odl import trees
    >>> trees.balanced((2, 1)).parents
    (-1, 0, 0, 1, 2)
    """
    factors = _integers(branching, "the branching factors")
    for factor in (*factors, *_integers([roots], "the roots")):
        if factor < 1:
            raise _error(
                f"{factor} children or roots in the branching factors {factors}", "at least 1"
            )
    if roots > MAX_NODES:
        raise _error(f"{roots:.3g} roots make more than {MAX_NODES} nodes", "a smaller forest")
    parents, level = [ROOT] * roots, range(roots)
    for factor in factors:
        if len(parents) + factor * len(level) > MAX_NODES:
            raise _error(
                f"the branching factors {factors} make more than {MAX_NODES} nodes",
                "a smaller tree",
            )
        first = len(parents)
        parents += [node for node in level for _ in range(factor)]
        level = range(first, len(parents))
    return Tree(tuple(parents))


def binary(n_nodes: int) -> Tree:
    """Return the complete binary tree of n nodes: node j has children 2j + 1 and 2j + 2.

    All levels but the last are full; the last one is filled from the left.

    Examples
    --------
    >>> from odl import trees
    >>> trees.binary(5).children
    ((1, 2), (3, 4), (), (), ())
    """
    (n_nodes,) = _integers([n_nodes], "the nodes of a binary tree")
    if not 1 <= n_nodes <= MAX_NODES:
        raise _error(f"a binary tree of {n_nodes} nodes", f"1 to {MAX_NODES} nodes")
    return Tree(tuple((node - 1) // 2 if node else ROOT for node in range(n_nodes)))


def path(n_nodes: int) -> Tree:
    """Return the path of n nodes: each node has one child, so the groups are nested.

    Examples
    --------
    >>> from odl import trees
    >>> trees.path(3).groups()
    [[0, 1, 2], [1, 2], [2]]
    """
    (n_nodes,) = _integers([n_nodes], "the nodes of a path")
    return Tree(tuple(range(ROOT, n_nodes - 1)))


def flat(n_nodes: int) -> Tree:
    """Return the forest of n roots. Each group has one atom, so the penalty is the l1 norm.

    Examples
    --------
    >>> from odl import trees
    >>> trees.flat(3).groups()
    [[0], [1], [2]]
    """
    (n_nodes,) = _integers([n_nodes], "the nodes of a flat forest")
    return Tree((ROOT,) * n_nodes)


def parse(text: str, n_atoms: int) -> Tree:
    """Return the tree that a setting describes.

    Parameters
    ----------
    text : str
        One of these forms:

        - ``"binary"``: see `binary`.
        - ``"10,2"``: branching factors from the root down (see `balanced`).
        - ``"3 x 10,2"``: branching factors of a forest with three roots.
        - ``"parents -1,0,0,1"``: parent of every node, -1 for a root.
    n_atoms : int
        Number of atoms, which must be the number of nodes.

    Raises
    ------
    ParameterError
        If the text has another form, the tree is invalid, or it has another number of nodes.

    Examples
    --------
    >>> from odl import trees
    >>> trees.parse("2 x 2", 6).parents  # two roots with two children each
    (-1, -1, 0, 0, 1, 1)
    >>> trees.parse("parents -1,0,0", 3) == trees.binary(3)
    True
    """
    words = str(text).strip()
    if re.search(rf"\d{{{MAX_DIGITS + 1}}}", words):
        raise _error(f"the tree is {words!r:.60}", f"numbers of at most {MAX_DIGITS} digits")
    numbers = r"-?\d+(?:\s*,\s*-?\d+|\s+-?\d+)*"
    if words == "binary":
        return binary(n_atoms)
    if match := re.fullmatch(rf"(?:(\d+)\s*x\s*)?({numbers})", words):
        tree = balanced(_numbers(match[2]), int(match[1] or 1))
    elif match := re.fullmatch(rf"parents:?\s+({numbers})", words):
        tree = Tree(_numbers(match[1]))
    else:
        expected = "'binary', branching factors such as '10,2', or 'parents -1,0,0'"
        raise _error(f"the tree is {words!r:.60}", expected)
    if tree.n_nodes != n_atoms:
        fault = (
            f"the tree {words!r:.40} has {tree.n_nodes} nodes and the dictionary {n_atoms} atoms"
        )
        raise _error(
            fault, "one node for each atom", f"set atoms to {tree.n_nodes} or change the tree"
        )
    return tree


def _numbers(text):
    return tuple(int(word) for word in re.split(r"[\s,]+", text))
