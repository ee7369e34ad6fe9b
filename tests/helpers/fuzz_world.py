"""A tiny study, made by the commands in this process: the valid files that are then damaged."""

import contextlib
import io
import json
import random

import numpy as np
from scipy import sparse

from odl import cli
from odl.evaluation.study import write_plan
from odl.files import agentfiles, checkpoints

TOPICS = {
    "grain": "wheat harvest grain farmers",
    "oil": "crude oil tanker refinery",
    "space": "rocket orbit crew",
}
STREAM = {
    "batches": {"by": "documents", "documents": 6, "period": "day", "initial": 8, "flush": True},
    "protocol": "by-date",
    "topic_entry": {},
    "ties": "seeded",
}
ALGORITHMS = ("dual_averaging", "online_admm", "adaptive", "hierarchical")
STEPS = (0, 1, 2)


def rows():
    """Twenty documents; the third topic enters late."""
    rnd, names = random.Random(0), list(TOPICS)
    return [
        {
            "id": f"d{n:02d}",
            "time": f"2026-01-{n + 1:02d}",
            "text": " ".join(rnd.choices(TOPICS[names[n % (2 if n < 8 else 3)]].split(), k=6)),
            "topics": names[n % (2 if n < 8 else 3)],
            "title": f"Document {n}",
        }
        for n in range(20)
    ]


def run_of(algorithm):
    return {
        "corpus": "c",
        "seed": 0,
        "run": algorithm.replace("_", "-"),
        "atoms": 3,
        "learner": {"algorithm": algorithm},
        "features": {},
    }


def call(*words):
    """Run a subcommand in this process; return its status and what it wrote to stderr."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = cli.main([*(["step"] if words[0] in cli.steps() else []), *map(str, words)])
        except SystemExit as stop:
            status = stop.code
    return status, errors.getvalue()


def _done(*words):
    status, said = call(*words)
    assert status == 0, said


def build(root):
    """Make the study in a folder."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    _done("read", "documents", root / "documents.h5", "--source", root / "mine.jsonl")
    index = [root / "index.tsv", root / "order.h5", "--seed", 0, "--stream", json.dumps(STREAM)]
    _done("index", root / "documents.h5", *index)
    for t in STEPS:
        _done("batch", root / "documents.h5", root / "order.h5", root / f"b{t}.h5", "--t", t)
        before = ["--previous", root / f"f{t - 1}.h5"] if t else []
        _done("features", root / f"f{t}.h5", root / f"b{t}.h5", *before)
    for algorithm in ALGORITHMS:
        _learn(root, algorithm)
    run = root / "dual_averaging"
    (root / "past").mkdir()
    (root / "past/0.h5").hardlink_to(root / "f0.h5")
    _done("baselines", root / "baselines.h5", root / "f1.h5", "--past", root / "past")
    _done("topics", run / "scores/1.h5", root / "f1.h5", "--output", root / "emerging.h5",
          "--settings", '{"share": 1.0, "atoms": 2, "min_support": 1}')  # fmt: skip
    _done(
        "emerging",
        run / "emerging.tsv",
        "--files",
        root / "emerging.h5",
        "--scores",
        run / "scores/1.h5",
    )
    _done("evaluate", run / "auc.tsv", run / "summary.tsv", "--options", '{"min_novel": 1, "min_known": 1}',
          "--scores", *(run / f"scores/{t}.h5" for t in STEPS))  # fmt: skip
    states = [run / f"{t}.h5" for t in STEPS]
    _done(
        "regret",
        run / "regret.tsv",
        "--checkpoints",
        *states,
        "--features",
        *(root / f"f{t}.h5" for t in STEPS),
    )
    plan = [
        {
            **{key: run_of("dual_averaging")[key] for key in ("corpus", "seed", "run")},
            "reader": "documents",
            "protocol": "by-date",
            "algorithm": "dual_averaging",
            "k": 3,
            "parameters": {"lam": 0.1},
            "folder": str(run),
            "timesteps": list(STEPS),
        }
    ]
    write_plan(root / "plan.json", plan)
    _done("summarise", root / "plan.json", root / "tables")
    _done(
        "emergings",
        root / "plan.json",
        root / "tables/emerging.tsv",
        "--tables",
        run / "emerging.tsv",
    )
    _done("regrets", root / "plan.json", root / "tables/regret.tsv", "--options",
          '{"runs": ["dual-averaging"], "sizes": []}')  # fmt: skip
    _agents(root)
    return root


def _learn(root, algorithm):
    folder, before = root / algorithm, []
    for t in STEPS:
        outputs = ["--state", folder / f"{t}.h5", "--scores", folder / f"scores/{t}.h5"]
        outputs += [
            "--timings",
            folder / f"timings/{t}.tsv",
            "--run",
            json.dumps(run_of(algorithm)),
        ]
        _done("update", root / f"f{t}.h5", *outputs, *before)
        before = ["--previous", folder / f"{t}.h5"]


def _agents(root):
    """A checkpoint of two agents, each in a file of its own."""
    rng, m = np.random.default_rng(0), 10
    atoms = [sparse.csc_array(rng.random((m, size))) for size in (1, 2)]
    codes = [sparse.csr_array(rng.random((6, size))) for size in (1, 2)]
    held = {"t": 0, "chain": run_of("diffusion"), "updates": 0}
    digests = [
        agentfiles.write_agent(root / "net.h5", agent, checkpoints.Checkpoint(
            **held, dictionary=atoms[agent], arrays={}, codes=codes[agent], uncoded=0.0))
        for agent in range(2)
    ]  # fmt: skip
    dual = {name: np.ones(6) for name in ("value", "norm", "iterations")}
    agentfiles.write_network(root / "net.h5", agentfiles.NetworkCheckpoint(
        **held, n_atoms=3, score=np.ones(6), dual=dual, digests=digests))  # fmt: skip
