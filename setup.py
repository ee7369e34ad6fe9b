"""The workflow, its defaults and the registry lie at the top of the repository; a wheel has them inside the package."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHARED = ("workflow", "config/config.yaml", "data/corpora.csv", "profiles")


class BuildWithWorkflow(build_py):
    """Copy what `odl.config.places` looks for into odl/share; an editable install finds it where it is."""

    def run(self):
        super().run()
        if self.editable_mode:
            return
        share = Path(self.build_lib) / "odl" / "share"
        shutil.rmtree(share, ignore_errors=True)
        for name in SHARED:
            source, target = Path(__file__).parent / name, share / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)


setup(cmdclass={"build_py": BuildWithWorkflow})
