"""The most used atoms: their share of the codes over time, and their top words as they change."""

import textwrap

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from odl.report.figures import Picture, absent
from odl.report.selection import topic_strip

PLACE = ("Topics", 0.1)


def draw(selection):
    use, steps, words, shown_steps, atoms = topic_strip(selection)
    if not len(atoms):
        return absent("No atom is used by any document.")
    caption = (
        f"The {len(atoms)} most used atoms of {selection.shown['k']} ({selection.name()}): their share of the codes at "
        "every timestep, and their top words as they change."
    )
    alt = "Top words of the most used atoms: " + "; ".join(row[-1] or "(empty)" for row in words)
    n_atoms, n_shown = len(words), len(shown_steps)
    figure = Figure(figsize=(3.0 + 3.1 * n_shown, 0.9 + 0.46 * n_atoms), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1, 1.1 * n_shown]})
    heat, table = grid
    _heatmap(heat, 100 * use, linewidths=0.4 if len(steps) <= 40 else 0)
    thin = max(1, -(-len(steps) // 9))
    heat.set_xticks(np.arange(len(steps))[::thin] + 0.5, list(steps)[::thin], rotation=0)
    heat.set(xlabel="timestep t", title="use of the atom")
    table.axis("off")
    table.set(xlim=(0, n_shown), ylim=(n_atoms, 0))
    for column, t in enumerate(shown_steps):
        table.text(column + 0.03, -0.2, f"top words after timestep {t}", fontsize=9.5, fontweight="bold", va="bottom")
        for row in range(n_atoms):
            text = "\n".join(textwrap.wrap(words[row][column], 40, max_lines=2, placeholder=" ...")) or "(empty)"
            table.text(column + 0.03, row + 0.5, text, fontsize=8.5, va="center", linespacing=1.1)
    for row in range(n_atoms + 1):
        table.axhline(row, color="0.9", linewidth=0.6)
    return Picture(figure, caption, alt)


def _heatmap(axis, values, linewidths):
    """Draw shares as cells, the first row on top, with a bar of their colours on the left."""
    cells = axis.pcolormesh(values, cmap="Greys", vmin=0, linewidths=linewidths, edgecolor="white")
    axis.spines[:].set_visible(False)
    axis.set(xlim=(0, values.shape[1]), ylim=(values.shape[0], 0), yticks=[])
    bar = axis.figure.colorbar(cells, ax=axis, label="share of the codes, %", location="left", pad=0.04)
    bar.outline.set_linewidth(0)
