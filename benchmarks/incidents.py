"""Incidents of made streams, as `odl init` and `odl run` tell them: six words that enter in two of twelve weeks of 250.

    python benchmarks/incidents.py [NAME ...] [--seed 0]

The streams are those of tests/helpers/recipes.py. Printed of each: documents of the incident; those under headlines
that speak, and other documents there; those that belong to events, and other documents there; then each headline.
"""

import argparse
import contextlib
import io
import sys
import tempfile
from pathlib import Path

import numpy as np

from odl import cli
from odl.alerts import read

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/helpers"))
import recipes

DOCUMENTS = 3000
ENOUGH = 5  # words of the incident that a document of it has


def run(place, name, rows):
    """Return the records of a stream that was run."""
    recipes.write(place, name, rows)
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main(["init", str(place / "own"), str(place / name / "*"), "--period", "week"])
        cli.main(["run", str(place / "own")])
    return [*read.records(read.place_of(place / "own"))]


def measure(records, rows, words):
    """Return the figures of a stream, a map; its documents are in the order of `rows`."""
    words_of = np.array([sum(word in text for word in words) for _, _, text in rows])
    own, at = words_of >= min(ENOUGH, len(words)), 0
    figures = dict.fromkeys(("documents", "told", "others told", "in events", "others in events"), 0)
    for record in records:
        here = own[at : at + len(record.score)]
        told = np.zeros(len(here), dtype=bool)
        told[[row for one in record.headlines for row in one.rows]] = True
        inside = record.event > 0
        found = (here, here & told, ~here & told, here & inside, ~here & inside)
        figures = {key: n + int(part.sum()) for (key, n), part in zip(figures.items(), found, strict=True)}
        at += len(here)
    return figures


def main():
    """Run the streams and print the figures."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("names", nargs="*", metavar="NAME", choices=[*recipes.MADE, []])
    words.add_argument("--seed", type=int, default=0)
    options = words.parse_args()
    for name in options.names or recipes.MADE:
        rows = [*recipes.made(name, DOCUMENTS, options.seed)]
        with tempfile.TemporaryDirectory() as place:
            records = run(Path(place), name, rows)
        figures = measure(records, rows, recipes.entering(name, options.seed))
        print(name, *(f"{key} {value}" for key, value in figures.items()), sep=", ")
        for record in records:
            for one in record.headlines:
                print(f"  week {record.t}: {', '.join(one.name) or 'a document'} ({one.size}, {one.gate}, {one.state})")


if __name__ == "__main__":
    main()
