"""Compare other packages with odl on the same streams; each has its own environment and process.

    python benchmarks/peers.py --environments FOLDER [--streams tdt2 news] [--seeds 0 1] [--only
    NAME ...]

See benchmarks/README.md.
"""

import os
import sys

# Set before numpy is imported; child processes inherit it
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TORCH_NUM_THREADS")
if __name__ == "__main__":
    os.environ.update(dict.fromkeys(THREADS, "1"))

import argparse  # noqa: E402
import importlib.metadata  # noqa: E402
import json  # noqa: E402
import re  # noqa: E402
import shutil  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402
import venv  # noqa: E402
from pathlib import Path  # noqa: E402

import material  # noqa: E402
import measure  # noqa: E402
import numpy as np  # noqa: E402
import peers_methods  # noqa: E402
import peers_own  # noqa: E402
import peers_stream  # noqa: E402
import peers_table  # noqa: E402
import yaml  # noqa: E402

from odl import corpora  # noqa: E402
from odl.config.sections import Order  # noqa: E402
from odl.corpora import checks, news20  # noqa: E402
from odl.evaluation import metrics  # noqa: E402
from odl.stream import batching, features  # noqa: E402

BUDGET = 20  # alerts per timestep
FEWEST = 10  # smallest number of novel, and of known, documents of an evaluated timestep
STREAMS = {"tdt2": ("tdt2.yaml", "tdt2"), "news": ("newsgroups.yaml", "newsgroups")}


