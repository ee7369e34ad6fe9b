"""AUC at every timestep of learners and baselines."""

from matplotlib.ticker import MaxNLocator

from odl.report.figures import Picture, absent
from odl.report.plots import GREY, legend_below, lines, new_figure
from odl.report.selection import references

PLACE = ("Timesteps", 0.2)


def draw(selection):
    frame, sizes = selection.frame("timesteps").dropna(subset=["auc_mean"]), selection.sizes()
    beside = references(frame["run"])
    frame = frame[frame["run"].isin(beside) | (frame["run"].map(sizes) == frame["k"])]
    if frame.empty:
        return absent("No timestep has both novel and known documents.")
    frame = selection.in_order(frame, "t", runs=[*selection.runs, *beside])
    grey = frame["run"].isin(beside)
    frame = frame.replace({"run": {run: f"{run}, k = {k}" for run, k in sizes.items()}})
    caption = (
        "AUC at every timestep that has novel and known documents, mean and standard deviation over seeds. Grey: "
        "baselines. The table below says which timesteps are in the average."
    )
    low, high = frame["auc_mean"].min(), frame["auc_mean"].max()
    runs = ", ".join(dict.fromkeys(frame["run"]))
    alt = f"AUC over {frame['t'].nunique()} timesteps for {runs}: {low:.2f} to {high:.2f}."
    figure, ((axis,),) = new_figure(7.6, 4.2)
    lines(axis, frame[~grey], "t", "auc_mean", "auc_sd")
    lines(axis, frame[grey], "t", "auc_mean", "auc_sd", color=GREY, zorder=1)
    axis.set(xlabel="timestep t", ylabel="AUC")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=16, min_n_ticks=1))
    return Picture(legend_below(figure, 3), caption, alt)
