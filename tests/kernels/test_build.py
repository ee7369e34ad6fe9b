"""Edited kernels are rebuilt when they are imported."""

import importlib
import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from places import ROOT

import odl.kernels
from odl.errors import ConfigError
from odl.kernels.build import build_if_edited

CMAKE = Path(sys.executable).parent / "cmake"
PROJECT = """
cmake_minimum_required(VERSION 3.18...4.1)
project(copies LANGUAGES NONE)
add_custom_command(OUTPUT {module} COMMAND ${{CMAKE_COMMAND}} -E copy {source} {module} DEPENDS {source})
add_custom_target(_kernels DEPENDS {module})
"""


@pytest.fixture
def checkout(tmp_path):
    """Create a checkout whose module is a copy of its only source; return root, source and module."""
    folder = tmp_path / "src" / "odl" / "kernels"
    folder.mkdir(parents=True)
    source, module = folder / "loops.cpp", folder / f"_kernels{EXTENSION_SUFFIXES[0]}"
    source.write_text("first")
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(source=source, module=module))
    build = tmp_path / "build" / f"editable-cp3{min(sys.version_info.minor, 12)}-here"
    make = f"-DCMAKE_MAKE_PROGRAM={CMAKE.parent / 'ninja'}"
    subprocess.run(
        [CMAKE, "-S", tmp_path, "-B", build, "-G", "Ninja", make], check=True, capture_output=True
    )
    module.write_text("first")
    return tmp_path, source, module


def edit(source, module, text="second"):
    source.write_text(text)
    os.utime(source, ns=(0, module.stat().st_mtime_ns + 1))


def test_an_edit_is_built_once(checkout, capfd):
    root, source, module = checkout
    edit(source, module)
    build_if_edited(root)
    assert module.read_text() == "second" and "building the kernels" in capfd.readouterr().err
    build_if_edited(root)
    assert capfd.readouterr().err == ""


def test_two_processes_build_once(checkout):
    root, source, module = checkout
    edit(source, module)
    program = f"from pathlib import Path; from odl.kernels.build import *; build_if_edited(Path({str(root)!r}))"
    jobs = [
        subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = [job.communicate()[1] for job in jobs]
    assert sorted(map(bool, printed)) == [False, True] and module.read_text() == "second"


@pytest.mark.parametrize("edited", ["other.h", "CMakeLists.txt"])
def test_a_file_that_the_module_does_not_use_is_built_once(checkout, capfd, edited):
    root, source, module = checkout
    path = next(root.glob(edited), source.with_name("other.h"))
    edit(path, module, path.read_text() if path.exists() else "")
    build_if_edited(root)
    build_if_edited(root)
    assert capfd.readouterr().err.count("building the kernels") == 1


def test_what_does_not_compile_is_refused(checkout, capfd):
    root, source, module = checkout
    (root / "CMakeLists.txt").write_text("message(FATAL_ERROR \"line 7: expected ';'\")")
    edit(source, module)
    with pytest.raises(ConfigError, match=r"do not compile; expected .*; see the messages"):
        build_if_edited(root)
    assert "line 7" in capfd.readouterr().err and module.read_text() == "first"


def test_a_build_tool_that_is_gone_is_named(checkout):
    root, source, module = checkout
    edit(source, module)
    for cache in root.glob("build/*/CMakeCache.txt"):
        cache.write_text("CMAKE_COMMAND:INTERNAL=/nowhere/cmake\n")
    with pytest.raises(
        ConfigError, match=r"/nowhere/cmake, which built them, is gone; expected .* make kernels"
    ):
        build_if_edited(root)


def test_an_installation_builds_nothing(checkout, tmp_path):
    root, source, module = checkout
    edit(source, module)
    (root / "build").rename(tmp_path / "elsewhere")
    build_if_edited(root)
    assert module.read_text() == "first"


def test_it_is_done_when_kernels_are_imported(monkeypatch):
    roots = []
    monkeypatch.setattr("odl.kernels.build.build_if_edited", roots.append)
    importlib.reload(odl.kernels)
    assert roots == [ROOT]
