"""Kernels compiled ahead of time give the bytes of the compiled ones, and nothing stale is ever loaded."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

from odl.kernels import native

CODE = """
import hashlib, sys
import numpy as np
from scipy import sparse
from odl import learners
from odl.prox import columns as prox
from odl.coding import exact

rng = np.random.default_rng(0)
P = sparse.random_array((60, 90), density=0.2, rng=rng, format="csr")
P.data /= np.repeat(np.asarray(P.sum(axis=1)), np.diff(P.indptr))
A = prox.project_columns(sparse.random_array((90, 20), density=0.3, rng=rng, format="csc") * 3)
X, objective = exact.codes(P, A, 0.1)
learner = learners.make("adaptive", terms=20)
state = learner.start(P, 10, rng)
codes = learner.score(learner.learn(state, P, None), P).codes
digest = hashlib.sha256()
for part in (A.data, X.data, X.indices, objective, state.dictionary.data, codes.data):
    digest.update(part.tobytes())
print(digest.hexdigest(), "numba" in sys.modules)
"""


def run(**settings):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **settings}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(not shutil.which(os.environ.get("CC", "cc")), reason="no C compiler to link a library with")
def test_libraries_give_the_same_bytes_without_numba():
    from odl.jobs import compile as ahead

    assert all(ahead.build(name) for name in native.FUNCTIONS)
    found, used = run()
    assert used == "False"
    assert run(ODL_NATIVE="0") == [found, "True"]


def test_a_library_belongs_to_one_state_of_its_source(tmp_path, monkeypatch):
    source = tmp_path / "exact.py"
    source.write_text("first")
    monkeypatch.setattr(native, "source", lambda name: source)
    before = native.library("exact")
    source.write_text("second")
    assert native.library("exact") != before


@pytest.mark.skipif(not shutil.which(os.environ.get("CC", "cc")), reason="no C compiler to link a library with")
def test_arrays_of_another_type_or_layout_are_refused():
    from odl.jobs import compile as ahead

    called = native.bind(native.ctypes.CDLL(ahead.build("exact")), "exact", "project_columns")
    start, values = np.array([0, 2]), np.array([2.0, 1.0])
    called(start, values, np.empty(2), 1e-16)
    assert values.tolist() == [1.0, 0.0]
    for wrong in (values.astype(np.float32), np.zeros(4)[::2], np.zeros((1, 2))):
        with pytest.raises(TypeError, match="project_columns"):
            called(start, wrong, np.empty(2), 1e-16)


def test_without_a_compiler_nothing_is_made(tmp_path, monkeypatch):
    from odl.jobs import compile as ahead

    monkeypatch.setenv("CC", str(tmp_path / "missing"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert ahead.build("exact") is None
    assert not list(tmp_path.glob("*.so"))
