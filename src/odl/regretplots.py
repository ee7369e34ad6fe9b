"""The figure of regret: what was measured against the square root of the timesteps, and the bounds of the theory."""

import numpy as np
import seaborn

from odl.plots import GREY, INK, LINES, look_of, new_figure, styled


def _panels(frame):
    """Names of the panels that there are data for, and the run that the theorems hold for (None: none)."""
    bounded = frame.loc[frame["bound_regret"].notna(), "run"]
    theorem = bounded.iloc[0] if len(bounded) else None
    names = ["regret", "rate"] + (["bound"] if theorem else [])
    return names + (["violation"] if frame["violation_mean"].notna().any() else []), theorem


@styled
def regret(frame):
    """Regret over the stream, its mean a timestep, the bounds of the theory, the violations of online ADMM.

    Parameters
    ----------
    frame : DataFrame
        Rows of one corpus of what `odl.study.gather_regret` wrote, one size of each run.
    """
    names, theorem = _panels(frame)
    columns = 3 if len(names) == 3 else 2
    rows = -(-len(names) // columns)
    figure, axes = new_figure(3.9 * columns, 3.2 * rows + 0.5, rows, columns)
    looks = {run: look_of(number) for number, run in enumerate(dict.fromkeys(frame["run"]))}
    draw = {"regret": _regret, "rate": _rate, "bound": _bound, "violation": _violation}
    last = frame["t"].max()
    for name, axis in zip(names, axes.flat, strict=False):
        axis.set_xscale("function", functions=(lambda t: np.sqrt(np.maximum(t, 0)), np.square))
        axis.set(xlabel="timesteps T (scale of √T)", xlim=(0, 1.03 * last))
        draw[name](axis, frame, looks, theorem)
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=min(5, len(handles[1])))
    seaborn.despine(figure)
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


def _root(axis, frame, power, label):
    """A grey line proportional to T^power through the end of the largest regret."""
    last = frame[frame["t"] == frame["t"].max()]
    value = np.abs(last["regret_mean"]).max() if not (last["regret_mean"] > 0).any() else last["regret_mean"].max()
    times = np.linspace(1.0 if power < 0 else 0.0, frame["t"].max(), 400)
    axis.plot(times, value * (times / times[-1]) ** (0.5) if power > 0 else value / times[-1] ** 0.5 / times**0.5,
              color=GREY, linewidth=1.1, linestyle=LINES[2], zorder=0, label=label)  # fmt: skip


def _regret(axis, frame, looks, theorem):
    _lines(axis, frame, looks, "regret_mean", "regret_sd")
    _root(axis, frame, 0.5, "proportional to √T, 1/√T")
    axis.axhline(0, color=INK, linewidth=0.8)
    axis.set(title="Regret R(T)", ylabel="loss minus best fixed in hindsight")


def _rate(axis, frame, looks, theorem):
    _lines(axis, frame, looks, "regret_mean", "regret_sd", lambda part, column: part[column] / part["t"])
    _root(axis, frame, -0.5, "")
    axis.axhline(0, color=INK, linewidth=0.8)
    axis.set(title="Mean regret R(T)/T", ylabel="a timestep")


def _bound(axis, frame, looks, theorem):
    part = frame[frame["run"] == theorem].sort_values("t")
    values = part["regret_mean"].where(part["regret_mean"] > 0)
    every = max(1, len(part) // 8)
    axis.plot(part["t"], values, linewidth=1.6, markersize=5, markevery=every, **looks[theorem])
    shown = [("theorem_regret", "B.5, ΦD√(T/τ)", LINES[1]), ("bound_regret", "its proof at the β of the run", LINES[4])]
    shown += [("online", "whole loss", LINES[2])]
    for column, label, line in shown:
        axis.plot(part["t"], part[column], color=INK if column != "online" else GREY, linewidth=1.3, linestyle=line,
                  label=label)  # fmt: skip
    axis.set_yscale("log")
    axis.set(title=f"Bound on R(T): {theorem}", ylabel="loss")
    axis.legend(loc="lower right", fontsize=8)


def _violation(axis, frame, looks, theorem):
    _lines(axis, frame, looks, "violation_mean", "violation_sd")
    part = frame[frame["run"] == theorem].sort_values("t")
    shown = (("theorem_violation", "B.6", LINES[1]), ("bound_violation", "its proof at the β of the run", LINES[4]))
    lines = [
        axis.plot(part["t"], part[column], color=INK, linewidth=1.3, linestyle=line, label=f"{label}: {theorem}")[0]
        for column, label, line in shown
        if len(part)
    ]
    if (frame["violation_mean"].dropna() > 0).all():
        axis.set_yscale("log")
    axis.set(title="Constraint violation, summed", ylabel="squared Frobenius norm")
    if lines:
        axis.legend(handles=lines, loc="lower right", fontsize=8)


def words(frame):
    """Return the caption, which says what is claimed and what is not, and the text alternative."""
    theorem = _panels(frame)[1]
    last = frame[frame["t"] == frame.groupby("run")["t"].transform("max")]
    several = frame["seeds"].max() > 1
    gap = ((last["regret_high"] - last["regret_mean"]) / last["online"]).max()
    caption = (
        "Regret R(T): loss of a run minus that of the best fixed dictionary in hindsight, on the codes that the run "
        f"revealed{', mean and standard deviation over seeds' if several else ''}. The best dictionary is fitted to "
        f"a certified precision, so R(T) is drawn from below; at the end it is at most {100 * gap:.2g} % of the loss "
        "higher. The codes are made for the dictionary of their time, so a regret below zero is possible: no fixed "
        "dictionary suits them as well. Grey dots: a multiple of √T (of 1/√T), for the eye only; for these runs no "
        "bound is claimed"
    )
    alt = "Regret at the end: " + "; ".join(
        f"{run} {value:.4g} of a loss of {loss:.5g}"
        for run, value, loss in zip(last["run"], last["regret_mean"], last["online"], strict=True)
    )
    if theorem is None:
        return caption + ".", alt + "."
    row = last[last["run"] == theorem].iloc[0]
    trivial = "above" if row["theorem_regret"] > row["online"] else "below"
    caption += (
        f", but for {theorem}, which keeps every condition of Theorems B.5 and B.6 (NIPS 2012 supplement; B.5 without "
        f"the factor 1/2 that its proof does not give), with measured constants Φ {row['phi']:.4g}, D "
        f"{row['distance']:.3g}, τ {row['tau']:.3g}, Υ {row['upsilon']:.4g}: the theorem speaks of the last T, which "
        f"its β is for, the line of the proof of every T. The bound is {trivial} the whole loss, which no regret "
        "exceeds: it is a statement about growth, not a tight one."
    )
    alt += f"; bound of {theorem} {row['theorem_regret']:.4g}, violations {row['violation_mean']:.3g} of at most "
    return caption, alt + f"{row['theorem_violation']:.3g}."
