"""Rebuild the compiled kernels of an editable installation after a C++ source was edited."""

import fcntl
import os
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from odl.errors import ConfigError


def build_if_edited(root):
    """Rebuild the extension module in the checkout `root` if a source is newer than the module.

    A line on standard error reports the build. If several processes start together, one builds and
    the others wait. Nothing is built if `root` has no editable installation.

    Raises
    ------
    ConfigError
        If the sources do not compile, or CMake was in a temporary environment that was deleted.
    """
    minor = min(sys.version_info.minor, 12)  # newer versions of Python share one module
    caches = sorted(root.glob(f"build/editable-cp3{minor}-*/CMakeCache.txt"))
    if not caches or not (module := _edited_module(root)):
        return
    with (caches[0].parent / "odl.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _edited_module(root):  # no other process has built it while this one waited
            print("odl: building the kernels that were edited", file=sys.stderr, flush=True)
            _build(caches[0])
            # CMake does not write the module if no part of it uses the edited source. Without a new
            # time, the module would be older than the source forever.
            os.utime(module)


def _edited_module(root):
    """Return the path of the extension module if a source is newer than it, else None."""
    folder = root / "src" / "odl" / "kernels"
    module = next(
        (path for end in EXTENSION_SUFFIXES if (path := folder / f"_kernels{end}").exists()), None
    )
    sources = [root / "CMakeLists.txt", *folder.glob("*.cpp"), *folder.glob("*.h")]
    newest = max(path.stat().st_mtime_ns for path in sources)
    return module if module and module.stat().st_mtime_ns < newest else None


def _build(cache):
    """Compile the kernels in the folder of a CMakeCache.txt, with the CMake that it names."""
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
