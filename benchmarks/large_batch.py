"""One large batch: peak memory and CPU time of every job, in shards, beside a batch of one shard's documents.

    python benchmarks/large_batch.py [--documents 1000000] [--shard 50000] [--folder FOLDER] [--output FILE]

A made stream (synthetic.py) of 1000 documents to start from and one batch of all others goes through the commands of
the workflow, each as a process of its own. Jobs whose output exists are not run again. About 40 minutes of one core.
"""

import os
import sys

# Before numpy is imported; children inherit it.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse  # noqa: E402
import csv  # noqa: E402
import json  # noqa: E402
from pathlib import Path  # noqa: E402

import measure  # noqa: E402
import synthetic  # noqa: E402

INITIAL = 1000
LEARNERS = ("dual_averaging", "projected_gradient", "online_admm", "adaptive")
COLUMNS = ("documents", "shard", "learner", "job", "peak_mb", "cpu_s", "wall_s")
WEIGHTING = {"tf": "raw", "idf": "past", "min_df": 0, "vocabulary": "growing"}
BLOCK = 512


class Bench:
    """One stream, whose jobs are measured one after another.

    Parameters
    ----------
    folder : Path
    documents : int
        Of the large batch.
    shard : int
        Documents of a shard; 0: the batch is scored and learned in one job.
    options : argparse.Namespace
    """

    def __init__(self, folder, documents, shard, options):
        self.folder, self.documents, self.shard, self.options = folder / str(documents), documents, shard, options
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows = []

    def odl(self, job, output, *words, learner=""):
        """Run one subcommand, unless what it writes is there, and note what it cost."""
        note = self.folder / "costs" / f"{output.relative_to(self.folder).as_posix().replace('/', '-')}.json"
        if not (note.exists() and output.exists()):
            measure.say(f"{self.documents} documents: {learner} {job}")
            note.parent.mkdir(exist_ok=True)
            output.parent.mkdir(exist_ok=True, parents=True)
            cost = measure.child([sys.executable, "-m", "odl", "step", *map(str, words)])
            note.write_text(json.dumps([cost.rss / 1e6, cost.cpu, cost.wall]))
        figures = [round(figure, 1) for figure in json.loads(note.read_text())]
        self.rows.append(dict(zip(COLUMNS, [self.documents, self.shard, learner, job, *figures], strict=True)))

    def prepare(self):
        """Make the stream and its features."""
        made, here = self.folder / "made.jsonl", self.folder
        if not made.exists():
            synthetic.write(made, INITIAL + self.documents, self.options.topics, self.options.seed)
        self.odl("read", here / "documents.h5", "read", "documents", here / "documents.h5", "--source", made)
        batches = {"by": "documents", "documents": self.documents, "period": "month", "initial": INITIAL, "flush": True}
        stream = {"batches": batches, "protocol": "by-date", "topic_entry": {}, "ties": "source"}
        table, order = here / "index.tsv", here / "order.h5"
        words = ["index", here / "documents.h5", table, order, "--seed", 0, "--stream", json.dumps(stream)]
        self.odl("index", order, *words)
        for t in (0, 1):
            batch, features = here / f"batches/{t}.h5", here / f"features/{t}.h5"
            self.odl(f"batch {t}", batch, "batch", here / "documents.h5", order, batch, "--t", t)
            before = [here / "features/0.h5"] if t else []
            self.odl(f"features {t}", features, "features", features, batch, *before)

    def learn(self, learner):
        """Start the dictionary, then score and learn the large batch."""
        here, features = self.folder / f"{learner}-{self.shard}", self.folder / "features/1.h5"
        weighting = {**WEIGHTING, "tf": "log"} if learner == "adaptive" else WEIGHTING
        run = {"corpus": "made", "seed": 0, "run": learner, "atoms": self.options.atoms}
        chain = ["--run", json.dumps({**run, "learner": {"algorithm": learner}, "features": weighting})]
        self.update(learner, here, 0, chain)
        chain += ["--previous", here / "0.h5"]
        paths = []
        for first in range(0, self.documents, self.shard) if self.shard else []:
            paths.append(here / "shards" / f"{first}.h5")
            span = f"{first}:{first + self.shard}"
            self.odl(f"score {span}", paths[-1], "score", features, paths[-1], "--rows", span, *chain, learner=learner)
        self.update(learner, here, 1, [*chain, *(["--shards", *paths] if paths else [])])

    def update(self, learner, here, t, more):
        """Run the update of one timestep."""
        words = ["update", self.folder / f"features/{t}.h5", "--state", here / f"{t}.h5"]
        words += ["--scores", here / f"scores{t}.h5", "--timings", here / f"timings{t}.tsv"]
        self.odl(f"update {t}", here / f"{t}.h5", *words, *more, learner=learner)


def main(words=None):
    """Measure both batches and print the table."""
    parser = argparse.ArgumentParser(description="Peak memory and CPU time of the jobs of one large batch.")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--shard", type=int, default=50_000, help="documents; rounded up to a multiple of 512")
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--atoms", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learners", nargs="*", default=list(LEARNERS))
    parser.add_argument("--folder", type=Path, default=measure.ROOT / "results" / "large-batch")
    parser.add_argument("--output", type=Path, help="table to write (default: table.tsv in the folder)")
    options = parser.parse_args(words)
    shard = -(-options.shard // BLOCK) * BLOCK
    benches = [Bench(options.folder, shard, 0, options), Bench(options.folder, options.documents, shard, options)]
    for bench in benches:
        bench.prepare()
    for learner in options.learners:
        for bench in benches:
            bench.learn(learner)
    rows = [row for bench in benches for row in bench.rows]
    with open(options.output or options.folder / "table.tsv", "w", newline="") as file:
        for stream in (sys.stdout, file):
            writer = csv.DictWriter(stream, COLUMNS, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return rows


if __name__ == "__main__":
    main()
