"""Which files of the package a result depends on: those that its stage imports, which Snakemake does not see.

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
DATA = (".css", ".js", ".jinja")  # of a module, under its name
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
            )  # native.Kernels("atom_clusters") imports it where its library is missing
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
    """Return the stamp of the code of all files that importing some files loads: of what it means (`_meaning_of`)."""
    joined = hashlib.sha256()
    for name in sorted(closure(*names)):
        joined.update(f"{name}\0{_stamps().of(name)}".encode())
        for path in (PACKAGE / f"{name}{suffix}" for suffix in DATA):
            joined.update(path.read_bytes() if path.exists() else b"")
    return joined.hexdigest()[:16]


class Stamps:
    """Digests of what files of the package mean; those of files that stay are kept from run to run.

    Parameters
    ----------
    path : Path
        Where they are kept, if it can be written.
    """

    def __init__(self, path):
        self.path = path
        try:
            self.known = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.known = {}

    def of(self, name):
        """Return the digest of a file; one that is not known yet is parsed and kept."""
        path = PACKAGE / f"{name}.py"
        facts = path.stat()
        state = [facts.st_size, facts.st_mtime_ns]
        entry = self.known.get(name)
        if not isinstance(entry, list) or entry[1:] != state:
            entry = self.known[name] = [meaning(path.read_text(encoding="utf-8")), *state]
            with contextlib.suppress(OSError), replacing(self.path) as temporary:
                Path(temporary).write_text(json.dumps(self.known), encoding="utf-8")
        return entry[0]


@functools.cache
def _stamps():
    return Stamps(PACKAGE / "__pycache__" / "stamps.json")


def meaning(text):
    """Return a digest of what a program means: of its syntax tree without comments, docstrings and positions."""
    tree = ast.parse(text)
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
