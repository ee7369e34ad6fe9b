"""The functions of the steps: they open what their descriptions name, so that what is fresh is what is there."""

import os
import re
import sys

import pytest
import streams

from odl.cli import main
from odl.config import chains
from odl.config.steps import BATCH_FILE, FEATURES_FILE, SHARE_FILE, STEPS
from odl.engine import calls
from odl.jobs import runs

ANY = {
    "root": "results/news",
    "corpus": "news",
    "seed": 0,
    "run": r"\w+",
    "k": r"\d+",
    "share": "[0-9a-f]+",
}
# Files of this timestep, or of those before, that are opened as well: what is read names them, or
# was made from them.
BEHIND = {
    "batch": (SHARE_FILE,),
    "features": (BATCH_FILE, FEATURES_FILE),
    "update": (FEATURES_FILE,),
    "alerts": (FEATURES_FILE,),
    "newpage": (FEATURES_FILE, BATCH_FILE),  # facets of the periods whose alerts it reads
}
HISTORY = "learners: {whole: {algorithm: batch, features: {tf: log, idf: corpus}}}\nruns: [whole]\natoms: 8\n"

heard = []  # [set of paths] while a step runs: a hook stays for the rest of the process
sys.addaudithook(
    lambda event, about: heard[-1].add(about[0]) if heard and event == "open" else None
)


def expressions(name, arguments):
    """Return regular expressions for the files that a step may open: inputs, those behind them, outputs."""
    step, t = STEPS[name], arguments["t"]
    patterns = [pattern for role, pattern in step.reads.items() if pattern and arguments.get(role)]
    last = arguments.get("corpus_features") or arguments.get("features") or ""
    names = {
        **ANY,
        "t": r"\d+" if t is None else t,
        "before": (t or 0) - 1,
        "last": os.path.basename(last)[:-3],
    }
    until = r"\d+" if t is None else "|".join(map(str, range(t + 1)))
    patterns += [pattern.replace("{t}", f"(?:{until})") for pattern in BEHIND.get(name, ())]
    written = [
        re.escape(arguments[role]) + r"(\.\S*)?" for role in step.writes
    ]  # under a temporary name, too
    return [pattern.replace(".h5", r"\.h5").format(**names) for pattern in patterns] + written


def undeclared(place, name, arguments, opened):
    """Return the files below a folder, the working folder or one beside it, that a step opened and does not name."""
    sources = {
        os.path.abspath(path)
        for _, path in arguments.get("sources", ())
        if "sources" in STEPS[name].reads
    }
    paths = {os.path.abspath(path) for path in opened if isinstance(path, str)} - sources
    inside = {
        os.path.relpath(path)
        for path in paths
        if path.startswith(f"{place}{os.sep}") and os.path.isfile(path)
    }
    known = expressions(name, arguments)
    return {path for path in inside if not any(re.fullmatch(each, path) for each in known)}


@pytest.fixture
def spied(monkeypatch):
    """A list of (step, its arguments, the files that it opened)."""
    seen = []

    def spy(name, function):
        def called(arguments, **more):
            heard.append(set())
            try:
                return function(arguments, **more)
            finally:
                seen.append((name, arguments, heard.pop()))

        return called

    for name, function in calls.FUNCTIONS.items():
        monkeypatch.setitem(calls.FUNCTIONS, name, spy(name, function))
    return seen


@pytest.mark.slow
@pytest.mark.parametrize(("more", "size"), [("", 1 << 20), (HISTORY, 3000)])
def test_a_step_opens_nothing_that_its_description_does_not_name(
    more, size, spied, tmp_path, monkeypatch
):
    for name, value in (("MIN_SHARE_BYTES", size), ("MIN_SPLIT_BYTES", 2 * size)):
        monkeypatch.setattr(chains, name, value)
    folder = streams.begin(tmp_path, more=streams.SETTINGS + more)
    configuration = folder / "odl.yaml"
    configuration.write_text(
        configuration.read_text().replace(
            "duplicates: true", "duplicates: true, clean: [boilerplate]"
        )
    )
    assert main(["run", str(folder), "--cores", "1"]) == 0
    streams.write(tmp_path, 5, ("grain", "space"))
    (folder / "results" / "news" / "news" / "seed0" / "features" / "3.h5").unlink()
    (folder / "feedback.csv").write_text("what,verdict,until,note\nw3-1,known,,\n")
    assert main(["run", str(folder), "--cores", "1"]) == 0
    monkeypatch.chdir(folder)
    done = [name for name, *_ in spied]
    assert {*done} == STEPS.keys() - ({"share"} if size > 3000 else set()) and done.count(
        "newpage"
    ) == 2
    assert [
        (name, left) for name, *about in spied if (left := undeclared(tmp_path, name, *about))
    ] == []
    # What was counted just now is open for update and alerts already; `idf: corpus` counts all
    # before.
    both = [
        (about["features"], opened) for name, about, opened in spied if name in ("update", "alerts")
    ]
    again = [path for path, opened in both if path in opened]
    assert len(both) >= 12 and bool(again) == bool(more)
    # What no description names is seen.
    monkeypatch.setitem(
        STEPS,
        "newpage",
        STEPS["newpage"]._replace(reads={"alerts": STEPS["newpage"].reads["alerts"]}),
    )
    seen = {"feedback.csv", "results/news/news/documents.h5"}
    assert undeclared(tmp_path, *spied[-1]) == seen


def test_a_step_goes_on_from_what_its_arguments_name():
    past = runs.Before.from_arguments({"previous": "p.h5", "history": "", "known": "k.h5"}, "kept")
    assert past == ("p.h5", None, None, "k.h5", "kept") and past.corpus_features is None
    assert runs.Before.from_arguments({"corpus_features": "f.h5", "history": "h"}, None) == (
        None,
        "h",
        "f.h5",
        None,
        None,
    )
