"""Strike a small study many times and show what was survived: a table on the screen, every strike in a CSV, a picture.

python tests/helpers/faultrun.py [--strikes 200] [--report 200] [--seed 0] [--each 40] [--csv FILE] [--png FILE]
python tests/helpers/faultrun.py --show FILE.csv ...    the table and the picture of what was written before
"""

import argparse
import csv
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import faults

COLUMNS = [
    "kind",
    "fraction",
    "early",
    "rule",
    "status",
    "unlocked",
    "temporary",
    "marks",
    "outcome",
]
AT = [
    "start",
    "read",
    "index",
    "batch",
    "features",
    "update",
    "baselines",
    "evaluate",
    "plan",
    "tables",
]
AT += ["figures", "page", "between jobs"]


def row_of(strike):
    """Return what the CSV says of a strike."""
    moment = strike.moment
    values = [moment.kind, f"{moment.fraction:.4f}", int(moment.early), strike.phase, strike.status]
    values += [int(strike.unlocked), strike.parts, strike.marks, strike.outcome]
    return dict(zip(COLUMNS, map(str, values), strict=True))


def place(row):
    """Return the column of a strike: of two rules that ran at once the later one."""
    return max(row["rule"].split("+"), key=AT.index)


def table(rows):
    """Return the lines of a table: kinds down, rules across, "survived/all" where some were not survived."""
    counts = Counter((row["kind"], place(row)) for row in rows)
    good = Counter((row["kind"], place(row)) for row in rows if row["outcome"] == faults.SURVIVED)
    seen = [phase for phase in AT if any(phase == found for _, found in counts)]
    lines = [["", *seen, "strikes", "survived"]]
    for kind in faults.KINDS:
        cells = [(counts[kind, phase], good[kind, phase]) for phase in seen]
        shown = [f"{ok}/{number}" if ok < number else str(number or ".") for number, ok in cells]
        lines.append(
            [kind, *shown, str(sum(number for number, _ in cells)), str(sum(ok for _, ok in cells))]
        )
    sums = [str(sum(counts[kind, phase] for kind in faults.KINDS)) for phase in seen]
    lines.append(["all", *sums, str(counts.total()), str(good.total())])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]


def draw(rows, path):
    """Draw every strike: when, of which kind, whether it was survived."""
    from matplotlib.figure import Figure

    kinds = list(faults.KINDS)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots()
    for good, colour, marker, label in (
        (True, "#1b7837", "o", "survived"),
        (False, "#b2182b", "X", "not survived"),
    ):
        chosen = [row for row in rows if (row["outcome"] == faults.SURVIVED) == good]
        at = [0.0 if row["early"] == "1" else float(row["fraction"]) for row in chosen]
        down = [kinds.index(row["kind"]) for row in chosen]
        axes.scatter(
            at, down, s=22, c=colour, marker=marker, alpha=0.7, label=f"{label}: {len(chosen)}"
        )
    axes.set_yticks(range(len(kinds)), kinds)
    axes.invert_yaxis()
    axes.set_xlabel(
        "moment of the strike, as a share of the undisturbed run (0: before the first job of a run)"
    )
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=2, frameon=False)
    figure.savefig(path, dpi=120, metadata={"Software": None})


def show(rows, png):
    """Print the table and every strike that was not survived, and draw the picture."""
    print("\n".join(table(rows)))
    for row in rows:
        if row["outcome"] != faults.SURVIVED:
            print(f"{row['kind']} at {row['fraction']}, {row['rule']}: {row['outcome']}")
    print(f"unlocked {sum(row['unlocked'] == '1' for row in rows)} times")
    print(
        f"on folders where marks of Snakemake stayed: {sum(row['marks'] != '0' for row in rows)} strikes"
    )
    png.parent.mkdir(parents=True, exist_ok=True)
    draw(rows, png)


def strike(args, folder):
    """Strike as often as asked for; yield the rows of each results folder once its run has ended."""
    begin, waiting = time.monotonic(), faults.moments(args.strikes, args.seed)
    whole = waiting[args.part :: args.parts]
    short, whole = whole[min(args.report, len(whole)) :], whole[: args.report]
    study = faults.small_study(folder / "study")
    reference = faults.undisturbed(study, cores=args.cores)
    print(
        f"undisturbed: {reference.seconds:.0f} s, {len(reference.digests)} files compared",
        flush=True,
    )
    for waiting, part in ((short, reference.up_to_the_tables(study)), (whole, reference)):
        while waiting:
            found, late = faults.strike_study(study, waiting[: args.each], part, args.cores)
            waiting = waiting[args.each :] + [
                moment._replace(fraction=0.9 * moment.fraction) for moment in late
            ]
            print(
                f"{len(found)} strikes, {len(waiting)} to come, {time.monotonic() - begin:.0f} s",
                flush=True,
            )
            yield [row_of(strike) for strike in found]


def options():
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strikes", type=int, default=200)
    parser.add_argument(
        "--report",
        type=int,
        default=200,
        help="strikes on runs up to the report; the others: tables",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--each", type=int, default=40, help="strikes on one results folder before its run may end"
    )
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument(
        "--part", type=int, default=0, help="of several calls that share the strikes, this one"
    )
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--csv", type=Path, default=Path("results/faults.csv"))
    parser.add_argument("--png", type=Path, default=Path("results/faults.png"))
    parser.add_argument(
        "--show", type=Path, nargs="*", help="tables written before, to be shown instead"
    )
    return parser.parse_args()


def main():
    """Strike, print, write; return 1 where something was not survived."""
    args, rows = options(), []
    for path in args.show or []:
        with path.open(newline="") as file:
            rows += csv.DictReader(file)
    if not args.show:
        # In the background of a shell SIGINT is ignored, and children would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        args.csv.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix="odl-faults-") as folder,
            args.csv.open("w", newline="") as file,
        ):
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            for found in strike(args, Path(folder)):
                writer.writerows(found)
                file.flush()
                rows += found
    show(rows, args.png)
    return int(any(row["outcome"] != faults.SURVIVED for row in rows))


if __name__ == "__main__":
    sys.exit(main())
