"""Pictures of time: per timestep, against the number of atoms, and what AUC it buys."""

import numpy as np
import seaborn
from matplotlib.ticker import MaxNLocator

from odl.report.plots import INK, logarithmic, look_of, new_figure, styled


@styled
def time_against_k(timing):
    """CPU seconds per timestep (scoring and learning) against the number of atoms (figure 1 b, d).

    Parameters
    ----------
    timing : DataFrame
        run, k, score_cpu_s, learn_cpu_s.
    """
    runs = list(dict.fromkeys(timing["run"]))
    figure, axes = new_figure(7.2, 3.6, 1, 2, sharey=True)
    sizes = np.unique(timing["k"])
    for axis, column, title in zip(axes[0], ("score_cpu_s", "learn_cpu_s"), ("score", "learn"), strict=True):
        for position, run in enumerate(runs):
            part = timing[timing["run"] == run].sort_values("k")
            axis.plot(part["k"], part[column], label=run, markersize=5.5, linewidth=1.6, **look_of(position))
        axis.set(title=title, xlabel="atoms k", xticks=sizes, ylim=(0, None))
        if len(sizes) == 1:
            axis.set_xlim(sizes[0] * 0.8, sizes[0] * 1.2)
    top = np.nanmax(timing[["score_cpu_s", "learn_cpu_s"]].to_numpy())
    axes[0, 0].set(ylabel="CPU seconds per timestep", ylim=(0, 1.08 * top if top > 0 else 1))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(runs)))
    seaborn.despine(figure)
    return figure


def _wide(values):
    """Tell whether positive values span more than a factor of ten."""
    return (values > 0).all() and values.max() > 10 * values.min()


@styled
def cost_by_timestep(costs):
    """CPU seconds of every timestep, on a logarithmic scale where the runs differ much.

    Parameters
    ----------
    costs : DataFrame
        run, t, cpu_s.
    """
    figure, axes = new_figure(7.2, 3.8)
    axis, runs = axes[0, 0], list(dict.fromkeys(costs["run"]))
    for position, run in enumerate(runs):
        part = costs[costs["run"] == run]
        axis.plot(part["t"], part["cpu_s"], label=run, markersize=5.5, linewidth=1.6, **look_of(position))
    if _wide(costs["cpu_s"]):
        logarithmic(axis, "y")
        axis.yaxis.set_major_formatter("{x:g}")
    else:
        axis.set_ylim(0, 1.08 * max(costs["cpu_s"].max(), 1e-9))
    axis.set(xlabel="timestep t", ylabel="CPU seconds")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=16, min_n_ticks=1))
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=min(3, len(runs)))
    seaborn.despine(figure)
    return figure


@styled
def auc_against_time(frame):
    """Average AUC against CPU seconds, a line for each run, a point for each k (NIPS 2012, appendix, figure 1).

    Parameters
    ----------
    frame : DataFrame
        run, k, average_mean, average_sd, cpu_s.
    """
    figure, axes = new_figure(7.2, 4.2)
    axis, runs = axes[0, 0], list(dict.fromkeys(frame["run"]))
    for position, run in enumerate(runs):
        part = frame[frame["run"] == run]
        axis.errorbar(part["cpu_s"], part["average_mean"], yerr=part["average_sd"].fillna(0.0), label=run, capsize=2.5,
                      markersize=5.5, linewidth=1.4, **look_of(position))  # fmt: skip
        for row in part.itertuples():
            axis.annotate(f"{row.k:g}", (row.cpu_s, row.average_mean), (4, 4), textcoords="offset points",
                          fontsize=7.5, color=INK)  # fmt: skip
    if _wide(frame["cpu_s"]):
        logarithmic(axis, "x")
        axis.xaxis.set_major_formatter("{x:g}")
    else:
        axis.set_xlim(0, 1.08 * max(frame["cpu_s"].max(), 1e-9))
    axis.set(xlabel="CPU seconds to score and learn the stream", ylabel="average AUC")
    axis.margins(y=0.1)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=min(4, len(runs)))
    seaborn.despine(figure)
    return figure
