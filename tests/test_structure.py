"""Imports point one way, the rerun triggers name what is really imported, and the schema is the dataclasses'."""

import ast
import json
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

from odl import config, experiments, learners, sources
from odl.corpora import READERS

PACKAGE = ROOT / "src" / "odl"
# Each layer may import the layers before it.
LAYERS = [
    ["errors"],
    ["trees"],
    ["storage", "native", "config/schema", "config/corpora"],
    ["config/runs"],
    ["config/checks"],
    ["config/__init__"],
    ["documents"],
    ["kernels", "fitkernels", "clusters"],
    ["prox"],
    ["coding/exact"],
    ["coding/admm"],
    ["coding/__init__", "fitting"],
    ["atomkernels", "coding/lars_kernels", "treekernels"],
    ["coding/lars", "treeprox"],
    ["coding/fista"],
    ["l2_dictionary", "hierarchy", "treestart"],
    ["distributed/__init__", "distributed/models", "distributed/networks", "distributed/kernels"],
    ["distributed/inference"],
    ["distributed/coding"],
    ["learners/kept"],
    ["learners/base"],
    ["learners/l1", "learners/growth", "learners/squared"],
    ["learners/dual_averaging", "learners/projected_gradient", "learners/online_admm"],
    ["learners/batch", "learners/batch_l2", "learners/flat", "learners/hierarchical"],
    ["learners/diffusion"],
    ["learners/adaptive"],
    ["learners/__init__"],
    ["novelty"],
]
# What these may import of the package beside themselves; the mathematics stays out of the data's way.
DATA = {"errors", "storage", "documents", "features", "metrics", "stream", "alerts"}
LIGHT = {"numpy", "scipy", "h5py", "numba"}


def modules():
    return [path.relative_to(PACKAGE).with_suffix("").as_posix() for path in sorted(PACKAGE.rglob("*.py"))]


def outside(name, top_only=False):
    """Return the top-level packages other than this one that a file imports."""
    tree, found = ast.parse((PACKAGE / f"{name}.py").read_text()), set()
    for node in ast.walk(tree) if not top_only else tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.split(".")[0])
    return found - {"odl"}


def workflow_table(name):
    """Return a table that is written out in the rules."""
    text = (ROOT / "workflow" / "rules" / "common.smk").read_text()
    return ast.literal_eval(re.search(rf"^{name} = ([\[{{].*?[\]}}])(?:  #|$)", text, re.M | re.S).group(1))


def test_imports_point_one_way():
    level = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    for name in level:
        for other in sources.imports(name) - {"__init__"}:
            assert other in level, f"{name} imports {other}"
            assert level[other] < level[name] or other == name, f"{name} imports {other}"


def test_data_and_pictures_do_not_import_the_mathematics():
    mathematics = {name for layer in LAYERS[7:] for name in layer}
    for name in modules():
        if name.startswith("corpora/") or name in DATA | {"baselines", "checkpoints", "plots", "report", "tables"}:
            assert not sources.imports(name) & mathematics, name


def test_what_the_workflow_imports_needs_the_standard_library_only():
    for name in {*sources.closure("config/__init__", "sources"), "topictree", "__init__"}:
        assert outside(name) <= set(sys.stdlib_module_names), name


def test_the_timestep_job_imports_light_packages_only():
    for name in sources.closure("timestep"):
        assert outside(name) <= LIGHT | set(sys.stdlib_module_names), name
    assert outside("cli", top_only=True) <= set(sys.stdlib_module_names)


def test_a_learner_imports_light_packages_only():
    for name in sources.closure(*(f"learners/{algorithm}" for algorithm in learners.LEARNERS)):
        assert outside(name, top_only=True) <= LIGHT | set(sys.stdlib_module_names), name


