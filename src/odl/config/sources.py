"""Source files of the package that a result depends on: those that its stage imports, unseen by Snakemake.

A digest of them is a param of every rule, so that an edit runs again what it may change and nothing else. What is
imported by its name while a program runs (one learner of many, one reader) is not followed: the rules name it.
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
DATA = (".css", ".js", ".jinja", ".txt")  # of a module, under its name
CPP = (".cpp", ".h")  # files of kernels, which are named with their suffix
INCLUDE = re.compile(r'^#include "(\w+)\.h"', re.M)
# What means something in C++, and what does not: a text, else raw text (documentation), a comment or white space.
PARTS = re.compile(r'("(?:\\.|[^"\\\n])*")|(?:R"\((?:.|\n)*?\)"|//[^\n]*|\s+)+')


@functools.cache
def imports(name):
    """Return the files of the package that a file imports, at its top or inside a function.

    Parameters
    ----------
    name : str
        A file below the package, without its suffix if it is Python: ``coding/exact``, ``kernels/tree_norm.cpp``.

    Returns
    -------
    frozenset of str

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    return _files_of(_stamps().of(name)[1])


def imported(tree):
    """Return the files of the package that a piece of code imports (a tree of `ast`)."""
    return _files_of(_names_of(tree))


def _names_of(tree):
    """Return the dotted names inside the package that code imports: modules, or names in one."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return sorted(name for name in names if name.startswith("odl."))


def _files_of(names):
    """Return the files of names: of a module, `odl.coding.exact`, of what is in one, or of a file, kernels/sums.h."""
    found = {name if "/" in name else _file_of(name) or _file_of(name.rpartition(".")[0]) for name in names}
    return frozenset(found - {None})


@functools.cache
def _file_of(module):
    """Return the file of a dotted module name inside the package, or None."""
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
    """Return every file that importing some files loads, themselves included, but the package's own ``__init__``."""
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += imports(name)
            todo += [f"{name.split('/')[0]}/__init__"] if "/" in name else []
    _stamps().save()
    return seen - {"__init__"}


@functools.cache
def digest(*names, packages=(), more=""):
    """Return the stamp of all files that importing some files loads, of versions of packages, and of more."""
    joined = hashlib.sha256()
    for name in sorted(closure(*names)):
        joined.update(_said_of(name))
    for package in packages:
        joined.update(f"{package}\0{_version_of(package)}".encode())
    joined.update(more.encode())
    return joined.hexdigest()[:16]


@functools.cache
def _said_of(name):
    """Return what a stamp is made from of a file: its digest, and the data under its name."""
    data = [path.read_bytes() for suffix in DATA if (path := PACKAGE / f"{name}{suffix}").exists()]
    return b"".join([f"{name}\0{_stamps().of(name)[0]}".encode(), *data])


def _version_of(package):
    """Return the version of an installed package."""
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # said by the step that needs it
        return "missing"


class Stamps:
    """Digests of what files of the package mean, and what they import; kept from run to run while a file stays.

    Parameters
    ----------
    path : Path
        Where they are kept, if it can be written.
    """

    def __init__(self, path):
        self.path, self.changed = path, False
        try:
            self.known = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.known = {}

    def of(self, name):
        """Return the digest and the imports of a file; one that is not known yet is parsed and kept."""
        path = _path_of(name)
        facts = path.stat()
        state = [facts.st_size, facts.st_mtime_ns]
        entry = self.known.get(name)
        if not isinstance(entry, list) or entry[2:] != state:
            entry = self.known[name] = [*facts_of(name, path.read_text(encoding="utf-8")), *state]
            self.changed = True
        return entry[:2]

    def save(self):
        """Keep what was parsed."""
        if self.changed:
            with contextlib.suppress(OSError), replacing(self.path) as temporary:
                Path(temporary).write_text(json.dumps(self.known), encoding="utf-8")
            self.changed = False


def facts_of(name, text):
    """Return the digest of what a file means, and the names that it imports: with a header the source of its name."""
    if name.endswith(CPP):
        meant = hashlib.sha256(PARTS.sub(lambda part: part[1] or " ", text).strip().encode()).hexdigest()[:16]
        near = [f"kernels/{header}{suffix}" for header in INCLUDE.findall(text) for suffix in CPP]
        return meant, sorted(file for file in near if _path_of(file).is_file() and file != name)
    tree = ast.parse(text)
    names = _names_of(tree)
    return _meaning_of(tree), names  # docstrings leave the tree


@functools.cache
def _stamps():
    return Stamps(PACKAGE / "__pycache__" / "stamps.json")


def meaning(text):
    """Return a digest of what a program means: of its syntax tree without comments, docstrings and positions."""
    return _meaning_of(ast.parse(text))


def _meaning_of(tree):
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            body[0].value = ast.Constant(None)
    return hashlib.sha256(repr(_plain(tree)).encode()).hexdigest()[:16]


def _is_text(statement):
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _plain(node):
    """Return a syntax tree as tuples; fields without a value are left out, as versions of Python add such."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, ast.AST):
        return node
    fields = [(name, _plain(value)) for name, value in ast.iter_fields(node) if value not in (None, [])]
    return type(node).__name__, fields
