"""CPU seconds of every timestep, on a logarithmic scale where the runs differ much."""

from odl.report.figures import Picture, absent
from odl.report.plots import legend_below, lines, new_figure, scale_from_zero, timesteps_below

PLACE = ("Time and memory", 0.2)


def draw(selection):
    frame, sizes = selection.seconds(), selection.sizes()
    frame = frame[frame["run"].map(sizes) == frame["k"]]
    if frame.empty:
        return absent("No timings were recorded.")
    frame = selection.in_order(frame, "t").replace({"run": {run: f"{run}, k = {k}" for run, k in sizes.items()}})
    caption = "CPU seconds to score and learn each timestep, without start-up: mean over seeds."
    totals = ", ".join(f"{run} {sum(part):.3g}" for run, part in frame.groupby("run", sort=False)["cpu_s"])
    figure, ((axis,),) = new_figure(7.2, 4.0)
    lines(axis, frame, "t", "cpu_s")
    scale_from_zero(axis, "y", frame["cpu_s"])
    timesteps_below(axis)
    axis.set(ylabel="CPU seconds")
    return Picture(legend_below(figure, 3), caption, f"CPU seconds of all timesteps: {totals}.")
