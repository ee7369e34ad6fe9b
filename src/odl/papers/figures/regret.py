"""Regret against the square root of the timesteps, and the bounds of the theory; where it was measured."""

import numpy as np

from odl.report.figures import Picture, absent
from odl.report.plots import GREY, INK, LINES, despine, logarithmic, look_of, new_figure

PLACE = ("Regret", 0.1)
NEEDS = "regret"


def draw(selection):
    import pandas  # slow to import: drawn in few studies

    from odl.papers import hindsight

    frame = pandas.DataFrame(selection.tables["regret"], columns=list(hindsight.OVER_SEEDS))
    if frame.empty:
        return absent("The regret of no run was measured.")
    nearest = frame.groupby("run")["k"].transform(lambda sizes: min(sizes, key=lambda k: abs(k - selection.shown["k"])))
    frame = frame[frame["k"] == nearest]
    return Picture(regret(frame), *words(frame))


def _panels(frame):
    """Names of the panels that there are data for, and the run that the theorems hold for (None: none)."""
    bounded = frame.loc[frame["bound_regret"].notna(), "run"]
    theorem = bounded.iloc[0] if len(bounded) else None
    names = ["regret", "rate"] + (["bound"] if theorem else [])
    return names + (["violation"] if frame["violation_mean"].notna().any() else []), theorem


def regret(frame):
    """Regret over the stream, its mean a timestep, the bounds of the theory, the violations of online ADMM.

    Parameters
    ----------
    frame : DataFrame
        Rows of one corpus of what `odl.papers.hindsight.gather_regret` wrote, one size of each run.
    """
    names, theorem = _panels(frame)
    columns = 3 if len(names) == 3 else 2
    rows = -(-len(names) // columns)
    figure, axes = new_figure(3.9 * columns, 3.2 * rows + 0.5, rows, columns)
    looks = {run: look_of(number) for number, run in enumerate(dict.fromkeys(frame["run"]))}
    panels = {"regret": _regret, "rate": _rate, "bound": _bound, "violation": _violation}
    last = frame["t"].max()
    ticks = np.unique((np.linspace(1, np.sqrt(last), 6) ** 2).round().astype(int))
    for name, axis in zip(names, axes.flat, strict=False):
        axis.set_xscale("function", functions=(lambda t: np.sqrt(np.maximum(t, 0)), np.square))
        axis.set(xlabel="timesteps T (scale of √T)", xlim=(0, 1.03 * last), xticks=ticks)
        panels[name](axis, frame, looks, theorem)
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=min(5, len(handles[1])))
    despine(figure)
    return figure


