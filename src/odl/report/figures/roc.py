"""ROC curves of the shown run, of some others and of a baseline, a panel for each timestep."""

from odl.evaluation import metrics
from odl.evaluation.scorefiles import named
from odl.report.figures import Picture, absent
from odl.report.plots import GREY, PALE, legend_below, look_of, panels
from odl.report.selection import REFERENCES, thin

PLACE = ("Timesteps", 2.1)
MOST_PANELS = 9
MOST_RUNS = 2  # beside the shown one


def draw(selection):
    drawn, listed = [], thin(selection.listed(), MOST_PANELS)
    runs = [run for run in selection.runs if run in (selection.shown["run"], *selection.runs[:MOST_RUNS])]
    base = selection.baselines()
    for t in listed:
        curves = []
        for run in runs:
            batch = selection.batch(selection.entry(run), t)
            curves.append(_curve(run, batch.scores[run], selection.labels(batch), False))
        if base:
            baseline = selection.batch(base, t)
            name = named(REFERENCES[0], baseline.window)
            curves.append(_curve(name, baseline.scores[REFERENCES[0]], selection.labels(baseline), True))
        drawn.append((f"t = {t} ({int((selection.labels(batch) == 1).sum())} novel)", curves))
    if not drawn:
        return absent("No timestep has both novel and known documents.")
    caption = f"ROC curves with their AUC, seed {selection.shown['seed']}" + (
        f"; {len(drawn)} of {len(selection.listed())} timesteps." if len(listed) < len(selection.listed()) else "."
    )
    alt = "; ".join(f"{title}: " + ", ".join(f"{c[0]} {c[3]:.2f}" for c in curves) for title, curves in drawn)
    return Picture(_drawn(drawn), caption, "ROC curves. " + alt)


def _curve(name, score, labels, reference):
    false, true, _ = metrics.roc_curve(score, labels)
    return name, false, true, metrics.auc(score, labels), reference


def _drawn(by_timestep):
    """Draw a panel for each (title, list of (name, false positives, true positives, auc, is_reference))."""
    figure, axes = panels(len(by_timestep), 2.6, 2.9, sharex=True, sharey=True)
    for axis, (title, curves) in zip(axes, by_timestep, strict=True):
        axis.plot([0, 1], [0, 1], color=PALE, linewidth=0.8)
        for number, (name, false, true, value, reference) in enumerate(curves):
            look = look_of(number) | ({"color": GREY} if reference else {}) | {"marker": ""}
            axis.plot(false, true, label=name, linewidth=1.5, **look)
            axis.text(0.98, 0.04 + 0.085 * (len(curves) - 1 - number), f"{name} {value:.2f}", ha="right", fontsize=7.5,
                      color=look["color"], transform=axis.transAxes)  # fmt: skip
        ticks = [0, 0.5, 1]
        axis.set(title=title, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=ticks, yticks=ticks, aspect="equal")
    figure.supxlabel("known documents above the threshold", fontsize=10)
    figure.supylabel("novel documents above the threshold", fontsize=10)
    return legend_below(figure, 4)
