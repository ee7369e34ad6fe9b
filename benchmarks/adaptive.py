"""`adaptive` and `levels`: microseconds a document to score and to learn, beside a window of nearest neighbours.

python benchmarks/adaptive.py --corpora ~/corpora                    # TDT2 and 20 Newsgroups
python benchmarks/adaptive.py --against ../before/src                # and another version of the package beside it
python benchmarks/adaptive.py --small [--against ...]                # batches of 50 and 1 by `NoveltyDetector`
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import yaml
from measure import ROOT, Row, cpu, say, table, within
from scipy import sparse

SIZES = ((200, 300), (500, 300), (1000, 150), (2000, 40))
MOST = within(100e-6)  # a document
LIMITS = {(200, 300): within(40e-6), (500, 300): MOST, (1000, 150): MOST, (2000, 40): MOST}
MEMORY = {150000: MOST, 60000: within(40e-6)}  # numbers of `levels`
WINDOW, NEIGHBOURS = 1000, 5
STREAMS = {"tdt2": "TDT2", "newsgroups": "20 Newsgroups"}


def adaptive(material):
    """Rows of one run over the stream: sizes, the window, a large vocabulary."""
    P = [batch.weighed(tf="log", norm="l2")[:] for batch in material.batches]
    # Of the made stream of a try-out other sizes.
    sizes = SIZES if material.real else tuple((atoms, 30) for atoms in material.size.atoms)
    found = in_turn(
        {size: lambda size=size: stream(P, *size) for size in sizes}
        | {memory: lambda memory=memory: levels(P, memory) for memory in MEMORY}
        | {"window": lambda: window(P), "wide": lambda: stream(widened(P), *sizes[0])}
        | {"levels, wide": lambda: levels(widened(P))},
        material.size.repeats,
    )
    rows, near = [], found.pop("window")[0]
    wide, wider = sum(found.pop("wide")[:2]), sum(found.pop("levels, wide")[:2])
    for memory, limit in MEMORY.items():
        score, learn, stored = found[memory]
        what = f"{material.name}, levels, {stored:.0f} stored"
        rows += [(f"{what}: score", score, "CPU us", ""), (f"{what}: learn", learn, "CPU us", "")]
        rows.append((f"{what}: both", score + learn, "CPU us", limit))
        rows.append((f"{what}: faster than the window", near / (score + learn), "times", ">= 1"))
    own = sum(found[max(MEMORY)][:2])
    rows.append((f"{material.name}, levels: in a vocabulary of 1,000,000 over its own", wider / own, "times", "<= 1.1"))
    found = {size: found[size] for size in sizes}
    for size, (score, learn, stored) in found.items():
        what = f"{material.name}, {size[0]} atoms of {size[1]} words, {stored:.0f} stored"
        rows += [(f"{what}: score", score, "CPU us", ""), (f"{what}: learn", learn, "CPU us", "")]
        rows.append((f"{what}: both", score + learn, "CPU us", LIMITS.get(size, "")))
        rows.append((f"{what}: faster than the window", near / (score + learn), "times", ">= 1"))
    first, name = sum(found[sizes[0]][:2]), f"{material.name}, {sizes[0][0]} atoms of {sizes[0][1]} words"
    rows.append((f"{name}: in a vocabulary of 1,000,000 over its own", wide / first, "times", "<= 1.1"))
    rows.append((f"{material.name}, {NEIGHBOURS} nearest of the last {WINDOW} documents", near, "CPU us", ""))
    return [Row("adaptive", *row) for row in rows]


def in_turn(calls, repeats):
    """Return the median of each number of what the calls return, one call after the other in every repetition."""
    found = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            found[name].append(call())
    return {name: tuple(median(values) for values in zip(*one, strict=True)) for name, one in found.items()}


def start(P, atoms, terms):
    """Return the learner and what it has learned from the first batch."""
    from odl import learners

    learner = learners.make("adaptive", terms=terms)
    filled = int((np.diff(P.indptr) > 0).sum())
    return learner, learner.with_room(learner.start(P, min(atoms, filled), None), atoms)


def stream(P, atoms, terms):
    """Return CPU us a document to score and to learn after the first batch, and the numbers stored at the end."""
    return follow(P, *start(P[0], atoms, terms))


def levels(P, memory=150000):
    """Return the same of the learner `levels`."""
    from odl import learners

    learner = learners.make("levels", memory=memory)
    return follow(P, learner, learner.start(P[0], 1, None))


def follow(P, learner, state):
    """Return CPU us a document to score and to learn after the first batch, and the numbers stored at the end."""
    spent = [0.0, 0.0]
    for batch in P[1:]:
        state = learner.fit_terms(state, batch.shape[1])
        spent[0] += cpu(lambda state=state, batch=batch: learner.score(state, batch))[0]
        seconds, state = cpu(lambda state=state, batch=batch: learner.learn(state, batch, None))
        spent[1] += seconds
    count = sum(batch.shape[0] for batch in P[1:])
    stored = state.dictionary.nnz + sum(value.size for value in state.arrays.values())
    return *(1e6 * seconds / count for seconds in spent), stored


def window(P):
    """Return CPU us a document of the nearest neighbours among the last documents, as the baselines find them."""
    from odl.evaluation import baselines

    seconds, past = 0.0, P[0]
    for batch in P[1:]:
        past = sparse.csr_array((past.data, past.indices, past.indptr), shape=(past.shape[0], batch.shape[1]))
        best = np.zeros((batch.shape[0], NEIGHBOURS))
        seconds += cpu(lambda best=best, batch=batch, past=past: baselines._keep_largest(best, batch, past))[0]
        past = sparse.csr_array(sparse.vstack([past, batch], format="csr")[-WINDOW:])
    return (1e6 * seconds / sum(batch.shape[0] for batch in P[1:]),)


def widened(P, n_terms=1_000_000):
    """Return the batches with columns that nothing uses."""
    return [sparse.csr_array((one.data, one.indices, one.indptr), shape=(one.shape[0], n_terms)) for one in P]


def prepared(folder, corpus, name):
    """Write the weighed batches of a corpus, as `config/quality.yaml` has it, and return the file."""
    from odl import corpora
    from odl.config.sections import Order
    from odl.stream import batching, features

    setting = yaml.safe_load((ROOT / "config" / "quality.yaml").read_text())["corpora"][name]
    reader = corpora.read(setting["reader"], corpus, setting["options"])
    parts = batching.split(reader, Order.from_map(Order.part(setting)))
    before, arrays = None, {}
    for t, part in enumerate(parts):
        before = features.follow(reader.select(part), before)
        P = before.weighed(tf="log", norm="l2")[:]
        arrays |= {f"{t} {key}": getattr(P, key) for key in ("data", "indices", "indptr", "shape")}
    path = Path(folder) / f"{name}.npz"
    np.savez(path, **arrays)
    return path


def read(path):
    """Return the batches of a file of `prepared`."""
    with np.load(path) as held:
        count = len(held.files) // 4
        parts = [[held[f"{t} {key}"] for key in ("data", "indices", "indptr", "shape")] for t in range(count)]
    return [sparse.csr_array(tuple(part[:3]), shape=tuple(part[3])) for part in parts]


def child(path, package, words=()):
    """Return what `stream` measures for all sizes, and `window`, with the package at a path."""
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, __file__, "--child", str(path), *words]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def measured(path):
    """What a child prints: sizes as text to numbers."""
    P = read(path)
    stream(P[:2], 20, 20)
    levels(P[:2])
    found = {f"{atoms} x {terms}": stream(P, atoms, terms) for atoms, terms in SIZES}
    found |= {f"levels {memory}": levels(P, memory) for memory in MEMORY}
    wide = widened(P)
    found |= {"200 x 300 in a million terms": stream(wide, *SIZES[0]), "levels in a million terms": levels(wide)}
    return found | {"nearest neighbours": window(P)}


def small(P, before=5):
    """Return CPU us by `NoveltyDetector`: of a document among 1000, of batches of 50 and of one, of a score of one."""
    from odl import NoveltyDetector

    P = widened(P, P[-1].shape[1])[: before + 3]
    detector = NoveltyDetector(folds=0)
    for batch in P[: before + 1]:
        detector.partial_fit(batch)
    fifties = [P[-2][first : first + 50] for first in range(0, 1000, 50)]
    ones = [P[-2][[row]] for row in range(40)]
    return {
        "a document of a batch of 1000": [cpu(detector.partial_fit, P[-1])[0] * 1e6 / P[-1].shape[0]],
        "a batch of 50": [cpu(lambda: [detector.partial_fit(batch) for batch in fifties])[0] * 1e6 / len(fifties)],
        "a batch of one": [cpu(lambda: [detector.partial_fit(one) for one in ones])[0] * 1e6 / len(ones)],
        "the score of one": [cpu(lambda: [detector.score_samples(one) for one in ones])[0] * 1e6 / len(ones)],
    }


def compared(paths, packages, repeats, words=()):
    """Return the rows of all streams and packages, measured in turn."""
    rows = []
    for name, path in paths.items():
        runs = {key: [] for key in packages}
        for repeat in range(repeats):
            say(f"{name}: {repeat + 1} of {repeats}")
            for key, package in packages.items():
                runs[key].append(child(path, package, words))
        for size in runs["this"][0]:
            for key, found in runs.items():
                values = [median(column) for column in zip(*(one[size] for one in found), strict=True)]
                labels = ("score, ", "learn, ") if len(values) > 1 else ("",)
                for label, value in zip(labels, values, strict=False):
                    rows.append(Row(STREAMS[name], f"{size}, {label}{key}", value, "CPU us"))
    return rows


def main():
    """Measure TDT2 and 20 Newsgroups and print the table."""
    import material

    parser = argparse.ArgumentParser(description="Learners of bounded memory: microseconds a document.")
    parser.add_argument("--corpora", help="folder of the corpora in the layout of a mirror; else ODL_CORPORA ...")
    parser.add_argument("--against", help="folder src of another version, measured in turn with this one")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="measure small batches by `NoveltyDetector` instead")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(small(read(options.child)) if options.small else measured(options.child)))
        return
    place = material.find_corpora(options.corpora)
    if not place:
        parser.error("no corpora found: give --corpora, a folder in the layout of a mirror")
    packages = {"this": ROOT / "src"} | ({"other": Path(options.against).resolve()} if options.against else {})
    sources = {"tdt2": ["tdt2/TDT2_with_time.mat"]}
    sources["newsgroups"] = ["20news/20news-bydate.tar.gz", "20news/20news-bydate-dates.tsv.gz"]
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: prepared(folder, [place / file for file in files], name) for name, files in sources.items()}
        print(table(compared(paths, packages, options.repeats, ["--small"] * options.small)))


if __name__ == "__main__":
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[_name] = "1"
    main()
