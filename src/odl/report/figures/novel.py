"""Novel documents in every batch, and which batches are in the average."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from odl.report.figures import Picture, absent
from odl.report.plots import COLOURS, GREY, INK, PALE, despine, new_figure

PLACE = ("Timesteps", 0.1)


def draw(selection):
    rows = selection.rows("novel")
    if not rows:
        return absent("The stream has one batch only, which is not evaluated.")
    if np.nansum([[row["novel_mean"], row["known"]] for row in rows]) == 0:
        return absent("No document has a topic: there is nothing to evaluate.")
    frame = selection.frame("novel")
    caption = (
        "Novel documents in every batch, that is documents of topics that no earlier batch has: mean and range over "
        "seeds. Dark: timesteps in the average AUC."
    )
    alt = "Novel documents per batch: " + ", ".join(
        f"{t}: {mean:.3g}" for t, mean in zip(frame["t"], frame["novel_mean"], strict=True)
    )
    figure, axes = new_figure(float(np.clip(0.32 * len(frame), 5.2, 11)), 3.0)
    axis, mean = axes[0, 0], frame["novel_mean"].to_numpy()
    colours = [COLOURS[0] if listed > 0 else PALE for listed in frame["seeds_listed"]]
    axis.bar(frame["t"], mean, color=colours, edgecolor=GREY, linewidth=0.5, width=0.8)
    reach = [mean - frame["novel_min"].to_numpy(), frame["novel_max"].to_numpy() - mean]
    if np.any(np.array(reach) > 0):
        axis.errorbar(frame["t"], mean, yerr=np.maximum(reach, 0), fmt="none", ecolor=INK, capsize=2, linewidth=1)
    if len(frame) <= 24:
        tops = np.fmax(mean, frame["novel_max"].to_numpy())
        for t, top, value in zip(frame["t"], tops, mean, strict=True):
            axis.annotate(f"{value:.3g}", (t, top), (0, 2), textcoords="offset points", ha="center", fontsize=8)
    axis.set(xlabel="timestep t", ylabel="novel documents")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=24, min_n_ticks=1))
    axis.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axis.margins(x=0.01, y=0.12)
    despine(figure)
    return Picture(figure, caption, alt)