def _lines(axis, frame, looks, value, spread=None, scale=lambda part, column: part[column]):
    for run, look in looks.items():
        part = frame[(frame["run"] == run) & frame[value].notna()].sort_values("t")
        if part.empty:
            continue
        every = max(1, len(part) // 8)
        axis.plot(part["t"], scale(part, value), label=run, linewidth=1.6, markersize=5, markevery=every, **look)
        if spread and part[spread].notna().any():
            low, high = (scale(part.assign(edge=part[value] + sign * part[spread]), "edge") for sign in (-1, 1))
            axis.fill_between(part["t"], low, high, color=look["color"], alpha=0.18, linewidth=0)


def _root(axis, frame, power):
    """A grey line: the smallest multiple of √T that no measured regret is above, times T^power."""
    most = (frame["regret_mean"] / np.sqrt(frame["t"])).max()
    if most > 0:
        times = np.linspace(1, frame["t"].max(), 400)
        axis.plot(times, most * times ** (0.5 + power), color=GREY, linewidth=1.1, linestyle=LINES[2], zorder=0,
                  label="multiple of √T" if power == 0 else "multiple of 1/√T")  # fmt: skip
    axis.axhline(0, color=INK, linewidth=0.8)


def _regret(axis, frame, looks, theorem):
    _lines(axis, frame, looks, "regret_mean", "regret_sd")
    _root(axis, frame, 0)
    axis.set(title="Regret R(T)", ylabel="loss minus best fixed in hindsight")


def _rate(axis, frame, looks, theorem):
    _lines(axis, frame, looks, "regret_mean", "regret_sd", lambda part, column: part[column] / part["t"])
    _root(axis, frame, -1)
    axis.set(title="Regret per timestep", ylabel="R(T)/T")


def _bound(axis, frame, looks, theorem):
    part = frame[frame["run"] == theorem]
    positive = part.assign(regret_mean=part["regret_mean"].where(part["regret_mean"] > 0))
    _lines(axis, positive, {theorem: looks[theorem]}, "regret_mean")
    _black(axis, part, "regret", "B.5: ΦD√(T/τ)")
    axis.plot(part["t"], part["online"], color=GREY, linewidth=1.3, linestyle=LINES[2], label="whole loss of the run")
    axis.set(title=f"Bound on R(T), {theorem}", ylabel="loss")
    _log(axis)


def _violation(axis, frame, looks, theorem):
    _lines(axis, frame, looks, "violation_mean", "violation_sd")
    if theorem:
        _black(axis, frame[frame["run"] == theorem], "violation", f"B.6, {theorem}")
    axis.set(title="Violation of the constraint, summed", ylabel="squared Frobenius norm")
    if (frame["violation_mean"].dropna() > 0).all():
        _log(axis)


def _black(axis, part, what, label):
    """The bound of the theorem, and that of its proof for the beta of the run."""
    axis.plot(part["t"], part[f"theorem_{what}"], color=INK, linewidth=1.3, label=label)
    axis.plot(part["t"], part[f"bound_{what}"], color=INK, linewidth=1.3, linestyle=LINES[1],
              label="its proof, at this β")  # fmt: skip


def _log(axis):
    """Logarithmic values, with room below for a legend of the lines that are black or grey."""
    logarithmic(axis, "y")
    lines = [line for line in axis.lines if line.get_color() in (INK, GREY)]
    if lines:
        low, high = axis.get_ylim()
        axis.set_ylim(low * (low / high) ** 0.4, high)
        axis.legend(handles=lines, loc="lower right", fontsize=8.5)


def words(frame):
    """Return the caption, which says what is claimed and what is not, and the text alternative."""
    names, theorem = _panels(frame)
    last = frame[frame["t"] == frame.groupby("run")["t"].transform("max")]
    gap = (last["regret_high"] - last["regret_mean"]).max()
    caption = (
        "Regret R(T): loss of a run minus that of the best fixed dictionary in hindsight, both on the codes that the "
        f"run revealed{'; mean and standard deviation over seeds' if frame['seeds'].max() > 1 else ''}. The best "
        f"dictionary is known up to a certified gap, and R(T) is drawn from below: at the end it is at most {gap:.2g} "
        "higher. Codes are made for the dictionary of their time and suit no fixed one as well, so R(T) may fall below "
        "zero. Dots: the smallest multiple of √T (or of 1/√T) that is above all curves, for comparison; "
    )
    alt = "Regret at the end: " + "; ".join(
        f"{run} {value:.4g} of a loss of {loss:.5g}"
        for run, value, loss in zip(last["run"], last["regret_mean"], last["online"], strict=True)
    )
    violated = ""
    if "violation" in names:
        violated = " Violation: Σ‖Γ_{t+1} − (P_t − X_t A_{t+1}ᵀ)‖² of online ADMM."
    if theorem is None:
        return f"{caption}no bound is claimed for these runs.{violated}", alt + "."
    row = last[last["run"] == theorem].iloc[0]
    side = "above the whole loss, which no regret can exceed, so it says how regret may grow and not how large it is"
    side = side if row["theorem_regret"] > row["online"] else "below the whole loss"
    caption += (
        f"a bound is claimed for {theorem} only, which keeps the conditions of Theorems B.5 and B.6 of the NIPS 2012 "
        "supplement (B.5 twice as large as printed, as its proof gives it). Constants measured afterwards: "
        f"Φ {row['phi']:.4g}, D {row['distance']:.3g}, τ {row['tau']:.3g}, Υ {row['upsilon']:.4g}. The theorem (solid) "
        f"holds at the last T, for which β was chosen; the inequality of its proof (dashed) at every T. The bound is "
        f"{side}.{violated}"
    )
    alt += f"; bound of {theorem} {row['theorem_regret']:.4g}, violations {row['violation_mean']:.3g} of at most "
    return caption, alt + f"{row['theorem_violation']:.3g}."
