"""Only documented names of other packages: none with a leading underscore, nothing put into their modules."""

import ast
import re

import pytest
from places import ROOT

from odl.config import places

CODE = [
    path
    for folder in ("src", "benchmarks", "docs/_ext")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
WORKFLOW = [
    ROOT / "Snakefile",
    ROOT / "workflow" / "Snakefile",
    *sorted((ROOT / "workflow" / "rules").glob("*.smk")),
]
DOCUMENTED = {"_asdict", "_exit", "_fields", "_make", "_replace"}  # of named tuples and of os
# Settings of the whole process, which Snakemake and other libraries share with us.
PROCESS = {
    "gc.freeze",
    "gc.set_threshold",
    "resource.setrlimit",
    "sys.setrecursionlimit",
    "threading.enumerate",
}
HOOKS = {"sys.unraisablehook"}  # which Python's documentation says to set
EXCEPTIONS = {
    # Standard streams that the caller closed are opened on the null device, as Python's
    # documentation says of sys.
    "src/odl/cli/__init__.py": {
        "setattr(sys, name, file)",
        "gc.freeze",  # of a process that ends
        "gc.set_threshold",  # of the process of a command, and of that which runs for `odl watch`
    },
    # A forked process takes over the standard streams of its client.
    "src/odl/forkserver.py": {
        "setattr(sys, name, open(number, mode, buffering=1, encoding=encoding, closefd=False))",
        "gc.freeze",  # the process of the server is its own
    },
    "src/odl/cli/runs.py": {
        "gc.freeze"
    },  # the process that runs folders for `odl watch` is its own
    "src/odl/live/server.py": {"gc.freeze"},  # the process of `odl watch --http` is its own
}
OF_SNAKEMAKE = {"workflow", "rules", "checkpoints"}  # names that every Snakefile has
BODY = re.compile(
    r"^( *)(?:on(?:start|success|error)|rule \w+|checkpoint \w+|use rule .* with|module \w+):$",
    re.M,
)
DIRECTIVE = re.compile(r"^( *)(?!else|try|finally)(\w+):\n((?:\1 +.*\n|\n(?=\1 +))+)", re.M)


def private(name):
    return (
        name.startswith("_")
        and not name.startswith("__")
        and name not in DOCUMENTED
        and name.strip("_")
    )


def python(text):
    """Return the text of a Snakefile as Python of the same names: rules as blocks, directives as calls."""
    text = re.sub(
        r"^( *)(use rule \S+ from \w+.*[^:])$", r"\1pass", BODY.sub(r"\1if True:", text), flags=re.M
    )
    while (changed := DIRECTIVE.sub(r"\1\2(\n\3\1)\n", text)) != text:
        text = changed
    return text


def root_of(node):
    """Return the name that an expression begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "id", "")


def foreign(tree, names=()):
    """Return the names of other packages' modules and classes, and what is bound to a module found by its name."""
    found = set(names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {
                (alias.asname or alias.name).split(".")[0]
                for alias in node.names
                if not own(alias.name)
            }
        elif isinstance(node, ast.ImportFrom) and not own(node.module):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.For) and root_of(node.iter) in OF_SNAKEMAKE & found:
            found.add(root_of(node.target))
        elif isinstance(node, ast.Assign) and re.match(
            r"(importlib\.)?import_module\(|sys\.modules\[", code(node.value)
        ):
            found |= {root_of(target) for target in node.targets}
    return found - {"", "config"}


def own(module):
    return module.split(".")[0] == "odl"


def code(node):
    return ast.unparse(node)


def ours(trees):
    """Return the names with a leading underscore that the package itself defines."""
    found = set()
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and code(node.value) == "self"
            ):
                found.add(node.attr)
    return found


