"""Table and figure of the results of `peers.py`.

python benchmarks/peers_table.py measured.json --picture docs/peers.png
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

COLUMNS = ("method", "precision", "AUC", "us to score", "us to learn", "over levels", "MB", "lines",
           "environment MB", "remark")  # fmt: skip
UNIT = "odl levels"  # the method whose time is the unit of ratios
KINDS = ("learners of this package", "its baselines", "other packages")
OURS = (
    "5 nearest, whole past",
    "5 nearest, last 1000",
    "first story by LSH",
)  # baselines of this package
NAMES = {"tdt2": "TDT2", "news": "20 Newsgroups"}


def table(found):
    """Return the Markdown table of a stream: means over rounds, medians of times.

    Parameters
    ----------
    found : dict of str to list of dict
        Results of each method in each round.
    """
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}"]
    for name, rounds in found.items():
        done = [one for one in rounds if "auc" in one]
        cells = [name]
        for key, form in (("precision", ".2f"), ("auc", ".3f")):
            values = [one[key] for one in done]
            spread = f" ± {np.std(values):{form}}" if len(values) > 1 else ""
            cells.append(f"{np.mean(values):{form}}{spread}" if values else "")
        cells += [
            f"{np.median([one[key] for one in done]):.0f}" if done else ""
            for key in ("score", "learn")
        ]
        ratio = over(rounds, found.get(UNIT, ()))
        cells.append((f"{ratio:.2g}" if ratio < 100 else f"{ratio:.0f}") if ratio else "")
        for key in ("mb", "lines", "environment"):
            values = [one[key] for one in done or rounds if one.get(key) is not None]
            cells.append(f"{np.mean(values):.0f}" if values else "")
        cells.append(next((one["remark"] for one in rounds if one["remark"]), ""))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def spent(one):
    """Return the microseconds per document of a round; None without results."""
    return one["score"] + one["learn"] if "auc" in one else None


def over(rounds, unit):
    """Return the median ratio of times to those of `UNIT` in the same round; None without any."""
    ratios = [spent(one) / spent(other) for one, other in zip(rounds, unit, strict=False)
              if spent(one) and spent(other)]  # fmt: skip
    return float(np.median(ratios)) if ratios else None


def picture(streams, path):
    """Draw quality against time, one panel for each stream.

    Parameters
    ----------
    streams : dict of str to dict
        Argument of `table` for each stream.
    path : Path
    """
    from odl.report import plots

    with plots.style():
        figure, panels = plots.new_figure(12.4, 5.2, columns=len(streams))
        for axis, (name, methods) in zip(panels[0], streams.items(), strict=True):
            _panel(axis, plots, methods)
            axis.set(
                title=NAMES[name],
                xlabel="CPU microseconds a document, scoring and learning",
                ylabel="AUC",
            )
        plots.despine(figure)
    plots.save(figure, path.with_suffix(""))


def _panel(axis, plots, methods):
    """Draw a named point for each method that reached the end of the stream."""
    whole = {
        name: [one for one in rounds if spent(one) and not one["remark"]]
        for name, rounds in methods.items()
    }
    points = {name: (np.median([spent(one) for one in done]), np.mean([one["auc"] for one in done]))
              for name, done in whole.items() if done}  # fmt: skip
    plots.logarithmic(axis, "x")
    kinds = {name: 0 if name.startswith("odl") else 1 if name in OURS else 2 for name in points}
    for kind, label in enumerate(KINDS):
        own = np.array([points[name] for name in points if kinds[name] == kind]).reshape(-1, 2)
        colour = (plots.COLOURS[0], plots.GREY, plots.COLOURS[1])[kind]
        axis.plot(*own.T, "osD"[kind], color=colour, markersize=5, label=label)
    xs, ys = np.array(list(points.values())).T
    axis.set(xlim=(xs.min() / 2, xs.max() * 6), ylim=(ys.min() - 0.03, ys.max() + 0.02))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.legend(loc="lower left")
    axis.figure.draw_without_rendering()
    _name(axis, points)


def _name(axis, points):
    """Write names next to their points, where they cover least of other points and names."""
    place = {
        name: axis.transData.transform(point) * 72 / axis.figure.dpi
        for name, point in points.items()
    }
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in place.values()]
    left, bottom, right, top = axis.bbox.extents * 72 / axis.figure.dpi
    taken += [(left - 1000, bottom, left, top), (right, bottom, right + 1000, top)]
    for name, (x, y) in sorted(place.items(), key=lambda one: -one[1][1]):
        width, sides = 4.0 * len(name), {"left": 0.0, "right": 1.0, "center": 0.5}
        places = [
            (12 * (0.5 - sides[side]), dy, side)
            for dy in (0, 7, -7, 12, -12, 19, -19)
            for side in sides
        ]
        boxes = [
            (x + dx - sides[at] * width, y + dy - 4, x + dx + (1 - sides[at]) * width, y + dy + 4)
            for dx, dy, at in places
        ]
        (dx, dy, side), box = min(
            zip(places, boxes, strict=True), key=lambda one: _covered(one[1], taken)
        )
        taken.append(box)
        axis.annotate(
            name,
            points[name],
            (dx, dy),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=8,
        )


def _covered(box, taken):
    """Return the covered area of a box, in square points."""
    wide = (min(box[2], other[2]) - max(box[0], other[0]) for other in taken)
    high = (min(box[3], other[3]) - max(box[1], other[1]) for other in taken)
    return sum(max(w, 0) * max(h, 0) for w, h in zip(wide, high, strict=True))


def merged(calls):
    """Merge results of several calls; for each method the last call counts."""
    found = {}
    for streams in calls:
        for name, methods in streams.items():
            found[name] = found.get(name, {}) | methods
    return {name: methods for name, methods in found.items() if methods}


def main(arguments=None):
    """Print the tables of files of `peers.py`, and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "measured",
        type=Path,
        nargs="+",
        help="what peers.py wrote with --output; of a method the last counts",
    )
    parser.add_argument("--picture", type=Path, help="file to draw")
    args = parser.parse_args(arguments)
    streams = merged([json.loads(path.read_text())["streams"] for path in args.measured])
    for name, methods in streams.items():
        print(f"\n{NAMES[name]}\n\n{table(methods)}")
    if args.picture:
        picture(streams, args.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
