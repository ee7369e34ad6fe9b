"""A dictionary and its tree as something to read: a nested HTML list, and an SVG picture of words.

The same bytes for the same input.
"""

from odl.errors import ParameterError
from odl.report.page import macros

CHARACTER = 0.56  # mean width of a character in units of the font size
LINE = 1.3  # height of a line in the same units


def _lines(tree, words, most):
    """Return what is written at every node: the words of the atom."""
    if len(words) != tree.n_nodes:
        fault = f"words of {len(words)} atoms for a tree of {tree.n_nodes}"
        raise ParameterError(fault, "words for each atom", "pass the tree of this dictionary")
    return [", ".join(map(str, of_atom[:most])) or "no word" for of_atom in words]


def nested_list(tree, words, *, most=8, use=None):
    """Return the tree as a nested HTML list.

    Parameters
    ----------
    tree : odl.trees.Tree
    words : list of list of str
        Per atom, heaviest first.
    most : int
        Words shown for each atom.
    use : sequence of float, optional
        Per atom how much it is used, for instance its sum of codes; shown as a share of all use.

    Returns
    -------
    Markup
        ``<ul class="topic-tree">...</ul>``; atoms are numbered as in the dictionary.
    """
    total = sum(use) if use is not None else 0.0
    shares = [value / total for value in use] if total > 0.0 else []
    return macros("topictree.jinja").nested(tree, _lines(tree, words, most), shares)


def svg(tree, words, *, most=5, size=12, use=None, title="Tree of topics"):
    """Draw the tree from left to right, the words of each atom at its node.

    Parameters
    ----------
    tree, words, most
        As `nested_list`.
    size : float
        Size of the font in pixels.
    use : sequence of float, optional
        Per atom how much it is used; heavier edges lead to nodes whose subtree is used more.
    title : str

    Returns
    -------
    Markup
        A whole SVG document.
    """
    texts = _lines(tree, words, most)
    left, widths = _columns(tree, texts, size)
    middle, height = _rows(tree, size)
    layout = {
        "left": [left[depth] for depth in tree.depths],
        "widths": widths,
        "middle": middle,
        "width": max(left[depth] + width for depth, width in zip(tree.depths, widths, strict=True)) + size,
        "height": height,
        "weights": _edge_weights(tree, use),
        "size": size,
        "line": LINE,
    }
    return macros("topictree.jinja").drawing(tree, texts, layout, title)


def _columns(tree, texts, size):
    """Return the left edge of every depth and the width of every node's box."""
    widths = [(len(text) * CHARACTER + 1.2) * size for text in texts]
    left = [size]
    for depth in range(max(tree.depths)):
        widest = max(widths[node] for node in range(tree.n_nodes) if tree.depths[node] == depth)
        left.append(left[-1] + widest + 3 * size)
    return left, widths


def _rows(tree, size):
    """Return the middle of every node and the height of the picture: leaves below each other, parents centred."""
    middle, bottom, height = [0.0] * tree.n_nodes, size, (LINE + 0.7) * size
    for node in tree.preorder:
        if not tree.children[node]:
            middle[node] = bottom + height / 2
            bottom += height
    for node in reversed(tree.preorder):
        if tree.children[node]:
            middle[node] = (middle[tree.children[node][0]] + middle[tree.children[node][-1]]) / 2
    return middle, bottom + size


def _edge_weights(tree, use):
    """Return the width of the edge above every node."""
    if use is None or not sum(use) > 0.0:
        return [1.0] * tree.n_nodes
    total = list(map(float, use))
    for node in reversed(tree.preorder):
        if tree.parents[node] >= 0:
            total[tree.parents[node]] += total[node]
    return [0.6 + 5.0 * share / max(total) for share in total]
