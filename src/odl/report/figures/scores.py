"""Novelty scores of all documents in the order of the stream, with novel documents marked."""

import numpy as np

from odl.evaluation import averages
from odl.report.figures import Picture, absent
from odl.report.plots import COLOURS, PALE, despine, new_figure

PLACE = ("Scores", 0.1)


def draw(selection):
    """Draw the scores of the run shown in detail, in the order of the stream."""
    batches = [selection.batch(selection.shown, t) for t in selection.shown["timesteps"] if t > 0]
    if not batches:
        return absent("The stream has one batch only, which is not evaluated.")
    score = np.concatenate([batch.scores[selection.shown["run"]] for batch in batches])
    labels = np.concatenate([selection.labels(batch) for batch in batches])
    starts = np.cumsum([0] + [len(batch.ids) for batch in batches[:-1]])
    ticks = [f"t = {batch.t}\n{averages.iso(batch.times.min())[:10]}" for batch in batches]
    caption = (
        f"Novelty score of every document ({selection.name()}). Documents that no atom helps to "
        f"explain score exactly 1 and tie: {100 * np.mean(score == 1):.1f} % of all."
    )
    low = lower_limit(score, labels)
    below = int((score < low).sum())
    if below:
        caption += (
            f" {below} documents of known or no topic below the axis are drawn on its lower edge."
        )
    medians = [
        f"{np.median(score[labels == label]):.2f} for {name}"
        for label, name in ((1, "novel"), (0, "known"))
        if (labels == label).any()
    ]
    alt = f"Novelty scores of {len(score)} documents in {len(batches)} batches."
    alt += f" Median {', '.join(medians)}." if medians else " None of them has a topic."
    return Picture(scores_over_time(score, labels, starts, ticks), caption, alt)


def lower_limit(scores, labels):
    """Return the lower limit of the score axis.

    It is the smallest score, unless a higher limit shortens the axis by a quarter. A few scores may
    be below the limit, but none of a novel document.
    """
    if not len(scores):
        return 0.0
    low = min(np.quantile(scores, 0.005), scores[labels == 1].min(initial=np.inf))
    return float(low if low - scores.min() > 0.25 * np.ptp(scores) else scores.min())


def scores_over_time(scores, labels, starts, ticks):
    """Draw the novelty score of every document in the order of the stream.

    Parameters
    ----------
    scores : ndarray of float, shape (n_documents,)
        Scores below `lower_limit` are drawn on the lower edge.
    labels : ndarray of int, shape (n_documents,)
        1 novel, 0 known, -1 unlabelled.
    starts : sequence of int
        Position of the first document of each batch.
    ticks : sequence of str
        Label of each batch.
    """
    figure, axes = new_figure(9.5, 3.8)
    axis, position = axes[0, 0], np.arange(len(scores))
    scores = np.maximum(scores, lower_limit(scores, labels))
    size = float(np.clip(20_000 / max(len(scores), 1), 1.5, 14))
    for start in starts[1:] if len(starts) <= 40 else []:
        axis.axvline(start - 0.5, color=PALE, linewidth=0.8, zorder=0)
    styles = (
        (-1, "unlabelled", {"color": "0.82", "marker": ".", "s": size}),
        (0, "known topic", {"color": "0.55", "marker": ".", "s": size}),
        (
            1,
            "truly novel",
            {"color": COLOURS[1], "marker": "x", "s": size * 3 + 8, "linewidth": 1.0},
        ),
    )
    for label, name, style in styles:
        of_label = labels == label
        if of_label.any():
            text = f"{name} ({of_label.sum()})"
            axis.scatter(
                position[of_label],
                scores[of_label],
                label=text,
                rasterized=True,
                zorder=2 + label,
                **style,
            )
    thin = max(1, -(-len(starts) // 10))
    axis.set_xticks(np.asarray(starts)[::thin], list(ticks)[::thin], ha="left", fontsize=8.5)
    axis.set(xlabel="documents in the order of the stream, by batch", ylabel="novelty score")
    axis.margins(x=0.005)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, markerscale=1.6)
    despine(figure)
    return figure
