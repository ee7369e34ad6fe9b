"""A dictionary and its tree as something to read: a nested HTML list, and an SVG picture of words.

The same bytes for the same input.
"""

from odl.errors import ParameterError
from odl.report.page import escape

CHARACTER = 0.56  # mean width of a character in units of the font size
LINE = 1.3  # height of a line in the same units


def words_of(top_terms, vocabulary, most=5):
    """Return the heaviest words of every atom.

    Parameters
    ----------
    top_terms : list of list of (int, float)
        Per atom, as `odl.novelty.top_terms` gives it.
    vocabulary : sequence of str
    most : int
    """
    return [[vocabulary[term] for term, _ in terms[:most]] for terms in top_terms]


def _check(tree, words):
    if len(words) != tree.n_atoms:
        given = f"words of {len(words)} atoms for a tree of {tree.n_atoms}"
        raise ParameterError(given, "words for each atom", "pass the tree of this dictionary")


def _lines(tree, words, node, most):
    """Return what is written at a node: one line of words for each of its atoms."""
    return [", ".join(map(str, words[atom][:most])) or "no word" for atom in tree.atoms[node]] or ["no atom"]


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
    str
        ``<ul class="topic-tree">...</ul>``; atoms are numbered as in the dictionary.
    """
    _check(tree, words)
    total = sum(use) if use is not None else 0.0
    parts, open_lists, depth = ['<ul class="topic-tree">'], 1, 0
    for position, node in enumerate(tree.preorder):
        if position:
            if tree.depths[node] > depth:
                parts.append("<ul>")
                open_lists += 1
            else:
                parts.append("</li>" + "</ul></li>" * (depth - tree.depths[node]))
                open_lists -= depth - tree.depths[node]
        depth = tree.depths[node]
        shown = []
        for atom, line in zip(tree.atoms[node], _lines(tree, words, node, most), strict=False):
            share = f" <small>{use[atom] / total:.1%}</small>" if total > 0.0 else ""
            shown.append(f"<small>{atom}</small> {escape(line)}{share}")
        parts.append("<li>" + ("<br>".join(shown) or "&middot;"))
    parts.append("</li>" + "</ul></li>" * (open_lists - 1) + "</ul>")
    return "\n".join(parts)


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
    str
        A whole SVG document.
    """
    _check(tree, words)
    texts = [_lines(tree, words, node, most) for node in range(tree.n_nodes)]
    left, widths = _columns(tree, texts, size)
    middle, height = _rows(tree, texts, size)
    weights = _edge_weights(tree, use)
    width = left[-1] + max(widths[node] for node in range(tree.n_nodes) if tree.depths[node] == max(tree.depths))
    width = max(width, max(left[tree.depths[node]] + widths[node] for node in range(tree.n_nodes))) + size
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="{size:g}">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for node in tree.preorder:
        parent = tree.parents[node]
        if parent >= 0:
            x0, y0 = left[tree.depths[parent]] + widths[parent], middle[parent]
            x1, y1 = left[tree.depths[node]], middle[node]
            bend = (x0 + x1) / 2
            parts.append(
                f'<path d="M{x0:.1f} {y0:.1f} C{bend:.1f} {y0:.1f} {bend:.1f} {y1:.1f} {x1:.1f} {y1:.1f}" '
                f'fill="none" stroke="#8aa" stroke-width="{weights[node]:.2f}"/>'
            )
    for node in tree.preorder:
        parts += _box(texts[node], left[tree.depths[node]], middle[node], widths[node], size, tree.depths[node])
    return "\n".join([*parts, "</svg>", ""])


def _columns(tree, texts, size):
    """Return the left edge of every depth and the width of every node's box."""
    widths = [(max(map(len, lines)) * CHARACTER + 1.2) * size for lines in texts]
    left = [size]
    for depth in range(max(tree.depths)):
        widest = max(widths[node] for node in range(tree.n_nodes) if tree.depths[node] == depth)
        left.append(left[-1] + widest + 3 * size)
    return left, widths


def _rows(tree, texts, size):
    """Return the middle of every node and the height of the picture: leaves below each other, parents centred."""
    middle, bottom = [0.0] * tree.n_nodes, size
    for node in tree.preorder:
        if not tree.children[node]:
            height = (len(texts[node]) * LINE + 0.7) * size
            middle[node] = bottom + height / 2
            bottom += height
    for node in reversed(tree.preorder):
        if tree.children[node]:
            middle[node] = (middle[tree.children[node][0]] + middle[tree.children[node][-1]]) / 2
    # A node of several atoms may be taller than its subtree: the picture is made high enough for it.
    tallest = max(middle[node] + (len(texts[node]) * LINE + 0.7) * size / 2 for node in range(tree.n_nodes))
    return middle, max(bottom, tallest) + size


def _edge_weights(tree, use):
    """Return the width of the edge above every node."""
    if use is None or not sum(use) > 0.0:
        return [1.0] * tree.n_nodes
    total = [sum(float(use[atom]) for atom in own) for own in tree.atoms]
    for node in reversed(tree.preorder):
        if tree.parents[node] >= 0:
            total[tree.parents[node]] += total[node]
    return [0.6 + 5.0 * share / max(total) for share in total]


def _box(lines, x, y, width, size, depth):
    """Return a node's box and text."""
    height = (len(lines) * LINE + 0.3) * size
    fill = ("#dce9f5", "#e8f2e4", "#fbf3dc", "#f7e6e3")[depth % 4]
    parts = [
        f'<rect x="{x:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{size / 4:g}" '
        f'fill="{fill}" stroke="#8aa"/>'
    ]
    for number, line in enumerate(lines):
        base = y + (number - (len(lines) - 1) / 2) * LINE * size + 0.35 * size
        parts.append(f'<text x="{x + 0.6 * size:.1f}" y="{base:.1f}">{escape(line)}</text>')
    return parts
