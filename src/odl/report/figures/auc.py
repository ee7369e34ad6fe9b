"""Average AUC against the number of atoms (ICASSP 2013, figure 1 a, c), or a ranking of runs."""

import numpy as np

from odl.evaluation.study import BASELINE
from odl.report.figures import Picture, absent
from odl.report.plots import (
    GREY,
    LINE_STYLES,
    despine,
    legend_below,
    lines,
    look_of,
    new_figure,
    ranking,
    sizes_below,
)
from odl.report.selection import references

PLACE = ("Result", 1.1)


def draw(selection):
    """Draw the average AUC of each run against its number of atoms.

    If all runs have the same number of atoms, draw a ranking of the runs instead.
    """
    frame = selection.frame("summary")
    frame = frame[frame["run"].isin(selection.runs)].dropna(subset=["average_mean"])
    if frame.empty:
        return absent("No timestep has enough novel and known documents for an average AUC.")
    frame, baselines = selection.in_order(frame, "k"), _references(selection)
    best = frame.loc[frame["average_mean"].idxmax()]
    n_seeds, sizes = frame["seeds"].max(), np.unique(frame["k"])
    if len(sizes) > 1:
        figure, subject = _against_k(frame, sizes, baselines), "against the number of atoms k"
    else:
        figure, subject = _draw_ranking(selection, baselines), "of every run"
    spread = f"mean and standard deviation over {n_seeds} seeds" if n_seeds > 1 else "one seed"
    published = ", and published values of batches of 1000 (as recalled)"
    note = published if selection.tables["published"] else ""
    caption = f"Average AUC {subject}, {spread}. Grey: baselines that need no dictionary{note}."
    values = "; ".join(f"{name} {value:.3f}" for name, value in baselines)
    alt = (
        f"Average AUC of {', '.join(selection.runs)}. Best: {best['run']} with k = {best['k']:g}, "
        f"{best['average_mean']:.3f}. {values}"
    )
    return Picture(figure, caption, alt)


def _references(selection):
    """Return (name, average AUC) of baselines and of published results."""
    summary = selection.frame("summary")
    values = summary[summary["algorithm"] == BASELINE].set_index("run")["average_mean"]
    baselines = [
        (name, float(values[name]))
        for name in references(values.index)
        if not np.isnan(values[name])
    ]
    published = [row for row in selection.tables["published"] if not row["run"].startswith("L2")]
    return baselines + [(f"{row['run']}, published", row["average"]) for row in published]


def _against_k(frame, sizes, baselines):
    """Draw mean and deviation over seeds against the number of atoms, and references as lines."""
    figure, ((axis,),) = new_figure(7.2, 4.6)
    lines(axis, frame, "k", "average_mean", "average_sd")
    sizes_below(axis, sizes)
    for position, (name, value) in enumerate(baselines, start=1):
        look = {
            "color": GREY,
            "linewidth": 1.1,
            "linestyle": LINE_STYLES[position % len(LINE_STYLES)],
            "zorder": 0,
        }
        axis.axhline(value, label=f"{name} {value:.3f}", **look)
    axis.set(ylabel="average AUC")
    return legend_below(figure, 4)


def _draw_ranking(selection, baselines):
    """Draw a row for each run and reference, the best at the top, with a dot for each seed."""
    averages = selection.frame("averages").dropna(subset=["average"])
    averages = selection.in_order(averages[averages["run"].isin(selection.runs)], "seed")
    rows = [(name, None, [value]) for name, value in baselines]
    for position, (run, values) in enumerate(averages.groupby("run", sort=False)["average"]):
        rows.append((run, look_of(position), values))
    figure, ((axis,),) = new_figure(6.8, 1.1 + 0.32 * len(rows))
    ranking(axis, sorted(rows, key=lambda row: (np.mean(row[2]), row[0])))
    axis.set(xlabel=f"average AUC (k = {averages['k'].iloc[0]:g})")
    despine(figure, left=True)
    return figure
