"""Imports point one way, the rerun triggers name what is really imported, and the schema is the dataclasses'."""

import ast
import importlib
import json
import re
import shutil
import subprocess
import sys

import pytest
from places import ROOT

from odl import cli, learners
from odl.cli import registry
from odl.config import project, sources
from odl.papers import experiments
from odl.report import figures
from odl.text.scripts import SEGMENTERS

PACKAGE = ROOT / "src" / "odl"
# Room (or module beside the rooms) to the rooms it may import from, itself aside. Two stacks meet
# late: the mathematics (kernels ... novelty) knows no file, the files (files, text, corpora,
# stream) know no mathematics. Text has a kernel.
KERNELS, PROX, CODING = (
    {"errors"},
    {"errors", "kernels", "trees"},
    {"errors", "kernels", "trees", "prox"},
)
DICTIONARY = CODING | {"coding"}
LEARNERS = DICTIONARY | {
    "dictionary",
    "distributed",
    "config",
}  # of config the typed settings alone
MATHEMATICS = LEARNERS | {"learners", "novelty"}
FILES = {"errors", "files", "config", "text", "corpora", "stream"}
BOTH = MATHEMATICS | FILES
ROOMS = {
    "__init__": set(),
    "errors": set(),
    "trees": {"errors"},
    "config": {"errors", "trees", "files"},
    "kernels": KERNELS,
    "prox": PROX,
    "coding": CODING,
    "dictionary": DICTIONARY,
    "distributed": DICTIONARY,
    "learners": LEARNERS,
    "novelty": LEARNERS | {"learners"},
    "files": {"__init__", "errors"},
    "text": {"errors", "files", "config", "kernels"},
    "corpora": {"errors", "files", "config", "text"},
    "stream": {"errors", "files", "config", "text"},
    "evaluation": BOTH,
    "alerts": BOTH | {"evaluation"},
    "detector": BOTH | {"evaluation", "alerts"},
    "report": {"evaluation", "alerts"} | FILES,
    "papers": BOTH | {"evaluation", "alerts", "report", "cli"},
    "jobs": BOTH | {"evaluation", "alerts"},
    "engine": BOTH | {"evaluation", "alerts", "report", "jobs"},
    "live": BOTH | {"evaluation", "alerts", "jobs", "engine"},
    "cli": BOTH | {"__init__", "engine", "live", "evaluation", "alerts", "report", "jobs"},
    "forkserver": {"cli"},
    "__main__": {"forkserver", "cli"},
}
BESIDE = 10  # modules at most beside the rooms
SCHEMAS = ROOT / "workflow" / "schemas"
SCHEMA = json.loads((SCHEMAS / registry.SCHEMA_FILE).read_text())
STAGES = SCHEMA["registry"]["stages"]
LIGHT = {"numpy", "scipy", "h5py"}


def modules():
    return [
        path.relative_to(PACKAGE).with_suffix("").as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
    ]


def outside(name, top_only=False):
    """Return the top-level packages other than this one that a file imports; C++ imports none."""
    if name.endswith(sources.CPP):
        return set()
    tree, found = ast.parse((PACKAGE / f"{name}.py").read_text()), set()
    for node in ast.walk(tree) if not top_only else tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.split(".")[0])
    return found - {"odl"}


def room_of(name):
    return name.split("/")[0]


def test_every_module_is_in_a_room_and_imports_point_one_way():
    """Of a room that is not listed above, or an import that climbs, the test names the place."""
    beside = [name for name in modules() if "/" not in name]
    assert len(beside) <= BESIDE, beside
    climbs = [
        f"{name} imports {other}"
        for name in modules()
        for other in sources.imports(name)
        if room_of(other) not in ROOMS[room_of(name)] | {room_of(name)}
    ]
    assert not climbs, climbs


def test_one_room_knows_hdf5():
    """An array that another room opened by itself would not be held to its digest."""
    users = {room_of(name) for name in modules() if "h5py" in outside(name)}
    assert users <= {"files"}, users


