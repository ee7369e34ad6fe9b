"""ROC curves of the shown run, of some others and of a baseline, a panel for each timestep."""

from odl.evaluation import metrics
from odl.evaluation.scorefiles import named
from odl.report.figures import Picture, absent
from odl.report.plots import GREY, LINES, PALE, despine, look_of, new_figure
from odl.report.selection import REFERENCES, thin

PLACE = ("Timesteps", 2.1)
MOST_PANELS = 9


def draw(selection):
    panels, listed = [], thin(selection.listed(), MOST_PANELS)
    base = selection.baselines()
    for t in listed:
        curves = []
        for run in _different(selection, 3):
            batch = selection.batch(selection.entry(run), t)
            curves.append(_curve(run, batch.scores[run], selection.labels(batch), False))
        if base:
            baseline = selection.batch(base, t)
            name = named(REFERENCES[0], baseline.window)
            curves.append(_curve(name, baseline.scores[REFERENCES[0]], selection.labels(baseline), True))
        panels.append((f"t = {t} ({int((selection.labels(batch) == 1).sum())} novel)", curves))
    if not panels:
        return absent("No timestep has both novel and known documents.")
    caption = f"ROC curves with their AUC, seed {selection.shown['seed']}" + (
        f"; {len(panels)} of {len(selection.listed())} timesteps." if len(listed) < len(selection.listed()) else "."
    )
    alt = "; ".join(f"{title}: " + ", ".join(f"{c[0]} {c[3]:.2f}" for c in curves) for title, curves in panels)
    return Picture(_drawn(panels), caption, "ROC curves. " + alt)


def _different(selection, most):
    """The shown run and some others, those of other algorithms first, in the order of the plan."""
    algorithms = {entry["run"]: entry["algorithm"] for entry in selection.plan}
    picked = [selection.shown["run"]]
    for fresh in (True, False):
        for run in selection.runs:
            used = {algorithms[name] for name in picked}
            if run not in picked and len(picked) < most and (not fresh or algorithms[run] not in used):
                picked.append(run)
    return [run for run in algorithms if run in picked]


def _curve(name, score, labels, reference):
    false, true, _ = metrics.roc_curve(score, labels)
    return name, false, true, metrics.auc(score, labels), reference


def _drawn(panels):
    """Draw a panel for each (title, list of (name, false positives, true positives, auc, is_reference))."""
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
    despine(figure)
    return figure
