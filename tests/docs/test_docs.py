"""The documents say what is so: keys, commands, links, files, and examples that run."""

import argparse
import csv
import inspect
import json
import pkgutil
import re
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pandas
import pytest
import yaml
from configurations import DEFAULT, SCHEMA, merged
from places import ROOT

import odl
from odl import cli, corpora
from odl.config import chains, consistency
from odl.config.schema import variants_of
from odl.config.sections import Order
from odl.evaluation import averages, baselines, scorefiles, study
from odl.files import digests, documents, storage
from odl.jobs import runs, update
from odl.papers import experiments
from odl.report import studypage
from odl.stream import batchfile, batching, features, terms

SKIPPED = {"results", "data", "build", "dist"}
PAGES = sorted(
    path
    for path in ROOT.rglob("*.md")
    if path.relative_to(ROOT).parts[0] not in SKIPPED
    and not any(
        part.startswith(".") or part == "node_modules" for part in path.relative_to(ROOT).parts
    )
)
TEXT = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
README, FILES = TEXT["README.md"], TEXT["docs/files.md"]
OWN, STUDIES, PYTHON, RUNNING = (
    TEXT[f"docs/guides/{name}.md"] for name in ("documents", "studies", "python", "running")
)
FRONT = README + "".join(text for name, text in TEXT.items() if name.startswith("docs/guides/"))


