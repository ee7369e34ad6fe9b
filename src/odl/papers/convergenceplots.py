"""Pictures of convergence: distances against the three clocks, and the bias of diffusion against its step."""

import numpy as np
import seaborn

from odl.report.plots import GREY, LINES, logarithmic, look_of, new_figure, styled

FLOOR = 1e-12  # below is rounding
CLOCKS = (("exchanges", "exchanges"), ("inner", "gradient steps of an agent"), ("floats", "floats sent by an agent"))


@styled
def paths(rows):
    """Draw squared distances, a row of panels for each problem and network, a panel for each clock.

    Parameters
    ----------
    rows : list of dict
        problem, network, method, exchanges, inner, floats, distance.
    """
    names = list(dict.fromkeys((row["problem"], row["network"]) for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = new_figure(8.2, 2.1 * len(names) + 0.9, len(names), 3, sharey="row")
    for place, (line, (problem, network)) in enumerate(zip(axes, names, strict=True)):
        for axis, (key, label) in zip(line, CLOCKS, strict=True):
            for number, method in enumerate(methods):
                part = [r for r in rows if (r["problem"], r["network"], r["method"]) == (problem, network, method)]
                values = [max(row["distance"], FLOOR) for row in part]
                look = {**look_of(number), "markevery": 8, "markersize": 4, "linewidth": 1.4}
                axis.plot([row[key] for row in part], values, label=method, **look)
            logarithmic(axis, "x", "y")
            if place == len(names) - 1:
                axis.set_xlabel(label)
        line[0].set_ylabel("squared distance")
        line[1].set_title(f"{problem}, {network}")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(methods))
    seaborn.despine(figure)
    return figure


@styled
def steps(rows):
    """Draw the squared distance of the fixed points against mu, with mu^2 in grey.

    Parameters
    ----------
    rows : list of dict
        problem, network, mu, distance; may be empty.
    """
    names = list(dict.fromkeys((row["problem"], row["network"]) for row in rows))
    figure, axes = new_figure(5.6, 3.8)
    axis = axes[0, 0]
    for number, (problem, network) in enumerate(names):
        part = sorted((r["mu"], r["distance"]) for r in rows if (r["problem"], r["network"]) == (problem, network))
        mu, distance = np.array(part).T
        axis.plot(mu, distance, label=f"{problem}, {network}", markersize=5.5, **look_of(number))
        law = {"color": GREY, "linewidth": 1.1, "linestyle": LINES[2], "zorder": 0}
        axis.plot(mu, distance[0] * (mu / mu[0]) ** 2, label="mu²" if number == len(names) - 1 else None, **law)
    if names:
        logarithmic(axis, "x", "y")
        axis.legend()
    axis.set(xlabel="step mu", ylabel="squared distance of the fixed point")
    seaborn.despine(figure)
    return figure
