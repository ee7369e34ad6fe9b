"""Run the tests of kernels with an extension module that looks at every place in memory and every undefined operation.

``python tests/helpers/sanitized.py [tests ...]`` builds the module with
-fsanitize=address,undefined, with checked places of arrays, into build/sanitized, and runs the
tests in a process that has it.
"""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys

from places import ROOT

BUILD = ROOT / "build" / "sanitized"
SANITIZERS = "address,undefined"
ROOMS = ("kernels", "prox", "coding", "dictionary", "learners", "distributed", "text")
INSIDE = "ODL_SANITIZED"  # path of the module, in the process that runs the tests


def build():
    """Build the module; return its path."""
    import nanobind

    settings = {
        "CMAKE_BUILD_TYPE": "Debug",
        "CMAKE_CXX_FLAGS_DEBUG": "-O1 -g",
        "ODL_SANITIZE": SANITIZERS,
        "Python_EXECUTABLE": sys.executable,
        "nanobind_DIR": nanobind.cmake_dir(),
    }
    words = [f"-D{name}={value}" for name, value in settings.items()]
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", *words], check=True)
    subprocess.run(["cmake", "--build", BUILD], check=True)
    (path,) = BUILD.glob("_kernels*.so")
    return path


def library(name):
    """Return the path of a library of the compiler, which has to be there before Python."""
    found = subprocess.run(
        [os.environ.get("CXX", "c++"), f"-print-file-name={name}"], capture_output=True, text=True
    )
    return found.stdout.strip()


def load(path):
    """Let the module stand for the one of the package."""
    loader = importlib.machinery.ExtensionFileLoader("odl.kernels._kernels", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    sys.modules[loader.name] = module


def main():
    tests = sys.argv[1:] or [str(ROOT / "tests" / room) for room in ROOMS]
    if INSIDE in os.environ:
        import pytest

        load(os.environ[INSIDE])
        # What a sanitizer prints is seen; an array too large for any memory ends its process.
        options = ["-q", "-p", "no:cacheprovider", "--capture=sys", "-k", "not no_memory"]
        return pytest.main([*options, *tests])
    os.environ["PATH"] = os.pathsep.join(
        [os.path.dirname(sys.executable), os.environ["PATH"]]
    )  # cmake and ninja
    path = build()
    options = "detect_leaks=0:abort_on_error=0:allocator_may_return_null=1"
    preload = " ".join(map(library, ("libasan.so", "libubsan.so", "libstdc++.so")))
    variables = {**os.environ, INSIDE: str(path), "LD_PRELOAD": preload, "ASAN_OPTIONS": options}
    return subprocess.run([sys.executable, __file__, *tests], env=variables, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
