"""The figures of a stream over time: ROC curves, scores, AUC and novel documents per batch, topics."""

import textwrap

import numpy as np
import seaborn
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from odl.report.plots import COLOURS, GREY, INK, LINES, PALE, look_of, new_figure, styled


@styled
def roc(panels):
    """ROC curves, one panel per timestep.

    Parameters
    ----------
    panels : list of (title, list of (name, false positives, true positives, auc, is_reference))
    """
    columns = 2 if len(panels) == 4 else min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = new_figure(max(3.8, 2.6 * columns), 2.7 * rows + 0.7, rows, columns, sharex=True, sharey=True)
    for position, axis in enumerate(axes.flat):
        if position >= len(panels):
            axis.axis("off")
            continue
        title, curves = panels[position]
        axis.plot([0, 1], [0, 1], color=PALE, linewidth=0.8)
        for number, (name, false, true, value, reference) in enumerate(curves):
            look = {"color": GREY, "linestyle": LINES[number % len(LINES)]} if reference else look_of(number)
            look.pop("marker", None)
            axis.plot(false, true, label=name, linewidth=1.5, **look)
            axis.text(0.98, 0.04 + 0.085 * (len(curves) - 1 - number), f"{name} {value:.2f}", ha="right", fontsize=7.5,
                      color=look["color"], transform=axis.transAxes)  # fmt: skip
        axis.set(
            title=title, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal"
        )
        axis.tick_params(labelbottom=position + columns >= len(panels))
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=min(4, len(handles[1])))
    figure.supxlabel("known documents above the threshold", fontsize=10)
    figure.supylabel("novel documents above the threshold", fontsize=10)
    seaborn.despine(figure)
    return figure


def lower_limit(scores, labels):
    """Where to cut the axis of scores: few low scores shall not press the others into a line.

    Never above a truly novel document, and only where it gains at least a quarter of the axis.
    """
    if not len(scores):
        return 0.0
    low = min(np.quantile(scores, 0.005), scores[labels == 1].min(initial=np.inf))
    return float(low if low - scores.min() > 0.25 * np.ptp(scores) else scores.min())


@styled
def scores_over_time(scores, labels, starts, ticks):
    """Novelty score of every document in the order of the stream, truly novel ones marked.

    Parameters
    ----------
    scores : ndarray of float, shape (n_documents,)
    labels : ndarray of int, shape (n_documents,)
        1 novel, 0 known, -1 unlabelled.
        Scores below `lower_limit` are drawn on the lower edge.
    starts : sequence of int
        Position of the first document of each batch.
    ticks : sequence of str
        A label for each batch.
    """
    figure, axes = new_figure(9.5, 3.8)
    axis, position = axes[0, 0], np.arange(len(scores))
    scores = np.maximum(scores, lower_limit(scores, labels))
    size = float(np.clip(20_000 / max(len(scores), 1), 1.5, 14))
    for start in starts[1:] if len(starts) <= 40 else []:
        axis.axvline(start - 0.5, color=PALE, linewidth=0.8, zorder=0)
    styles = (
        (-1, "unlabelled", {"color": "0.82", "marker": ".", "s": size}),
        (0, "known topic", {"color": "0.55", "marker": ".", "s": size}),
        (1, "truly novel", {"color": COLOURS[1], "marker": "x", "s": size * 3 + 8, "linewidth": 1.0}),
    )
    for label, name, style in styles:
        chosen = labels == label
        if chosen.any():
            text = f"{name} ({chosen.sum()})"
            axis.scatter(position[chosen], scores[chosen], label=text, rasterized=True, zorder=2 + label, **style)
    thin = max(1, -(-len(starts) // 10))
    axis.set_xticks(np.asarray(starts)[::thin], list(ticks)[::thin], ha="left", fontsize=8.5)
    axis.set(xlabel="documents in the order of the stream, by batch", ylabel="novelty score")
    axis.margins(x=0.005)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, markerscale=1.6)
    seaborn.despine(figure)
    return figure


@styled
def auc_by_timestep(steps, references=()):
    """AUC at every timestep that has one, mean and spread over seeds.

    Parameters
    ----------
    steps : DataFrame
        run, t, auc_mean, auc_sd, seeds_listed; rows without an AUC are left out. Hollow marks are
        timesteps that are not in the average.
    references : sequence of str
        Runs of `steps` drawn in grey.
    """
    figure, axes = new_figure(7.6, 4.0)
    axis, steps = axes[0, 0], steps.dropna(subset=["auc_mean"])
    learners = [run for run in dict.fromkeys(steps["run"]) if run not in references]
    names = [*learners, *references]
    shift = 0.006 * max(np.ptp(steps["t"]), 1)
    for number, run in enumerate(names):
        part = steps[steps["run"] == run].sort_values("t")
        look = look_of(number)
        if run in references:
            look = {**look, "color": GREY}
        spread = part["auc_sd"].fillna(0.0)
        part = part.assign(t=part["t"] + shift * (number - (len(names) - 1) / 2))
        axis.errorbar(part["t"], part["auc_mean"], yerr=spread, capsize=2, linewidth=1.4, zorder=3,
                      **{**look, "marker": ""})  # fmt: skip
        for listed, fill in ((True, look["color"]), (False, "white")):
            some = part[(part["seeds_listed"] > 0) == listed]
            axis.plot(some["t"], some["auc_mean"], look["marker"], color=look["color"], markerfacecolor=fill,
                      markersize=5.5, zorder=4)  # fmt: skip
        axis.plot([], [], label=run, markersize=5.5, linewidth=1.4, **look)
    axis.set(xlabel="timestep t", ylabel="AUC")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=16, min_n_ticks=1))
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3)
    seaborn.despine(figure)
    return figure


