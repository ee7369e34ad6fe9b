"""Pictures of the inpainting experiment."""

import math

import numpy as np

from odl.report import plots


@plots.styled
def errors(summary, stem):
    """Draw the error against the share of missing pixels, and the paired difference."""
    figure, ((left, right),) = plots.new_figure(8.2, 3.3, 1, 2)
    missing = [row["missing"] for row in summary]
    for position, name in enumerate(("flat", "tree")):
        look = plots.look_of(position)
        spread = np.nan_to_num([row[f"{name}_sd"] for row in summary])
        left.errorbar(missing, [row[name] for row in summary], spread, label=name, capsize=3, **look)
        paper = {**look, "color": plots.GREY, "markersize": 4}
        left.plot(missing, [row[f"{name}_paper"] for row in summary], label=f"{name}, published", **paper)
    left.set(xlabel="missing pixels (%)", ylabel="mean square error x 100")
    left.legend()
    spread = np.nan_to_num([row["difference_sd"] for row in summary])
    right.errorbar(missing, [row["difference"] for row in summary], spread, label="here", capsize=3, **plots.look_of(1))
    paper = [row["tree_paper"] - row["flat_paper"] for row in summary]
    right.plot(missing, paper, label="published", color=plots.GREY, marker="D", markersize=4, linestyle=":")
    right.axhline(0.0, color=plots.INK, linewidth=0.8)
    right.set(xlabel="missing pixels (%)", ylabel="tree - flat")
    right.legend()
    plots.save(figure, stem)


@plots.styled
def structures(rows, stem):
    """Draw a pair of bars for each tree, by its number of atoms."""
    shapes = sorted({(row["atoms"], row["tree"]) for row in rows})
    figure, ((axes,),) = plots.new_figure(max(4.0, 1.6 + 0.5 * len(shapes)), 3.2)
    lowest = min(row["error"] for row in rows)
    for position, (name, colour) in enumerate((("flat", "white"), ("tree", plots.COLOURS[1]))):
        found = [[row["error"] for row in rows if (row["tree"], row["penalty"]) == (s, name)] for _, s in shapes]
        axes.bar(
            np.arange(len(shapes)) + 0.38 * (position - 0.5),
            [np.mean(values) for values in found],
            0.36,
            yerr=[np.std(values, ddof=1) if len(values) > 1 else 0.0 for values in found],
            color=colour,
            edgecolor=plots.INK,
            capsize=2,
            label=name,
        )
    labels = [f"{shape}\n{atoms}" for atoms, shape in shapes]
    axes.set_xticks(range(len(shapes)), labels, rotation=0 if len(shapes) < 8 else 90)
    axes.set(xlabel="tree (children at each depth) and atoms", ylabel="mean square error x 100")
    axes.set_ylim(bottom=5 * math.floor(lowest / 5) - 5)
    axes.set_title(f"{rows[0]['missing']} % missing", loc="left")
    axes.legend(ncols=2)
    plots.save(figure, stem)


def places(tree):
    """Return the place of every node of a tree, its roots near (0, 0): leaves evenly around, parents amid them.

    Returns
    -------
    ndarray, shape (n_nodes, 2)
        The distance from the middle is the depth (one more in a forest).
    """
    angle, leaves = np.zeros(tree.n_nodes), [node for node in tree.preorder if not tree.children[node]]
    angle[leaves] = 2.0 * np.pi * np.arange(len(leaves)) / len(leaves)
    for node in reversed(tree.preorder):
        if tree.children[node]:
            angle[node] = np.mean(angle[list(tree.children[node])])
    radius = np.array(tree.depths, dtype=float) + (len(tree.roots) > 1)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


@plots.styled
def dictionary(tree, D, side, stem):
    """Draw a dictionary of patches as a tree, its root in the middle; each patch has its own grey scale around 0."""
    spots = places(tree)
    nearest = [
        np.hypot(*(spots[np.arange(len(spots)) != node] - spots[node]).T).min() if len(spots) > 1 else 1.0
        for node in range(len(spots))
    ]
    depth = np.array(tree.depths)
    reach = np.hypot(*spots.T).max() + 0.6
    figure, ((axes,),) = plots.new_figure(7.5, 7.5)
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            axes.plot(*spots[[parent, node]].T, color=plots.PALE, linewidth=0.8, zorder=1)
    for node, own in enumerate(tree.atoms):
        size = 0.68 * min(np.min(np.array(nearest)[depth == depth[node]]), 0.75)
        for atom in own[:1]:
            x, y = spots[node]
            top = max(np.abs(D[:, atom]).max(), 1e-300)
            extent = (x - size / 2, x + size / 2, y - size / 2, y + size / 2)
            image = D[:, atom].reshape(side, side)
            axes.imshow(image, "gray", extent=extent, vmin=-top, vmax=top, interpolation="nearest", zorder=2)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.axis("off")
    plots.save(figure, stem)
