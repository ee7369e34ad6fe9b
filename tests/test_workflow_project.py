"""From a wheel in an empty directory: odl init, odl run, one more file, odl run again; Snakemake alone does it too."""

import json
import os
import re
import subprocess
import sys
import zipfile
from datetime import datetime, timedelta

import pytest
from conftest import ROOT

pytestmark = pytest.mark.workflow
WORDS = {
    "grain": "wheat grain harvest farmer crop maize export silo tonnes acre",
    "oil": "crude barrel tanker refinery opec pipeline cargo port gulf drill",
    "space": "satellite rocket orbit launch payload mission crew engine pad fuel",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment with the wheel, and what it depends on from that of the tests; its folder of commands."""
    base = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(base), str(ROOT)]
    (base / "libraries").mkdir()
    (base / "libraries" / "exact-linux.so").write_bytes(b"\0GLIBC_2.29\0GLIBC_2.5\0")
    (base / "libraries" / "exact-linux.so.sha256").write_text("its digest")
    given = {**os.environ, "ODL_LIBRARIES": str(base / "libraries")}
    subprocess.run([*build[:-2], str(base / "platform"), build[-1]], capture_output=True, timeout=300, env=given)
    done = subprocess.run(build, capture_output=True, text=True, timeout=300)
    if done.returncode and re.search(r"Could not find a version|No module named pip|ConnectionError", done.stderr):
        pytest.skip("no setuptools to be had to build a wheel with")
    assert done.returncode == 0, done.stderr[-3000:]
    (wheel,) = base.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    wanted = ["workflow/Snakefile", "workflow/schemas/config.schema.json", "config/config.yaml", "data/corpora.csv"]
    assert {f"odl/share/{name}" for name in [*wanted, "profiles/default/config.yaml"]} <= set(names)
    assert sum(name.startswith("odl/share/data/") for name in names) == 1  # no download
    assert wheel.name.endswith("-py3-none-any.whl") and not any(name.endswith(".so") for name in names)
    (platform,) = (base / "platform").glob("*-py3-none-*.whl")
    assert re.search(r"-manylinux_2_29_\w+\.whl" if sys.platform == "linux" else r"-(?!any)\w+\.whl", platform.name)
    with zipfile.ZipFile(platform) as archive:
        libraries = {f"odl/kernels/libraries/exact-linux.so{end}" for end in ("", ".sha256")}
        assert {*archive.namelist()} >= libraries | {"odl/share/workflow/Snakefile"}
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(base / "env")], check=True)
    site = next((base / "env").glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")) + "\n")
    commands = base / "env" / "bin"
    for name, code in (("odl", "from odl.cli import main"), ("snakemake", "from snakemake.cli import main")):
        (commands / name).write_text(f"#!{commands / 'python'}\nimport sys\n{code}\nsys.exit(main())\n")
        (commands / name).chmod(0o755)
    return commands


def run(commands, folder, *words, status=0):
    """Run a command of the environment; return what it printed."""
    held = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "ODL_MIRROR")}
    done = subprocess.run(
        [str(commands / words[0]), *map(str, words[1:])],
        cwd=folder,
        env={**held, "PATH": f"{commands}{os.pathsep}{held['PATH']}"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == status, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def write(folder, week, topics, n=40):
    start, rows = datetime(2026, 1, 5) + timedelta(days=7 * week), []
    for number in range(n):
        words = WORDS[topics[number % len(topics)]].split()
        body = " ".join(words[(number * 3 + place) % 10] for place in range(8))
        moment = (start + timedelta(hours=4 * number)).isoformat()
        rows.append({"key": f"w{week}-{number}", "created": moment, "body": f"the report is about {body}"})
    (folder / "posts").mkdir(exist_ok=True)
    (folder / "posts" / f"{week:02d}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def made(folder):
    """Return name -> time of change of what was made of each timestep."""
    root = folder / "news" / "results" / "news" / "news"
    return {path.relative_to(root): path.stat().st_mtime_ns for path in root.rglob("*.h5") if path.stem.isdecimal()}


def test_from_a_wheel_in_an_empty_directory(installed, tmp_path):
    for week in range(4):
        write(tmp_path, week, ["grain", "oil"])
    said = run(installed, tmp_path, "odl", "init", "news", *sorted((tmp_path / "posts").glob("*.jsonl")))
    assert "column 'body'" in said and "by week, about 40 documents each; 3 after the first" in said
    said = run(installed, tmp_path, "odl", "run", "news", "--", "--cores", "2")
    assert "open news/new.html" in said and "80 documents were scored before this period" in said
    assert "160 new documents: no run before this one is on record\n" in said and "not read" not in said
    assert len(said.splitlines()) < 40
    assert (tmp_path / "news" / "results" / "news" / "report.html").exists()
    assert (tmp_path / "news" / "new.html").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"posts", "news"}
    before = made(tmp_path)

    write(tmp_path, 4, ["grain", "space"])
    said = run(installed, tmp_path, "odl", "run", "news", "--", "--cores", "2")
    assert "40 new documents since the run before; 200 in all\n" in said
    after = made(tmp_path)
    assert {name for name in after if after[name] != before.get(name)} == {name for name in after if name.stem == "4"}
    assert len(after) > len(before)

    said = run(installed, tmp_path, "odl", "run", "news")
    assert "nothing new" in said and "0 new documents since the run before; 200 in all\n" in said
    assert "Nothing to be done" in run(installed, tmp_path / "news", "snakemake", "--cores", "2")

    with open(tmp_path / "posts" / "05.jsonl", "w") as file:
        file.write('{"key": "x", "created": "soon", "body": "late"}\n')
    for _ in range(2):  # the second has to say it too: the documents of before are gone
        said = run(installed, tmp_path, "odl", "run", "news", status=1)
        assert said.count("05.jsonl line 1: the time 'soon' is not ISO 8601") == 1
        assert "log: news/results/news/logs/" in said and "Traceback" not in said and "RuleException" not in said

    lines = (tmp_path / "news" / "odl.yaml").read_text()
    (tmp_path / "news" / "odl.yaml").write_text(lines.replace("../posts/*.jsonl", "'../posts/0[0-4].jsonl'"))
    said = run(installed, tmp_path, "odl", "run", "news", "--", "--cores", "2")
    assert "0 new documents since the run before; 200 in all\n" in said
    assert "not read: posts/05.jsonl, of the same kind beside the sources of news/odl.yaml\n" in said


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("atomz: [3]", "odl: odl.yaml has a key 'atomz'; expected one of .*; did you mean 'atoms'?"),
        ("seeds: many", "odl: seeds is 'many'; expected a list, not empty; correct it."),
        ("alerts: {budgt: 3}", "odl: 'alerts.budgt' is not a key of .*; did you mean 'budget'?"),
        ("sources: [../absent.jsonl]", r"odl: .* names ../absent.jsonl, which does not exist; expected a file, .*"),
        ("sources: []", "odl: odl.yaml has no sources; expected the files of the documents; .*"),
    ],
)
def test_snakemake_by_itself_says_what_is_wrong_in_one_sentence(installed, tmp_path, line, sentence):
    write(tmp_path, 0, ["grain", "oil"])
    run(installed, tmp_path, "odl", "init", "news", "posts/00.jsonl")
    kept = (tmp_path / "news" / "odl.yaml").read_text().splitlines()
    kept = [old for old in kept if old.partition(":")[0] != line.partition(":")[0]]
    (tmp_path / "news" / "odl.yaml").write_text("\n".join([*kept, line, ""]))
    said = run(installed, tmp_path / "news", "snakemake", "--cores", "2", status=1).strip().splitlines()
    assert len([words for words in said if not words.startswith("Using workflow specific profile")]) == 1
    assert re.match(sentence, said[-1]), said[-1]
