"""Which files of the package a result depends on: those that its stage imports, which Snakemake does not see.

A digest of them is a param of every rule, so that an edit runs again what it may change and nothing else. What is
imported by its name while a program runs (one learner of many, one reader) is not followed: the rules name it.
"""

import ast
import functools
import hashlib
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
# Statements as they stand in a file; to parse the package takes ten times as long (half a second of every run).
FROM = re.compile(r"^[ \t]*from[ \t]+(odl[\w.]*)[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n;#(]*))", re.MULTILINE)
IMPORT = re.compile(r"^[ \t]*import[ \t]+(odl[^\n;#]*)", re.MULTILINE)
KERNELS = re.compile(r"\.Kernels\(\"(\w+)\"\)$", re.MULTILINE)  # imported where their library is missing
COMMENT = re.compile(r"#[^\n]*")


@functools.cache
def imports(name):
    """Return the files of the package that a file imports, at its top or inside a function.

    Parameters
    ----------
    name : str
        A file below the package, without its suffix: ``coding/exact``, ``corpora/__init__``.

    Returns
    -------
    frozenset of str

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    text = (PACKAGE / f"{name}.py").read_text(encoding="utf-8")
    found = {f"kernels/{kernels}" for kernels in KERNELS.findall(text)}
    for module, inside, line in FROM.findall(text):
        for part in filter(str.strip, COMMENT.sub("", inside or line).split(",")):
            found.add(_file_of(f"{module}.{part.split()[0]}") or _file_of(module))
    for line in IMPORT.findall(text):
        found |= {_file_of(part.split()[0]) for part in line.split(",")}
    return frozenset(found - {None})


def imported(tree):
    """Return the files of the package that a piece of code imports (a tree of `ast`)."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {_file_of(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            # `from odl.coding import exact` imports a file of the package, not the package's own names.
            found |= {_file_of(f"{node.module}.{alias.name}") or _file_of(node.module) for alias in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "Kernels":
            found.add(
                f"kernels/{node.args[0].value}"
            )  # native.Kernels("clusters") imports it where its library is missing
    return found - {None}


def _file_of(module):
    """Return the file of a dotted module name inside the package, or None."""
    first, *inner = module.split(".")
    if first != "odl":
        return None
    for path in ("/".join(inner), "/".join([*inner, "__init__"])):
        if path and (PACKAGE / f"{path}.py").is_file():
            return path
    return None


def closure(*names):
    """Return every file that importing some files loads, themselves included, but the package's own ``__init__``."""
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += imports(name)
            todo += [f"{name.split('/')[0]}/__init__"] if "/" in name else []
    return seen - {"__init__"}


@functools.cache
def digest(*names):
    """Return a digest of the bytes of all files that importing some files loads."""
    joined = hashlib.sha256()
    for name in sorted(closure(*names)):
        joined.update(f"{name}\0".encode() + _digest_of(name))
    return joined.hexdigest()[:16]


@functools.cache
def _digest_of(name):
    return hashlib.sha256((PACKAGE / f"{name}.py").read_bytes()).digest()
