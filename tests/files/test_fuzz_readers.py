"""Malformed files for every reader: refused in one sentence or accepted, within bounds of memory and time.

The long run is ``make fuzz``; `fuzz_targets` lists the readers, `fuzzing` makes the files.
"""

import re
import subprocess
import sys

import fuzz
import fuzz_targets
import fuzz_world
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from places import ROOT

EXAMPLES = 3  # a reader; `make test-long` has 300, and MANY of hypothesis
MANY = 40


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return fuzz_world.build(tmp_path_factory.mktemp("fuzz") / "world")


@pytest.fixture(scope="module")
def targets(world):
    return fuzz_targets.targets(world)


@pytest.mark.slow
def test_the_long_run_in_short(world, targets):
    """Every reader in its own process, with bounded memory; all results are expected ones."""
    command = [
        sys.executable,
        "tests/helpers/fuzz.py",
        "--examples",
        str(EXAMPLES),
        "--world",
        str(world),
    ]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in found.stdout.splitlines()
        if line[:1] == "|"
    ]
    held = {row[0]: list(map(int, row[1:7])) for row in rows[2:]}
    assert set(held) == {*targets, "all"}, found.stderr
    assert found.returncode == 0 and held["all"][3:] == [0, 0, 0], found.stdout
    assert held["all"][0] == EXAMPLES * len(targets) and min(held["all"][1:3]) > EXAMPLES


def many(count):
    return settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.long
def test_a_made_file_is_refused_or_accepted(targets, tmp_path):
    """The generators with hypothesis, which shrinks a failing file."""
    for name, target in targets.items():
        judged(name, target, tmp_path / f"fuzz-{re.sub('[^a-z0-9]', '-', name.lower())}")


def judged(name, target, folder):
    @many(MANY)
    @given(rnd=st.randoms(use_true_random=False))
    def each(rnd):
        assert fuzz.judge(target, fuzz.write(target, rnd, folder)) in ("refused", "accepted"), name

    each()


@pytest.mark.slow
def test_the_judge_sees_what_it_shall(tmp_path, monkeypatch):
    """A reader with every fault: the run must count each of them."""

    def read(path):
        kind = path.read_bytes()[:1]
        if kind == b"t":
            raise KeyError("x")
        if kind == b"m":
            bytearray(fuzz.MEMORY * 2)
        while kind == b"s":
            pass
        if kind == b"c":
            import ctypes

            ctypes.string_at(0)

    monkeypatch.setattr(fuzz, "SECONDS", 1)
    target = fuzz_targets.Target(".x", lambda number: "tmsca"[number].encode(), read)
    row, wrong = fuzz.run(
        "faults", target, 5, 100.0, tmp_path / "x", chance=lambda name, number: number
    )
    assert dict(zip(fuzz.HEADER[1:7], row[1:7], strict=True)) == {
        "examples": 5, "refused": 0, "accepted": 1, "tracebacks": 2, "crashes": 1, "too slow": 1,
    }  # fmt: skip
    assert sorted(text.split()[0] for text in wrong) == ["KeyError", "MemoryError", "crash", "too"]
