"""Average AUC against the number of atoms, or of every run where there is one size, beside the baselines."""

from itertools import pairwise

import numpy as np

from odl.evaluation.plan import BASELINE
from odl.report.figures import Picture, absent
from odl.report.plots import (
    GREY,
    INK,
    LINES,
    PALE,
    despine,
    look_of,
    mean_and_spread,
    new_figure,
    ranking,
    sizes_below,
)
from odl.report.selection import references

PLACE = ("Result", 1.1)


def draw(selection):
    if not any(row["run"] in selection.runs for row in selection.rows("averages", "average")):
        return absent("No timestep has enough novel and known documents for an average AUC.")
    frame = selection.frame("averages")
    frame = frame[frame["run"].isin(selection.runs)].dropna(subset=["average"])
    frame = selection.in_order(frame, "k", "seed")
    references = _references(selection)
    best = frame.groupby(["run", "k"])["average"].mean()
    (run, k), n_seeds = best.idxmax(), frame["seed"].nunique()
    several = frame["k"].nunique() > 1
    caption = (
        f"Average AUC {'against the number of atoms k' if several else 'of every run'}, "
        + (f"mean and standard deviation over {n_seeds} seeds" if n_seeds > 1 else "one seed")
        + ". Grey: baselines that need no dictionary"
        + (", and published values of batches of 1000 (as recalled)." if selection.tables["published"] else ".")
    )
    alt = f"Average AUC of {', '.join(selection.runs)}. Best: {run} with k = {k:g}, {best.max():.3f}. " + "; ".join(
        f"{name} {value:.3f}" for name, value in references
    )
    return Picture(against_k(frame, references), caption, alt)


def _references(selection):
    summary = selection.frame("summary")
    values = summary[summary["algorithm"] == BASELINE].set_index("run")["average_mean"]
    lines = [(name, float(values[name])) for name in references(values.index) if not np.isnan(values[name])]
    known = [row for row in selection.tables["published"] if not row["run"].startswith("L2")]
    return lines + [(f"{row['run']}, published", row["average"]) for row in known]


def against_k(averages, references=()):
    """Average AUC against the number of atoms, mean and standard deviation over seeds (figure 1 a, c).

    Parameters
    ----------
    averages : DataFrame
        run, k, seed, average: one row per run, k and seed, of the learners to show.
    references : sequence of (str, float)
        Names and values of horizontal lines: baselines and published figures.

    Returns
    -------
    Figure
        With a single k, a dot for each run instead, beside the references.
    """
    if averages["k"].nunique() == 1:
        return _ranking(averages, references)
    figure, axes = new_figure(7.2, 4.2)
    axis, labels = axes[0, 0], []
    runs = list(dict.fromkeys(averages["run"]))
    sizes = np.unique(averages["k"])
    place = sizes_below(axis, sizes)
    for position, run in enumerate(runs):
        mean, spread = mean_and_spread(averages[averages["run"] == run], "k", "average")
        x = place(mean.index.to_numpy(dtype=float), position - (len(runs) - 1) / 2)
        axis.errorbar(x, mean, yerr=spread, label=run, capsize=2.5, markersize=5.5, linewidth=1.6, **look_of(position))
    for position, (name, value) in enumerate(references):
        axis.axhline(value, color=GREY, linewidth=1.1, linestyle=LINES[(position + 1) % len(LINES)], zorder=0)
        labels.append((value, f"{name} {value:.3f}", INK))
    axis.set(ylabel="average AUC")
    axis.margins(y=0.08)
    _label_right(axis, labels)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=min(4, len(runs)))
    despine(figure)
    return figure


def _ranking(averages, references):
    """One row per run and reference, best above: for studies with one dictionary size."""
    rows = [(name, None, [value]) for name, value in references]
    for position, (run, part) in enumerate(averages.groupby("run", sort=False)["average"]):
        rows.append((run, look_of(position), part))
    figure, ((axis,),) = new_figure(6.8, 1.1 + 0.32 * len(rows))
    ranking(axis, sorted(rows, key=lambda row: (np.mean(row[2]), row[0])))
    axis.set(xlabel=f"average AUC (k = {averages['k'].iloc[0]:g})")
    despine(figure, left=True)
    return figure


def _label_right(axis, labels):
    """Name horizontal lines at the right edge, moved apart where they would overlap.

    labels : list of (y in data, text, colour)
    """
    low, high = axis.get_ylim()
    gap = 0.062
    places = [[(y - low) / (high - low), text, colour] for y, text, colour in sorted(labels)]
    wanted = [place[0] for place in places]
    for _ in range(200):
        for first, second in pairwise(places):
            short = gap - (second[0] - first[0])
            if short > 1e-9:
                first[0] -= short / 2
                second[0] += short / 2
    for (y, text, colour), target in zip(places, wanted, strict=True):
        axis.annotate(
            text, (1.0, target), (1.05, y), xycoords="axes fraction", textcoords="axes fraction", va="center",
            fontsize=8.5, color=colour, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": PALE, "linewidth": 0.8,
                        "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5)},
        )  # fmt: skip
