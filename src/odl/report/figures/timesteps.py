"""AUC at every timestep of learners and baselines."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from odl.report.figures import Picture, absent
from odl.report.plots import GREY, despine, look_of, new_figure
from odl.report.selection import references

PLACE = ("Timesteps", 0.2)


def draw(selection):
    if not selection.rows("timesteps", "auc_mean"):
        return absent("No timestep has both novel and known documents.")
    frame = selection.frame("timesteps")
    sizes = selection.sizes()
    drawn = references(frame["run"])
    keep = [run in drawn or sizes.get(run) == k for run, k in zip(frame["run"], frame["k"], strict=True)]
    frame = frame[np.array(keep, dtype=bool)].dropna(subset=["auc_mean"])
    if frame.empty:
        return absent("No timestep has both novel and known documents.")
    frame = selection.in_order(frame, "t", runs=[*selection.runs, *drawn])
    names = {run: f"{run}, k = {k}" for run, k in sizes.items()}
    frame = frame.assign(run=frame["run"].replace(names))
    caption = (
        "AUC at every timestep that has novel and known documents, mean and standard deviation over seeds. "
        "Hollow marks: timesteps with too few of either to be in the average. Grey: baselines."
    )
    low, high = frame["auc_mean"].min(), frame["auc_mean"].max()
    runs = ", ".join(dict.fromkeys(frame["run"]))
    alt = f"AUC over {frame['t'].nunique()} timesteps for {runs}: {low:.2f} to {high:.2f}."
    return Picture(auc_by_timestep(frame, drawn), caption, alt)


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
    despine(figure)
    return figure
