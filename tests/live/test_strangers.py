"""Code in a folder of a stranger is not run by a watch of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import streams

CODE = "import os; open(os.path.join(os.path.dirname(__file__), 'imported'), 'a').write(__name__)\n"


@pytest.mark.slow
def test_the_process_that_learns_imports_nothing_from_the_folder(news, tmp_path):
    """Neither by its working folder nor by a relative path of PYTHONPATH."""
    for name in (
        "yaml.py",
        "sitecustomize.py",
        "usercustomize.py",
        "h5py.py",
        "json.py",
        "own/yaml.py",
        "odl/__init__.py",
    ):
        (news / name).parent.mkdir(exist_ok=True)
        (news / name).write_text(CODE)
    (news / "matplotlibrc").write_text("backend: module://own.yaml\n")
    lines = "".join(
        json.dumps(streams.post(week, number, "sea")) + "\n"
        for week in (3, 4)
        for number in range(5)
    )
    said = subprocess.run(
        [sys.executable, "-m", "odl", "watch", news],
        input=lines, capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": "own:"},
    )  # fmt: skip
    assert said.returncode == 0 and '"provisional": false' in said.stdout, said.stderr
    assert not [*news.rglob("imported")]


def test_the_command_imports_nothing_from_the_working_folder(news):
    """Unlike `python -m odl`: Python itself puts the working folder first there (SECURITY.md)."""
    for name in ("yaml.py", "numpy.py", "odl.py", "json.py", "sitecustomize.py"):
        (news / name).write_text(CODE)
    command = [Path(sys.executable).parent / "odl", "new"]
    said = subprocess.run([*command, "."], capture_output=True, text=True, timeout=120, cwd=news)
    assert said.returncode == 0 and not [*news.rglob("imported")], said.stderr
