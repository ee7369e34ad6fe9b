"""The reader ``scipydocs``: API documentation of installed scientific Python packages.

Each docstring with at least 40 words is a document. Sources are parsed, not imported, so the corpus
depends only on the installed versions. Docstrings that NumPy and SciPy pass to ``add_newdoc`` are
read too.
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
# Modules and folders that are not read: tests, copies of other packages, and numpy.distutils, which
# only some versions of Python have.
SKIPPED = {"tests", "test", "conftest", "externals", "extern", "vendored", "_vendored", "distutils"}
SKIPPED |= {"array_api_compat", "array_api_extra", "cobyqa", "pyprima", "uarray", "_uarray"}
# Subpackages that only contain other subpackages, which are the topics.
LAYERS = frozenset({"pandas.core"})
FUNCTION_NODES = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITION_NODES = FUNCTION_NODES | ast.ClassDef


def read(sources, options):
    """Read the docstrings of installed packages.

    Parameters
    ----------
    sources : list
        Not used: packages are found on Python's import path.
    options : dict
        - ``packages``: names of distributions or top-level packages (default `PACKAGES`).
        - ``min_words``: smallest number of words of a docstring (default 40).
        - ``tokens``: see `odl.text.tokens`.
        - ``vectors``: see `odl.text.encoder` (default null).

    Returns
    -------
    Documents
        Sorted by id and without times. The id is the dotted path of the object; ``#2`` is appended
        for its second definition. The topic is package.subpackage without outer underscores:
        scipy.optimize for scipy.optimize._lbfgsb_py, numpy.core for numpy._core. If objects have
        equal docstrings, only the object that sorts first becomes a document.

    Raises
    ------
    ConfigError, DataError
        If an option is wrong, a package is not installed as Python source, or no docstring is long
        enough.
    """
    topics_and_texts = collect(options.get("packages", PACKAGES), options.get("min_words", 40))
    records = (
        (name, NO_TIME, (topic,), f"{name}: {summary_of(text)}", text)
        for name, (topic, text) in sorted(topics_and_texts.items())
    )
    return documents_of(records, options)


def summary_of(text):
    """Return the first paragraph of a docstring."""
    return text.strip().partition("\n\n")[0]


def collect(packages, min_words):
    """Return {id: (topic, docstring)} for the docstrings with at least `min_words` words.

    Of several equal docstrings, only the one whose id sorts first is returned. DataError is raised
    if there is no docstring.
    """
    topics_and_texts = {}
    for package in packages:
        for top, folder in package_folders(package).items():
            for module, path in modules(top, folder):
                for name, text in docstrings(module, path):
                    if len(text.split()) < min_words:
                        continue
                    unique_name, number = name, 1
                    while unique_name in topics_and_texts:
                        number += 1
                        unique_name = f"{name}#{number}"
                    topics_and_texts[unique_name] = (topic_of(module), text)
    if not topics_and_texts:
        raise DataError(
            f"no docstring of {min_words} words in {packages}",
            "at least one docstring",
            "name other packages",
        )
    first_names = {}  # docstring -> the first name that has it
    for name in sorted(topics_and_texts):
        _, text = topics_and_texts[name]
        first_names.setdefault(text, name)
    return {name: topics_and_texts[name] for name in first_names.values()}


def package_folders(name):
    """Return {import name: folder} for a top-level package or for all packages of a distribution.

    `name` is the import name of a package (sklearn), or the name of a distribution (scikit-learn).
    """
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
    """Yield (dotted name, docstring) for a syntax tree node and for all definitions inside it.

    Docstrings in calls of ``add_newdoc`` are yielded too. The body of a function is not searched,
    since its local definitions are not public.

    Parameters
    ----------
    node : ast.AST
        A module, a class, a function, or a statement that may contain definitions, such as ``if``.
    name : str
        Dotted name of the node or, for a statement, of the module or class that contains it.
    """
    if isinstance(node, ast.Module | DEFINITION_NODES):
        text = ast.get_docstring(node)
        if text:
            yield name, text
    if isinstance(node, FUNCTION_NODES):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, DEFINITION_NODES):
            yield from nested_docstrings(child, f"{name}.{child.name}")
        elif isinstance(child, ast.Expr) and isinstance(child.value, ast.Call):
            yield from newdoc(child.value, name)
        elif isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from nested_docstrings(child, name)


def newdoc(call, module):
    """Yield (dotted name, docstring) for each docstring in a call of ``add_newdoc``.

    The call is ``add_newdoc([place,] name, doc)``, where doc is a docstring, a pair (attribute,
    docstring) or a list of pairs. Nothing is yielded for other calls, for arguments that are not
    literals, and for objects of another package.

    Parameters
    ----------
    call : ast.Call
    module : str
        Dotted name of the module that contains the call. By default, `place` is its package.
    """
    if getattr(call.func, "id", getattr(call.func, "attr", None)) != "add_newdoc":
        return
    try:
        arguments = [ast.literal_eval(argument) for argument in call.args]
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return  # an argument is not a literal
    place = arguments.pop(0) if len(arguments) == 3 else module.rpartition(".")[0]
    is_own_package = str(place).partition(".")[0] == module.partition(".")[0]
    if len(arguments) != 2 or not is_own_package:
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
