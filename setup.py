"""The workflow, its defaults and the registry lie at the top of the repository; a wheel has them inside the package.

Kernels are compiled here, by numba and a C compiler, so that who installs the package needs neither; such a wheel is
for one platform. `ODL_LIBRARIES` names a folder of some that were compiled before; "none" leaves them to numba, at
their first call (the extra `compile`).
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
SHARED = ("workflow", "config/config.yaml", "data/corpora.csv", "profiles")
MAKE = """if True:  # run by another process, since numba keeps settings of the one that imports it
    import sys
    from odl.engine import processes
    from odl.errors import OdlError
    from odl.jobs import compile
    try:
        compile.build_whole(sys.argv[1] or None, processes.cores())
    except OdlError as error:
        sys.exit(f"setup.py: {error}")
"""


def compiled():
    """Return the libraries for a wheel; an editable install finds them where they are compiled."""
    named = os.environ.get("ODL_LIBRARIES", "")
    if named == "none" or not {"bdist_wheel", "editable_wheel"} & {*sys.argv}:
        return []
    folder = HERE / (named or "build/libraries")
    if not named:
        where = folder if "bdist_wheel" in sys.argv else ""
        paths = [str(HERE / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]  # pip's own for what builds
        plain = {"NUMBA_CPU_NAME": "generic", "PYTHONPATH": os.pathsep.join(paths)}
        if subprocess.run([sys.executable, "-c", MAKE, str(where)], env={**os.environ, **plain}).returncode:
            print("setup.py: kernels are compiled at their first call, by the extra `compile`", file=sys.stderr)
    found = sorted(path for path in folder.glob("*.so") if Path(f"{path}.sha256").exists())  # else none is loaded
    if named and not found:
        sys.exit(f"setup.py: no library with its digest in {folder}; expected some; unset ODL_LIBRARIES to make them")
    return found


LIBRARIES = compiled()


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
