"""Imports point one way, the rerun triggers name what is really imported, and the schema is the dataclasses'."""

import ast
import json
import re
import subprocess
import sys

import pytest
from conftest import ROOT

from odl import config, experiments, learners
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
    ["coding/lars_kernels", "treekernels"],
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
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        found[path.relative_to(PACKAGE).with_suffix("").as_posix()] = ast.parse(path.read_text())
    return found


def name_of(dotted, known):
    """Return the file of a dotted module name inside the package, or None."""
    if not dotted.startswith("odl"):
        return None
    inner = dotted.removeprefix("odl").lstrip(".").replace(".", "/")
    if inner in known:
        return inner
    package = f"{inner}/__init__".lstrip("/")
    return package if package in known else None


def imports(tree, known, top_only=False):
    """Return (files of the package, other top-level packages) that a module imports."""
    inside, outside = set(), set()
    for node in ast.walk(tree) if not top_only else tree.body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # `from odl.coding import exact` imports a file of the package, not the package's own names.
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name_of(name, known) else node.module for name in inner]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "odl":
                inside.add(name_of(name, known))
            else:
                outside.add(name.split(".")[0])
    for node in ast.walk(tree):
        # native.Kernels("clusters") imports that file when its library is missing.
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "Kernels":
            inside.add(node.args[0].value)
    return inside - {None}, outside


def closure(start, known):
    """Return every file of the package that importing one of them loads."""
    seen, todo = set(), list(start)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += imports(known[name], known)[0]
            if "/" in name:
                todo.append(name.split("/")[0] + "/__init__")
    return seen


def sources():
    """Return the tables of sources of the workflow: stage, or algorithm, to files of the package."""
    text = (ROOT / "workflow" / "rules" / "common.smk").read_text()
    found = {}
    exec(text[text.index("BASE = [") : text.index("PACKAGE = ")], found)
    stages = {stage: set(names) for stage, names in found["SOURCES"].items()}
    return {**stages, "LEARNERS": found["LEARNERS"], "HISTORY": found["HISTORY"], "EXPERIMENTS": found["EXPERIMENTS"]}


def test_imports_point_one_way():
    known = modules()
    level = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    for name in level:
        for other in imports(known[name], known)[0] - {"__init__"}:
            assert other in level, f"{name} imports {other}"
            assert level[other] < level[name] or other == name, f"{name} imports {other}"


def test_data_and_pictures_do_not_import_the_mathematics():
    known = modules()
    mathematics = {name for layer in LAYERS[7:] for name in layer}
    for name, tree in known.items():
        if name.startswith("corpora/") or name in DATA | {"baselines", "checkpoints", "plots", "report", "tables"}:
            assert not imports(tree, known)[0] & mathematics, name


def test_config_needs_the_standard_library_only():
    known = modules()
    for name in {*closure(["config/__init__"], known), "topictree", "__init__"}:
        assert imports(known[name], known)[1] <= set(sys.stdlib_module_names), name


def test_the_timestep_job_imports_light_packages_only():
    known = modules()
    allowed = LIGHT | set(sys.stdlib_module_names)
    for name in closure(["timestep", "cli"], known) & closure(["timestep"], known):
        assert imports(known[name], known)[1] <= allowed, name
    assert imports(known["cli"], known, top_only=True)[1] <= set(sys.stdlib_module_names)


def test_sources_of_an_update_are_its_imports():
    """The registry imports a learner by its name, so that editing one learner reruns only that learner's chain."""
    known = modules()
    shared = closure(["timestep"], known)
    assert set(sources()["update"]) == shared - {"__init__"}
    assert set(sources()["score"]) == closure(["shards"], known) - {"__init__"}
    assert not any(f"learners/{algorithm}" in shared for algorithm in learners.LEARNERS)


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_sources_of_an_experiment_are_its_imports(name):
    known, listed = modules(), sources()["EXPERIMENTS"][name]
    algorithms = listed["kernels"]
    own = closure([f"experiments/{name}", *(f"learners/{algorithm}" for algorithm in algorithms)], known)
    assert set(listed["code"]) == own - closure(["experiments/__init__"], known)


def test_every_experiment_has_its_sources():
    assert set(sources()["EXPERIMENTS"]) == set(experiments.EXPERIMENTS)


@pytest.mark.parametrize("algorithm", sorted(learners.LEARNERS))
def test_sources_of_a_learner_are_its_imports(algorithm):
    known, tables = modules(), sources()
    own = closure([f"learners/{algorithm}"], known) - closure(["timestep"], known)
    assert set(tables["LEARNERS"][algorithm]) == own
    assert (algorithm in tables["HISTORY"]) == learners.learner_class(algorithm).needs_history


def test_a_learner_imports_light_packages_only():
    known = modules()
    files = set().union(*(closure([f"learners/{algorithm}"], known) for algorithm in learners.LEARNERS))
    for name in files:
        outside = imports(known[name], known, top_only=True)[1]
        assert outside <= LIGHT | set(sys.stdlib_module_names), name


@pytest.mark.parametrize(
    ("stage", "module"),
    [
        ("index", "stream"),
        ("batch", "batchfile"),
        ("features", "featurerows"),
        ("ranks", "rankstep"),
        ("baselines", "baselines"),
        ("topics", "topicstep"),
        ("emerging", "emerging tables"),
        ("evaluate", "tables"),
        ("tables", "study"),
        ("regrets", "regrets"),
        ("regret", "regret"),
        ("figures", "figures"),
        ("page", "report"),
        ("experiment", "experiments/__init__"),
    ],
)
def test_sources_of_a_stage_are_its_imports(stage, module):
    assert sources()[stage] == closure(module.split(), modules()) - {"__init__"}


def test_sources_exist():
    tables = sources()
    del tables["HISTORY"]
    tables |= {name: listed["code"] for name, listed in tables.pop("EXPERIMENTS").items()}
    tables |= tables.pop("LEARNERS")
    assert set().union(*tables.values()) <= modules().keys()


def test_sources_of_a_reader_are_its_imports():
    known = modules()
    text = (ROOT / "workflow" / "rules" / "corpus.smk").read_text()
    listed = ast.literal_eval(re.search(r"^READERS = (\{.*?^\})", text, re.M | re.S).group(1))
    shared = {"__init__", "errors", "storage", "documents", "corpora/__init__", "corpora/checks"}
    assert listed.keys() == READERS.keys()
    for name, module in READERS.items():
        file = module.removeprefix("odl.").replace(".", "/")
        assert set(listed[name]) == closure([file], known) - shared, name


def test_the_workflow_imports_only_config():
    texts = [path.read_text() for path in [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]]
    found = re.findall(r"^\s*(?:from|import)\s+(odl\S*)", "\n".join(texts), re.M)
    assert found == ["odl.config"]


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
