"""From `pip install` to the page on the default corpus: a wheel, an empty environment, an empty folder.

    make dist
    python benchmarks/firstpage.py dist/*.whl

Each line: what was done, seconds on the clock, CPU seconds (of all its processes). The wheel is installed without a
cache of packages, so the clock depends on the network; `--constraint` takes a file of versions.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from measure import child, facts

CODE = "from odl.config import places; print(places.SNAKEFILE)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--constraint", type=Path, help="versions to install")
    parser.add_argument("--cores", default="all")
    parser.add_argument("--keep", type=Path, help="folder to copy the page to")
    args = parser.parse_args()
    for name, value in facts():
        print(f"{name}: {value}", flush=True)
    with tempfile.TemporaryDirectory() as place:
        measured(Path(place), args)
    return 0


def measured(place, args):
    """Go from nothing to the page in a folder, and print what each step took."""
    folder, bin = place / "empty", place / "venv" / "bin"
    folder.mkdir()
    # Nothing of this checkout, and no cache of packages.
    alone = {"PYTHONPATH": "", "PIP_NO_CACHE_DIR": "1", "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}"}
    versions = ["--constraint", args.constraint.resolve()] if args.constraint else []

    def step(said, *command):
        cost = child(command, folder, alone)
        print(f"{said:<28} {cost.wall:7.1f} s  {cost.cpu:7.1f} CPU s", flush=True)
        return cost

    step("python -m venv", sys.executable, "-m", "venv", place / "venv")
    step("pip install", bin / "pip", "install", "--quiet", *versions, args.wheel.resolve())
    step("odl step compile", bin / "odl", "step", "compile")
    workflow = child([bin / "python", "-c", CODE], folder, alone).printed.strip()
    given = ["--quiet", "all", "--logger", "odl", "--cores", args.cores, "--config", "alerts={run: levels}"]
    step("the default study", bin / "snakemake", "-s", workflow, *given)
    page = folder / "results" / "default" / "new.html"
    print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
        for name in ("new.html", "report.html"):
            shutil.copy(page.with_name(name), args.keep)


if __name__ == "__main__":
    sys.exit(main())
