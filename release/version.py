"""`python release/version.py 0.3.0` writes the number of a version, and the date, into all files.

That is the package, the citation, the changelog and the conda recipe. `--address URL` and `--doi
DOI` go into the citation, from which docs, paper and support take them; the address also goes into
what describes the package. It refuses a version that is not above the last one, a changelog without
news, and a tree with changes that are not committed. `make release` calls it first.
"""

import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = {
    "src/odl/__init__.py": r'(?<=__version__ = ")[^"]+',
    "CITATION.cff": r"(?<=\nversion: )\S+",
    "release/recipe.yaml": r'(?<=\n  version: ")[^"]+',
}


def numbers(version):
    """Return the numbers of a version such as 0.3.0."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(
            f"the version is {version!r}; expected three numbers, such as 0.3.0; give VERSION=..."
        )
    return tuple(map(int, version.split(".")))


def write(root, version, date):
    """Write a version and its date into the files below a folder."""
    last = re.search(
        PLACES["src/odl/__init__.py"], (root / "src/odl/__init__.py").read_text(encoding="utf-8")
    )[0]
    if numbers(version) <= numbers(last):
        sys.exit(
            f"the version is {version} and the last one {last}; expected a higher one; give another"
        )
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(r"\n## \[Unreleased\]\n+(?!## )\S", changes):
        sys.exit("CHANGELOG.md has nothing under Unreleased; expected what changed; write it there")
    heading = f"\n## [Unreleased]\n\n## [{version}] - {date}\n"
    (root / "CHANGELOG.md").write_text(
        changes.replace("\n## [Unreleased]\n", heading, 1), encoding="utf-8"
    )
    for name, place in PLACES.items():
        text = re.sub(place, version, (root / name).read_text(encoding="utf-8"), count=1)
        (root / name).write_text(re.sub(r"(?<=\ndate-released: )\S+", date, text), encoding="utf-8")


def locate(root, address="", doi=""):
    """Write the address of the repository into citation and package, the DOI into the citation."""
    citation = root / "CITATION.cff"
    for key, value in (("repository-code", address), ("doi", doi)):
        if value:
            text = re.sub(rf"(?m)^{key}: .*\n", "", citation.read_text(encoding="utf-8"))
            text = text.replace("\nlicense: ", f'\n{key}: "{value}"\nlicense: ', 1)
            citation.write_text(text, encoding="utf-8")
    if address:
        project, recipe = root / "pyproject.toml", root / "release" / "recipe.yaml"
        text = re.sub(r"\n\[project\.urls\]\n.*\n", "", project.read_text(encoding="utf-8"))
        urls = f'\n[project.urls]\nRepository = "{address}"\n'
        project.write_text(
            text.replace("\n[project.scripts]\n", f"{urls}\n[project.scripts]\n", 1),
            encoding="utf-8",
        )
        text = re.sub(r"\n  repository: .*", "", recipe.read_text(encoding="utf-8"))
        recipe.write_text(
            text.replace("\nabout:\n", f"\nabout:\n  repository: {address}\n", 1), encoding="utf-8"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version")
    parser.add_argument("--address", default="", help="of the repository")
    parser.add_argument("--doi", default="")
    arguments = parser.parse_args()
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    if changed:
        sys.exit(
            f"{len(changed.splitlines())} files are not committed; "
            "expected a clean clone; commit or clone"
        )
    write(ROOT, arguments.version, datetime.date.today().isoformat())
    locate(ROOT, arguments.address, arguments.doi)