def main(arguments=None):
    """Measure every method on every stream, one round per seed; print a table for each stream."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--environments",
        required=True,
        type=Path,
        help="folder for the environments of the packages",
    )
    parser.add_argument(
        "--corpora", help="folder of the corpora in the layout of a mirror; else ODL_CORPORA ..."
    )
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="of a round each")
    parser.add_argument(
        "--only", nargs="+", choices=[*peers_own.METHODS, *peers_methods.METHODS], metavar="NAME"
    )
    parser.add_argument(
        "--seconds", type=float, default=600, help="CPU seconds after which a method is stopped"
    )
    parser.add_argument(
        "--output", type=Path, help="also write what was measured as JSON, method by method"
    )
    args = parser.parse_args(arguments)
    folder = material.find_corpora(args.corpora)
    if folder is None:
        parser.error("no corpora: name their folder by --corpora, ODL_CORPORA or ODL_MIRROR")
    facts, found = measure.facts(), {name: {} for name in args.streams}
    with tempfile.TemporaryDirectory() as place:
        for seed in args.seeds:
            for name in args.streams:
                stream = Path(place) / f"{name}{seed}"
                labels = write_stream(stream, folder, name, seed)
                facts += encoded(stream, name, args.environments)
                _round(found[name], stream, labels, seed, args)
                if args.output:
                    args.output.write_text(json.dumps({"facts": facts, "streams": found}, indent=1))
                shutil.rmtree(stream)
    facts.append(("load after", " ".join(f"{value:.2f}" for value in os.getloadavg())))
    if args.output:
        args.output.write_text(json.dumps({"facts": facts, "streams": found}, indent=1))
    print("\n".join(f"{name}: {value}" for name, value in facts))
    for name, methods in found.items():
        print(f"\n{name}\n\n{peers_table.table(methods)}")
    return 0


def _round(found, stream, labels, seed, args):
    """Measure all methods on one stream; slow ones in the last round only."""
    every = peers_own.METHODS | peers_methods.METHODS
    for name in args.only or every:
        if seed != args.seeds[-1] and getattr(every[name], "SLOW", False):
            continue
        measure.say(f"{stream.name}: {name}")
        found.setdefault(name, []).append(measured(name, stream, labels, seed, args))


def encoded(stream, name, environments):
    """Write the vectors of the texts of a stream, if it has texts; return (name, value) facts."""
    if not (stream / "0.json").exists():
        return []
    try:
        python, size = environment(environments, peers_stream.ENCODER)
        said = measure.child([python, Path(__file__).with_name("peers_stream.py"), stream])
    except RuntimeError as error:
        return [(f"{name}: no vectors", " ".join(str(error).split())[-200:])]
    us = json.loads(said.printed.splitlines()[-1])["us"]
    return [
        (
            f"{name}: vectors of {peers_stream.ENCODER[-1]}",
            f"{us:.0f} CPU us a document, {size:.0f} MB",
        )
    ]


def write_stream(folder, source, name, seed):
    """Write the batches of a stream for all methods; return the labels of each, 1 for novel."""
    config, corpus = STREAMS[name]
    setting = yaml.safe_load((measure.ROOT / "config" / config).read_text())["corpora"][corpus]
    files, texts = _files(source, name)
    documents = corpora.read(setting["reader"], files, setting.get("options", {}))
    parts = batching.split(documents, Order.from_map(Order.part(setting)), seed)
    folder.mkdir()
    labels, previous = [], None
    for t, part in enumerate(parts):
        previous = features.follow(documents.select(part), previous, str(folder / f"{t}.h5"))
        held = {"weights": previous.weighed(tf="log", norm="l2")[:], "counts": previous.counts[:]}
        arrays = {f"{key}_{part}": getattr(value, part) for key, value in held.items()
                  for part in ("data", "indices", "indptr", "shape")}  # fmt: skip
        np.savez(folder / f"{t}.npz", **arrays)
        if texts:
            (folder / f"{t}.json").write_text(json.dumps([texts[ident] for ident in previous.ids]))
        labels.append(np.asarray(previous.novel))
    return labels


def _files(source, name):
    """Return the files of a corpus, and its texts by id; empty if it has no texts."""
    if name == "tdt2":
        return [source / "tdt2" / "TDT2_with_time.mat"], {}
    files = [
        source / "20news" / file for file in ("20news-bydate.tar.gz", "20news-bydate-dates.tsv.gz")
    ]
    texts = {}
    for member, data in checks.tar_members(files[0]):
        match = news20.POST_MEMBER.search(member)
        if match:
            texts[f"{match[2]}/{match[3]}"] = "\n".join(news20.split_post(data))
    return files, texts


def measured(name, stream, labels, seed, args):
    """Run one method; return its results, or the reason why it has none."""
    own = name in peers_own.METHODS
    method = (peers_own.METHODS if own else peers_methods.METHODS)[name]
    python, size = (sys.executable, closure("online-dictionary-learning")) if own else (None, None)
    try:
        if not own:
            python, size = environment(args.environments, method.PACKAGES)
        script = Path(__file__).with_name("peers_own.py" if own else "peers_methods.py")
        output = stream / "scores.npy.npz"
        arguments = [name, stream, seed, args.seconds, output]
        cost = measure.child([python, script, *arguments])
    except RuntimeError as error:
        return {"remark": " ".join(str(error).split())[-200:], "environment": size}
    said = json.loads(cost.printed.splitlines()[-1])
    with np.load(output) as held:
        scores = {int(t): held[t] for t in held}
    output.unlink()
    if not said["documents"]:
        return {"remark": f"no timestep within {args.seconds:.0f} CPU s", "environment": size}
    precision, auc = judged(scores, labels)
    remark = (
        "" if len(scores) == len(labels) - 1 else f"{len(scores)} of {len(labels) - 1} timesteps"
    )
    ms = {phase: 1e6 * said[phase] / max(said["documents"], 1) for phase in ("score", "learn")}
    return {"precision": precision, "auc": auc, **ms, "mb": cost.rss / 1e6, "lines": said["lines"],
            "environment": size, "remark": remark}  # fmt: skip


def judged(scores, labels, budget=BUDGET, fewest=FEWEST):
    """Return mean precision within the budget, and mean AUC, over the evaluated timesteps.

    Documents with the lowest score within the budget count by their mean.

    Parameters
    ----------
    scores : dict of int to ndarray
    labels : sequence of ndarray
        Labels of each timestep: 1 for novel, 0 for known documents.
    """
    precisions, aucs = [], []
    for t, values in scores.items():
        novel = labels[t] == 1
        if min(novel.sum(), (labels[t] == 0).sum()) < fewest:
            continue
        edge = np.sort(values)[-budget]
        above, tied = values > edge, values == edge
        precisions.append(
            (novel[above].sum() + (budget - above.sum()) * novel[tied].mean()) / budget
        )
        aucs.append(metrics.auc(values, labels[t]))
    return (
        (float(np.mean(precisions)), float(np.mean(aucs))) if aucs else (float("nan"), float("nan"))
    )


def environment(folder, packages):
    """Return (interpreter, size in MB) of a virtual environment with packages.

    It is created if it does not exist.

    Raises
    ------
    RuntimeError
        If they cannot be installed; the message has the end of pip's output.
    """
    place = folder / re.sub(
        r"\W+", "-", packages[-1].partition("=")[0] if packages[-1] != "scipy" else packages[0]
    )
    python = place / "bin" / "python"
    if not (place / "done").exists():
        measure.say(f"installing {' '.join(packages)}")
        venv.create(place, with_pip=True, clear=True)
        for package in packages:
            done = subprocess.run(
                [python, "-m", "pip", "install", "--quiet", "--no-compile", package],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                raise RuntimeError(f"not installed: {done.stderr[-200:]}")
        (place / "done").touch()
    return python, _megabytes(path for path in place.rglob("*") if not path.is_symlink())


def _megabytes(paths):
    """Return the size of files in MB, without bytecode."""
    return (
        sum(path.stat().st_size for path in paths if path.is_file() and path.suffix != ".pyc") / 1e6
    )


def closure(name):
    """Return the size in MB of a distribution and its requirements, without extras."""
    todo, seen, total = [name], set(), 0.0
    while todo:
        one = re.split(r"[^\w.-]", todo.pop(), maxsplit=1)[0].lower().replace("_", "-")
        if one in seen:
            continue
        seen.add(one)
        try:
            held = importlib.metadata.distribution(one)
        except importlib.metadata.PackageNotFoundError:
            continue
        total += _megabytes(Path(held.locate_file(file)) for file in held.files or [])
        todo += [line for line in held.requires or [] if "extra ==" not in line]
    return total


if __name__ == "__main__":
    sys.exit(main())
