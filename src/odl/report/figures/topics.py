"""The most used atoms: their share of the codes over time."""

import textwrap

import seaborn

from odl.files.escaping import visible
from odl.report.figures import Picture, absent
from odl.report.plots import new_figure
from odl.report.selection import topic_strip

PLACE = ("Topics", 0.1)


def draw(selection):
    use, steps, words, _, atoms = topic_strip(selection)
    if not len(atoms):
        return absent("No atom is used by any document.")
    caption = (
        f"The {len(atoms)} most used atoms of {selection.shown['k']} ({selection.name()}): their share of the codes at "
        "every timestep. The table has their words as they change."
    )
    names = [visible(textwrap.shorten(row[-1], 45, placeholder=" ...")) or "(empty)" for row in words]
    figure, ((axis,),) = new_figure(9.0, 1.1 + 0.32 * len(atoms))
    bar = {"label": "share of the codes, %", "pad": 0.02}
    look = {"cmap": "Greys", "vmin": 0, "linewidths": 0.4 if len(steps) <= 40 else 0, "cbar_kws": bar}
    seaborn.heatmap(100 * use, ax=axis, yticklabels=names, xticklabels=False, **look)
    spacing = max(1, -(-len(steps) // 16))
    axis.set_xticks([place + 0.5 for place in range(0, len(steps), spacing)], steps[::spacing])
    axis.set(xlabel="timestep t", title="words of the atom after the last timestep, and its use")
    return Picture(figure, caption, "Top words of the most used atoms: " + "; ".join(names))
