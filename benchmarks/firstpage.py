"""Time from `pip install` of a wheel to the page of the default corpus.

    make dist
    python benchmarks/firstpage.py dist/*.whl

Environment and folder are empty at the start. Each line has a step, wall seconds and CPU seconds of
all its processes. The wheel is installed without a package cache, so wall time depends on the
network; `--constraint` takes a file of versions. `--posts` runs `odl init` and `odl run` on other
files. Each of several wheels gets its own environment.
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
    parser.add_argument("wheel", type=Path, nargs="+")
    parser.add_argument(
        "--posts", type=Path, nargs="+", help="one's own files, for odl init and odl run"
    )
    parser.add_argument("--constraint", type=Path, help="versions to install")
    parser.add_argument("--cores", default="all")
    parser.add_argument("--keep", type=Path, help="folder to copy the page to")
    args = parser.parse_args()
    for name, value in facts():
        print(f"{name}: {value}", flush=True)
    for wheel in args.wheel:
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB", flush=True)
        with tempfile.TemporaryDirectory() as place:
            measured(Path(place), wheel, args)
    return 0


def measured(place, wheel, args):
    """Run all steps in a folder, and print the cost of each."""
    folder, bin = place / "empty", place / "venv" / "bin"
    folder.mkdir()
    # Variables without this checkout and without a package cache
    clean = {
        "PYTHONPATH": "",
        "PIP_NO_CACHE_DIR": "1",
        "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}",
    }
    versions = ["--constraint", args.constraint.resolve()] if args.constraint else []

    def step(name, *command):
        cost = child(command, folder, clean)
        print(f"{name:<34} {cost.wall:7.1f} s  {cost.cpu:7.1f} CPU s", flush=True)
        return cost

    step("python -m venv", sys.executable, "-m", "venv", place / "venv")
    step("pip install", bin / "pip", "install", "--quiet", *versions, wheel.resolve())
    package, environment = size(place) / 1e6, size(place, "*") / 1e6
    print(f"the package: {package:.1f} MB, the environment: {environment:.0f} MB", flush=True)
    if args.posts:
        step("odl init", bin / "odl", "init", "news", *[path.resolve() for path in args.posts])
        step("odl run", bin / "odl", "run", "news")
        return
    workflow = child([bin / "python", "-c", CODE], folder, clean).printed.strip()
    given = ["--quiet", "all", "--cores", args.cores]
    step("the default study", bin / "snakemake", "-s", workflow, *given)
    page = folder / "results" / "default" / "new.html"
    print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
        for name in ("new.html", "report.html"):
            shutil.copy(page.with_name(name), args.keep)


def size(place, package="odl"):
    """Return the installed size of a package in bytes."""
    files = (place / "venv").glob(f"lib/python*/site-packages/{package}/**/*")
    return sum(path.stat().st_size for path in files if path.is_file())


if __name__ == "__main__":
    sys.exit(main())