class TestSources:
    """What the rules call the code of a result is what makes it."""

    def test_imports_of_every_kind_are_seen(self):
        assert "storage" in sources.imports("checkpoints")  # from odl import
        assert "errors" in sources.imports("storage")  # from odl.errors import
        assert "coding/exact" in sources.imports("coding/__init__")
        assert "experiments/classplots" in sources.closure("experiments/classification")
        assert "ahead" in sources.imports("commands")  # inside a function
        assert "clusters" in sources.closure("learners/adaptive")
        assert "coding/__init__" in sources.closure("coding/exact") and "__init__" not in sources.closure("cli")

    def test_a_stage_begins_where_its_command_does(self):
        """Each subcommand imports nothing but what the closure of its stage has."""
        stages = workflow_table("STAGES")
        functions = {
            node.name: node
            for node in ast.parse((PACKAGE / "commands.py").read_text()).body
            if isinstance(node, ast.FunctionDef)
        }
        assert stages.keys() - {"tables"} <= functions.keys()
        for stage, roots in stages.items():
            found = set()
            for node in ast.walk(functions[{"tables": "summarise"}.get(stage, stage)]):
                if isinstance(node, ast.ImportFrom):
                    found |= {alias.name for alias in node.names} - {"pipeline"}
            known = {name.removesuffix("/__init__") for name in sources.closure(*roots)}
            assert found <= known and all((PACKAGE / f"{root}.py").exists() for root in roots), stage

    @pytest.mark.parametrize("stage", ["index", "batch", "features"])
    def test_a_stage_of_the_pipeline_begins_there_too(self, stage):
        functions = {
            node.name: node
            for node in ast.parse((PACKAGE / "pipeline.py").read_text()).body
            if isinstance(node, ast.FunctionDef)
        }
        used = {
            node.value.id
            for node in ast.walk(functions[{"features": "advance"}.get(stage, stage)])
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        assert used & set(modules()) <= sources.closure(*workflow_table("STAGES")[stage])

    def test_one_of_many_is_not_a_source_of_the_others(self):
        """Learners, readers and experiments are imported by their names; an edit of one reruns what it makes."""
        update = sources.closure(*workflow_table("STAGES")["update"])
        for algorithm in learners.LEARNERS:
            assert f"learners/{algorithm}" not in update
        shown = sources.closure("corpora/__init__", "report")
        assert not shown & {f"experiments/{name}" for name in experiments.EXPERIMENTS}
        flat = sources.closure("timestep", "learners/flat")
        assert not any(f"learners/{algorithm}" in flat for algorithm in learners.LEARNERS if algorithm != "flat")

    def test_readers_are_files_of_their_names(self):
        text = (ROOT / "workflow" / "rules" / "corpus.smk").read_text()
        other = ast.literal_eval(re.search(r"^READER_FILES = (\{.*?\})", text, re.M).group(1))
        for name, module in READERS.items():
            assert module == f"odl.corpora.{other.get(name, name.replace('-', '_'))}"

    def test_every_experiment_names_its_kernels(self):
        table = workflow_table("EXPERIMENTS")
        assert set(table) == set(experiments.EXPERIMENTS)
        for name, algorithms in table.items():
            assert (PACKAGE / "experiments" / f"{name}.py").exists() and set(algorithms) <= set(learners.LEARNERS)

    def test_batch_learners_are_named(self):
        needing = {name for name in learners.LEARNERS if learners.learner_class(name).needs_history}
        assert set(workflow_table("HISTORY")) == needing

    def test_a_digest_changes_with_any_file(self, tmp_path, monkeypatch):
        def digests():
            for cached in (sources.imports, sources.digest, sources._digest_of):
                cached.cache_clear()
            return [sources.digest("timestep"), sources.digest("stream")]

        try:
            shutil.copytree(PACKAGE, tmp_path / "odl", ignore=shutil.ignore_patterns("__pycache__"))
            monkeypatch.setattr(sources, "PACKAGE", tmp_path / "odl")
            update, index = digests()
            with open(tmp_path / "odl" / "novelty.py", "a") as file:
                file.write("# edited\n")
            changed = digests()
            assert changed[0] != update and changed[1] == index
        finally:
            monkeypatch.undo()
            digests()


def test_the_workflow_imports_only_config_and_sources():
    texts = [path.read_text() for path in [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]]
    found = re.findall(r"^\s*(?:from|import)\s+(odl\S*)", "\n".join(texts), re.M)
    assert found == ["odl.config", "odl"]


def test_schema_is_the_dataclasses():
    schema = json.loads((ROOT / "workflow" / "schemas" / "config.schema.json").read_text())
    for algorithm, properties in learners.schema().items():
        listed = dict(schema["$defs"][algorithm]["properties"])
        for extra in ("algorithm", "atoms", "features"):
            listed.pop(extra)
        assert listed == properties, f"run `odl schema` and copy {algorithm} into the schema"
        assert schema["$defs"][algorithm]["additionalProperties"] is False


def test_schema_has_the_settings_of_experiments():
    schema = json.loads((ROOT / "workflow" / "schemas" / "config.schema.json").read_text())
    selected = schema["properties"]["experiments"]["additionalProperties"]["select"]["schemas"]
    assert selected == {name: {"$ref": f"#/$defs/experiment_{name}"} for name in experiments.EXPERIMENTS}
    for name, settings in experiments.schema().items():
        entry = schema["$defs"][f"experiment_{name}"]
        listed = {key: held for key, held in entry["properties"].items() if key not in config.OF_EXPERIMENTS}
        assert listed == settings, f"run `odl schema --experiments` and copy {name} into the schema"
        assert entry["additionalProperties"] is False and "experiment" in entry["required"]


def test_every_map_of_the_schema_is_closed():
    schema = json.loads((ROOT / "workflow" / "schemas" / "config.schema.json").read_text())

    def visit(node, path):
        if isinstance(node, dict):
            if node.get("type") == "object" and "select" not in node:
                assert "additionalProperties" in node, path
                assert node["additionalProperties"] is not True, path
            for key, value in node.items():
                visit(value, f"{path}/{key}")

    visit(schema, "")


def test_importing_the_package_is_light():
    code = "import sys, odl, odl.config; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "numpy" not in loaded


def test_nothing_of_the_machine_is_in_the_repository():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split() if listed.returncode == 0 else []
    folder = str(ROOT.parent) + "/"
    for name in names:
        path = ROOT / name
        if path.is_file() and path.suffix in {".py", ".smk", ".md", ".yaml", ".toml", ".txt", ".json", ".csv", ".rst"}:
            assert folder not in path.read_text(encoding="utf-8"), name