@styled
def novel_by_batch(novel):
    """Expected number of truly novel documents in every batch.

    Parameters
    ----------
    novel : DataFrame
        t, novel_mean, novel_min, novel_max, seeds_listed: mean and range over seeds; dark bars are
        batches that are in the average for some seed.
    """
    figure, axes = new_figure(float(np.clip(0.32 * len(novel), 5.2, 11)), 3.0)
    axis, mean = axes[0, 0], novel["novel_mean"].to_numpy()
    colours = [COLOURS[0] if listed > 0 else PALE for listed in novel["seeds_listed"]]
    axis.bar(novel["t"], mean, color=colours, edgecolor=GREY, linewidth=0.5, width=0.8)
    reach = [mean - novel["novel_min"].to_numpy(), novel["novel_max"].to_numpy() - mean]
    if np.any(np.array(reach) > 0):
        axis.errorbar(novel["t"], mean, yerr=np.maximum(reach, 0), fmt="none", ecolor=INK, capsize=2, linewidth=1)
    if len(novel) <= 24:
        tops = np.fmax(mean, novel["novel_max"].to_numpy())
        for t, top, value in zip(novel["t"], tops, mean, strict=True):
            axis.annotate(f"{value:.3g}", (t, top), (0, 2), textcoords="offset points", ha="center", fontsize=8)
    axis.set(xlabel="timestep t", ylabel="novel documents")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=24, min_n_ticks=1))
    axis.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axis.margins(x=0.01, y=0.12)
    seaborn.despine(figure)
    return figure


@styled
def topics(use, steps, words, shown_steps):
    """Use of the most used atoms over time, and their top words at three timesteps.

    Parameters
    ----------
    use : ndarray of float, shape (n_atoms, n_timesteps)
        Share of a batch's codes that an atom carries.
    steps : sequence of int
        Timesteps of the columns of `use`.
    words : list of list of str, shape (n_atoms, n_shown)
        Top words of each atom at the shown timesteps.
    shown_steps : sequence of int
    """
    n_atoms, n_shown = len(words), len(shown_steps)
    figure = Figure(figsize=(3.0 + 3.1 * n_shown, 0.9 + 0.46 * n_atoms), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1, 1.1 * n_shown]})
    heat, table = grid
    seaborn.heatmap(
        100 * use, ax=heat, cmap="Greys", vmin=0, xticklabels=False, yticklabels=False,
        cbar_kws={"label": "share of the codes, %", "location": "left", "pad": 0.04},
        linewidths=0.4 if len(steps) <= 40 else 0, linecolor="white",
    )  # fmt: skip
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
    return figure
