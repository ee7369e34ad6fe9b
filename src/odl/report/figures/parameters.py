"""Average AUC against one parameter of each algorithm, all else equal."""

import json
from operator import itemgetter

from odl.evaluation.plan import BASELINE
from odl.report.figures import Picture, absent
from odl.report.plots import despine, logarithmic, look_of, mean_and_spread, new_figure

PLACE = ("Result", 1.2)
NONE = "No parameter was swept: no two runs differ in the value of one parameter only."


def draw(selection):
    if all(row["algorithm"] == BASELINE for row in selection.rows("averages", "average")):
        return absent(NONE)
    averages = selection.frame("averages")
    averages = averages[averages["algorithm"] != BASELINE].dropna(subset=["average"])
    sweeps = find_sweeps(averages, selection.shown["k"]) if len(averages) else []
    if not sweeps:
        return absent(NONE)
    panels = [
        (f"{algorithm.replace('_', ' ').replace('admm', 'ADMM')}, k = {k:g}", name, part)
        for algorithm, k, name, part in sweeps
    ]
    caption = "Average AUC against one parameter, all else equal: mean and standard deviation over seeds."
    texts = []
    for title, name, part in panels:
        mean = part.groupby("value")["average"].mean()
        texts.append(f"{title}: {name} from {mean.index.min():g} to {mean.index.max():g}, best at {mean.idxmax():g}")
    return Picture(sensitivity(panels), caption, "Average AUC against a parameter. " + "; ".join(texts))


def find_sweeps(averages, prefer=None):
    """Find runs of one algorithm and k that differ in one number only.

    Parameters
    ----------
    averages : DataFrame
        algorithm, k, run, seed, parameters (JSON), average.
    prefer : int, optional
        Dictionary size to take where several have equally many values.

    Returns
    -------
    list of (algorithm, k, parameter, DataFrame with value, seed, average)
        For each algorithm and parameter the dictionary size with the most values.
    """
    import pandas  # slow to import: the page imports this module for its place

    rows = []
    for row in averages.to_dict("records"):
        flat = _flat(json.loads(row["parameters"]))
        for name, value in flat.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                others = json.dumps({key: setting for key, setting in flat.items() if key != name}, sort_keys=True)
                key = {"parameter": name, "value": float(value), "others": others}
                rows.append({**{column: row[column] for column in ("algorithm", "k", "seed", "average")}, **key})
    sweeps = {}
    if not rows:
        return []
    for (algorithm, k, name, _), part in pandas.DataFrame(rows).groupby(["algorithm", "k", "parameter", "others"]):
        rank = (part["value"].nunique(), k == prefer)
        if rank[0] > 1 and rank > sweeps.get((algorithm, name), ((0, False),))[0]:
            sweeps[algorithm, name] = (rank, k, part[["value", "seed", "average"]])
    return [(algorithm, k, name, part) for (algorithm, name), (_, k, part) in sorted(sweeps.items(), key=itemgetter(0))]


def _flat(parameters, prefix=""):
    flat = {}
    for name, value in parameters.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def sensitivity(sweeps):
    """Average AUC against one parameter of each algorithm, mean and deviation over seeds (figure 2).

    Parameters
    ----------
    sweeps : list of (title, parameter, DataFrame)
        One panel each; the frame has value, seed, average.
    """
    columns = min(3, len(sweeps))
    rows = -(-len(sweeps) // columns)
    figure, axes = new_figure(max(3.8, 2.9 * columns), 2.9 * rows, rows, columns, sharey=True)
    for position, axis in enumerate(axes.flat):
        if position >= len(sweeps):
            axis.axis("off")
            continue
        title, parameter, frame = sweeps[position]
        mean, spread = mean_and_spread(frame, "value", "average")
        axis.errorbar(mean.index, mean, yerr=spread, capsize=2.5, markersize=5.5, linewidth=1.6, **look_of(position))
        values = mean.index.to_numpy(dtype=float)
        if values.min() > 0 and values.max() / values.min() > 30:
            logarithmic(axis, "x")
            axis.set_xticks(values, [f"{value:g}" for value in values])
            axis.minorticks_off()
        axis.set(title=title, xlabel=parameter)
    for axis in axes[:, 0]:
        axis.set_ylabel("average AUC")
    despine(figure)
    return figure
