"""Average AUC against one parameter of each algorithm, with all other parameters fixed."""

import json
import math
from operator import itemgetter

from odl.evaluation.study import BASELINE
from odl.report.figures import Picture, absent
from odl.report.plots import despine, lines, logarithmic, look_of, panels

PLACE = ("Result", 1.2)


def draw(selection):
    """Draw average AUC against each parameter in whose value runs differ."""
    averages = selection.frame("averages")
    averages = averages[averages["algorithm"] != BASELINE].dropna(subset=["average"])
    sweeps = find_sweeps(averages, selection.shown["k"]) if len(averages) else []
    if not sweeps:
        return absent(
            "No parameter was varied: no two runs differ in the value of one parameter only."
        )
    swept = [
        (f"{algorithm.replace('_', ' ').replace('admm', 'ADMM')}, k = {k:g}", name, frame)
        for algorithm, k, name, frame in sweeps
    ]
    caption = (
        "Average AUC against one parameter, all else equal: mean and standard deviation over seeds."
    )
    texts = []
    for title, name, frame in swept:
        mean = frame.groupby("value")["average"].mean()
        limits = f"from {mean.index.min():g} to {mean.index.max():g}"
        texts.append(f"{title}: {name} {limits}, best at {mean.idxmax():g}")
    return Picture(
        sensitivity(swept), caption, "Average AUC against a parameter. " + "; ".join(texts)
    )


def find_sweeps(averages, prefer=None):
    """Find sweeps: groups of runs with the same algorithm and k that differ in one number only.

    Parameters
    ----------
    averages : DataFrame
        Columns algorithm, k, run, seed, parameters (JSON), average.
    prefer : int, optional
        Number of atoms to prefer if sweeps of several k have the same number of values.

    Returns
    -------
    list of (algorithm, k, parameter, DataFrame with value, seed, average)
        For each algorithm and parameter, the sweep with the most values, at least two.
    """
    import pandas  # slow to import, and the page needs only PLACE

    rows = []  # one for each run and numeric parameter
    flattened = pandas.json_normalize([json.loads(text) for text in averages["parameters"]])
    for run, settings in zip(
        averages.to_dict("records"), flattened.to_dict("records"), strict=True
    ):
        for name, value in settings.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or math.isnan(value):  # NaN if the run lacks the parameter
                continue
            others = {other: setting for other, setting in settings.items() if other != name}
            row = {column: run[column] for column in ("algorithm", "k", "seed", "average")}
            row |= {"parameter": name, "value": float(value)}
            rows.append(row | {"others": json.dumps(others, sort_keys=True)})
    if not rows:
        return []
    sweeps = {}
    groups = pandas.DataFrame(rows).groupby(["algorithm", "k", "parameter", "others"])
    for (algorithm, k, name, _), group in groups:
        rank = (group["value"].nunique(), k == prefer)
        best_rank = sweeps[algorithm, name][0] if (algorithm, name) in sweeps else (1, True)
        if rank > best_rank:
            sweeps[algorithm, name] = (rank, k, group[["value", "seed", "average"]])
    return [
        (algorithm, k, name, group)
        for (algorithm, name), (_, k, group) in sorted(sweeps.items(), key=itemgetter(0))
    ]


def sensitivity(sweeps):
    """Draw average AUC against one parameter of each algorithm (ICASSP 2013, figure 2).

    Points are means over seeds, bars standard deviations.

    Parameters
    ----------
    sweeps : list of (title, parameter, DataFrame)
        One panel for each. Columns of the frame are value, seed and average.
    """
    figure, axes = panels(len(sweeps), 2.9, 2.9, sharey=True)
    for position, (axis, (title, parameter, frame)) in enumerate(zip(axes, sweeps, strict=True)):
        average = (
            frame.groupby("value")["average"].agg(["mean", "std"]).reset_index().assign(run=title)
        )
        lines(axis, average, "value", "mean", "std", **look_of(position))
        values = average["value"].to_numpy(dtype=float)
        if values.min() > 0 and values.max() / values.min() > 30:
            logarithmic(axis, "x")
            axis.set_xticks(values, [f"{value:g}" for value in values])
            axis.minorticks_off()
        axis.set(title=title, xlabel=parameter)
    figure.supylabel("average AUC", fontsize=10)
    despine(figure)
    return figure
