"""Shared by all parts: rows and limits, CPU time of processes, facts about the machine."""

import functools
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy import sparse

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("odl", "numpy", "scipy", "h5py", "highspy", "snakemake")
COLUMNS = ("part", "what", "value", "unit", "in units", "limit", "verdict")
SECONDS = {"CPU s": 1.0, "CPU ms": 1e-3, "CPU us": 1e-6, "CPU min": 60.0}
ON_THE_CLOCK = ("s", "ms", "us", "min")
# CPU seconds of the unit on the idle machine of docs/results.md, to which the limits refer
UNIT_OF_DOCS = 0.06


class Row(NamedTuple):
    """One line of the table.

    Attributes
    ----------
    part, what : str
    value : float or None
        None if it could not be measured; `what` says why.
    unit : str
    limit : str
        ``<= 0.25``, ``>= 30``, or empty without a limit; for CPU times ``<= 4 units`` (`within`).
    units : float or None
        A CPU time as a multiple of the unit of the machine (`unit`).
    """

    part: str
    what: str
    value: float | None
    unit: str = ""
    limit: str = ""
    units: float | None = None

    def over(self, unit):
        """Return a copy with the CPU time as a multiple of a unit in seconds.

        Raises
        ------
        ValueError
            If the limit is a time.
        """
        of_units = self.limit.endswith("units")
        if self.limit and (of_units != (self.unit in SECONDS) or self.unit in ON_THE_CLOCK):
            raise ValueError(
                f"{self.what}: a limit of {self.limit} {self.unit}; limits of CPU times are in "
                "units of the machine"
            )
        if self.value is None or self.unit not in SECONDS:
            return self
        return self._replace(units=self.value * SECONDS[self.unit] / unit)

    def verdict(self):
        """Return "ok" or "over", "" without a limit, "not run" without a value."""
        if self.value is None:
            return "not run"
        if not self.limit:
            return ""
        sign, bound, *of_units = self.limit.split()
        value = self.units if of_units else self.value
        return (
            "ok" if (value <= float(bound) if sign == "<=" else value >= float(bound)) else "over"
        )

    def cells(self):
        """Return the row as text, in the order of `COLUMNS`."""
        value, units = (
            "" if number is None else show(number) for number in (self.value, self.units)
        )
        return [self.part, self.what, value, self.unit, units, self.limit, self.verdict()]


def show(value):
    """Return a number with three significant digits, without an exponent if it is near 1."""
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:.1e}"


def within(seconds):
    """Return a limit in units for a CPU time in seconds on the machine of docs/results.md."""
    return f"<= {show(seconds / UNIT_OF_DOCS)} units"


def unit(times=5):
    """Return the unit of the machine: median CPU seconds of fixed work.

    The work multiplies 2000 synthetic documents of 100 words with each other (scipy), and counts
    400,000 numbers in a dict, so half of it is compiled and half in Python.
    """
    documents, transposed = _documents()
    return median(cpu(_work, documents, transposed)[0] for _ in range(times))


def _work(documents, transposed):
    counts, products = {}, documents @ transposed
    for number in range(400_000):
        word = number * 7919 % 4001
        counts[word] = counts.get(word, 0) + 1
    return products.nnz + len(counts)


@functools.cache
def _documents(count=2000, words=100, terms=20_000):
    columns = np.random.default_rng(0).integers(terms, size=count * words)
    held = sparse.csr_array(
        (np.ones(len(columns)), (np.repeat(np.arange(count), words), columns)), (count, terms)
    )
    return held, sparse.csr_array(held.T)


class Cost(NamedTuple):
    """CPU seconds and peak bytes of a process and its children, wall seconds, and its output."""

    cpu: float
    rss: float
    wall: float
    printed: str


def cpu(function, *arguments):
    """Return (CPU seconds of this process, result) of a call."""
    began = time.process_time()
    result = function(*arguments)
    return time.process_time() - began, result


def child(command, folder=ROOT, environment=None):
    """Run a command until it ends.

    Returns
    -------
    Cost

    Raises
    ------
    RuntimeError
        If it fails; the message has the end of its output.
    """
    variables = {**os.environ, **(environment or {})}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have bytecode
    with tempfile.TemporaryDirectory() as place:
        report, launcher = Path(place) / "cost.json", Path(__file__).with_name("launch.py")
        done = subprocess.run(
            [sys.executable, "-IS", str(launcher), str(report), *map(str, command)],
            cwd=folder, env=variables, text=True, errors="replace",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(
                f"{' '.join(map(str, command[:2]))} ... failed:\n{done.stdout[-2000:]}"
            )
        return Cost(**json.loads(report.read_text()), printed=done.stdout)


def repeated(command, times, **options):
    """Run a command several times; return the median of each cost."""
    costs = [child(command, **options) for _ in range(times)]
    return Cost(*(median(cost[figure] for cost in costs) for figure in range(3)), costs[-1].printed)


def tool(name):
    """Return the path of a command of this environment."""
    path = Path(sys.executable).with_name(name)
    return str(path) if path.exists() else name


def say(text):
    """Print progress to standard error; standard output has the table only."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def facts():
    """Return (name, value) pairs: processor, cores, load, Python, versions."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(
            (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
            model,
        )
    except OSError:
        pass
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = [("processor", model), ("cores", f"{usable} usable of {os.cpu_count()}")]
    found.append(("load before", " ".join(f"{value:.2f}" for value in os.getloadavg())))
    found.append(("system", f"{platform.system()} {platform.release()}"))
    found.append(("Python", platform.python_version()))
    for package in PACKAGES:
        try:
            name = "online-dictionary-learning" if package == "odl" else package
            found.append((package, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            found.append((package, "not installed"))
    return found


def table(rows):
    """Format rows as an aligned table."""
    cells = [list(COLUMNS), *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(COLUMNS))]
    lines = []
    for line in cells:
        parts = [
            text.rjust(widths[at]) if at in (2, 4) else text.ljust(widths[at])
            for at, text in enumerate(line)
        ]
        lines.append("  ".join(parts).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
