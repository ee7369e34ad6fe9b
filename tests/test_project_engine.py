"""Snakemake as `odl run` begins it: what is put off comes when it is asked for."""

import subprocess
import sys

import pytest

PUT_OFF = """
import importlib.util, sys
from odl.project import engine
engine.runpy.run_module = lambda name, **options: sys.modules.setdefault("ran", name)
engine.main()
held = sys.modules["pandas"]
import pandas
assert pandas is held and "numpy" not in sys.modules and importlib.util.find_spec("pandas") is held.__spec__
assert pandas.DataFrame({"a": [1]}).shape == (1, 1) and sys.modules["pandas"] is not held
import pandas.testing
from pandas import Series
assert held.Series is Series and sys.modules["ran"] == "snakemake"
"""


def test_pandas_is_imported_when_something_of_it_is_asked_for():
    pytest.importorskip("pandas")
    subprocess.run([sys.executable, "-c", PUT_OFF], check=True)


def test_it_is_snakemake():
    said = [
        subprocess.run([sys.executable, "-m", name, "--version"], capture_output=True, text=True, check=True).stdout
        for name in ("odl.project.engine", "snakemake")
    ]
    assert said[0] == said[1] != ""
