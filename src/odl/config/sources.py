"""Digests of the code of steps: of all source files that a step imports, directly or indirectly.

The digest is a parameter of every rule of the workflow, so an edit repeats only the steps that
import the edited file. Modules that are imported by name at run time, such as learners and readers,
are not detected; the rules add them.
"""

import ast
import contextlib
import functools
import hashlib
import json
import re
from pathlib import Path

from odl.files.atomic import replacing

PACKAGE = Path(__file__).parents[1]
DATA_ENDINGS = (".css", ".js", ".jinja", ".txt")  # endings of data files with the name of a module
CPP = (".cpp", ".h")  # endings of kernel files, which are part of their names in this module
INCLUDE = re.compile(r'^#include "(\w+)\.h"', re.M)
# Matches a string literal (group 1), or text to ignore: comments, white space, and raw strings,
# which are docstrings.
CPP_PARTS = re.compile(r'("(?:\\.|[^"\\\n])*")|(?:R"\((?:.|\n)*?\)"|//[^\n]*|\s+)+')


@functools.cache
def imports(name):
    """Return the files of the package that a file imports, at its top or inside functions.

    Parameters
    ----------
    name : str
        Path below the package, such as ``kernels/tree_norm.cpp``. The path of a Python file has no
        ending: ``coding/exact``.

    Returns
    -------
    frozenset of str
        Paths below the package.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    """
    return _files_of(_stamps().facts(name)[1])


def imported(tree):
    """Return the files of the package that are imported in a syntax tree (`ast.AST`)."""
    return _files_of(_names_of(tree))


def _names_of(tree):
    """Return the dotted names that a syntax tree imports from the package, sorted."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return sorted(name for name in names if name.startswith("odl."))


def _files_of(names):
    """Return the files for dotted names (``odl.coding.exact``); paths (``kernels/sums.h``) stay."""
    files = {
        name if "/" in name else _file_of(name) or _file_of(name.rpartition(".")[0])
        for name in names
    }
    return frozenset(files - {None})


@functools.cache
def _file_of(module):
    """Return the file of a dotted module name, or None if it is not in the package."""
    first, *inner = module.split(".")
    if first != "odl":
        return None
    path = "/".join(inner)
    names = (path, f"{path}/__init__", f"{path}.cpp")
    return next((name for name in names if path and _path_of(name).is_file()), None)


def _path_of(name):
    """Return the path of a file below the package."""
    return PACKAGE / (name if name.endswith(CPP) else f"{name}.py")


def closure(*names):
    """Return all files that are loaded when files are imported, except ``odl/__init__``."""
    loaded, to_load = set(), list(names)
    while to_load:
        name = to_load.pop()
        if name not in loaded:
            loaded.add(name)
            to_load += imports(name)
            to_load += [f"{name.split('/')[0]}/__init__"] if "/" in name else []
    _stamps().save()
    return loaded - {"__init__"}


@functools.cache
def digest(*names, packages=(), more=""):
    """Return a digest of files and of all files that they import, as 16 hexadecimal digits.

    Parameters
    ----------
    *names : str
        Files of the package, as in `imports`.
    packages : tuple of str
        Installed packages whose versions are included.
    more : str
        Other text to include, such as the digest of an encoder's files.

    Returns
    -------
    str
    """
    stamp = hashlib.sha256()
    for name in sorted(closure(*names)):
        stamp.update(_stamp_of(name))
    for package in packages:
        stamp.update(f"{package}\0{_version_of(package)}".encode())
    stamp.update(more.encode())
    return stamp.hexdigest()[:16]


@functools.cache
def _stamp_of(name):
    """Return the bytes of a file in `digest`: its name, the digest of its code, and data files."""
    data = [
        path.read_bytes()
        for suffix in DATA_ENDINGS
        if (path := PACKAGE / f"{name}{suffix}").exists()
    ]
    return b"".join([f"{name}\0{_stamps().facts(name)[0]}".encode(), *data])


def _version_of(package):
    """Return the version of an installed package."""
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # the step that needs it reports the error
        return "missing"


class Stamps:
    """Digests and imports of the files of the package, cached in a file between runs.

    Parameters
    ----------
    path : Path
        Cache file. It is not written if the folder is read-only.
    """

    def __init__(self, path):
        self.path, self.changed = path, False
        try:
            self.known = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.known = {}

    def facts(self, name):
        """Return (digest, imports) of a file, from the cache if size and time are unchanged."""
        path = _path_of(name)
        facts = path.stat()
        state = [facts.st_size, facts.st_mtime_ns]
        entry = self.known.get(name)
        if not isinstance(entry, list) or entry[2:] != state:
            entry = self.known[name] = [*facts_of(name, path.read_text(encoding="utf-8")), *state]
            self.changed = True
        return entry[:2]

    def save(self):
        """Write the cache if it has changed."""
        if self.changed:
            with contextlib.suppress(OSError), replacing(self.path) as temporary:
                Path(temporary).write_text(json.dumps(self.known), encoding="utf-8")
            self.changed = False


def facts_of(name, text):
    """Return (digest without comments, imports) of the text of a file.

    Including a C++ header imports the header and the source with its name.
    """
    if name.endswith(CPP):
        code = CPP_PARTS.sub(lambda part: part[1] or " ", text).strip()
        candidates = [
            f"kernels/{header}{suffix}" for header in INCLUDE.findall(text) for suffix in CPP
        ]
        files = sorted(file for file in candidates if _path_of(file).is_file() and file != name)
        return hashlib.sha256(code.encode()).hexdigest()[:16], files
    tree = ast.parse(text)
    names = _names_of(tree)
    return _meaning_of(tree), names  # `_meaning_of` changes the tree, so it is called last


@functools.cache
def _stamps():
    return Stamps(PACKAGE / "__pycache__" / "stamps.json")


def meaning(text):
    """Return a digest of a program's syntax tree without comments, docstrings and positions."""
    return _meaning_of(ast.parse(text))


def _meaning_of(tree):
    """Return a digest of a syntax tree; remove its docstrings in place."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            body[0].value = ast.Constant(None)
    return hashlib.sha256(repr(_plain(tree)).encode()).hexdigest()[:16]


def _is_text(statement):
    """Return whether a statement is a string, such as a docstring."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _plain(node):
    """Return a syntax tree as tuples without empty fields, which depend on Python's version."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, ast.AST):
        return node
    fields = [
        (name, _plain(value)) for name, value in ast.iter_fields(node) if value not in (None, [])
    ]
    return type(node).__name__, fields
