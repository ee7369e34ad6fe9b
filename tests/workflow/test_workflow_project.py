"""From a wheel in an empty directory: odl init, odl run, one more file, odl run again; Snakemake alone does it too."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from datetime import datetime, timedelta

import pytest
from places import ROOT

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
WORDS = {
    "grain": "wheat grain harvest farmer crop maize export silo tonnes acre",
    "oil": "crude barrel tanker refinery opec pipeline cargo port gulf drill",
    "space": "satellite rocket orbit launch payload mission crew engine pad fuel",
}


def built(folder):
    """Return the wheel of this platform."""
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
    ]
    done = subprocess.run([*build, folder, ROOT], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment with the wheel, and what it depends on from that of the tests; its folder of commands."""
    base = tmp_path_factory.mktemp("wheel")
    wheel = built(base)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    wanted = [
        "workflow/Snakefile",
        "workflow/schemas/config.schema.json",
        "config/config.yaml",
        "data/corpora.csv",
    ]
    assert {f"odl/share/{name}" for name in [*wanted, "profiles/default/config.yaml"]} <= set(names)
    assert sum(name.startswith("odl/share/data/") for name in names) == 1  # no download
    (module,) = (name for name in names if name.endswith((".so", ".pyd")))
    assert module.startswith("odl/kernels/_kernels.") and "odl/kernels/inverted_lists.cpp" in names
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(base / "env")], check=True)
    site = next((base / "env").glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "others.pth").write_text(
        "\n".join(path for path in sys.path if path.endswith("site-packages")) + "\n"
    )
    commands = base / "env" / "bin"
    for name, code in (
        ("odl", "from odl.cli import main"),
        ("snakemake", "from snakemake.cli import main"),
    ):
        (commands / name).write_text(
            f"#!{commands / 'python'}\nimport sys\n{code}\nsys.exit(main())\n"
        )
        (commands / name).chmod(0o755)
    return commands


def run(commands, folder, *words, status=0):
    """Run a command of the environment; return what it printed."""
    held = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "ODL_MIRROR")
    }
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
        vector = [ord(topics[number % len(topics)][0]) % 7, number % 5, week]
        rows.append(
            {
                "key": f"w{week}-{number}",
                "created": moment,
                "body": f"the report is about {body}",
                "v": vector,
            }
        )
    (folder / "posts").mkdir(exist_ok=True)
    (folder / "posts" / f"{week:02d}.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )


def contents(folder):
    """Return name -> bytes of what a folder holds, without what says how it was run."""
    names = (
        path for path in folder.rglob("*") if path.is_file() and ".snakemake" not in path.parts
    )
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in names}
    return {name: held for name, held in found.items() if not re.search(OWN, name)}


FEEDS = {"new.html", "new.atom", "new.json"}
OWN = r"(^|/)(odl\.yaml|\.lock|\.verified\.json|run\.tsv)$"


def test_from_a_wheel_in_an_empty_directory(installed, tmp_path):
    for week in range(4):
        write(tmp_path, week, ["grain", "oil"])
    said = run(
        installed, tmp_path, "odl", "init", "news", *sorted((tmp_path / "posts").glob("*.jsonl"))
    )
    assert (
        "column 'body'" in said
        and "by week, the shortest period that usually has 7 documents (median 40)" in said
    )
    said = run(installed, tmp_path, "odl", "run", "news")
    assert "open news/new.html" in said
    assert "160 documents; no earlier run is recorded" in said and len(said.splitlines()) < 40
    assert {path.name for path in tmp_path.iterdir()} == {"posts", "news"}
    written = {"odl.yaml", ".odl.schema.json", "results"} | FEEDS
    assert {path.name for path in (tmp_path / "news").iterdir()} == written
    before = contents(tmp_path / "news")

    write(tmp_path, 4, ["grain", "space"])
    said = run(installed, tmp_path, "odl", "run", "news")
    assert "40 documents more than in the last run; 200 in all" in said
    after = contents(tmp_path / "news")
    made = {
        name for name in after if re.search(r"/\d+\.h5$", name) and after[name] != before.get(name)
    }
    assert made and all(name.endswith("/4.h5") for name in made)
    with open(tmp_path / "posts" / "05.jsonl", "w") as file:
        file.write('{"key": "x", "created": "soon", "body": "late"}\n')
    said = run(installed, tmp_path, "odl", "run", "news")
    assert (
        "1 document was set aside: news/results/set-aside.tsv" in said and "Traceback" not in said
    )
    assert (
        "05.jsonl\tline 1\tthe time 'soon'" in (tmp_path / "news/results/set-aside.tsv").read_text()
    )
    now = contents(tmp_path / "news")
    assert all(
        now[name] == after[name]
        for name in after
        if re.search(r"/\d+\.h5$", name) and "shares" not in name
    )