def blocks(text, language):
    """Return the code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def code(text):
    """Return all code of a page: blocks and spans."""
    inside = re.findall(r"^ *```\w*\n(.*?)^ *```$", text, re.M | re.S)
    return "\n".join(
        [*inside, *re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))]
    )


def subcommands():
    """Return the commands of odl, and its steps as ``step NAME``."""
    (commands,) = (
        action
        for action in cli._parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return commands.choices.keys() | {f"step {name}" for name in cli.steps()}


def anchors(text):
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", TEXT)
def test_links_lead_somewhere(name):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", TEXT[name], flags=re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (ROOT / name).parent / path if path else ROOT / name
        assert found.exists(), f"{name} links to {target}"
        assert ROOT in found.resolve().parents, f"{name} links out of the repository: {target}"
        if anchor:
            assert anchor in anchors(found.read_text(encoding="utf-8")), f"{name} links to {target}"


def test_pictures_have_text_alternatives():
    found = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", README)
    assert {target for _, target in found} == {"docs/new-newsgroups.png"}
    pictures = [text for page in TEXT.values() for text in re.findall(r"!\[([^\]]*)\]\(", page)]
    assert len(pictures) > 5 and all(len(text.split()) > 10 for text in pictures)


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120


# Equations

METHOD = TEXT["docs/method.md"]
EQUATION = r"^```math\n.*?\n```\n\nEquation `([a-z0-9-]+)`:\s(.*?)\n\n"
EQUATIONS = dict(re.findall(EQUATION, METHOD, re.M | re.S))


def test_every_equation_has_a_name_of_its_own():
    assert len(EQUATIONS) == METHOD.count("```math\n") == METHOD.count("\nEquation `") > 35
    assert METHOD.count("\n```") == 2 * len(EQUATIONS), "an equation that is no block of LaTeX"


@pytest.mark.parametrize("name", EQUATIONS)
def test_equations_and_functions_name_each_other(name):
    functions = re.findall(r"\[`(odl[\w.]+)`\]\(\.\./([\w/.]+)\)", EQUATIONS[name])
    assert functions and EQUATIONS[name].count("](") == len(functions)
    for function, file in functions:
        found = pkgutil.resolve_name(function)
        assert Path(inspect.getsourcefile(found)) == ROOT / file, function
        assert f"`{name}`" in re.search(r"Equations? `.*? of docs/method\.md", found.__doc__)[0], (
            function
        )


def test_docstrings_name_equations_that_exist():
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    said = re.findall(r"Equations? (`.*`) of docs/method\.md", sources)
    assert {
        name for names in said for name in re.findall(r"`([a-z0-9-]+)`", names)
    } == EQUATIONS.keys()


# Configuration


NAMES = {
    "corpora": "corpus",
    "learners": "run",
    "ranks": "run",
    "experiments": "experiment",
}  # what stands for a name chosen there


def keys_of(schema, path=""):
    """Yield the dotted names of all values that a schema allows and does not describe itself."""
    if path.startswith("corpora.{corpus}.options.") and "description" in schema:
        return
    for inner in variants_of(schema).values():
        for name in inner["properties"].keys() - schema["properties"].keys():
            yield from keys_of(inner["properties"][name], f"{path}.{name}")
    if schema.get("type") == "object":
        if not schema.get("properties") and schema.get("additionalProperties") is False:
            yield path  # a map that has to be empty
        for name, inner in schema.get("properties", {}).items():
            yield from keys_of(inner, f"{path}.{name}".lstrip("."))
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            yield from keys_of(others, f"{path}.{{{NAMES[path]}}}")
    else:
        yield path


def described():
    """Return the rows of the tables of config/README.md: key to the cell of its default."""
    text = re.sub(
        r"^Of (?:the experiment )?`.*?^## ", "", TEXT["config/README.md"], flags=re.M | re.S
    )  # hyper-parameters are apart
    rows = re.findall(r"^\| `([a-z_.{}]+)` \|.*\| ([^|]+) \|$", text, re.M)
    assert len(rows) == len(dict(rows)), "a key is described twice"
    return dict(rows)


def values(key):
    """Return what config/config.yaml says for a key, for every corpus or run that has it."""
    found = [DEFAULT]
    for part in key.split("."):
        if part.startswith("{"):
            found = [inner for node in found for inner in node.values()]
        else:
            found = [node[part] for node in found if isinstance(node, dict) and part in node]
    return found


def hyper_parameters(start="Of `"):
    """Return what config/README.md says of the learners: algorithm to key to the cell of its default."""
    found, named = {}, []
    for line in TEXT["config/README.md"].splitlines():
        if line.startswith(start):
            named = re.findall(r"`([a-z0-9_]+)`", line)
        elif line.startswith(("## ", "Of ")):
            named = []
        row = re.fullmatch(r"\| `([A-Za-z_0-9]+)` \|.*\| ([^|]+) \|", line)
        for algorithm in named if row else ():
            assert row[1] not in found.setdefault(algorithm, {}), (
                f"{row[1]} of {algorithm} is described twice"
            )
            found[algorithm][row[1]] = row[2]
    return found


def test_every_key_is_described_and_exists():
    of_all = {f"learners.{{run}}.{name}" for name in ("algorithm", "atoms")}
    of_all |= {f"experiments.{{experiment}}.{name}" for name in odl.config.chains.EXPERIMENT_KEYS}
    schema = {
        key
        for key in keys_of(SCHEMA)
        if not key.startswith(("learners.", "experiments."))
        or key in of_all
        or key.startswith("learners.{run}.features.")
    }
    assert len(schema) > 45
    assert set(described()) == schema


def test_defaults_are_those_of_the_default_study():
    """Of what readers and runs have; the other tables are written from the sections (tests/test_structure.py)."""
    cells = {
        key: cell
        for key, cell in described().items()
        if key.startswith(("corpora.{corpus}.options", "learners"))
    }
    assert len(cells) > 25
    for key, cell in cells.items():
        shown, found = re.fullmatch(r"`(.*)`", cell.strip()), values(key)
        if shown:
            assert found, f"{key} has no value in config.yaml: put its default in brackets"
            assert all(value == yaml.safe_load(shown[1]) for value in found), (
                f"{key}: {cell} is {found}"
            )
        else:
            elsewhere = key in (
                "learners.{run}.algorithm",
                "learners.{run}.atoms",
                "learners.{run}.features.tf",
                "corpora.{corpus}.options",
            )
            assert elsewhere or not found, f"{key} is {found} in config.yaml, not {cell}"


def said_by(learner):
    """Return the parameters that the docstrings of a class and of those it is made from name."""
    texts = [inspect.cleandoc(one.__doc__) for one in learner.__mro__ if one.__doc__]
    return {
        name
        for line in re.findall(r"^([\w, ]+) : ", "\n".join(texts), re.M)
        for name in line.split(", ")
    }


def test_defaults_of_learners_are_those_of_their_classes():
    """Those of a learner that config/README.md leaves out are described by its class."""
    described = hyper_parameters()
    assert len(described) > 5
    for algorithm, properties in odl.learners.schema().items():
        if algorithm not in described:
            missing = properties.keys() - said_by(odl.learners.learner_class(algorithm))
            assert not missing, (
                f"neither config/README.md nor the class of {algorithm} describes {missing}"
            )
            continue
        found = described[algorithm]
        assert found.keys() == properties.keys(), algorithm
        for name, entry in properties.items():
            cell = found[name]
            assert yaml.safe_load(cell.strip().strip("`")) == entry["default"], (algorithm, name)


def test_defaults_of_experiments_are_those_of_their_modules():
    described = hyper_parameters("Of the experiment `")
    for name, settings in (
        (each, experiments.module_of(each).SETTINGS) for each in experiments.EXPERIMENTS
    ):
        settings = {key: entry for key, entry in settings.items() if "description" not in entry}
        assert described.get(name, {}).keys() == settings.keys(), name
        for key, entry in settings.items():
            assert yaml.safe_load(described[name][key].strip().strip("`")) == entry["default"], (
                name,
                key,
            )


# Commands


@pytest.mark.parametrize("name", TEXT)
def test_commands_exist(name):
    text = code(TEXT[name])
    named = set(re.findall(r"(?<![\w./-])(?<!from )odl ((?:step )?[a-z][a-z-]*)", text))
    assert named <= subcommands(), f"{name} names odl {named - subcommands()}"
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"(?<![\w./-])make ([a-z]+(?:-[a-z]+)*)", text)) <= targets, name


def test_configurations_of_the_readme_exist():
    made = {"config/mine.yaml", "config/small.yaml"}  # the reader writes these
    named = set(re.findall(r"config/[a-z0-9-]+\.yaml", FRONT))
    assert made < named
    assert all((ROOT / name).exists() for name in named - made)
    studies = {path.relative_to(ROOT).as_posix() for path in (ROOT / "config").glob("*.yaml")}
    assert studies <= named


def test_options_of_commands_exist():
    for line in code(FRONT).splitlines():
        if "snakemake " in line:
            known = {"--cores", "--configfile", "--logger", "--profile", "--unlock"}
            assert set(re.findall(r" (--[a-z-]+)", line)) <= known, line


# Examples


def write_example(folder):
    """Write the documents and the configuration that the guide shows; return the checked configuration."""
    shown = blocks(OWN, "json")
    (folder / "mine").mkdir()
    for name, lines in zip(("2026-01.jsonl", "2026-02.jsonl"), shown, strict=True):
        assert f"`mine/{name}`" in OWN
        (folder / "mine" / name).write_text(lines, encoding="utf-8")
    (folder / "mine.yaml").write_text(blocks(OWN, "yaml")[0], encoding="utf-8")
    settings = merged(folder / "mine.yaml")
    consistency.check_config(settings, SCHEMA)
    return settings


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The documents of the guide, run stage by stage as the rules of the workflow do; its folder."""
    folder = tmp_path_factory.mktemp("example")
    settings = write_example(folder)
    corpus = settings["corpora"]["mine"]
    root = folder / "results" / settings["study"] / "mine"
    base, run = root / "seed0", root / "seed0" / "dual-averaging" / "k2"
    sources = [str(folder / source) for source in corpus["sources"]]
    documents.write(
        root / "documents.h5",
        corpora.read("documents", sources, corpus["options"]),
        reader="documents",
    )
    stream = Order.from_map(Order.part(corpus))
    batching.index(
        root / "documents.h5", base / "index.tsv", base / "order.h5", seed=0, stream=stream
    )
    names = {"corpus": "mine", "seed": 0, "run": "dual-averaging", "atoms": 2}
    chain = chains.run_of(settings, "dual-averaging", **names)
    for t in range(len((base / "index.tsv").read_text().splitlines()) - 1):
        batch, link = base / "batches" / f"{t}.h5", base / "features" / f"{t}.h5"
        batchfile.cut(root / "documents.h5", base / "order.h5", batch, t)
        features.advance(link, batch, base / "features" / f"{t - 1}.h5" if t else None)
        before = run / f"{t - 1}.h5" if t else None
        written = (run / f"{t}.h5", run / "scores" / f"{t}.h5", run / "timings" / f"{t}.tsv")
        update.update(link, *written, run=runs.parse(chain), before=runs.Before(before))
        if t:
            past = [features.read(base / "features" / f"{earlier}.h5") for earlier in range(t)]
            held = features.read(link)
            scorefiles.write_baselines(
                base / "baselines" / f"{t}.h5", held, baselines.score(held, past)
            )
    averages.write_evaluation(
        sorted((run / "scores").glob("*.h5")), run / "auc.tsv", run / "summary.tsv"
    )
    return folder


