"""CPU seconds per timestep against the number of atoms (ICASSP 2013, figure 1 b, d)."""

import numpy as np

from odl.report.figures import Picture, absent
from odl.report.plots import legend_below, lines, new_figure, sizes_below

PLACE = ("Time and memory", 0.1)


def draw(selection):
    """Draw CPU seconds per timestep against the number of atoms."""
    frame = selection.frame("timing").dropna(subset=["score_cpu_s", "learn_cpu_s"])
    frame = frame[frame["run"].isin(selection.runs)]
    if frame.empty:
        return absent("No timings were recorded.")
    frame = selection.in_order(frame, "k")
    total = frame["score_cpu_s"] + frame["learn_cpu_s"]
    caption = (
        "CPU seconds per timestep against the number of atoms, without start-up: "
        "mean over timesteps and seeds."
    )
    alt = (
        "CPU seconds per timestep to score and to learn, "
        f"{total.min():.3g} to {total.max():.3g} s in all."
    )
    figure, (axes,) = new_figure(7.2, 3.6, 1, 2, sharey=True)
    for axis, phase in zip(axes, ("score", "learn"), strict=True):
        lines(axis, frame, "k", f"{phase}_cpu_s")
        sizes_below(axis, np.unique(frame["k"]))
        axis.set(title=phase, ylim=(0, None))
    axes[0].set(ylabel="CPU seconds per timestep")
    return Picture(legend_below(figure, 4), caption, alt)
