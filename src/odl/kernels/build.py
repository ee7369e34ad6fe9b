"""The extension module of a checkout: it is built again when a source was edited."""

import fcntl
import os
import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from odl.errors import ConfigError


def build_if_edited(root):
    """Build the extension module of the checkout `root` if a source is newer than it.

    Nothing is done if no editable installation has built it there.
    """
    minor = min(sys.version_info.minor, 12)  # newer versions of Python share one module
    caches = sorted(root.glob(f"build/editable-cp3{minor}-*/CMakeCache.txt"))
    if not caches or not (module := _edited_module(root)):
        return
    with (caches[0].parent / "odl.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of jobs that start at once one builds
        if _edited_module(root):
            print("odl: building the kernels that were edited", file=sys.stderr, flush=True)
            _build(caches[0])
            os.utime(module)  # of a source that the module does not use


def _edited_module(root):
    """Return the path of the extension module if a source is newer, else None."""
    folder = root / "src" / "odl" / "kernels"
    module = next((path for end in EXTENSION_SUFFIXES if (path := folder / f"_kernels{end}").exists()), None)
    sources = [root / "CMakeLists.txt", *folder.glob("*.cpp"), *folder.glob("*.h")]
    newest = max(path.stat().st_mtime_ns for path in sources)
    return module if module and module.stat().st_mtime_ns < newest else None


def _build(cache):
    cmake = Path(re.search(r"^CMAKE_COMMAND:INTERNAL=(.*)$", cache.read_text(), re.M)[1])
    if not cmake.exists():  # it was in an environment that pip made for the build
        defect = f"kernels were edited, and {cmake}, which built them, is gone"
        raise ConfigError(defect, "an installation after the edit", "make kernels, or pip install -e . again")
    done = subprocess.run([cmake, "--build", cache.parent, "--target", "_kernels"], capture_output=True, text=True)
    if done.returncode:
        print(done.stdout, done.stderr, sep="", file=sys.stderr)
        raise ConfigError("kernels that were edited do not compile", "C++ that compiles", "see the messages above")
