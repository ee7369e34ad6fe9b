"""Compare speed and memory with their limits on this machine: one table, one thread.

    python benchmarks/run.py [--corpora FOLDER] [--only PART ...] [--all] [--output
    results/bench.tsv]

See benchmarks/README.md.
"""

import os
import sys

# Set before numpy is imported; child processes inherit it
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse  # noqa: E402
import csv  # noqa: E402
import time  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402
from statistics import mean  # noqa: E402

import adaptive  # noqa: E402
import agents  # noqa: E402
import hierarchy  # noqa: E402
import inside  # noqa: E402
import material  # noqa: E402
import measure  # noqa: E402
import over_ranks  # noqa: E402
import planning  # noqa: E402
import processes  # noqa: E402
import squared  # noqa: E402
import whatsnew  # noqa: E402

from odl.files import storage  # noqa: E402

PARTS = {
    "coder": inside.coder,
    "lars": squared.lars_rows,
    "step": inside.timestep,
    "job": processes.job,
    "checkpoint": inside.checkpoint,
    "adaptive": adaptive.adaptive,
    "agents": agents.agents,
    "ranks": over_ranks.rows_of_ranks,
    "tree": hierarchy.tree,
    "batch": processes.batch,
    "noop": processes.noop,
    "plan": planning.plan,
    "new": whatsnew.new,
    "arxiv": processes.arxiv,
}
LONG = ("arxiv",)  # parts that run only with --all or --only


def parse(arguments=None):
    """Parse the options of the command."""
    parser = argparse.ArgumentParser(
        description="Speed and memory against their limits: one table, one run."
    )
    parser.add_argument(
        "--corpora", help="folder of the corpora in the layout of a mirror; default: ODL_CORPORA"
    )
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}"
    )
    parser.add_argument("--all", action="store_true", help=f"also {', '.join(LONG)} (ten minutes)")
    parser.add_argument(
        "--output", default=str(measure.ROOT / "results" / "bench.tsv"), help="table to write"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a tiny made stream, to test that parts run"
    )
    parser.add_argument(
        "--arxiv-limit", type=int, help="number of abstracts to read, to try the part"
    )
    options = parser.parse_args(arguments)
    if options.corpora and not os.path.isdir(options.corpora):
        parser.error(f"--corpora {options.corpora} is not a folder")
    options.parts = options.only or [name for name in PARTS if options.all or name not in LONG]
    return options


def measured(options, subject):
    """Run the chosen parts; yield the rows of each. A part that fails has one row."""
    for name in options.parts:
        part = PARTS[name]
        if name == "arxiv":
            part = partial(part, limit=options.arxiv_limit)
        began, before = time.monotonic(), measure.unit()
        try:
            found = part(subject)
        except RuntimeError as error:
            measure.say(f"{name}: {error}")
            found = [measure.Row(name, f"failed: {str(error).splitlines()[0]}", None)]
        unit = mean((before, measure.unit()))
        rows = [
            *(row.over(unit) for row in found),
            measure.Row(name, "unit of the machine", unit, "CPU s", units=1.0),
        ]
        measure.say(f"{name}: done in {time.monotonic() - began:.0f} s")
        # Limits are for TDT2 and full sizes.
        yield [row._replace(limit="") for row in rows] if options.quick else rows


def write(path, facts, rows):
    """Write a table of rows, with facts as comment lines."""
    with storage.replacing(Path(path)) as temporary, open(temporary, "w", newline="") as file:
        file.writelines(f"# {name}: {value}\n" for name, value in facts)
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(measure.COLUMNS)
        for row in rows:
            cells = row.cells()
            for at, number in ((2, row.value), (4, row.units)):
                cells[at] = "" if number is None else f"{number:.9g}"
            writer.writerow(cells)


def main(arguments=None):
    """Measure, print the table, write it; return the exit status."""
    options, facts = parse(arguments), measure.facts()
    size = material.QUICK if options.quick else material.FULL
    subject = material.Material(size, material.find_corpora(options.corpora))
    facts.append(("stream", f"{subject.name}, {len(subject.batches)} batches of {size.batch}"))
    rows = []
    for part in measured(options, subject):
        rows += part
        write(options.output, facts, rows)  # so that an interrupted run has the finished parts
    facts.append(("load after", " ".join(f"{value:.2f}" for value in os.getloadavg())))
    print("\n".join(f"{name}: {value}" for name, value in facts))
    if options.quick:
        print("Tiny made stream: these times mean nothing.")
    elif not subject.real:
        print(
            "TDT2 was not found (--corpora, ODL_CORPORA, ODL_MIRROR): a made stream was measured; "
            "limits are for TDT2."
        )
    print(f"\n{measure.table(rows)}")
    over = sum(row.verdict() == "over" for row in rows)
    print(
        f"\n{over} of {sum(bool(row.limit) for row in rows)} limits exceeded. "
        f"Table: {options.output}"
    )
    write(options.output, facts, rows)
    return int(any(row.what.startswith("failed:") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
