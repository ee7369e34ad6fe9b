"""CPU seconds of every timestep, on a logarithmic scale where the runs differ much."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from odl.report.figures import Picture, absent
from odl.report.plots import despine, look_of, new_figure, scale_from_zero

PLACE = ("Time and memory", 0.2)


def draw(selection):
    sizes = selection.sizes()
    rows = [row for row in selection.rows("costs", "score_cpu_s", "learn_cpu_s") if row["k"] == sizes.get(row["run"])]
    if not rows:
        return absent("No timings were recorded.")
    lines = {}
    for row in selection.by_run(rows, "t"):
        steps, seconds = lines.setdefault(f"{row['run']}, k = {sizes[row['run']]}", ([], []))
        steps.append(row["t"])
        seconds.append(row["score_cpu_s"] + row["learn_cpu_s"])
    caption = "CPU seconds to score and learn each timestep, without start-up: mean over seeds."
    totals = ", ".join(f"{run} {sum(seconds):.3g}" for run, (_, seconds) in lines.items())
    figure, axes = new_figure(7.2, 3.8)
    axis = axes[0, 0]
    for position, (run, points) in enumerate(lines.items()):
        axis.plot(*points, label=run, markersize=5.5, linewidth=1.6, **look_of(position))
    scale_from_zero(axis, "y", np.concatenate([seconds for _, seconds in lines.values()]))
    axis.set(xlabel="timestep t", ylabel="CPU seconds")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=16, min_n_ticks=1))
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=min(3, len(lines)))
    despine(figure)
    return Picture(figure, caption, f"CPU seconds of all timesteps: {totals}.")
