"""The workflow, its defaults and the registry lie at the top of the repository; a wheel has them inside the package.

With `ODL_LIBRARIES`, a folder that `odl step compile --libraries` filled, the wheel has these compiled kernels too and
is for one platform; without, it is for all (`make wheel`, `make dist`).
"""

import os
import re
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
SHARED = ("workflow", "config/config.yaml", "data/corpora.csv", "profiles")
FOUND = (HERE / os.environ["ODL_LIBRARIES"]).glob("*.so") if os.environ.get("ODL_LIBRARIES") else []
LIBRARIES = sorted(path for path in FOUND if Path(f"{path}.sha256").exists())  # without its digest none is loaded
if os.environ.get("ODL_LIBRARIES") and not LIBRARIES:
    sys.exit("setup.py: no library in ODL_LIBRARIES; expected those of 'odl step compile --libraries'; make them first")


class BuildWithWorkflow(build_py):
    """Copy what `odl.config.places` looks for into odl/share; an editable install finds it where it is."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        package = Path(self.build_lib) / "odl"
        share, libraries = package / "share", package / "kernels" / "libraries"
        for made_before in (share, libraries):
            shutil.rmtree(made_before, ignore_errors=True)
        for name in SHARED:
            source, target = HERE / name, share / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        for library in LIBRARIES:
            libraries.mkdir(exist_ok=True)
            shutil.copy(library, libraries)
            shutil.copy(f"{library}.sha256", libraries)


class WheelOfPlatform(bdist_wheel):
    """Libraries call C alone, no Python: a wheel with them is for every Python of a platform."""

    def get_tag(self):
        return ("py3", "none", platform_of(LIBRARIES)) if LIBRARIES else super().get_tag()


def platform_of(libraries):
    """Return the tag of this platform; on Linux with the oldest C library that has all that they call (PEP 600)."""
    name = re.sub(r"\W", "_", sysconfig.get_platform())
    if not name.startswith("linux_"):
        return name
    versions = [int(found) for path in libraries for found in re.findall(rb"\0GLIBC_2\.(\d+)", path.read_bytes())]
    return f"many{name.replace('_', f'_2_{max([17, *versions])}_', 1)}"


class WithLibraries(Distribution):
    """What belongs to a platform lies where it keeps such packages."""

    def has_ext_modules(self):
        return bool(LIBRARIES)


setup(distclass=WithLibraries, cmdclass={"build_py": BuildWithWorkflow, "bdist_wheel": WheelOfPlatform})
