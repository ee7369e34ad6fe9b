"""Bindings of the extension module: wrong arrays are refused, others are not copied."""

import re
import threading
import time

import numpy as np
import pytest
from places import ROOT

import odl.kernels
from odl.config import sources
from odl.kernels import (
    block_descent,
    edge_following,
    known_pieces,
    simplex_projection,
    ward_merging,
)

KERNELS = ROOT / "src" / "odl" / "kernels"
START, VALUES, ROOM = np.array([0, 2]), np.array([0.9, 0.8]), np.empty(2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            (START.astype(np.int32), VALUES, ROOM),
            "int32 array of shape (2,) for a kernel; expected an array of int64 ",
        ),
        (
            (START, VALUES[None], ROOM),
            "float64 array of shape (1, 2) for a kernel; expected a writable array of float",
        ),
        (
            (START, np.zeros(4)[::2], ROOM),
            "float64 array of shape (2,), not row after row for a kernel; expected ",
        ),
        (
            (START, [0.5, 0.5], ROOM),
            "an object of type list for a kernel; expected a writable array of float64 with ",
        ),
    ],
)
def test_another_type_or_shape_is_one_sentence(arguments, said):
    with pytest.raises(TypeError, match=re.escape(said)):
        simplex_projection.project_columns(*arguments, 1e-16)


def test_a_read_only_array_is_read_and_never_written():
    start, values = START.copy(), VALUES.copy()
    start.flags.writeable = values.flags.writeable = False
    with pytest.raises(TypeError, match="read-only for a kernel; expected a writable array"):
        simplex_projection.project_columns(START, values, ROOM, 1e-16)
    simplex_projection.project_columns(start, VALUES.copy(), ROOM, 1e-16)


def test_a_tuple_of_another_length_is_one_sentence():
    rows = np.zeros(1, np.int64), np.zeros(0, np.uint32)
    with pytest.raises(TypeError, match="tuple for a kernel; expected a tuple of 3"):
        edge_following.code_documents(rows, rows, rows, np.zeros(0), 0.0, -1)
    with pytest.raises(TypeError, match="expected a tuple of 15"):
        ward_merging.group((), 1)


def test_a_number_of_another_type_names_what_is_expected():
    with pytest.raises(TypeError, match=r"epsilon: float"):
        simplex_projection.project_columns(START, VALUES, ROOM, "small")
    simplex_projection.project_columns(START, VALUES.copy(), ROOM, np.float64(1e-16))


def test_empty_arrays_pass():
    none = np.zeros(0, np.int64)
    simplex_projection.project_columns(none, np.zeros(0), np.zeros(0), 1e-16)
    rows = np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0)
    assert [
        len(part) for part in edge_following.code_documents(rows, rows, rows, np.zeros(0), 0.0, -1)
    ] == [0] * 6


def test_an_array_that_a_kernel_made_is_an_ordinary_one():
    rows = np.array([0, 1]), np.zeros(1, np.uint32), np.ones(1)
    lengths, _, _, objective, _, failed = edge_following.code_documents(
        rows, rows, rows, np.ones(1), 0.0, -1
    )
    assert lengths.tolist() == [1] and lengths.flags.writeable and lengths.dtype == np.int64
    assert objective.dtype == np.float64 and failed.dtype == np.bool_ and failed.tolist() == [False]


def test_no_memory_is_an_error_of_python():
    with pytest.raises(MemoryError):
        block_descent.project_rows(np.zeros((0, 2**59)), 0.5, True, 1e-16)


def test_arrays_live_as_long_as_their_counter():
    """The counter uses arrays without another reference."""
    kinds = np.full(65536, 3, np.uint8)
    kinds[32] = 0
    sizes = np.array([6, 32, 7, 0], np.int32)
    table = (*(np.zeros(64, np.int32) for _ in range(4)), np.zeros(512, np.uint8))
    text = np.frombuffer(b"Oil ab ", np.uint8)[:7].copy()
    sizes[0] = len(text)
    work = (text, kinds, *(np.zeros(64, np.int32) for _ in range(4)))
    counter = known_pieces.Counter(table, work, sizes)
    del table, work, text, kinds
    np.full(4096, 255, np.uint8)  # memory that was given back may be taken again
    assert counter.count() == 0 and sizes[3] == 2
    assert (
        counter.count() == 0 and sizes[3] == 2
    )  # both are known, and nobody has said what they are


def test_other_threads_run_while_a_kernel_does():
    """One of several attempts suffices: on a busy machine the kernel may end first."""
    many = 1 << 20
    start, values, out = np.array([0, many]), np.linspace(0.0, 1.0, many), np.empty(many)

    def count_turns():
        seen, turns = [], 0

        def project():
            simplex_projection.project_columns(start, values, out, 1e-16)
            seen.append(True)

        thread = threading.Thread(target=project)
        thread.start()
        while not seen:
            turns += 1
            time.sleep(0)
        thread.join()
        return turns

    assert any(count_turns() > 10 for _ in range(20))


class TestSubjects:
    """Every subject has a file, and is imported from the package."""

    @pytest.mark.parametrize("name", odl.kernels.__all__)
    def test_functions_have_docstrings(self, name):
        for function, value in vars(getattr(odl.kernels, name)).items():
            if callable(value) and not function.startswith("_"):
                assert len(value.__doc__.splitlines()) > 2, function

    def test_all_are_imported(self):
        found = {
            path.stem for path in KERNELS.glob("*.cpp") if f"bind_{path.stem}(" in path.read_text()
        }
        assert found == set(odl.kernels.__all__)


class TestSources:
    """The code of a result has the C++ that it runs."""

    def test_headers_belong_to_it(self):
        reached = sources.closure("learners/adaptive")
        assert {
            "kernels/atom_clusters.cpp",
            "kernels/ward_merging.h",
            "kernels/inverted_lists.h",
        } <= reached
        assert "kernels/edge_following.cpp" not in reached
        assert {"kernels/edge_following.cpp", "kernels/screening.h"} <= sources.closure(
            "coding/exact"
        )

    def test_comments_and_documentation_mean_nothing(self):
        def meaning(text):
            return sources.facts_of("kernels/a.cpp", text)[0]

        text = 'int f() { return g("a // b"); }  // twice\n'
        assert meaning(text) == meaning(
            '// New.\nint f() {\n  return g("a // b");\n}\nR"(Text.)"'.replace('R"', ' R"')
        )
        assert meaning(text) != meaning(text.replace("a // b", "a // c"))
        assert meaning(text) != meaning(text.replace("return", "return 1 +"))
