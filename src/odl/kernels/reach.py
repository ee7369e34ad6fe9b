"""Which state of which files a compiled kernel belongs to: its own, and those of kernels that it imports."""

import functools
import hashlib
import os
import re

IMPORT = re.compile(rb"^(?:from odl\.kernels\.(\w+) |from odl\.kernels import (.+)$)", re.M)
CALLED = re.compile(rb'^@called\(\s*((?:"[^"\n]*"\s*)+)\)\n(?:@\w+\n)+def (\w+)', re.M)


def source(name):
    """Return the path of a file of kernels."""
    return os.path.join(os.path.dirname(__file__), f"{name}.py")


@functools.cache
def _read(name):
    """Return the bytes of a file of kernels and the names of those that it imports."""
    with open(source(name), "rb") as file:
        text = file.read()
    found = {part.decode() for one, many in IMPORT.findall(text) for part in [one, *re.split(rb"\W+", many)] if part}
    return text, found


def files(name):
    """Return the names of a file of kernels and of all that it imports, and so on."""
    seen, todo = set(), [name]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += _read(name)[1]
    return seen


@functools.cache
def digest(name):
    """Return a digest of the bytes of a file of kernels and of all that it imports."""
    joined = hashlib.sha256()
    for each in sorted(files(name)):
        joined.update(each.encode() + b"\0" + hashlib.sha256(_read(each)[0]).digest())
    return joined.hexdigest()[:16]


def declared(name):
    """Return what each function of a file of kernels says of its arguments, where it is called from outside."""
    found = CALLED.findall(_read(name)[0])
    return {function.decode(): b"".join(re.findall(rb'"([^"]*)"', text)).decode() for text, function in found}


def names():
    """Return the names of the files of kernels with functions that are called from outside."""
    files = sorted(os.listdir(os.path.dirname(__file__)))
    return [file[:-3] for file in files if file.endswith(".py") and declared(file[:-3])]
