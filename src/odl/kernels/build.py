"""Rebuild of the extension module of an editable installation after a source was edited."""

import fcntl
import os
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from odl.errors import ConfigError


def build_if_edited(root):
    """Rebuild the extension module of the checkout `root` if one of its sources is newer.

    Does nothing without an editable installation of the checkout.
    """
    minor = min(sys.version_info.minor, 12)  # newer versions of Python share one module
    caches = sorted(root.glob(f"build/editable-cp3{minor}-*/CMakeCache.txt"))
    if not caches or not (module := _edited_module(root)):
        return
    with (caches[0].parent / "odl.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of several jobs that start together, one builds
        if _edited_module(root):
            print("odl: building the kernels that were edited", file=sys.stderr, flush=True)
            _build(caches[0])
            os.utime(module)  # CMake does not touch the module if it does not use the edited source


def _edited_module(root):
    """Return the path of the extension module if one of its sources is newer, else None."""
    folder = root / "src" / "odl" / "kernels"
    module = next(
        (path for end in EXTENSION_SUFFIXES if (path := folder / f"_kernels{end}").exists()), None
    )
    sources = [root / "CMakeLists.txt", *folder.glob("*.cpp"), *folder.glob("*.h")]
    newest = max(path.stat().st_mtime_ns for path in sources)
    return module if module and module.stat().st_mtime_ns < newest else None


def _build(cache):
    cmake = Path(re.search(r"^CMAKE_COMMAND:INTERNAL=(.*)$", cache.read_text(), re.M)[1])
    if not cmake.exists():  # pip deletes the environment that it creates for a build
        defect = f"kernels were edited, and {cmake}, which built them, is gone"
        raise ConfigError(
            defect,
            "an installation after the edit",
            "run make kernels, or pip install -e . again",
        )
    result = subprocess.run(
        [cmake, "--build", cache.parent, "--target", "_kernels"], capture_output=True, text=True
    )
    if result.returncode:
        print(result.stdout, result.stderr, sep="", file=sys.stderr)
        raise ConfigError(
            "kernels that were edited do not compile", "C++ that compiles", "see the messages above"
        )
