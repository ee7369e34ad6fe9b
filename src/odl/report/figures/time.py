"""CPU seconds per timestep, to score and to learn, against the number of atoms (ICASSP 2013, figure 1 b, d)."""

import numpy as np

from odl.report.figures import Picture, absent
from odl.report.plots import despine, look_of, new_figure, sizes_below

PLACE = ("Time and memory", 0.1)


def draw(selection):
    rows = [row for row in selection.rows("timing", "score_cpu_s", "learn_cpu_s") if row["run"] in selection.runs]
    if not rows:
        return absent("No timings were recorded.")
    rows = selection.by_run(rows, "k")
    total = [row["score_cpu_s"] + row["learn_cpu_s"] for row in rows]
    caption = "CPU seconds per timestep against the number of atoms, without start-up: mean over timesteps and seeds."
    alt = f"CPU seconds per timestep to score and to learn, {min(total):.3g} to {max(total):.3g} s in all."
    runs = list(dict.fromkeys(row["run"] for row in rows))
    figure, axes = new_figure(7.2, 3.6, 1, 2, sharey=True)
    sizes = np.unique([row["k"] for row in rows])
    for axis, column, title in zip(axes[0], ("score_cpu_s", "learn_cpu_s"), ("score", "learn"), strict=True):
        for position, run in enumerate(runs):
            part = [row for row in rows if row["run"] == run]
            points = [row["k"] for row in part], [row[column] for row in part]
            axis.plot(*points, label=run, markersize=5.5, linewidth=1.6, **look_of(position))
        sizes_below(axis, sizes)
        axis.set(title=title, ylim=(0, None))
        if len(sizes) == 1:
            axis.set_xlim(sizes[0] * 0.8, sizes[0] * 1.2)
    top = max(max(row["score_cpu_s"], row["learn_cpu_s"]) for row in rows)
    axes[0, 0].set(ylabel="CPU seconds per timestep", ylim=(0, 1.08 * top if top > 0 else 1))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(runs)))
    despine(figure)
    return Picture(figure, caption, alt)
