"""Run the tests of kernels with the address and undefined-behaviour sanitizers.

``python tests/helpers/sanitized.py [tests ...]`` builds the extension module with
-fsanitize=address,undefined and with checked array indices into build/sanitized, and runs the tests
in a process that has loaded it. Without arguments it runs the tests of all rooms that call kernels.
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
MODULE = "ODL_SANITIZED"  # environment variable: path of the module that the tests use


def build():
    """Build the extension module with sanitizers; return its path."""
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


def library_path(name):
    """Return the path of a library of the compiler; sanitizers need theirs loaded before Python."""
    result = subprocess.run(
        [os.environ.get("CXX", "c++"), f"-print-file-name={name}"], capture_output=True, text=True
    )
    return result.stdout.strip()


def load(path):
    """Load the module at a path as `odl.kernels._kernels`, in place of that of the package."""
    loader = importlib.machinery.ExtensionFileLoader("odl.kernels._kernels", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    sys.modules[loader.name] = module


def main():
    """Build the module and start this file again with it; there, run the tests. Return the exit status."""
    tests = sys.argv[1:] or [str(ROOT / "tests" / room) for room in ROOMS]
    if MODULE in os.environ:
        import pytest

        load(os.environ[MODULE])
        # --capture=sys shows the reports of sanitizers, which are written to the file descriptor.
        # The tests for lack of memory allocate more than the address sanitizer allows.
        options = ["-q", "-p", "no:cacheprovider", "--capture=sys", "-k", "not no_memory"]
        return pytest.main([*options, *tests])
    os.environ["PATH"] = os.pathsep.join(
        [os.path.dirname(sys.executable), os.environ["PATH"]]
    )  # cmake and ninja
    path = build()
    options = "detect_leaks=0:abort_on_error=0:allocator_may_return_null=1"
    preload = " ".join(map(library_path, ("libasan.so", "libubsan.so", "libstdc++.so")))
    variables = {**os.environ, MODULE: str(path), "LD_PRELOAD": preload, "ASAN_OPTIONS": options}
    return subprocess.run([sys.executable, __file__, *tests], env=variables, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