def test_the_example_has_a_novel_document_at_each_timestep(example):
    run = example / "results/mine/mine/seed0/dual-averaging/k2"
    paths = sorted((run / "scores").glob("*.h5"))
    assert len(paths) == 3
    found = [scorefiles.read_scores(path) for path in paths]
    assert [list(batch.ids) for batch in found[1:]] == [
        ["n05", "n06", "n07"],
        ["n08", "n09", "n10"],
    ]
    assert [batch.ids[int(np.argmax(batch.novel))] for batch in found[1:]] == ["n06", "n09"]
    assert all((batch.scores["dual-averaging"][batch.novel == 1] == 1).all() for batch in found[1:])
    rows, _ = averages.evaluate(paths, min_novel=1, min_known=1, bootstrap=0)
    assert all(row["listed"] for row in rows)


def test_the_small_study_of_the_readme_is_valid(tmp_path):
    (tmp_path / "small.yaml").write_text(blocks(STUDIES, "yaml")[0], encoding="utf-8")
    tdt2 = merged(ROOT / "config" / "tdt2.yaml")
    for key, value in yaml.safe_load((tmp_path / "small.yaml").read_text()).items():
        tdt2[key] = {**tdt2[key], **value} if isinstance(value, dict) else value
    consistency.check_config(tdt2, SCHEMA)
    assert tdt2["report"]["atoms"] in tdt2["atoms"] and tdt2["report"]["seed"] in tdt2["seeds"]


