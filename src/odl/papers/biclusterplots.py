"""Pictures of bi-clusters: layers as heat maps, atoms by subject, recovery of the classes."""

from itertools import pairwise

import numpy as np
import seaborn

from odl.report.plots import COLOURS, GREY, INK, MARKERS, look_of, new_figure, styled


def _edges(classes):
    """First position and name of each class, in the order of the subjects."""
    names = list(dict.fromkeys(classes))
    return [(classes.index(name), name) for name in names]


@styled
def checkerboard(expression, atoms, codes):
    """Draw the data and every layer, subjects by class, genes in the order of their codes.

    Parameters
    ----------
    expression : odl.papers.experiments.biclustering.Expression
    atoms : ndarray, shape (subjects, atoms)
    codes : ndarray, shape (genes, atoms)
    """
    classes = list(expression.classes)
    rows = np.argsort([list(dict.fromkeys(classes)).index(name) for name in classes], kind="stable")
    panels = [("data", expression.values.T, np.argsort(-codes[:, 0], kind="stable"))]
    panels += [
        (f"layer of atom {j + 1}", np.outer(atoms[:, j], codes[:, j]), np.argsort(-codes[:, j], kind="stable"))
        for j in range(atoms.shape[1])
    ]
    figure, axes = new_figure(7.6, 1.75 * len(panels) + 0.3, len(panels), 1)
    for axis, (title, matrix, columns) in zip(axes[:, 0], panels, strict=True):
        limit = max(np.quantile(np.abs(matrix), 0.99), 1e-12)
        drawn = matrix[rows][:, columns]
        image = axis.imshow(drawn, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        image.set_rasterized(True)
        ordered = [classes[row] for row in rows]
        starts = [start for start, _ in _edges(ordered)] + [len(ordered)]
        for start in starts[1:-1]:
            axis.axhline(start - 0.5, color=INK, linewidth=0.8)
        middles = [(low + high - 1) / 2 for low, high in pairwise(starts)]
        axis.set_yticks(middles, [name for _, name in _edges(ordered)])
        axis.set(title=title, xlabel="genes" if axis is axes[-1, 0] else "")
        axis.tick_params(axis="y", length=0)
        figure.colorbar(image, ax=axis, pad=0.01, aspect=12)
    return figure


@styled
def by_subject(classes, atoms, vectors):
    """Draw the entries of atoms and of singular vectors against the subjects, coloured by class.

    Parameters
    ----------
    classes : list of str
    atoms, vectors : ndarray, shape (subjects, atoms)
    """
    classes = list(classes)
    k = atoms.shape[1]
    figure, axes = new_figure(2.5 * k + 0.6, 4.4, 2, k, sharex=True)
    names = [name for _, name in _edges(classes)]
    for row, (matrix, what) in enumerate(((atoms, "atom"), (vectors, "singular vector"))):
        for j in range(k):
            axis = axes[row, j]
            axis.axhline(0, color=GREY, linewidth=0.8)
            for number, name in enumerate(names):
                places = [i for i, held in enumerate(classes) if held == name]
                axis.plot(places, matrix[places, j], MARKERS[number], color=COLOURS[number], markersize=3.6, label=name)
            axis.set(title=f"{what} {j + 1}", xlabel="subject" if row else "")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names))
    seaborn.despine(figure)
    return figure


@styled
def recovery(rows):
    """Draw the adjusted Rand index of every method, a dot for each seed.

    Parameters
    ----------
    rows : list of dict
        method, ari; network, beta and seed where it was learned.
    """
    learned = [row for row in rows if row["method"] == "diffusion"]
    groups = {}
    for row in learned:
        groups.setdefault((row["network"], row["beta"]), []).append(row["ari"])
    lines = [(f"{network}, β = {beta:g}", values) for (network, beta), values in groups.items()]
    lines = [(row["method"], [row["ari"]]) for row in rows if row["method"] != "diffusion"] + lines
    networks = list(dict.fromkeys(network for network, _ in groups))
    figure, axes = new_figure(6.8, 1.0 + 0.32 * len(lines))
    axis = axes[0, 0]
    for y, (name, values) in enumerate(reversed(lines)):
        axis.axhline(y, color="0.92", linewidth=0.8, zorder=0)
        position = next((number for number, network in enumerate(networks) if name.startswith(network)), None)
        if position is None:
            axis.plot(values, [y], "|", color=GREY, markersize=13, markeredgewidth=2.2)
        else:
            look = look_of(position)
            axis.plot(values, [y] * len(values), ".", color=look["color"], markersize=4, alpha=0.6)
            spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
            axis.errorbar(np.mean(values), y, xerr=spread, capsize=3, markersize=7, **look)
        axis.annotate(f"{np.mean(values):.3f}", (1.01, y), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    axis.set(xlabel="adjusted Rand index of the subjects' groups", ylim=(-0.6, len(lines) - 0.4), xlim=(0, 1.02))
    axis.set_yticks(range(len(lines)), [name for name, _ in reversed(lines)])
    axis.tick_params(axis="y", length=0)
    seaborn.despine(figure, left=True)
    return figure
