"""Costs of a timestep along long streams: run config/scale.yaml, measure every job, and draw.

    ODL_MIRROR=... python benchmarks/scale.py [--documents 1000000] [--streams NAME ...] [--cores 2]
    python benchmarks/scale.py --study bounded [--documents 1000000] [--batch 2000] [--max-terms
    50000]

Makes documents (synthetic.py), runs the study with the Snakefile of the repository, and writes
results/scale/costs.tsv (every job), snakemake.tsv (costs of Snakemake itself) and costs.png.
Finished jobs do not run again. Without a mirror use `--streams made`.

The study `bounded` (config/bounded.yaml) has a bound on a vocabulary that grows without end; its
table compares the second tenth of the timesteps with the last. `--max-terms 0` removes the bound.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import measure
import synthetic

TOPICS = 200
FRESH = 0.02  # share of words that occur once in the study "bounded"
COLUMNS = ("stream", "job", "t", "documents", "cpu_s", "peak_mb", "disk_kb")
OWN = ("jobs", "wall_s", "snakemake_cpu_s", "children_cpu_s")


def run(study, cores, changes):
    """Run the study; return (jobs, wall seconds, CPU seconds of Snakemake, of its children).

    Return None if all files were up to date.
    """
    overlay, config = study / "streams.json", f"config/{study.name}.yaml"
    overlay.write_text(json.dumps(changes))
    words = [measure.tool("snakemake"), "--cores", str(cores), "--configfile", config, str(overlay)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    variables = {**os.environ, **threads}
    log, began, spent = study / "snakemake.log", time.monotonic(), (0.0, 0.0)
    with log.open("w") as file:
        process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT, env=variables)
        while process.poll() is None:
            spent = max(spent, _cpu_of(process.pid))
            time.sleep(0.5)
    text = log.read_text()
    if process.returncode:
        raise SystemExit(
            f"scale: snakemake ended with {process.returncode}; see {log}\n{text[-2000:]}"
        )
    starts = ("rule ", "localrule ", "checkpoint ", "localcheckpoint ")
    jobs = sum(line.startswith(starts) for line in text.splitlines())
    return (jobs, time.monotonic() - began, *spent) if jobs else None


def _cpu_of(process):
    """Return the CPU seconds of a process, and of its finished children."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0, 0.0
    tick = os.sysconf("SC_CLK_TCK")
    return (int(words[11]) + int(words[12])) / tick, (int(words[13]) + int(words[14])) / tick


def jobs_of(study, stream):
    """Yield rows (`COLUMNS`) for the features and updates of each timestep of a stream."""
    (folder,) = (study / stream).glob("seed*")
    with open(folder / "index.tsv", newline="") as table:
        sizes = [int(row["documents"]) for row in csv.DictReader(table, delimiter="\t")]
    chains = sorted(path.relative_to(folder) for path in folder.glob("*/k*"))
    for t, documents in enumerate(sizes):
        places = {"features": ("features", [f"features/{t}.h5"])}
        places |= {
            chain.parts[0]: (chain, [f"{chain}/scores/{t}.h5", f"{chain}/{t}.h5"])
            for chain in chains
        }
        for job, (at, files) in places.items():
            kept = [folder / file for file in files if (folder / file).exists()]
            # the size of a deleted checkpoint is unknown
            disk = (
                sum(path.stat().st_size for path in kept) / 1e3 if len(kept) == len(files) else ""
            )
            yield (stream, job, t, documents, *_cost(folder / at / "benchmarks" / f"{t}.tsv"), disk)


def _cost(path):
    """Return the CPU seconds and the peak MB of a job."""
    if not path.exists():
        return "", ""
    with open(path, newline="") as table:
        (row,) = csv.DictReader(table, delimiter="\t")
    return float(row["cpu_time"]), float(row["max_rss"])