def test_the_number_of_chains_is_right():
    tdt2 = merged(ROOT / "config" / "tdt2.yaml")
    number = sum(len(chains.atoms_of(tdt2, run)) for run in tdt2["runs"]) * len(tdt2["seeds"])
    assert f"has {number} chains" in STUDIES


@pytest.mark.parametrize("number", range(len(blocks(README + PYTHON, "python"))))
def test_python_of_the_pages_runs(number, tmp_path, monkeypatch, capsys):
    source = blocks(README + PYTHON, "python")[number]
    monkeypatch.chdir(tmp_path)
    exec(compile(source, f"block {number}", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out.splitlines()
    shown = [line.split(")  # ", 1)[1] for line in source.splitlines() if line.startswith("print(")]
    assert len(printed) == len(shown) > 0
    for line, comment in zip(printed, shown, strict=True):
        assert comment.startswith(line), f"printed {line!r}, the page says {comment!r}"


@pytest.mark.slow
def test_the_tutorial_prints_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells, space = (
        json.loads((ROOT / "docs" / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"],
        {},
    )
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        exec(compile("".join(cell["source"]), cell["id"], "exec"), space)
        shown = "".join(line for output in cell["outputs"] for line in output["text"])
        assert capsys.readouterr().out == shown, cell["id"]


@pytest.mark.parametrize("number", range(len(blocks(FILES, "python"))))
def test_files_can_be_read_as_shown(number, example, monkeypatch, capsys):
    monkeypatch.chdir(example)
    exec(
        compile(blocks(FILES, "python")[number], f"docs/files.md, block {number}", "exec"),
        {"__name__": "files"},
    )
    printed = capsys.readouterr().out
    wanted = (("n06", "1.00"), ("(26, 2) (3, 2)",), ("1 0.75",))
    assert all(text in printed for text in wanted[number]), printed


def test_the_learner_of_the_manual_learns(rng):
    text = TEXT["docs/extending.md"]
    (source,) = re.findall(r"^   ```python\n(.*?)^   ```$", text, re.M | re.S)
    space = {"__name__": "manual"}
    exec(compile(re.sub(r"^   ", "", source, flags=re.M), "docs/extending.md", "exec"), space)
    learner = space["ShrinkingGradient"](eta=0.02, rounds=3)
    P = stream_of_topics(rng)
    state = learner.start(P, 5, rng)
    after = learner.learn(state, P, learner.score(state, P).codes)
    assert after.updates == 1 and (after.dictionary != state.dictionary).nnz > 0
    assert np.asarray(after.dictionary.sum(axis=0)).max() <= 1 + 1e-12
    with pytest.raises(odl.errors.ParameterError, match="above 0"):
        space["ShrinkingGradient"](eta=0.0)


def manual(name):
    """Run the example of docs/extending.md that sets a name; return what it defines."""
    (source,) = [
        block for block in blocks(TEXT["docs/extending.md"], "python") if f"\n{name} = " in block
    ]
    space = {"__name__": "manual"}
    exec(compile(source, "docs/extending.md", "exec"), space)
    return space


def test_the_reader_of_the_manual_reads(tmp_path):
    space, path = manual("READER"), tmp_path / "headlines.tsv"
    path.write_text(
        "1998-01-04\train\tRain and floods\n1998-01-05\tvote\tA vote is won\n", encoding="utf-8"
    )
    found = space["read"]([str(path)], {})
    assert found.ids == ["headline-1", "headline-2"] and found.topics == [("rain",), ("vote",)]
    assert found.vocabulary == ["floods", "rain", "vote", "won"]
    assert found.times.tolist() == [
        np.datetime64(day, "ms").astype(int) for day in ("1998-01-04", "1998-01-05")
    ]
    path.write_text("1998-01-04\train\n", encoding="utf-8")
    with pytest.raises(odl.errors.DataError, match=r"headlines\.tsv cannot be read"):
        space["read"]([str(path)], {})


def test_the_figure_of_the_manual_is_drawn():
    space = manual("PLACE")
    rows = pandas.DataFrame({"t": [1, 2], "documents": [3.0, 4.0]})
    picture = space["draw"](SimpleNamespace(frame={"novel": rows}.__getitem__))
    assert [bar.get_height() for bar in picture.figure.axes[0].patches] == [
        3,
        4,
    ] and picture.alt.startswith("7 ")
    assert not space["draw"](SimpleNamespace(frame={"novel": rows[:0]}.__getitem__)).drawn
    assert space["PLACE"][0] in studypage.SECTION_TABLES


def stream_of_topics(rng, n=60, m=30):
    from scipy import sparse

    words = [rng.choice(m, 6, replace=False) for _ in range(5)]
    counts = np.zeros((n, m))
    for row in range(n):
        np.add.at(counts[row], rng.choice(words[row % 5], 12), 1.0)
    return sparse.csr_array(counts / counts.sum(axis=1, keepdims=True))


# Files


def section(kind):
    """Return the part of docs/files.md about a kind of file."""
    return next(
        part for part in re.split(r"^## ", FILES, flags=re.M) if f"`{kind}`" in part.splitlines()[0]
    )


def names_in(path):
    """Return the attributes and datasets of an HDF5 file; a sparse matrix is one name."""
    with h5py.File(path) as file:
        found, sparse_groups = set(file.attrs) - {"kind", "format", "digest"}, set()
        file.visititems(
            lambda name, item: sparse_groups.add(name) if "shape" in item.attrs else None
        )
        names = set()
        file.visititems(
            lambda name, item: names.add(name) if isinstance(item, h5py.Dataset) else None
        )
        inside = {name for name in names if name.rpartition("/")[0] in sparse_groups}
        return str(file.attrs["kind"]), found | (names - inside) | sparse_groups


@pytest.mark.parametrize(
    "path",
    [
        "documents.h5",
        "seed0/features/1.h5",
        "seed0/dual-averaging/k2/1.h5",
        "seed0/dual-averaging/k2/scores/1.h5",
        "seed0/baselines/1.h5",
        "seed0/order.h5",
        "seed0/batches/1.h5",
    ],
)
def test_files_hold_what_is_described(path, example):
    kind, names = names_in(example / "results" / "mine" / "mine" / path)
    part = section(kind) + (section("documents") if kind == "batch" else "")
    missing = {name for name in names if f"`{name}`" not in part}
    assert not missing, f"docs/files.md does not name {missing} of {kind}"


def test_memory_of_the_other_learners_is_described():
    from odl import learners
    from odl.learners import State

    for algorithm in learners.LEARNERS:
        fresh = learners.make(algorithm).fresh(stream_of_topics(np.random.default_rng(0)).T.tocsc())
        assert isinstance(fresh, State)
        for name in fresh.arrays:
            assert re.search(rf"`arrays/{name}` .*`{algorithm}`", section("checkpoint")), (
                algorithm,
                name,
            )


def test_tables_and_figures_are_described():
    for name, columns in study.STUDY_COLUMNS.items():
        assert f"`tables/{name}.tsv`" in FILES and name in RUNNING
        assert columns
    for column in {*averages.AUC_COLUMNS, *averages.SUMMARY_COLUMNS} - {
        "run",
        "t",
        "pooled_low",
        "pooled_high",
    }:
        assert f"`{column}`" in FILES, column
    assert "src/odl/report/figures" in FILES and "src/odl/report/figures" in RUNNING


def test_conventions_are_those_of_storage():
    assert f"`format` ({storage.FORMAT})" in FILES
    assert all(f"`{name}`" in FILES.split("\n## ")[1] for name in ("kind", "digest"))
    for said in (
        f"{odl.files.blocks.HEAD_BYTES} bytes",
        f"{odl.files.blocks.BLOCK_BYTES:,} bytes",
        f"{terms.FULL_INTERVAL}nd timestep",
    ):
        assert said in FILES
    assert (
        f"{digests.PIECE_ENTRIES:,} / entries of a row" in FILES
        and f"rows / {digests.MAX_PIECES}" in FILES
    )


# Corpora


def registry():
    with open(ROOT / "data" / "corpora.csv", newline="", encoding="utf-8") as table:
        return list(csv.DictReader(table))


def test_readers_and_their_files_are_described():
    page = TEXT["docs/corpora.md"]
    listed = re.findall(r"^\| `([\w-]+)` \|", page, re.M)
    studied = {
        entry["reader"]
        for path in (ROOT / "config").glob("*.yaml")
        for entry in merged(path)["corpora"].values()
    }
    assert studied | {"documents"} <= set(listed) <= set(corpora.readers())
    for name in set(listed) - {"documents"}:
        assert f"\n## {name}\n" in page
    mirrored = [f"{row['folder']}/{row['file']}" for row in registry() if row["corpus"] in listed]
    layout = next(
        part for part in re.findall(r"^```\n(.*?)^```$", page, re.M | re.S) if "tdt2/" in part
    )
    assert sorted(layout.split()) == sorted(mirrored)
    for row in registry():
        assert f"`{row['route']}`" in page
        assert row["corpus"] in corpora.readers() or f"`{row['corpus']}`" in page
    assert all(row["tried"] == "no" for row in registry()) == (
        "No route to a canonical address could be tried" in page
    )


def novel_documents(held, corpus, seed):
    """Return the number of novel documents of every timestep from 1, by the rule and the stream of a study."""
    cut = batching.split(held, Order.from_map(Order.part(corpus)), seed)
    seen, numbers = set(), []
    for batch in cut:
        topics = [held.topics[row] for row in batch]
        numbers.append(sum(not seen.intersection(names) for names in topics))
        seen.update(*topics)
    return numbers[1:]


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("name", "file", "seeds"),
    [
        ("tdt2", "tdt2/TDT2_with_time.mat", 5),
        ("reuters21578-cai", "reuters21578/Reuters21578.mat", 1),
    ],
)
def test_novel_documents_are_as_stated(name, file, seeds, request):
    folder = request.getfixturevalue("corpora")
    configurations = [merged(ROOT / "config" / study) for study in ("tdt2.yaml", "reuters.yaml")]
    corpus = next(
        c
        for settings in configurations
        for c in settings["corpora"].values()
        if c["reader"] == name
    )
    held = corpora.read(name, [folder / file])
    found = [novel_documents(held, corpus, seed) for seed in range(seeds)]
    low, high = np.min(found, axis=0), np.max(found, axis=0)
    stated = ", ".join(f"{a}" if a == b else f"{a}–{b}" for a, b in zip(low, high, strict=True))
    assert stated in " ".join(TEXT["docs/corpora.md"].split())


# Versions


def test_versions_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == odl.__version__
    assert (
        citation["license"] == "BSD-3-Clause" and "BSD 3-Clause" in (ROOT / "LICENSE").read_text()
    )
    released = re.search(
        rf"^## \[{re.escape(odl.__version__)}\] - (\d{{4}}-\d\d-\d\d)$", TEXT["CHANGELOG.md"], re.M
    )
    assert str(citation["date-released"]) == released[1]


def test_figures_of_the_paper_are_those_of_the_documents():
    said = "".join(
        text for name, text in TEXT.items() if name.startswith(("docs/results", "docs/method"))
    )
    found = set(
        re.findall(
            r"(?<![\d.])0?\.\d{2,}(?:e-\d+)?|\d+\.\d+e-\d+|\d+,\d{3}", TEXT["paper/paper.md"]
        )
    )
    assert len(found) > 40 and {number for number in found if number not in said} == set()


def test_terms_of_the_glossary_stand_in_their_order():
    terms = re.findall(r"^\*\*(.*)\*\*$", TEXT["docs/glossary.md"], re.M)
    assert len(terms) > 30 and terms == sorted(terms, key=str.casefold)


def test_figures_of_the_readme_are_those_of_the_packages():
    """Precision, AUC, time and memory of a method stand on docs/results/packages.md; the README repeats them."""

    def rows(text):
        found = {}
        for line in re.findall(r"^\| (.*) \|$", text, re.M):
            name, *cells = re.split(r" ?\| ?", line)
            found.setdefault(re.sub(r"`| \*$|^odl |^scikit-learn ", "", name), cells)
        return found

    said, measured = rows(README), rows(TEXT["docs/results/packages.md"])
    methods = [name for name in said if name in measured and name not in ("method", "---")]
    assert len(methods) == 5
    for name in methods:
        precision, tdt2, _, _, time, mb = said[name]
        row = measured[name]
        assert (f"0{precision}", f"0{tdt2}", float(time), mb) == (
            row[0],
            row[1],
            float(row[4]),
            row[5],
        ), name


def test_citations_of_the_paper_have_entries_and_the_other_way_round():
    entries = re.findall(
        r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.M
    )
    assert set(re.findall(r"@(\w+\d{4})", TEXT["paper/paper.md"])) == set(entries)


@pytest.mark.parametrize("name", ["Dockerfile", "apptainer.def"])
def test_recipes_of_containers_take_what_a_wheel_is_made_of(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    taken = {
        word
        for line in lines
        if re.match(r"COPY (?!--from)| +\S+ /src/", line)
        for word in line.removeprefix("COPY ").split()[:-1]
    }
    assert all((ROOT / path).exists() for path in taken)
    assert taken >= {
        "src",
        "pyproject.toml",
        "CMakeLists.txt",
        "README.md",
        "LICENSE",
        *wheel_parts(),
    }


def wheel_parts():
    """Return what CMake puts into a wheel beside the package."""
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"install\(DIRECTORY ([\w ]+) DESTINATION", text)[1].split() + re.findall(
        r"FILES (\w\S+)", text
    )


def test_lines_are_wrapped():
    for name, text in TEXT.items():
        if not (ROOT / name).is_relative_to(ROOT / "benchmarks"):
            prose = [
                line
                for line in re.sub(r"```.*?```", "", text, flags=re.S).splitlines()
                if "|" not in line
            ]
            assert all(len(line) <= 125 for line in prose), name
            assert Path(name).suffix == ".md"