def test_snakemake_makes_the_same_files(installed, tmp_path):
    """Every file that odl run makes, with vectors too, Snakemake makes to the same bytes; each knows its folders."""
    for week in range(4):
        write(tmp_path, week, ["grain", "oil"] if week < 3 else ["grain", "space"])
    for place, more in (("loop", []), ("rules", ["--snakemake"])):
        (tmp_path / place).mkdir()
        run(installed, tmp_path / place, "odl", "init", "news", "../posts/*.jsonl", *more)
        path = tmp_path / place / "news" / "odl.yaml"
        text = path.read_text().replace("columns: {", "columns: {vector: v, ")
        path.write_text(text.replace("features: {", "features: {meaning: null, "))
    run(installed, tmp_path / "loop", "odl", "run", "news")
    run(installed, tmp_path / "rules" / "news", "snakemake", "--cores", "2")
    ours, theirs = contents(tmp_path / "loop" / "news"), contents(tmp_path / "rules" / "news")
    assert len(ours) > 15 and {*ours} >= FEEDS
    assert ours == {name: theirs.get(name) for name in ours}
    said = run(installed, tmp_path / "rules", "odl", "run", "news", status=1)
    assert re.search(
        r"news is driven by Snakemake \(driver in odl.yaml\); .* type: cd news && snakemake --cores",
        said,
    )
    shutil.copy(tmp_path / "rules" / "news" / "Snakefile", tmp_path / "loop" / "news")
    said = run(installed, tmp_path / "loop" / "news", "snakemake", "--cores", "1", status=1)
    assert (
        "results/news was written by odl run, not by Snakemake; expected a folder that only odl run or only Snakemake runs; type odl run"
        in said
    )

    # A Snakefile as the version before wrote it, beside an odl.yaml that names no driver.
    older = tmp_path / "rules" / "news"
    (older / "Snakefile").write_text(BEFORE)
    lines = (older / "odl.yaml").read_text()
    assert "\ndriver: snakemake\n" in lines
    (older / "odl.yaml").write_text(lines.replace("driver: snakemake\n", ""))
    (older / "new.html").unlink()
    run(installed, older, "snakemake", "--cores", "2")
    assert (older / "new.html").read_bytes() == ours["new.html"]
    assert "open news/new.html" in run(installed, tmp_path / "rules", "odl", "run", "news")


BEFORE = """from odl.config import drop_timers, project


configfile: "odl.yaml"


module odl:
    snakefile:
        project.SNAKEFILE
    config:
        project.checked(config)


use rule * from odl


onsuccess:
    drop_timers()


onerror:
    drop_timers()
"""


def test_snakemake_by_itself_says_what_is_wrong_in_one_sentence(installed, tmp_path):
    """Of a key, of a setting and of a source; what else is refused: test_project.py, test_config.py."""
    write(tmp_path, 0, ["grain", "oil"])
    run(installed, tmp_path, "odl", "init", "news", "posts/00.jsonl", "--snakemake")
    good = (tmp_path / "news" / "odl.yaml").read_text().splitlines()
    for line, sentence in (
        (
            "atomz: [3]",
            "odl: odl.yaml has a key 'atomz'; expected one of .*; did you mean 'atoms'?",
        ),
        ("alerts: {budgt: 3}", "odl: 'alerts.budgt' is not a key of .*; did you mean 'budget'?"),
        (
            "sources: [../absent.jsonl]",
            r"odl: .*: ../absent.jsonl does not exist; expected a file, .*",
        ),
    ):
        others = [old for old in good if old.partition(":")[0] != line.partition(":")[0]]
        (tmp_path / "news" / "odl.yaml").write_text("\n".join([*others, line, ""]))
        said = (
            run(installed, tmp_path / "news", "snakemake", "--cores", "2", status=1)
            .strip()
            .splitlines()
        )
        assert (
            len(
                [words for words in said if not words.startswith("Using workflow specific profile")]
            )
            == 1
        )
        assert re.match(sentence, said[-1]), said[-1]