def write(path, columns, rows):
    with open(path, "w", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerows([columns, *rows])


def summary(rows, tenths=False):
    """Return a line for every stream and job: medians of its first and last third of timesteps.

    With `tenths`, they are means over the second and the last tenth, and their relative difference.
    """
    from statistics import mean, median

    lines = [["stream", "job", "timesteps", "CPU s", "MB at most", "kB on disk"]]
    for stream, job in dict.fromkeys(row[:2] for row in rows):
        of = [row for row in rows if row[:2] == (stream, job) and row[2]]
        cells = []
        for column, digits in ((4, 2), (5, 0), (6, 0)):
            values = [(row[2], row[column]) for row in of if row[column] != ""]
            size, last = (
                max(1, len(values) // (10 if tenths else 3)),
                max((t for t, _ in values), default=0) + 1,
            )
            if tenths and values:
                low, high = (
                    mean(
                        [value for t, value in values if a * last <= 10 * t < b * last]
                        or [float("nan")]
                    )
                    for a, b in ((1, 2), (9, 10))
                )
                cells.append(
                    f"{low:.{digits + 1}f} -> {high:.{digits + 1}f} "
                    f"({100 * (high / low - 1):+.1f} %)"
                )
            elif values:
                ends = (
                    median(value for _, value in part) for part in (values[:size], values[-size:])
                )
                cells.append(" -> ".join(f"{value:.{digits}f}" for value in ends))
            else:
                cells.append("")
        lines.append([stream, job, str(len(of)), *cells])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def draw(rows, path):
    """Draw time, memory and disk of every job over the timesteps."""
    from matplotlib.figure import Figure

    streams, jobs = (list(dict.fromkeys(row[at] for row in rows)) for at in (0, 1))
    figure = Figure(figsize=(4 * len(streams) + 1.2, 8), layout="constrained")
    axes = figure.subplots(3, len(streams), squeeze=False, sharex="col")
    shown = ((4, "CPU s of a job"), (5, "memory of a job at most, MB"), (6, "on disk, kB"))
    for down, (column, label) in enumerate(shown):
        for across, stream in enumerate(streams):
            panel = axes[down][across]
            for number, job in enumerate(jobs):
                of = [
                    row for row in rows if row[:2] == (stream, job) and row[2] and row[column] != ""
                ]
                at, values = [row[2] for row in of], [row[column] for row in of]
                panel.plot(at, values, ".", ms=3, color=f"C{number}", label=job)
            panel.set_ylim(bottom=0)
            panel.spines[["top", "right"]].set_visible(False)
            if across == 0:
                panel.set_ylabel(label)
            if down == 0:
                panel.set_title(stream)
            if down == 2:
                panel.set_xlabel("timestep")
    figure.legend(
        *axes[0][0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(jobs),
        markerscale=4,
    )
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(words=None):
    parser = argparse.ArgumentParser(description="What a timestep costs along long streams.")
    names = ["arxiv-cs-months", "arxiv-cs-thousands", "made"]
    parser.add_argument("--study", choices=["scale", "bounded"], default="scale")
    parser.add_argument(
        "--streams", nargs="+", choices=names, help="of the study scale (default: all)"
    )
    parser.add_argument(
        "--documents", type=int, default=1_000_000, help="of the made stream (default: 1000000)"
    )
    parser.add_argument(
        "--batch", type=int, help="documents of a timestep of the study bounded (default: 2000)"
    )
    parser.add_argument("--max-terms", type=int, help="bound of the study bounded (default: 50000)")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args(words)
    os.chdir(measure.ROOT)
    study, bounded = Path("results") / options.study, options.study == "bounded"
    streams = ["made"] if bounded else options.streams or names
    study.mkdir(parents=True, exist_ok=True)
    made = study / "made.jsonl"
    if "made" in streams and not made.exists():
        measure.say(f"scale: {made}, {options.documents} documents")
        synthetic.write(
            made, options.documents, TOPICS, leaving=bounded, fresh=FRESH if bounded else 0.0
        )
    measure.say(f"scale: the study; its words are in {study}/snakemake.log")
    own = run(study, options.cores, changes_of(options, streams))
    if own:
        write(study / "snakemake.tsv", OWN, [own])
    rows = [row for stream in streams for row in jobs_of(study, stream)]
    write(study / "costs.tsv", COLUMNS, rows)
    draw(rows, study / "costs.png")
    print("\n".join(summary(rows, bounded)))
    if (study / "snakemake.tsv").exists():
        print((study / "snakemake.tsv").read_text(), end="")


def changes_of(options, streams):
    """Return the changes of the configuration of the study."""
    changes = {"streams": streams}
    if options.batch:
        changes["corpora"] = {
            "made": {"batches": {"documents": options.batch, "initial": options.batch}}
        }
    if options.max_terms is not None:
        changes["features"] = {"max_terms": options.max_terms}
    return changes


if __name__ == "__main__":
    sys.exit(main())
