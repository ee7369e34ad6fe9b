"""A small stream as a user has it: one file of posts a week, and the folder that `odl init` writes for them."""

import json
import random
import shutil
from datetime import datetime, timedelta

from places import made_once

from odl.cli import main

WORDS = {
    "grain": "wheat grain harvest farmer crop maize export silo tonnes acre barley field tractor seed soil",
    "oil": "crude barrel tanker refinery opec pipeline cargo port gulf drill diesel well platform rig fuel",
    "sea": "whale reef coral tide current plankton diver lagoon shark turtle algae wave net trawler buoy kelp",
    "space": "satellite rocket orbit launch payload mission crew engine pad capsule lander probe moon comet booster",
}
N = 60  # posts of a week
SETTINGS = "alerts: {gates: true, warm_up: 50, budget: 5}\ncheckpoints: {keep: 0}\n"


def post(week, number, topic):
    """Return one post of a week."""
    draw, own = random.Random(1000 * week + number), WORDS[topic].split()
    moment = datetime(2026, 1, 5) + timedelta(days=7 * week, hours=2 * number)
    text = " ".join(draw.choice(own) for _ in range(14))
    return {
        "id": f"w{week}-{number}",
        "time": moment.isoformat(),
        "text": f"{text} {draw.choice('abcdefgh')}word",
    }


def write(folder, week, topics=("grain", "oil"), n=N, suffix=""):
    """Write the file of a week, whose posts take the topics in turn; return its path."""
    path = folder / "posts" / f"{week:02d}{suffix}.jsonl"
    path.parent.mkdir(exist_ok=True)
    rows = [post(week, number, topics[number % len(topics)]) for number in range(n)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def begin(folder, weeks=5, more=SETTINGS):
    """Write some weeks, the last with a new topic, and call `odl init` for them; return the folder that it wrote."""
    for week in range(weeks):
        write(folder, week, ("grain", "oil", "space") if week == weeks - 1 else ("grain", "oil"))
    assert main(["init", str(folder / "news"), f"{folder}/posts/*.jsonl", "--period", "week"]) == 0
    configuration = folder / "news" / "odl.yaml"
    lines = configuration.read_text().splitlines(keepends=True)
    again = tuple(
        f"{key}:" for key in ("alerts", "learners") if f"{key}:" in more or key == "alerts"
    )
    configuration.write_text("".join(line for line in lines if not line.startswith(again)) + more)
    return folder / "news"


def learned(base, weeks=5):
    """Return the folder of `begin` after `odl run`. All workers share it, so `copy` it before a change."""

    def make(folder):
        assert main(["run", str(begin(folder, weeks))]) == 0

    return made_once(base, f"learned{weeks}", make) / "news"


def copy(folder, place):
    """Copy a folder of `begin` and its posts into another place; return the copy."""
    shutil.copytree(folder.parent / "posts", place / "posts")
    shutil.copytree(folder, place / "news")
    return place / "news"


def contents(folder):
    """Return name -> bytes of the files of a folder, without locks and records of when and how long it ran."""
    own = (".lock", ".verified.json", "run.tsv")
    names = (path for path in folder.rglob("*") if path.is_file() and path.name not in own)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in names}
