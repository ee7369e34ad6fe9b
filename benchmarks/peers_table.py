"""The table and the picture of what `peers.py` measured.

python benchmarks/peers_table.py measured.json --picture docs/peers.png
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

COLUMNS = ("method", "precision", "AUC", "us to score", "us to learn", "over levels", "MB", "lines", "environment MB",
           "remark")  # fmt: skip
UNIT = "odl levels"  # its microseconds are the unit of the ratios
OURS = ("5 nearest, whole past", "5 nearest, last 1000", "first story by LSH")  # baselines of this package
NAMES = {"tdt2": "TDT2", "news": "20 Newsgroups"}


def table(found):
    """Return the rows of a stream as Markdown: means over rounds, medians of times.

    Parameters
    ----------
    found : dict of str to list of dict
        What each method gave in each round.
    """
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}"]
    for name, rounds in found.items():
        done = [one for one in rounds if "auc" in one]
        cells = [name]
        for key, form in (("precision", ".2f"), ("auc", ".3f")):
            values = [one[key] for one in done]
            spread = f" ± {np.std(values):{form}}" if len(values) > 1 else ""
            cells.append(f"{np.mean(values):{form}}{spread}" if values else "")
        cells += [f"{np.median([one[key] for one in done]):.0f}" if done else "" for key in ("score", "learn")]
        ratio = over(rounds, found.get(UNIT, ()))
        cells.append(f"{ratio:.2g}" if ratio else "")
        for key in ("mb", "lines", "environment"):
            values = [one[key] for one in done or rounds if one.get(key) is not None]
            cells.append(f"{np.mean(values):.0f}" if values else "")
        cells.append(next((one["remark"] for one in rounds if one["remark"]), ""))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def spent(one):
    """Return the microseconds a document of a round; None of one that gave nothing."""
    return one["score"] + one["learn"] if "auc" in one else None


def over(rounds, unit):
    """Return the median ratio of the times to those of the unit in the same round; None where there is none."""
    ratios = [spent(one) / spent(other) for one, other in zip(rounds, unit, strict=False)
              if spent(one) and spent(other)]  # fmt: skip
    return float(np.median(ratios)) if ratios else None


def picture(streams, path):
    """Draw quality against time, one panel for each stream.

    Parameters
    ----------
    streams : dict of str to dict
        What `table` takes, by stream.
    path : Path
    """
    from odl.report import plots

    with plots.style():
        figure, panels = plots.new_figure(12.4, 5.2, columns=len(streams))
        for axis, (name, methods) in zip(panels[0], streams.items(), strict=True):
            _panel(axis, plots, methods)
            axis.set(title=NAMES[name], xlabel="CPU microseconds a document, scoring and learning", ylabel="AUC")
        plots.despine(figure)
    plots.save(figure, path.with_suffix(""))


def _panel(axis, plots, methods):
    """Draw a point a method, and its name where there is room."""
    points = {name: (np.median([spent(one) for one in done]), np.mean([one["auc"] for one in done]))
              for name, rounds in methods.items() if (done := [one for one in rounds if spent(one)])}  # fmt: skip
    plots.logarithmic(axis, "x")
    for name, (x, y) in points.items():
        kind = 0 if name.startswith("odl") else 1 if name in OURS else 2
        colour = (plots.COLOURS[0], plots.GREY, plots.COLOURS[1])[kind]
        axis.plot(x, y, "osD"[kind], color=colour, markersize=6 if kind else 8)
    xs, ys = (np.array(values) for values in zip(*points.values(), strict=True))
    axis.set(xlim=(xs.min() / 1.6, xs.max() * 4), ylim=(ys.min() - 0.03, ys.max() + 0.03))
    axis.figure.draw_without_rendering()
    _name(axis, points)


def _name(axis, points):
    """Write the names beside their points, where they cover neither points nor names."""
    pixels = {name: axis.transData.transform(point) for name, point in points.items()}
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in pixels.values()]
    for name, (x, y) in sorted(pixels.items(), key=lambda one: -one[1][1]):
        width, height = 5.6 * len(name), 11
        places = [(dx, dy, 0) for dy in (0, 11, -11, 20, -20) for dx in (8,)]
        places += [(-8, dy, 1) for dy in (0, 11, -11, 20, -20)]
        boxes = [(x + dx - right * width, y + dy - height / 2, x + dx + (1 - right) * width, y + dy + height / 2)
                 for dx, dy, right in places]  # fmt: skip
        (dx, dy, right), box = min(zip(places, boxes, strict=True), key=lambda one: _covered(one[1], taken))
        taken.append(box)
        axis.annotate(name, points[name], (dx, dy), textcoords="offset pixels", ha="right" if right else "left",
                      va="center", fontsize=8)  # fmt: skip


def _covered(box, taken):
    """Return how much of a box is taken, in square pixels."""
    wide = (min(box[2], other[2]) - max(box[0], other[0]) for other in taken)
    high = (min(box[3], other[3]) - max(box[1], other[1]) for other in taken)
    return sum(max(w, 0) * max(h, 0) for w, h in zip(wide, high, strict=True))


def main(arguments=None):
    """Print the tables of a file of `peers.py` again, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measured", type=Path, help="what peers.py wrote with --output")
    parser.add_argument("--picture", type=Path, help="file to draw")
    args = parser.parse_args(arguments)
    streams = json.loads(args.measured.read_text())["streams"]
    for name, methods in streams.items():
        print(f"\n{NAMES[name]}\n\n{table(methods)}")
    if args.picture:
        picture(streams, args.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
