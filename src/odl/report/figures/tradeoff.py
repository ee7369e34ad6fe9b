"""Average AUC against CPU seconds of the complete stream (NIPS 2012, appendix, figure 1)."""

from odl.report.figures import Picture, absent
from odl.report.plots import INK, legend_below, lines, logarithmic, new_figure

PLACE = ("Time and memory", 0.3)


def draw(selection):
    """Draw average AUC against CPU seconds."""
    costs = selection.frame("costs")
    costs = costs.assign(cpu_s=costs["score_cpu_s"] + costs["learn_cpu_s"]).dropna(subset=["cpu_s"])
    totals = costs.groupby(["run", "k"], as_index=False)["cpu_s"].sum()
    frame = (
        selection.frame("summary").dropna(subset=["average_mean"]).merge(totals, on=["run", "k"])
    )
    frame = frame[frame["run"].isin(selection.runs)]
    if frame.empty:
        return absent("Nothing to compare: no run has both an average AUC and timings.")
    frame = selection.in_order(frame, "k")
    caption = (
        "Average AUC against the CPU seconds to score and learn the stream: mean and standard "
        "deviation over seeds. Each point is labelled with the number of atoms k."
    )
    alt = "Average AUC and CPU seconds: " + "; ".join(
        f"{row.run}, k = {row.k:g}: {row.average_mean:.3f} in {row.cpu_s:.3g} s"
        for row in frame.itertuples()
    )
    figure, ((axis,),) = new_figure(7.2, 4.6)
    lines(axis, frame, "cpu_s", "average_mean", "average_sd")
    for row in frame.itertuples():
        point = row.cpu_s, row.average_mean
        look = {"textcoords": "offset points", "fontsize": 7.5, "color": INK}
        axis.annotate(f"{row.k:g}", point, (4, 4), **look)
    seconds = frame["cpu_s"]
    if seconds.min() > 0 and seconds.max() > 10 * seconds.min():
        logarithmic(axis, "x")
        axis.xaxis.set_major_formatter("{x:g}")
    else:
        axis.set(xlim=(0, 1.08 * max(seconds.max(), 1e-9)))
    axis.set(xlabel="CPU seconds to score and learn the stream", ylabel="average AUC")
    axis.margins(y=0.1)
    return Picture(legend_below(figure, 4), caption, alt)
