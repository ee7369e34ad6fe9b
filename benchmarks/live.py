"""CPU time of `odl watch`: per document, in a week of posts, and next to other programs.

    python benchmarks/live.py [--documents 4096] [--group 512]
    python benchmarks/live.py --beside [--documents 4096]
    python benchmarks/live.py --corpora PLACE

By default, a folder with 6,000 generated documents of 100 words is run in a temporary place. Then
documents of one week are answered in this process, in groups as they come from a pipe, with the
inbox and its fsync, but without the cost of learning a period. `--beside` measures other programs
on the same documents, one at a time: TextClust of river (`pip install river`) clusters them,
all-MiniLM (see benchmarks/minilm.py for its installation) encodes them. `--corpora` measures the
processes of `odl run` and `odl watch` for the same week of posts of 20 Newsgroups, by day, in a
folder that has learned the three weeks before, and prints the ratio.
"""

import argparse
import contextlib
import io
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

import newsposts

from odl import cli
from odl.cli import runs
from odl.live import inbox
from odl.live.runner import Runner
from odl.live.watch import LiveWatch

WORDS, TOPICS = 20_000, 40
ODL = [sys.executable, "-m", "odl"]


def documents(count, first, name, a_day):
    """Yield lines of JSON: 60 words of the stream, by Zipf's law, and 40 of a topic."""
    draw = random.Random(0)
    vocabulary = [f"word{number}" for number in range(WORDS)]
    weights = [1 / (number + 10) for number in range(WORDS)]
    topics = [draw.sample(vocabulary, 60) for _ in range(TOPICS)]
    draw.seed(name)
    for number in range(count):
        words = draw.choices(vocabulary, weights, k=60) + draw.choices(draw.choice(topics), k=40)
        moment = first + timedelta(days=number / a_day)
        yield json.dumps(
            {"id": f"{name}{number}", "time": moment.isoformat(), "text": " ".join(words)}
        )


def prepare():
    """Write 6,000 documents to the folder `news` of the working directory; run odl on them."""
    with open("posts.jsonl", "w") as file:
        file.writelines(f"{line}\n" for line in documents(6000, datetime(2026, 1, 5), "a", 200))
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main(["init", "news", "posts.jsonl", "--only", "--period", "week"])
        cli.main(["run", "news"])


def time_other_methods(count):
    """Print the CPU time of TextClust and of MiniLM on `count` documents of one week."""
    from minilm import MiniLM
    from river import cluster, feature_extraction

    texts = [
        json.loads(line)["text"] for line in documents(count, datetime(2026, 2, 9), "b", count)
    ]
    words, clusters, encoder = (
        feature_extraction.BagOfWords(),
        cluster.TextClust(real_time_fading=False),
        MiniLM(),
    )

    def join(text):
        found = words.transform_one(text)
        clusters.predict_one(found)
        clusters.learn_one(found)

    def encode(text):
        encoder.add(text)
        encoder.vectors()
        encoder.found.clear()

    for name, take, some in (("TextClust", join, texts), ("MiniLM", encode, texts[: count // 16])):
        began = time.process_time()
        for text in some:
            take(text)
        each = (time.process_time() - began) / len(some)
        print(
            f"{name}: {1e6 * each:.0f} CPU microseconds a document, {len(some)} documents",
            flush=True,
        )


def week_of_posts(corpora):
    """Print the CPU seconds of `odl run` and `odl watch` for a week of posts, and their ratio.

    The two alternate.
    """
    posts = newsposts.read(corpora)
    if posts is None:
        raise SystemExit(f"{corpora} lacks 20news/{newsposts.FILES[0]} or {newsposts.FILES[1]}")
    weeks = [(post.time - newsposts.WEEK) // newsposts.LENGTH for post in posts]
    for name, chosen in (("early.jsonl", range(3)), ("week.jsonl", [3])):
        newsposts.write(
            name, [post for post, week in zip(posts, weeks, strict=True) if week in chosen]
        )
    subprocess.run(
        [*ODL, "init", "base", "early.jsonl", "--only", "--period", "day"],
        check=True,
        capture_output=True,
    )
    print(f"first run: {cpu_seconds('run', 'base'):.1f} CPU seconds", flush=True)
    for turn in range(2):
        for name in ("ran", "watched"):
            shutil.copytree("base", f"{name}{turn}")
        settings = Path(f"ran{turn}/odl.yaml").read_text()
        Path(f"ran{turn}/odl.yaml").write_text(
            settings.replace("early.jsonl]", "early.jsonl, ../week.jsonl]")
        )
        run = cpu_seconds("run", f"ran{turn}")
        with open("week.jsonl") as given:
            watch = cpu_seconds("watch", f"watched{turn}", stdin=given)
        print(
            f"the week: odl run {run:.1f}, odl watch {watch:.1f} CPU seconds, "
            f"ratio {watch / run:.2f}",
            flush=True,
        )


def cpu_seconds(*words, **options):
    """Run a command of odl; return the CPU seconds of its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [*ODL, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=4096)
    parser.add_argument("--group", type=int, default=512)
    parser.add_argument(
        "--beside", action="store_true", help="measure other programs on the same documents"
    )
    parser.add_argument(
        "--corpora", type=Path, help="folder of corpora, for a week of posts of 20 Newsgroups"
    )
    args = parser.parse_args()
    if args.corpora:
        place = args.corpora.absolute()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            week_of_posts(place)
        return
    if args.beside:
        time_other_methods(args.documents)
        return
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        prepare()
        lines = [
            line.encode()
            for line in documents(args.documents, datetime(2026, 2, 9), "b", args.documents)
        ]
        with (
            contextlib.chdir("news"),
            contextlib.closing(Runner(runs.serve)) as runner,
            inbox.alone(),
        ):
            watch = LiveWatch(
                runner, lambda pairs: None, lambda pairs: None, lambda number: ("live", str(number))
            )
            # The first group ends the week before, and has many new words. It is not timed.
            watch.take(list(enumerate(lines[: args.group])))
            cpu, clock = time.process_time(), time.perf_counter()
            for first in range(args.group, len(lines), args.group):
                watch.take(list(enumerate(lines[first : first + args.group])))
            cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
            watch.close(interrupted=True)
        count = len(lines) - args.group
        if watch.n_refused or watch.n_accepted != len(lines):
            raise SystemExit("not all documents were answered")
        print(
            f"{1e6 * cpu / count:.0f} CPU microseconds a document, "
            f"{count / clock:.0f} documents a second"
        )


if __name__ == "__main__":
    main()