def refused(tree, known=frozenset(), names=()):
    """Yield what a piece of code takes from, or puts into, other packages without their documenting it."""
    theirs = foreign(tree, names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (
                alias.name for alias in node.names if not own(alias.name) and hidden(alias.name)
            )
        elif isinstance(node, ast.ImportFrom) and not own(node.module):
            yield from [node.module] * hidden(node.module)
            yield from (alias.name for alias in node.names if private(alias.name))
        elif isinstance(node, ast.Attribute):
            if private(node.attr) and (node.attr not in known or root_of(node) in theirs):
                yield node.attr
            if (
                not isinstance(node.ctx, ast.Load)
                and root_of(node) in theirs
                and code(node) not in HOOKS
            ):
                yield code(node)
            if isinstance(node.ctx, ast.Load) and code(node) in PROCESS:
                yield code(node)
        elif (
            isinstance(node, ast.Subscript)
            and not isinstance(node.ctx, ast.Load)
            and code(node.value) == "sys.modules"
        ):
            yield code(node)
        elif isinstance(node, ast.Call):
            yield from (word.arg for word in node.keywords if word.arg and private(word.arg))
            if code(node.func) in ("setattr", "delattr") and root_of(node.args[0]) in theirs:
                yield code(node)
            if code(node.func) in ("getattr", "hasattr", "setattr") and isinstance(
                node.args[1], ast.Constant
            ):
                yield from [node.args[1].value] * bool(private(str(node.args[1].value)))


def hidden(module):
    return any(private(part) for part in module.split("."))


@pytest.mark.slow
def test_only_documented_names_of_other_packages():
    trees = {path: ast.parse(path.read_text()) for path in CODE}
    known = ours(trees.values())
    for path, tree in trees.items():
        name = path.relative_to(ROOT).as_posix()
        assert set(refused(tree, known)) == EXCEPTIONS.get(name, set()), name
    for path in WORKFLOW:
        assert not set(refused(ast.parse(python(path.read_text())), known, OF_SNAKEMAKE)), path.name
    assert not set(
        refused(ast.parse(python(places.FOLDER_SNAKEFILE.read_text())), known, OF_SNAKEMAKE)
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "import importlib\nshells = importlib.import_module('snakemake.shell')\nshells.sp = 1",
            "shells.sp",
        ),
        ("import snakemake.shell\nsnakemake.shell.sp = 1", "snakemake.shell.sp"),
        ("from snakemake import shell\nsetattr(shell, 'sp', 1)", "setattr(shell, 'sp', 1)"),
        (
            "import threading\nfor timer in threading.enumerate():\n    timer.cancel()",
            "threading.enumerate",
        ),
        ("def quick(function):\n    function._overwrite_params = {}", "_overwrite_params"),
        ("def f():\n    for made in workflow.rules:\n        made.group = None", "made.group"),
        (
            "rule a:\n    input:\n        lambda wildcards: workflow._x,\n        b=1,\n    output:\n        'c',\n",
            "_x",
        ),
        ("onsuccess:\n    workflow.x = 1\n", "workflow.x"),
        ("import sys\nsys.setrecursionlimit(100_000)", "sys.setrecursionlimit"),
        ("import resource\nresource.setrlimit(1, 2)", "resource.setrlimit"),
        ("import sys\nsys.modules['pandas'] = 1", "sys.modules['pandas']"),
        ("import gc\ngc.set_threshold(100_000, 20, 20)", "gc.set_threshold"),
        ("import _socket", "_socket"),
        ("import atexit\natexit._run_exitfuncs()", "_run_exitfuncs"),
        ("for action in subparsers._choices_actions:\n    pass", "_choices_actions"),
        ("import numpy as np\nnp._core.x", "_core"),
        ("from sklearn.utils._set_output import x", "sklearn.utils._set_output"),
        ("import tempfile\ntempfile.tempdir = None", "tempfile.tempdir"),
        (
            "import argparse\nclass A(argparse.ArgumentParser):\n    def f(self):\n        self._actions",
            "_actions",
        ),
        ("import json\ndef _default():\n    json._default", "_default"),
    ],
)
def test_what_is_refused(text, name):
    """The patches that there were, and their like; a name of ours is not one of theirs."""
    tree = ast.parse(python(text))
    assert name in set(refused(tree, ours([tree]), OF_SNAKEMAKE))


def test_what_is_not_refused():
    text = """
import os
from odl import x
class A:
    def _c(self):
        self._d = self._c()
x.b, A()._c(), a._d, b._replace(), os._exit(0)
os.environ["A"] = "1"
x.b = __file__
"""
    tree = ast.parse(text)
    assert not set(refused(tree, ours([tree])))
