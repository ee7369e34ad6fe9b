"""Average AUC against the CPU seconds of the whole stream (NIPS 2012, appendix, figure 1)."""

from odl.report.figures import Picture, absent
from odl.report.plots import INK, despine, look_of, new_figure, scale_from_zero

PLACE = ("Time and memory", 0.3)


def draw(selection):
    nothing = absent("Nothing to compare: no run has both an average AUC and timings.")
    if not selection.rows("summary", "average_mean"):
        return nothing
    quality = selection.frame("summary").dropna(subset=["average_mean"])
    costs = selection.frame("costs")
    costs = costs.assign(cpu_s=costs["score_cpu_s"] + costs["learn_cpu_s"]).dropna(subset=["cpu_s"])
    totals = costs.groupby(["run", "k"], as_index=False)["cpu_s"].sum()
    frame = quality[quality["run"].isin(selection.runs)].merge(totals, on=["run", "k"])
    if frame.empty:
        return nothing
    frame = selection.in_order(frame, "k")
    caption = (
        "Average AUC against the CPU seconds to score and learn the whole stream; a point is a number of atoms k. Mean "
        "and standard deviation over seeds."
    )
    alt = "Average AUC and CPU seconds: " + "; ".join(
        f"{row.run}, k = {row.k:g}: {row.average_mean:.3f} in {row.cpu_s:.3g} s" for row in frame.itertuples()
    )
    figure, axes = new_figure(7.2, 4.2)
    axis, runs = axes[0, 0], list(dict.fromkeys(frame["run"]))
    for position, run in enumerate(runs):
        part = frame[frame["run"] == run]
        axis.errorbar(part["cpu_s"], part["average_mean"], yerr=part["average_sd"].fillna(0.0), label=run, capsize=2.5,
                      markersize=5.5, linewidth=1.4, **look_of(position))  # fmt: skip
        for row in part.itertuples():
            axis.annotate(f"{row.k:g}", (row.cpu_s, row.average_mean), (4, 4), textcoords="offset points",
                          fontsize=7.5, color=INK)  # fmt: skip
    scale_from_zero(axis, "x", frame["cpu_s"])
    axis.set(xlabel="CPU seconds to score and learn the stream", ylabel="average AUC")
    axis.margins(y=0.1)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=min(4, len(runs)))
    despine(figure)
    return Picture(figure, caption, alt)
