"""Every subcommand of odl with missing, foreign, damaged and cut files: one sentence, status 1."""

import json
import random
import shutil

import fuzz_world
import fuzzing as fz
import numpy as np
import pytest
from experimented import archive
from fuzz_world import STEPS, STREAM, call, run_of

from odl import cli

RUN = json.dumps(run_of("dual_averaging"))
EVALUATE = '{"min_novel": 1, "min_known": 1}'
# Words of each subcommand; {x} is a file or folder it reads, everything else that has a dot is
# written into "out".
WATCHED = "watched/c/seed0/dual-averaging/k3/alerts"
COMMANDS = {
    "download": ["tdt2/a.mat", "out/a.mat", "--registry", "{registry.csv}"],
    "read": ["documents", "out/d.h5", "--source", "{mine.jsonl}"],
    "init": ["out/n", "{mine.jsonl}"],
    "index": ["{documents.h5}", "out/i.tsv", "out/o.h5", "--seed", "0", "--stream", json.dumps(STREAM)],
    "aside": ["{documents.h5}", "out/aside.tsv"],
    "batch": ["{documents.h5}", "{order.h5}", "out/b.h5", "--t", "1"],
    "features": ["out/f.h5", "{twins/batches/1.h5}", "--previous", "{twins/0.h5}"],
    "update": ["{f1.h5}", "--state", "out/s.h5", "--scores", "out/c.h5", "--timings", "out/t.tsv", "--run", RUN,
               "--previous", "{dual_averaging/0.h5}"],
    "rank": ["1", "{f0.h5}", "--state", "out/s.h5", "--timings", "out/t.tsv", "--run",
             json.dumps({**run_of("diffusion"), "learner": {"algorithm": "dual_averaging"}})],
    "baselines": ["out/b.h5", "{f1.h5}", "--past", "{past}"],
    "topics": ["{dual_averaging/scores/1.h5}", "{f1.h5}", "--output", "out/e.h5"],
    "emerging": ["out/e.tsv", "--files", "{emerging.h5}", "--scores", "{dual_averaging/scores/1.h5}"],
    "evaluate": ["out/a.tsv", "out/s.tsv", "--options", EVALUATE, "--scores", "{dual_averaging/scores/1.h5}",
                 "{dual_averaging/scores/2.h5}"],
    "regret": ["out/r.tsv", "--checkpoints", *(f"{{dual_averaging/{t}.h5}}" for t in STEPS), "--features",
               *(f"{{f{t}.h5}}" for t in STEPS)],
    "regrets": ["{plan.json}", "out/r.tsv", "--options", '{"runs": ["dual-averaging"], "sizes": []}'],
    "summarise": ["{plan.json}", "out"],
    "emergings": ["{plan.json}", "out/e.tsv", "--tables", "{dual_averaging/emerging.tsv}"],
    "figures": ["{plan.json}", "{tables}", "out"],
    "measure": ["inpainting", "out/0.json", "--part", "0", "--files", "{images.tar.gz}"],
    "experiment": ["biclustering", "out", "--files", "{lung_5000x56.csv.gz}"],
    "page": ["out/p.html", "{plan.json}", "{tables}", "{figures}"],
    "alerts": ["{f1.h5}", "{dual_averaging/scores/1.h5}", "{dual_averaging/1.h5}", "out/a.h5", "--run", RUN,
               "--known", "{dual_averaging/0.h5}", "--previous", f"{{{WATCHED}/0.h5}}"],
    "new": ["{watched}"],
    "explain": ["{watched}", "d01"],
    "mute": ["{watched}", "d01"],
    "judge": ["{watched}", "d01", "yes"],
    "follow": ["{watched}", "d01"],
    "newpage": ["out/n.html", "{watched}"],
    "table": ["{study}"],
    "verify": ["{past}"],
}  # fmt: skip
UNREAD = {
    ("regret", "{f0.h5}"),
    ("emergings", "{dual_averaging/emerging.tsv}"),
}  # names a timestep, or a folder
NOT_READING = {
    "plan",
    "schema",
    "collect",
    "run",
    "trust",
    "watch",
    "step",
    "show",
    "forget",
    "unmute",
    "backtest",
    "mcp",
    "open",
}  # collect reads what rank does; the last six have tests of their own


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The files of a tiny study, and what else the commands read."""
    root = fuzz_world.build(tmp_path_factory.mktemp("world"))
    (root / "registry.csv").write_text(
        "corpus,folder,file,url,sha256,route,tried,licence,citation\n"
    )
    (root / "lung_5000x56.csv.gz").write_bytes(fz.gzipped(b'"","Colon"\n"g",0.5\n'))
    archive(root / "images.tar.gz", [np.arange(900, dtype=np.uint8).reshape(30, 30)])
    (root / "figures").mkdir()
    (root / "study").mkdir()
    (root / "twins/batches").mkdir(parents=True)
    made = [
        ["read", "documents", root / "twins/d.h5", "--source", root / "mine.jsonl",
         "--options", '{"duplicates": true}'],
        ["index", root / "twins/d.h5", root / "twins/i.tsv", root / "twins/o.h5", "--seed", "0", "--stream",
         json.dumps(STREAM)],
        ["batch", root / "twins/d.h5", root / "twins/o.h5", root / "twins/batches/0.h5", "--t", "0"],
        ["batch", root / "twins/d.h5", root / "twins/o.h5", root / "twins/batches/1.h5", "--t", "1"],
        ["features", root / "twins/0.h5", root / "twins/batches/0.h5"],
    ]  # fmt: skip
    for words in made:
        status, said = call(*words)
        assert status == 0, said
    for t in (0, 1):
        files = [
            root / f"f{t}.h5",
            root / f"dual_averaging/scores/{t}.h5",
            root / f"dual_averaging/{t}.h5",
        ]
        before = (
            ["--known", root / "dual_averaging/0.h5", "--previous", root / WATCHED / "0.h5"]
            if t
            else []
        )
        status, said = call("alerts", *files, root / WATCHED / f"{t}.h5", "--run", RUN, *before)
        assert status == 0, said
    shutil.copytree(root / "tables", root / "study/tables")
    return root


def test_every_subcommand_is_here():
    (action,) = cli._parser()._subparsers._group_actions
    assert action.choices.keys() | cli.steps().keys() == COMMANDS.keys() | NOT_READING


def words_of(command, world, out, changed=(None, None)):
    """The words of a subcommand, one of its inputs replaced."""
    found = []
    for word in COMMANDS[command]:
        if word.startswith("{") and word[1:2].isalpha():
            found.append(str(changed[1] if word == changed[0] else world / word[1:-1]))
        else:
            found.append(str(out / word[4:]) if word.startswith("out") else word)
    return [command, *found]


def damaged(path, out):
    """Yield (what, path) of files that are not what one expects in the place of a file or folder."""
    rnd, other = random.Random(path.name), out / f"input{''.join(path.suffixes)}"
    yield "missing", out / f"absent{''.join(path.suffixes)}"
    if path.is_dir():
        (out / "empty").mkdir()
        yield "an empty folder", out / "empty"
        yield "a file", path.parent / "plan.json"
        return
    (out / f"folder{path.suffix}").mkdir()
    yield "a folder", out / f"folder{path.suffix}"
    whole = path.read_bytes()
    contents = {
        "empty": b"",
        "random": rnd.randbytes(2000),
        "text": b"no such thing\n",
        "cut": whole[: len(whole) * 2 // 3],
    }
    contents |= {
        "zeros": bytes(len(whole)),
        "JSON": b'{"a": [1]}',
        "deep": b"[" * 100_000,
        "HDF5": whole[:8],
    }
    for what, content in contents.items():
        other.write_bytes(content)
        yield what, other


def check(status, said, what):
    lines = said.strip().splitlines()
    assert status in (1, 2) and len(lines) == 1 and "Traceback" not in said and len(said) < 3000, (
        what,
        said[-600:],
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_file_is_one_sentence(world, tmp_path, command, monkeypatch):
    monkeypatch.setenv("ODL_MIRROR", "")
    places = dict.fromkeys(
        word
        for word in COMMANDS[command]
        if (command, word) not in UNREAD and word.startswith("{") and word[1:2].isalpha()
    )
    for number, place in enumerate(places):
        out = tmp_path / str(number)
        out.mkdir()
        source = world / place[1:-1]
        for what, path in damaged(source, out):
            status, said = call(*words_of(command, world, out, (place, path)))
            if (command, what, status) != ("init", "cut", 0):  # the line that is cut is set aside
                check(status, said, (command, place, what))


@pytest.mark.slow
def test_another_kind_of_file_is_refused(world, tmp_path):
    """Every HDF5 file in the place of every other."""
    kinds = [
        "documents.h5",
        "order.h5",
        "b1.h5",
        "f1.h5",
        "dual_averaging/0.h5",
        "emerging.h5",
        "baselines.h5",
        "net.h5",
    ]
    for command in (
        "index",
        "batch",
        "features",
        "update",
        "baselines",
        "topics",
        "emerging",
        "evaluate",
    ):
        for place in [word for word in COMMANDS[command] if word.endswith(".h5}")]:
            for kind in kinds:
                if kind == place[1:-1] or (
                    kind == "baselines.h5" and "scores" in place
                ):  # a table of them
                    continue
                if (command, place, kind) in {("features", "{f0.h5}", "f1.h5")}:
                    continue
                status, said = call(*words_of(command, world, tmp_path, (place, world / kind)))
                check(status, said, (command, place, kind))


@pytest.mark.parametrize(
    "text", ["[" * 50_000, '{"a":' * 50_000, '{"a": ' + "9" * 5000 + "}", "\0", "{", '{"a": 1e999}']
)
def test_arguments_of_json(text, tmp_path):
    flags = {
        "read": ["documents", tmp_path / "x.h5", "--options"],
        "plan": [tmp_path / "p.json", "--config"],
    }
    flags["index"] = ["a.h5", "i.tsv", "o.h5", "--seed", "0", "--stream"]
    for command, words in flags.items():
        status, said = call(command, *words, text)
        assert status in (1, 2) and "Traceback" not in said and len(said.splitlines()[-1]) < 3000
