"""Strike a small study many times and show what was survived: a table on the screen, every strike in a CSV, a picture.

python tests/faultrun.py [--strikes 200] [--report N] [--seed 0] [--each 40] [--csv FILE] [--png FILE]
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

COLUMNS = ["number", "kind", "fraction", "rule", "status", "unlocked", "temporary", "outcome"]
AT = ["start", "read", "index", "batch", "kernels", "features", "update", "baselines", "evaluate", "plan", "tables"]
AT += ["figures", "page", "between jobs"]


def row(number, strike):
    """Return what the CSV says of a strike."""
    moment = strike.moment
    values = [number, moment.kind, f"{moment.fraction:.4f}", strike.phase, strike.status]
    return [*values, int(strike.unlocked), strike.parts, strike.outcome]


def place(phase):
    """Return the column of a strike: of two rules that ran at once the later one."""
    return max(phase.split("+"), key=AT.index)


def table(struck):
    """Return the lines of a table: kinds down, rules across, "survived/all" where some were not survived."""
    counts = Counter((strike.moment.kind, place(strike.phase)) for strike in struck)
    good = Counter((strike.moment.kind, place(strike.phase)) for strike in struck if strike.outcome == faults.SURVIVED)
    seen = [phase for phase in AT if any(phase == found for _, found in counts)]
    lines = [["", *seen, "strikes", "survived"]]
    for kind in faults.KINDS:
        cells = [(counts[kind, phase], good[kind, phase]) for phase in seen]
        shown = [f"{ok}/{number}" if ok < number else str(number or ".") for number, ok in cells]
        lines.append([kind, *shown, str(sum(number for number, _ in cells)), str(sum(ok for _, ok in cells))])
    sums = [str(sum(counts[kind, phase] for kind in faults.KINDS)) for phase in seen]
    lines.append(["all", *sums, str(counts.total()), str(good.total())])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]


def draw(struck, path):
    """Draw every strike: when, of which kind, whether it was survived."""
    from matplotlib.figure import Figure

    kinds = list(faults.KINDS)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots()
    for good, colour, marker, label in ((True, "#1b7837", "o", "survived"), (False, "#b2182b", "X", "not survived")):
        chosen = [strike for strike in struck if (strike.outcome == faults.SURVIVED) == good]
        at = [0.0 if strike.moment.early else strike.moment.fraction for strike in chosen]
        rows = [kinds.index(strike.moment.kind) for strike in chosen]
        axes.scatter(at, rows, s=22, c=colour, marker=marker, alpha=0.7, label=f"{label}: {len(chosen)}")
    axes.set_yticks(range(len(kinds)), kinds)
    axes.invert_yaxis()
    axes.set_xlabel("moment of the strike, as a share of the undisturbed run (0: before the first job of a run)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=2, frameon=False)
    figure.savefig(path, dpi=120, metadata={"Software": None})


def main():
    """Strike, print, write; return 1 where something was not survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strikes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--report", type=int, help="of these, strikes on runs up to the report; the others end at tables"
    )
    parser.add_argument("--each", type=int, default=40, help="strikes on one results folder before its run may end")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--csv", type=Path, default=Path("results/faults.csv"))
    parser.add_argument("--png", type=Path, default=Path("results/faults.png"))
    args = parser.parse_args()
    # In the background of a shell SIGINT is ignored, and children would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    begin, struck, waiting = time.monotonic(), [], faults.moments(args.strikes, args.seed)
    for path in (args.csv, args.png):
        path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="odl-faults-") as folder, args.csv.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        study = faults.small_study(Path(folder) / "study")
        reference = faults.undisturbed(study, args.cores)
        print(f"undisturbed: {reference.seconds:.0f} s, {len(reference.digests)} files compared", flush=True)
        whole = args.strikes if args.report is None else args.report
        while waiting:
            part = reference if len(struck) < whole else reference.up_to_the_tables(study)
            size = min(args.each, whole - len(struck)) if len(struck) < whole else args.each
            found, late = faults.strike_study(study, waiting[:size], part, args.cores)
            writer.writerows(row(len(struck) + number, strike) for number, strike in enumerate(found))
            file.flush()
            struck += found
            waiting = waiting[size:] + [moment._replace(fraction=0.9 * moment.fraction) for moment in late]
            print(f"{len(struck)} strikes, {time.monotonic() - begin:.0f} s", flush=True)
    print("\n".join(table(struck)))
    for strike in struck:
        if strike.outcome != faults.SURVIVED:
            print(f"{strike.moment.kind} at {strike.moment.fraction:.3f}, {strike.phase}: {strike.outcome}")
    print(f"unlocked {sum(strike.unlocked for strike in struck)} times, {time.monotonic() - begin:.0f} s in all")
    draw(struck, args.png)
    return int(any(strike.outcome != faults.SURVIVED for strike in struck))


if __name__ == "__main__":
    sys.exit(main())
