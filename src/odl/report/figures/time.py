"""CPU seconds per timestep, to score and to learn, against the number of atoms."""

import numpy as np
import seaborn

from odl.report.figures import Picture, absent
from odl.report.plots import look_of, new_figure, sizes_below, styled

PLACE = ("Time and memory", 0.1)


def draw(chosen):
    frame = chosen.frame("timing")
    frame = frame[frame["run"].isin(chosen.runs)].dropna(subset=["score_cpu_s", "learn_cpu_s"])
    if frame.empty:
        return absent("No timings were recorded.")
    frame = chosen.in_order(frame, "k")
    total = frame["score_cpu_s"] + frame["learn_cpu_s"]
    caption = "CPU seconds per timestep against the number of atoms, without start-up: mean over timesteps and seeds."
    alt = f"CPU seconds per timestep to score and to learn, {total.min():.3g} to {total.max():.3g} s in all."
    return Picture(time_against_k(frame), caption, alt)


@styled
def time_against_k(timing):
    """CPU seconds per timestep (scoring and learning) against the number of atoms (figure 1 b, d).

    Parameters
    ----------
    timing : DataFrame
        run, k, score_cpu_s, learn_cpu_s.
    """
    runs = list(dict.fromkeys(timing["run"]))
    figure, axes = new_figure(7.2, 3.6, 1, 2, sharey=True)
    sizes = np.unique(timing["k"])
    for axis, column, title in zip(axes[0], ("score_cpu_s", "learn_cpu_s"), ("score", "learn"), strict=True):
        for position, run in enumerate(runs):
            part = timing[timing["run"] == run].sort_values("k")
            axis.plot(part["k"], part[column], label=run, markersize=5.5, linewidth=1.6, **look_of(position))
        sizes_below(axis, sizes)
        axis.set(title=title, ylim=(0, None))
        if len(sizes) == 1:
            axis.set_xlim(sizes[0] * 0.8, sizes[0] * 1.2)
    top = np.nanmax(timing[["score_cpu_s", "learn_cpu_s"]].to_numpy())
    axes[0, 0].set(ylabel="CPU seconds per timestep", ylim=(0, 1.08 * top if top > 0 else 1))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(runs)))
    seaborn.despine(figure)
    return figure