def test_a_class_name_is_used_once():
    """A name in a message, a docstring or a search leads to one class."""
    places = {}
    for name in modules():
        for node in ast.walk(ast.parse((PACKAGE / f"{name}.py").read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(name)
    assert not {name: where for name, where in places.items() if len(where) > 1}


def test_the_rooms_stand_one_above_another():
    """No room reaches itself through the others, so that the order can be drawn."""
    below, left = [], dict(ROOMS)
    while left:
        ready = [room for room, others in left.items() if others - {room} <= set(below)]
        assert ready, f"these rooms import each other: {sorted(left)}"
        below += ready
        left = {room: others for room, others in left.items() if room not in ready}


def test_inside_a_room_no_module_imports_itself_in_a_circle():
    for name in modules():
        seen, todo = (
            set(),
            [other for other in sources.imports(name) if not other.endswith("__init__")],
        )
        while todo:
            other = todo.pop()
            assert other != name, f"{name} imports itself by way of {sorted(seen)}"
            if other not in seen:
                seen.add(other)
                todo += [more for more in sources.imports(other) if not more.endswith("__init__")]


def test_what_the_workflow_imports_needs_the_standard_library_only():
    rules = (ROOT / "workflow" / "rules" / "common.smk").read_text()
    named = re.search(r"^from odl\.config import (.+)$", rules, re.M)[1].split(", ")
    for name in {*sources.closure(*(f"config/{module}" for module in named)), "__init__"}:
        assert outside(name) <= set(sys.stdlib_module_names), name


def test_the_timestep_job_imports_light_packages_only():
    for name in sources.closure("jobs/update"):
        # A segmenter is imported where `tokens.segment` asks for it, which no timestep job does.
        light = LIGHT | (SEGMENTERS.keys() if name == "text/scripts" else set())
        assert outside(name) <= light | set(sys.stdlib_module_names), name
    declared = [*cli.commands().values(), *cli.steps().values()]
    declaring = {getattr(one.function, "func", one.function).__module__ for one in declared}
    for name in ("odl.cli.__init__", *declaring):
        assert outside(name.removeprefix("odl.").replace(".", "/"), top_only=True) <= set(
            sys.stdlib_module_names
        )


def test_a_learner_imports_light_packages_only():
    for name in sources.closure(*(f"learners/{algorithm}" for algorithm in learners.LEARNERS)):
        assert outside(name, top_only=True) <= LIGHT | set(sys.stdlib_module_names), name


class TestSources:
    """What the rules call the code of a result is what makes it."""

    def test_imports_of_every_kind_are_seen(self):
        assert "files/storage" in sources.imports("files/checkpoints")  # from odl import
        assert "errors" in sources.imports("files/storage")  # from odl.errors import
        assert "coding/exact" in sources.imports("coding/__init__")
        assert "papers/twogroups" in sources.closure("papers/experiments/classification")
        assert "cli/registry" in sources.imports("cli/studysteps")  # inside a function
        assert "coding/__init__" in sources.closure(
            "coding/exact"
        ) and "__init__" not in sources.closure("cli/__init__")

    def test_a_stage_begins_where_its_command_does(self):
        """Each subcommand imports nothing but what the closure of its stage has."""
        functions = {
            node.name: node
            for path in [
                *(PACKAGE / "cli").glob("*.py"),
                PACKAGE / "papers" / "stages.py",
                PACKAGE / "engine" / "calls.py",
            ]
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef)
        }
        assert STAGES.keys() <= functions.keys()
        for stage, roots in STAGES.items():
            found, known = sources.imported(functions[stage]), sources.closure(*roots)
            assert found <= known and all((PACKAGE / f"{root}.py").exists() for root in roots), (
                stage
            )

    def test_one_of_many_is_not_a_source_of_the_others(self):
        """Learners, readers and experiments are imported by their names; an edit of one reruns what it makes."""
        update = sources.closure(*STAGES["update"])
        for algorithm in learners.LEARNERS:
            assert f"learners/{algorithm}" not in update
        shown = sources.closure("corpora/__init__", "report/studypage")
        assert not shown & {f"papers/experiments/{name}" for name in experiments.EXPERIMENTS}
        flat = sources.closure("jobs/update", "learners/flat")
        assert not any(
            f"learners/{algorithm}" in flat
            for algorithm in learners.LEARNERS
            if algorithm != "flat"
        )

    def test_the_rules_ask_for_stages_that_there_are(self):
        texts = [path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk")]
        asked = set(re.findall(r'\bcode\(\s*"(\w+)"', "\n".join(texts)))
        assert len(asked) > 15 and asked <= STAGES.keys()

    @pytest.mark.slow
    def test_a_digest_changes_with_any_file(self, tmp_path, monkeypatch):
        def digests():
            for cached in (
                sources.imports,
                sources.digest,
                sources._file_of,
                sources._stamp_of,
                sources._stamps,
            ):
                cached.cache_clear()
            return [sources.digest("jobs/update"), sources.digest("stream/batching")]

        try:
            shutil.copytree(PACKAGE, tmp_path / "odl", ignore=shutil.ignore_patterns("__pycache__"))
            monkeypatch.setattr(sources, "PACKAGE", tmp_path / "odl")
            update, index = digests()
            with open(tmp_path / "odl" / "novelty.py", "a") as file:
                file.write("# edited\n")
            assert digests() == [update, index]
            with open(tmp_path / "odl" / "novelty.py", "a") as file:
                file.write("EDITED = True\n")
            changed = digests()
            assert changed[0] != update and changed[1] == index
            for name, data in (
                ("report/newpage", "report/page.css"),
                ("text/tokens", "text/stopwords.txt"),
            ):
                before = sources.digest(name)
                with open(tmp_path / "odl" / data, "a") as file:
                    file.write("p { color: red; }\n")
                digests()
                assert (
                    sources.digest(name) != before
                )  # a template, a style, a script or a list of a module
        finally:
            monkeypatch.undo()
            digests()


def test_the_workflow_imports_only_config_and_errors():
    texts = [
        path.read_text()
        for path in [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    ]
    found = re.findall(r"^\s*(?:from|import)\s+(odl\S*)", "\n".join(texts), re.M)
    assert {*found} <= {"odl.config", "odl.errors"}


def test_the_schema_is_what_the_code_says():
    """Learners, readers, experiments, figures and commands are written once: the schema follows from them."""
    written = (SCHEMAS / registry.SCHEMA_FILE).read_text(encoding="utf-8")
    whole = registry.schema(cli.steps())
    assert written == registry.text(whole), "the schema is stale: run `make schema`"
    own = project.SCHEMA.read_text(encoding="utf-8")
    assert own == registry.text(registry.folder_schema(whole)), "run `make schema`"
    described = (ROOT / "config" / "README.md").read_text(encoding="utf-8")
    assert described == registry.tables(described), "config/README.md is stale: run `make schema`"


def test_every_learner_is_registered():
    """A file with a concrete learner is found by its name; one whose algorithm is another name is not."""
    for path in (PACKAGE / "learners").glob("[!_]*.py"):
        module = importlib.import_module(f"odl.learners.{path.stem}")
        classes = [
            one
            for one in vars(module).values()
            if isinstance(one, type) and one.__module__ == module.__name__
        ]
        named = [vars(one)["algorithm"] for one in classes if vars(one).get("algorithm")]
        assert named in ([], [path.stem]), (
            f"{path.name} has the algorithm {named}; name the file like it"
        )
        assert (path.stem in learners.LEARNERS) == bool(named)
    for name in learners.LEARNERS:
        assert learners.learner_class(name).algorithm == name


@pytest.mark.slow
def test_asking_for_a_learner_imports_no_other():
    code = "import sys; from odl import learners; learners.make('levels'); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    imported = {
        name.removeprefix("odl.learners.") for name in loaded if name.startswith("odl.learners.")
    }
    assert imported & set(learners.LEARNERS) == {
        "adaptive",
        "levels",
    }  # whose atoms are those of adaptive


def test_experiments_take_known_inputs_and_name_settings_of_their_own():
    for name in experiments.EXPERIMENTS:
        module = experiments.module_of(name)
        assert set(module.TAKES) <= registry.INPUT_SCHEMAS.keys(), name
        if hasattr(module, "PART"):
            assert {module.PART, *module.UNMEASURED} <= module.SETTINGS.keys(), name


def test_every_figure_has_a_place_of_its_own_in_the_report():
    """A file without `PLACE` would not be drawn; tables have the integer places."""
    files = {path.stem for path in (PACKAGE / "report" / "figures").glob("*.py")} - {"__init__"}
    assert files == figures.modules().keys()
    places = [module.PLACE for module in figures.modules().values()]
    assert len({*places}) == len(places) and all(number % 1 for _, number in places)


def test_every_map_of_the_schema_is_closed():
    def visit(node, path):
        if isinstance(node, dict):
            if node.get("type") == "object" and "allOf" not in node:  # each variant is closed
                assert "additionalProperties" in node, path
                assert node["additionalProperties"] is not True, path
            for key, value in node.items():
                visit(value, f"{path}/{key}")

    visit(SCHEMA, "")


def test_importing_the_package_is_light():
    code = (
        "import sys, odl, odl.config; print(sorted({name.split('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "numpy" not in loaded


def test_nothing_of_the_machine_is_in_the_repository():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split() if listed.returncode == 0 else []
    folder = str(ROOT.parent) + "/"
    for name in names:
        path = ROOT / name
        if path.is_file() and path.suffix in {
            ".py",
            ".smk",
            ".md",
            ".yaml",
            ".toml",
            ".txt",
            ".json",
            ".csv",
            ".rst",
        }:
            assert folder not in path.read_text(encoding="utf-8"), name
