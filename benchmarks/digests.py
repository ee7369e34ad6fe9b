"""What digests cost: CPU seconds of the jobs of one large batch with them and without, in turn in one process.

    python benchmarks/digests.py [--documents 20000] [--words 50000] [--atoms 200] [--repeats 7]

Without: the hash does nothing and gives the same value for everything. Of each the best repeat counts; `more` is what
digests add to a job with its start (a process that imports the same modules), `in sha256` the share of the hash alone.
The documents are drawn at random, words by Zipf's law. About a minute of one quiet core.
"""

import os

# Before numpy is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse  # noqa: E402
import hashlib  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402
from types import SimpleNamespace  # noqa: E402

import measure  # noqa: E402
import numpy as np  # noqa: E402
from scipy import sparse  # noqa: E402

from odl.config.sections import Batches, Order  # noqa: E402
from odl.files import digests, documents  # noqa: E402
from odl.jobs import runs, update  # noqa: E402
from odl.stream import batchfile, batching, features  # noqa: E402

INITIAL, LENGTH = 1000, 80  # documents of the first batch, words of a document
WEIGHTING = {"tf": "raw", "idf": "past", "min_df": 0, "vocabulary": "growing"}


class NoHash:
    """What stands in for sha256."""

    def update(self, data):
        """Take no notice."""

    def digest(self):
        """Return the same for everything."""
        return bytes(32)

    def hexdigest(self):
        """Return the same for everything."""
        return "0" * 64


class Clocked:
    """Sha256 that counts the CPU seconds spent in it."""

    spent = 0.0

    def __init__(self, data=b""):
        begin = time.process_time()
        self.sha = hashlib.sha256(data)
        Clocked.spent += time.process_time() - begin

    def update(self, data):
        """Go on."""
        begin = time.process_time()
        self.sha.update(data)
        Clocked.spent += time.process_time() - begin

    def digest(self):
        """Return the digest."""
        return self.sha.digest()

    def hexdigest(self):
        """Return the digest."""
        return self.sha.hexdigest()


HASHES = {"without": lambda data=b"": NoHash(), "with": hashlib.sha256, "clocked": Clocked}


def made(n, m, seed=0):
    """Return n documents over m words."""
    rng = np.random.default_rng(seed)
    words = np.minimum(rng.zipf(1.2, size=(n, LENGTH)) - 1, rng.integers(0, m, size=(n, LENGTH)))
    counts = sparse.csr_array((np.ones(n * LENGTH, dtype=np.int32), (np.repeat(np.arange(n), LENGTH), words.ravel())),
                              shape=(n, m))  # fmt: skip
    ids = [f"d{row:08d}" for row in range(n)]
    times = 1000 * np.arange(n, dtype=np.int64)
    topics = [(f"topic {row % 50}",) for row in range(n)]
    return documents.Documents(counts, [f"w{j}" for j in range(m)], ids, times, topics, [f"Title of {i}" for i in ids])


class Place:
    """A folder with the files of one kind of hash.

    Parameters
    ----------
    folder : Path
    hashed : callable
        What makes a hash.
    options : argparse.Namespace
    """

    def __init__(self, folder, hashed, options):
        self.folder, self.hashed = folder, hashed
        chain = {"corpus": "made", "seed": 0, "run": "da", "atoms": options.atoms, "features": WEIGHTING}
        self.run = runs.parse({**chain, "learner": {"algorithm": "dual_averaging"}})
        self.documents, self.words = options.documents, options.words

    def path(self, name):
        """Return the path of a file here."""
        return self.folder / f"{name}.h5"

    def prepare(self):
        """Write all that the first job reads."""
        self.folder.mkdir()
        documents.write(self.path("documents"), made(INITIAL + self.documents, self.words), reader="documents")
        stream = Order(ties="source", batches=Batches(documents=self.documents, initial=INITIAL))
        batching.index(self.path("documents"), self.folder / "index.tsv", self.path("order"), seed=0, stream=stream)
        batchfile.cut(self.path("documents"), self.path("order"), self.path("batch0"), 0)
        features.advance(self.path("features0"), self.path("batch0"), None)
        self.update(0)

    def update(self, t):
        """Score and learn one timestep."""
        written = self.path(f"state{t}"), self.path(f"scores{t}"), self.folder / "timings.tsv"
        before = self.path("state0") if t else None
        update.update(self.path(f"features{t}"), *written, run=self.run, before=runs.Before(before))

    def jobs(self):
        """Return the jobs of the large batch, in order."""
        path = self.path
        return {
            "odl step batch": lambda: batchfile.cut(path("documents"), path("order"), path("batch1"), 1),
            "odl step features": lambda: features.advance(path("features1"), path("batch1"), path("features0")),
            "odl step update": lambda: self.update(1),
        }

    def cost(self, job):
        """Return the CPU seconds of a job, and those of them in the hash if it is clocked."""
        digests.hashlib, Clocked.spent = SimpleNamespace(sha256=self.hashed), 0.0
        begin = time.process_time()
        self.jobs()[job]()
        return time.process_time() - begin, Clocked.spent


def main(words=None):
    """Print a row for each job."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--atoms", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        places = {name: Place(Path(folder) / name, hashed, options) for name, hashed in HASHES.items()}
        for place in places.values():
            digests.hashlib = SimpleNamespace(sha256=place.hashed)
            place.prepare()
        imported = "import odl.cli, odl.stream.batchfile, odl.stream.features"
        start = min(measure.child([sys.executable, "-c", imported]).cpu for _ in range(options.repeats))
        print(f"{'start of a process':24}{start:12.3f}")
        print(f"{'job':24}{'without, s':>12}{'with, s':>12}{'more':>9}{'in sha256':>11}", flush=True)
        for job in places["with"].jobs():
            found = {name: [] for name in places}
            for repeat in range(options.repeats + 1):
                for name, place in places.items():
                    if repeat or name != "clocked":  # the first is warm-up
                        found[name].append(place.cost(job))
            plain, held = (min(cpu for cpu, _ in found[name][1:]) for name in ("without", "with"))
            cpu, spent = min(found["clocked"])
            more, share = (held - plain) / (start + plain), spent / (start + cpu)
            print(f"{job:24}{plain:12.3f}{held:12.3f}{more:9.2%}{share:11.2%}", flush=True)


if __name__ == "__main__":
    main()
