"""CPU seconds of every timestep, on a logarithmic scale where the runs differ much."""

from matplotlib.ticker import MaxNLocator

from odl.report.figures import Picture, absent
from odl.report.plots import despine, look_of, new_figure, scale_from_zero, styled

PLACE = ("Time and memory", 0.2)


def draw(chosen):
    frame = chosen.frame("costs")
    sizes = {run: chosen.entry(run)["k"] for run in chosen.runs}
    frame = frame[frame["k"] == frame["run"].map(sizes)]
    frame = frame.assign(cpu_s=frame["score_cpu_s"] + frame["learn_cpu_s"]).dropna(subset=["cpu_s"])
    if frame.empty:
        return absent("No timings were recorded.")
    frame = chosen.in_order(frame, "t")
    frame = frame.assign(run=[f"{run}, k = {sizes[run]}" for run in frame["run"]])
    caption = "CPU seconds to score and learn each timestep, without start-up: mean over seeds."
    totals = frame.groupby("run", sort=False)["cpu_s"].sum()
    alt = "CPU seconds of all timesteps: " + ", ".join(f"{run} {total:.3g}" for run, total in totals.items()) + "."
    return Picture(cost_by_timestep(frame), caption, alt)


@styled
def cost_by_timestep(costs):
    """CPU seconds of every timestep, on a logarithmic scale where the runs differ much.

    Parameters
    ----------
    costs : DataFrame
        run, t, cpu_s.
    """
    figure, axes = new_figure(7.2, 3.8)
    axis, runs = axes[0, 0], list(dict.fromkeys(costs["run"]))
    for position, run in enumerate(runs):
        part = costs[costs["run"] == run]
        axis.plot(part["t"], part["cpu_s"], label=run, markersize=5.5, linewidth=1.6, **look_of(position))
    scale_from_zero(axis, "y", costs["cpu_s"])
    axis.set(xlabel="timestep t", ylabel="CPU seconds")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=16, min_n_ticks=1))
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=min(3, len(runs)))
    despine(figure)
    return figure
