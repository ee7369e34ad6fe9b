"""The public face, which docs/api/index.rst lists: every name has its types and an example, and both are held to it."""

import ast
import doctest
import inspect
import os
import re
import subprocess
import sys
import tomllib
from functools import cached_property
from importlib import import_module
from types import FunctionType, ModuleType

import pytest
from places import ROOT

import odl
from odl import errors, learners
from odl.papers import rivals

PACKAGE = ROOT / "src" / "odl"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def resolved(name):
    """Return what a dotted name of the package stands for."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        module, _, last = name.rpartition(".")
        return getattr(import_module(module), last)


PAGES = "\n".join(
    path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "api").glob("*.rst"))
)
LISTED = re.findall(r"^   (odl\.[\w.]+)$", PAGES, re.M)
NAMES = {name: held for name in LISTED if not isinstance(held := resolved(name), ModuleType)}
MODULES = sorted({held.__module__ for held in NAMES.values()})


def functions_of(held):
    """Yield (name, function) of what a caller may call: a function, or the methods and properties of a class of odl."""
    if not isinstance(held, type):
        yield held.__name__, inspect.unwrap(held)
        return
    for one in held.__mro__:
        for name, value in vars(one).items() if one.__module__.split(".")[0] == "odl" else ():
            value = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
            value = value.func if isinstance(value, cached_property) else value
            if isinstance(value, FunctionType) and (name == "__init__" or not name.startswith("_")):
                yield f"{one.__name__}.{name}", value


def without_types(function):
    """Return the arguments of a function without a type, with ``return`` for what it returns."""
    signature = inspect.signature(function)
    named = [
        name
        for name, one in signature.parameters.items()
        if one.annotation is inspect.Parameter.empty
    ]
    missing = [name for name in named if name not in ("self", "cls")]
    return missing + ["return"] * (signature.return_annotation is inspect.Signature.empty)


def test_the_face_has_what_people_write():
    assert len(LISTED) == len(set(LISTED)) and len(NAMES) > 200
    wanted = {getattr(odl, name) for name in odl.__all__ if name != "__version__"}
    wanted |= {learners.learner_class(name) for name in learners.LEARNERS} | set(
        rivals.RIVAL_CLASSES
    )
    wanted |= {
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, errors.OdlError)
    }
    assert wanted <= set(NAMES.values()), {one.__name__ for one in wanted - set(NAMES.values())}


PUBLIC = (ROOT / "docs" / "api" / "public.rst").read_text(encoding="utf-8")


def called(function):
    """Return how a function is called, as a person writes it: names and defaults without types."""
    parameters = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in inspect.signature(function).parameters.values()
        if one.name not in ("self", "cls")
    ]
    signature = str(inspect.Signature(parameters)).replace("'", '"')
    return f"{function.__name__}{signature}"


@pytest.mark.parametrize("name", [name for name in odl.__all__ if name != "__version__"])
def test_the_page_of_the_public_interface_has_every_call(name):
    _, _, part = PUBLIC.partition(f"\n{name}\n---")
    part = " ".join(re.split(r"\n\S+\n---", part)[0].split())
    held = getattr(odl, name)
    assert f"odl.{called(held)}" in part
    for one in dir(held) if isinstance(held, type) else ():
        method = getattr(held, one)
        if not one.startswith("_") and getattr(method, "__module__", "").startswith("odl"):
            assert f"``{called(method)}``" in part, called(method)


def test_the_page_of_the_public_interface_has_every_error():
    rows = re.findall(r"^   \* - ``(\w+)``\n     - (.*)\n     - .*\n     - (\d+)$", PUBLIC, re.M)
    classes = [one for one in vars(errors).values() if isinstance(one, type)]
    expected = {
        (one.__name__, ", ".join(f"``{base.__name__}``" for base in one.__bases__), str(one.status))
        for one in classes
    }
    assert {*rows} == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_its_types(name):
    missing = {
        of: found
        for of, function in functions_of(NAMES[name])
        if (found := without_types(function))
    }
    assert not missing, f"{name}: {missing}"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_an_example(name):
    text = inspect.cleandoc(
        vars(NAMES[name])["__doc__"] if isinstance(NAMES[name], type) else NAMES[name].__doc__
    )
    _, found, example = text.partition("\nExamples\n--------\n")
    assert found, f"{name} has no section Examples"
    shown = doctest.DocTestParser().get_examples(example)
    assert any(one.want for one in shown), f"the example of {name} shows no result"


@pytest.mark.parametrize(
    "module", [module for module in MODULES if not module.startswith("odl.detector.")]
)
def test_examples_are_true(module, tmp_path, monkeypatch):
    """Those of `odl.detector` are run by tests/detector/test_estimator.py."""
    monkeypatch.chdir(tmp_path)
    failed, run = doctest.testmod(import_module(module))
    assert run and not failed
    assert not list(tmp_path.iterdir()), "an example leaves files"


def test_mypy_sees_every_module_of_the_face():
    named = {ROOT / path for path in SETTINGS["tool"]["mypy"]["files"]}
    assert all(path.exists() for path in named)
    checked = {file for path in named for file in path.rglob("*.py")} | named
    classes = [one for held in NAMES.values() if isinstance(held, type) for one in held.__mro__]
    needed = {
        import_module(one.__module__).__file__
        for one in [*NAMES.values(), *classes]
        if "odl" in one.__module__
    }
    assert {path for path in needed if PACKAGE / path not in checked} == set()


def test_types_go_with_the_package():
    assert (PACKAGE / "py.typed").is_file()
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    taken = {
        node.names[0].name: node.module for node in stub.body if isinstance(node, ast.ImportFrom)
    }
    assert taken == odl._PUBLIC


@pytest.mark.slow
def test_a_strict_program_may_call_every_public_name(tmp_path):
    """`mypy --strict` knows the types of all that `odl.__all__` offers."""
    lines = [
        "from typing import Any",
        "import odl",
        "def program(*given: Any, **named: Any) -> None:",
    ]
    for name in odl.__all__:
        held = getattr(odl, name)
        lines.append(f"    odl.{name}{'(*given, **named)' if callable(held) else ''}")
        for one in dir(held) if isinstance(held, type) else ():
            method = getattr(held, one)
            if not one.startswith("_") and getattr(method, "__module__", "").startswith("odl"):
                lines.append(f"    odl.{name}().{one}(*given, **named)")
    (tmp_path / "program.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--follow-imports=silent",
    ]
    command += ["--ignore-missing-imports", str(tmp_path / "program.py")]
    said = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": str(PACKAGE.parent)},
    )
    assert said.returncode == 0, said.stdout
    assert len(lines) > 20
