"""Example pages for the site: `python docs/demo.py FOLDER` makes default.html and feeds.html.

The first is of the default corpus, the docstrings of the installed packages, with the report that
it links to. The second is of made feeds in German, run as a person does: `odl init`, `odl run`.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from screenshots import ROOT, feeds

PAGES = {
    "default.html": "results/demo/new.html",
    "report.html": "results/demo/report.html",
    "feeds.html": "news/new.html",
}


def main(folder):
    """Make the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    rules = ["-s", ROOT / "workflow" / "Snakefile", "--configfile", ROOT / "docs" / "demo.yaml"]
    with tempfile.TemporaryDirectory() as place:
        for program, *words in (
            [
                "snakemake",
                "--quiet",
                "all",
                "--cores",
                "all",
                "all",
                "results/demo/new.html",
                *rules,
            ],
            ["odl", "init", "news", *feeds(Path(place))],
            ["odl", "run", "news"],
        ):
            command = [Path(sys.executable).parent / program, *words]
            subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL)
        for name, page in PAGES.items():
            shutil.copy(Path(place) / page, folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
