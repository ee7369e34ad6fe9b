"""Does a timestep cost the same however long the stream is? Runs config/scale.yaml, measures every job, and draws.

    ODL_MIRROR=... python benchmarks/scale.py [--documents 1000000] [--streams NAME ...] [--cores 2]

Makes the stream of made documents (synthetic.py), runs the study with the real Snakefile in the folder of the
repository, and writes results/scale/costs.tsv (every job), snakemake.tsv (what Snakemake itself took) and costs.png.
What was run before is not run again. Without a mirror choose `--streams made`.
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

STUDY = Path("results") / "scale"
TOPICS = 200
COLUMNS = ("stream", "job", "t", "documents", "cpu_s", "peak_mb", "disk_kb")
OWN = ("jobs", "wall_s", "snakemake_cpu_s", "children_cpu_s")


def run(cores, streams):
    """Run the study; return what Snakemake took, itself and its children apart, or None if nothing was to be done."""
    overlay = Path(STUDY / "streams.json")
    overlay.write_text(json.dumps({"streams": streams}))
    words = [measure.tool("snakemake"), "--cores", str(cores), "--configfile", "config/scale.yaml", str(overlay)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    variables = {**os.environ, **threads, "ODL_COSTS": "1"}
    log, began, spent = STUDY / "snakemake.log", time.monotonic(), (0.0, 0.0)
    with log.open("w") as file:
        process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT, env=variables)
        while process.poll() is None:
            spent = max(spent, _cpu_of(process.pid))
            time.sleep(0.5)
    text = log.read_text()
    if process.returncode:
        raise SystemExit(f"scale: snakemake ended with {process.returncode}; see {log}\n{text[-2000:]}")
    starts = ("rule ", "localrule ", "checkpoint ", "localcheckpoint ")
    jobs = sum(line.startswith(starts) for line in text.splitlines())
    return (jobs, time.monotonic() - began, *spent) if jobs else None


def _cpu_of(process):
    """Return the CPU seconds of a process and of its children that have ended."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0, 0.0
    tick = os.sysconf("SC_CLK_TCK")
    return (int(words[11]) + int(words[12])) / tick, (int(words[13]) + int(words[14])) / tick


def jobs_of(stream):
    """Yield the rows of `COLUMNS` of a stream: each timestep's batch, features and updates."""
    (folder,) = (STUDY / stream).glob("seed*")
    logs = STUDY / "logs" / stream / folder.name
    with open(folder / "index.tsv", newline="") as table:
        sizes = [int(row["documents"]) for row in csv.DictReader(table, delimiter="\t")]
    chains = sorted(path.relative_to(folder) for path in folder.glob("*/k*"))
    for t, documents in enumerate(sizes):
        places = {"batch": ("batches", [f"batches/{t}.h5"]), "features": ("features", [f"features/{t}.h5"])}
        places |= {chain.parts[0]: (chain, [f"{chain}/scores/{t}.h5", f"{chain}/{t}.h5"]) for chain in chains}
        for job, (at, files) in places.items():
            kept = [folder / file for file in files if (folder / file).exists()]
            # Of a checkpoint that was deleted since, the size is not known.
            disk = sum(path.stat().st_size for path in kept) / 1e3 if len(kept) == len(files) else ""
            yield (stream, job, t, documents, *_cost(logs / at / f"{t}.log"), disk)


def _cost(log):
    """Return the CPU seconds and the peak MB that a job wrote at the end of its log."""
    words = log.read_text().splitlines()[-1].split() if log.exists() else []
    if words[-2:] != ["at", "most"]:
        return "", ""
    return float(words[-7]), float(words[-4])


def write(path, columns, rows):
    with open(path, "w", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerows([columns, *rows])


def summary(rows):
    """Return lines: of every stream and job the medians over the first and the last third of the timesteps."""
    from statistics import median

    lines = [["stream", "job", "timesteps", "CPU s", "MB at most", "kB on disk"]]
    for stream, job in dict.fromkeys(row[:2] for row in rows):
        of = [row for row in rows if row[:2] == (stream, job) and row[2]]
        cells = []
        for column, digits in ((4, 2), (5, 0), (6, 0)):
            values = [(row[2], row[column]) for row in of if row[column] != ""]
            third = max(1, len(values) // 3)
            if values:
                ends = (median(value for _, value in part) for part in (values[:third], values[-third:]))
                cells.append(" -> ".join(f"{value:.{digits}f}" for value in ends))
            else:
                cells.append("")
        lines.append([stream, job, str(len(of)), *cells])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def draw(rows, path):
    """Draw time, memory and disk of every job over the timesteps."""
    from matplotlib.figure import Figure

    streams, jobs = (list(dict.fromkeys(row[at] for row in rows)) for at in (0, 1))
    figure = Figure(figsize=(4 * len(streams) + 1.2, 8), layout="constrained")
    axes = figure.subplots(3, len(streams), squeeze=False, sharex="col")
    shown = ((4, "CPU s of a job"), (5, "memory of a job at most, MB"), (6, "on disk, kB a document"))
    for down, (column, label) in enumerate(shown):
        for across, stream in enumerate(streams):
            panel = axes[down][across]
            for number, job in enumerate(jobs):
                of = [row for row in rows if row[:2] == (stream, job) and row[2] and row[column] != ""]
                values = [row[column] / (row[3] if column == 6 else 1) for row in of]
                panel.plot([row[2] for row in of], values, ".", ms=3, color=f"C{number}", label=job)
            panel.set_ylim(bottom=0)
            panel.spines[["top", "right"]].set_visible(False)
            if across == 0:
                panel.set_ylabel(label)
            if down == 0:
                panel.set_title(stream)
            if down == 2:
                panel.set_xlabel("timestep")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(jobs), markerscale=4)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(words=None):
    parser = argparse.ArgumentParser(description="What a timestep costs along long streams.")
    names = ["arxiv-cs-months", "arxiv-cs-thousands", "made"]
    parser.add_argument("--streams", nargs="+", choices=names, default=names)
    parser.add_argument("--documents", type=int, default=1_000_000, help="of the made stream (default: 1000000)")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args(words)
    os.chdir(measure.ROOT)
    STUDY.mkdir(parents=True, exist_ok=True)
    made = STUDY / "made.jsonl"
    if "made" in options.streams and not made.exists():
        measure.say(f"scale: {made}, {options.documents} documents")
        synthetic.write(made, options.documents, TOPICS)
    measure.say(f"scale: the study; its words are in {STUDY}/snakemake.log")
    own = run(options.cores, options.streams)
    if own:
        write(STUDY / "snakemake.tsv", OWN, [own])
    rows = [row for stream in options.streams for row in jobs_of(stream)]
    write(STUDY / "costs.tsv", COLUMNS, rows)
    draw(rows, STUDY / "costs.png")
    print("\n".join(summary(rows)))
    if (STUDY / "snakemake.tsv").exists():
        print((STUDY / "snakemake.tsv").read_text(), end="")


if __name__ == "__main__":
    sys.exit(main())
