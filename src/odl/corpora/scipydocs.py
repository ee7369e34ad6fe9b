"""The reader ``scipydocs``: API documentation of installed scientific Python packages.

Each docstring with at least 40 words is a document. Sources are parsed, not imported, so the corpus
depends on the installed versions only. Docstrings that NumPy and SciPy attach with ``add_newdoc``
are read from these calls.
"""

import ast
import importlib.metadata
import importlib.util
import inspect
import os

from odl.corpora.checks import documents_of
from odl.errors import ConfigError, DataError
from odl.files.documents import NO_TIME
from odl.text import encoder
from odl.text.tokens import TOKENS_SCHEMA

READER = "scipydocs"
FILES = ()
OPTIONS = {
    "packages": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
    "min_words": {"type": "integer", "minimum": 1},
    "tokens": TOKENS_SCHEMA,
    "vectors": encoder.VECTORS_SCHEMA,
}

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib")
# Tests, copies of other packages, and numpy.distutils, which only some Python versions have.
SKIPPED = {"tests", "test", "conftest", "externals", "extern", "vendored", "_vendored", "distutils"}
SKIPPED |= {"array_api_compat", "array_api_extra", "cobyqa", "pyprima", "uarray", "_uarray"}
# Subpackages that are not a subject: the topic is the level below them.
LAYERS = frozenset({"pandas.core"})


def read(sources, options):
    """Read the docstrings of installed packages.

    Parameters
    ----------
    sources : list
        Empty: the packages are found where Python would import them from.
    options : dict
        ``packages``: names of distributions or top-level packages (default numpy, scipy,
        scikit-learn, pandas, matplotlib); ``min_words`` (default 40); ``tokens`` (see
        `odl.text.tokens`); ``vectors`` (see `odl.text.encoder`).

    Returns
    -------
    Documents
        Sorted by id, the dotted path of the object (with ``#2`` for a second definition). The topic
        is package.subpackage without outer underscores: scipy.optimize._lbfgsb_py belongs to
        scipy.optimize, numpy._core to numpy.core. Of equal docstrings only the first is used. No
        times.

    Raises
    ------
    ConfigError, DataError
        If an option is wrong, or a package is not installed as Python source.
    """
    named = collect(options.get("packages", PACKAGES), options.get("min_words", 40))
    records = (
        (name, NO_TIME, (topic,), f"{name}: {summary_of(text)}", text)
        for name, (topic, text) in sorted(named.items())
    )
    return documents_of(records, options)


def summary_of(text):
    """Return the first paragraph of a docstring."""
    return text.strip().partition("\n\n")[0]


def collect(packages, min_words):
    """Return {id: (topic, docstring)} of the packages, without exact duplicates."""
    named = {}
    for package in packages:
        for top, folder in package_folders(package).items():
            for module, path in modules(top, folder):
                for name, text in docstrings(module, path):
                    if len(text.split()) < min_words:
                        continue
                    unique_name, number = name, 1
                    while unique_name in named:
                        number += 1
                        unique_name = f"{name}#{number}"
                    named[unique_name] = (topic_of(module), text)
    if not named:
        raise DataError(
            f"no docstring of {min_words} words in {packages}",
            "at least one docstring",
            "name other packages",
        )
    first = {}
    for name in sorted(named):
        first.setdefault(named[name][1], name)
    return {name: named[name] for name in first.values()}


def package_folders(name):
    """Return {import name: folder} of a top-level package, or of the packages of a distribution."""
    if "." in name:
        raise ConfigError(
            f"the package {name!r}", "names such as 'scipy' or 'scikit-learn'", "correct the name"
        )
    spec = importlib.util.find_spec(name)  # this does not execute a top-level package
    if spec is not None and spec.submodule_search_locations:
        return {name: next(iter(spec.submodule_search_locations))}
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        distribution = None
    files = (distribution.files or []) if distribution else []
    inits = sorted(
        str(file) for file in files if len(file.parts) == 2 and file.name == "__init__.py"
    )
    if not inits:
        raise DataError(
            f"the package {name!r} is not installed as a folder",
            "an installed package",
            "install it",
        )
    return {
        os.path.dirname(init): os.path.dirname(str(distribution.locate_file(init)))
        for init in inits
    }


def modules(package, root):
    """Yield (dotted name, path) of every Python source file in a package's folder, sorted."""
    paths = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED and name.isidentifier()]
        paths += [os.path.join(folder, name) for name in files if name.endswith(".py")]
    for path in sorted(paths):
        parts = os.path.relpath(path, root)[: -len(".py")].split(os.sep)
        if parts[-1] == "__init__":
            parts.pop()
        if not SKIPPED.intersection(parts):
            yield ".".join([package, *parts]), path


def docstrings(module, path):
    """Yield (dotted name, cleaned docstring) of a source file, in the order of the source."""
    with open(path, encoding="utf-8", errors="replace") as file:
        source = file.read()
    if '"""' not in source and "'''" not in source:
        return
    try:
        yield from nested_docstrings(ast.parse(source), module)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # a template, source of another Python version, or nested too deeply


def nested_docstrings(node, name):
    """Yield (dotted name, docstring) of a node of a syntax tree and of the nodes in it.

    They are those of modules, classes and functions, except local ones, and of calls of add_newdoc.
    `name` is the dotted name of the innermost module or class.
    """
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    is_documented = is_function or isinstance(node, ast.Module | ast.ClassDef)
    if is_documented and (text := ast.get_docstring(node)):
        yield name, text
    for child in () if is_function else ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from nested_docstrings(child, f"{name}.{child.name}")
        elif isinstance(child, ast.Expr) and isinstance(child.value, ast.Call):
            yield from newdoc(child.value, name)
        elif isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from nested_docstrings(child, name)


def newdoc(call, module):
    """Yield (dotted name, docstring) of a call ``add_newdoc([place,] name, doc)``.

    The argument doc may be (attribute, doc).
    """
    if getattr(call.func, "id", getattr(call.func, "attr", None)) != "add_newdoc":
        return
    try:
        arguments = [ast.literal_eval(argument) for argument in call.args]
    # An argument is computed when the package is imported.
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return
    place = arguments.pop(0) if len(arguments) == 3 else module.rpartition(".")[0]
    if len(arguments) != 2 or str(place).partition(".")[0] != module.partition(".")[0]:
        return
    name, documents = arguments
    for entry in documents if isinstance(documents, list) else [documents]:
        attribute, text = entry if isinstance(entry, tuple) else (None, entry)
        if isinstance(text, str):
            yield ".".join(filter(None, [place, name, attribute])), inspect.cleandoc(text)


def topic_of(module):
    """Return package.subpackage of a dotted module name, without outer underscores."""
    parts = module.split(".")
    if len(parts) > 2 and ".".join(parts[:2]) in LAYERS:
        del parts[1]
    return ".".join(part.strip("_") for part in parts[:2])
