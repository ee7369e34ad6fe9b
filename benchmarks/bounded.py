"""Does a timestep cost the same however long the stream is, with a bound on a vocabulary that grows without end?

    python benchmarks/bounded.py [--documents 1000000] [--batch 2000] [--max-terms 50000] [--runs adaptive levels ...]

Made documents (synthetic.py: topics come and go, one word in fifty occurs once) go through features and the learners of
config/bounded.yaml in one process: CPU seconds without the start of a job (features with the writing of the batch), and
the files of every timestep, of which the last two are kept. Means over the second tenth of the timesteps are compared
with those over the last; a table is printed now and then, of what was run so far. `--max-terms 0` has no bound.
`scale.py --study bounded` runs the same stream as a study.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean

import measure
import numpy as np
import synthetic
import yaml
from scipy import sparse

from odl.config.chains import run_of
from odl.config.setting import merge
from odl.files.documents import Documents
from odl.jobs import runs, update
from odl.stream import features
from odl.stream.terms import FULL_INTERVAL

TOPICS, FRESH = 200, 0.02  # as of `scale.py --study bounded`
SHOWN = 25  # timesteps between two lines
DAY = 86_400_000


def batches(n_documents, size):
    """Yield the documents of each timestep, counted as the reader does."""
    for first, topics, starts, terms in synthetic.blocks(n_documents, TOPICS, 0, True, FRESH):
        rows = np.repeat(np.arange(len(topics)), np.diff(starts))
        for low in range(0, len(topics), size):
            inside = (rows >= low) & (rows < low + size)
            used, columns = np.unique(terms[inside], return_inverse=True)
            spelled = [synthetic.word(term) for term in used.tolist()]
            order = np.argsort(np.array(spelled), kind="stable")
            place = np.empty_like(order)
            place[order] = np.arange(len(order))
            n = min(size, len(topics) - low)
            shape = (n, len(used))
            counts = sparse.csr_array((np.ones(inside.sum(), np.int32), (rows[inside] - low, place[columns])), shape)
            numbers = range(first + low, first + low + n)
            yield Documents(
                counts, [spelled[at] for at in order.tolist()], [f"d{number}" for number in numbers],
                DAY + 60_000 * np.arange(first + low, first + low + n),
                [(f"topic{topic}",) for topic in topics[low : low + n].tolist()],
                [f"document {number}" for number in numbers],
            )  # fmt: skip


def chains(settings, names):
    """Return the runs by name."""
    return {
        name: runs.parse(run_of(settings, name, corpus="made", seed=0, run=name, atoms=settings["atoms"][0]))
        for name in names
    }


def measured(folder, documents, before, t, most, learners):
    """Run a timestep; return its features, and (name, CPU seconds, kB) of it and of every learner."""
    began, path = time.process_time(), folder / f"f{t}.h5"
    data = features.follow(documents, before, path, most)
    rows = [("features", time.process_time() - began, path.stat().st_size / 1e3)]
    for name, run in learners.items():
        files = [folder / f"{name}{t}.h5", folder / f"{name}-scores{t}.h5", folder / "timings.tsv"]
        previous = folder / f"{name}{t - 1}.h5" if t else None
        began = time.process_time()
        update.update(path, *files, run=run, before=runs.Before(previous))
        rows.append((name, time.process_time() - began, sum(file.stat().st_size for file in files[:2]) / 1e3))
    for old in folder.glob(f"*{t - 2}.h5"):
        whole = old.stem.startswith("f") and (t - 2) % FULL_INTERVAL == 0  # those after it have their words there
        if not whole and (
            old.stem.endswith(f"s{t - 2}") or old.stem in [f"{name}{t - 2}" for name in ("f", *learners)]
        ):
            old.unlink()
    return data, rows


def summary(rows, steps):
    """Return lines: of features and every learner the means over the second tenth and the last of the timesteps."""
    lines = [["", "CPU s", "", "", "kB", "", ""]]
    for name in dict.fromkeys(row[1] for row in rows):
        cells = [name]
        for at, digits in ((2, 3), (3, 1)):
            parts = [
                mean(row[at] for row in rows if row[1] == name and low * steps <= 10 * row[0] < (low + 1) * steps)
                for low in (1, 9)
            ]
            cells += [f"{value:.{digits}f}" for value in parts] + [f"{100 * (parts[1] / parts[0] - 1):+.1f} %"]
        lines.append(cells)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]


def main(words=None):
    parser = argparse.ArgumentParser(description="What a timestep costs with a bound on the vocabulary.")
    settings = merge(
        yaml.safe_load((measure.ROOT / "config" / "bounded.yaml").read_text()),
        yaml.safe_load((measure.ROOT / "config" / "config.yaml").read_text()),
    )
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=2000)
    parser.add_argument("--max-terms", type=int, default=settings["features"]["max_terms"])
    parser.add_argument("--runs", nargs="*", choices=settings["runs"], default=settings["runs"])
    options = parser.parse_args(words)
    if options.batch < 1 or synthetic.BLOCK % options.batch:
        raise SystemExit(f"bounded: batch is {options.batch}; expected a part of {synthetic.BLOCK}; correct it.")
    learners, rows, before = chains(settings, options.runs), [], None
    with tempfile.TemporaryDirectory() as folder:
        for t, documents in enumerate(batches(options.documents, options.batch)):
            before, found = measured(Path(folder), documents, before, t, options.max_terms, learners)
            rows += [(t, *row) for row in found]
            if (t + 1) % SHOWN == 0:
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
                said = f"{t + 1} timesteps, {(t + 1) * options.batch} documents, {peak:.0f} MB at most"
                print(
                    f"{said}; {before.counts.shape[1]} terms of {before.n_numbered}",
                    *summary(rows, t + 1),
                    sep="\n",
                    flush=True,
                )


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
