"""Eleven streams as a new user has them: posts, titles, news, tickets, log lines and six languages, in files.

    ODL_MIRROR=... python tests/helpers/recipes.py FOLDER [NAME ...] [--documents 3000] [--seed 0]
    [--quiet]

writes FOLDER/NAME/ with one file a week, for `odl init FOLDER/own FOLDER/NAME/* --period week`.
Posts, titles and news are of the corpora of the mirror (20 Newsgroups, arXiv, Reuters), in their
order. The others are made: words of a Zipf law, of broad topics that mix; in the last two weeks but
one a topic enters, an incident, unless `--quiet`. Tickets end in a signature with a telephone
number, log lines are templates with numbers.
"""

import argparse
import json
import os
import random
import sys
from datetime import datetime, timedelta
from pathlib import Path

from places import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

# Letters that words are made of, their number, and what stands between words.
SCRIPTS = {
    "chinese": (
        "天地人山水火木金土日月星雨雪风云花草树鸟鱼马牛羊门窗车船路桥书画歌舞医药农工商学",
        (2, 3),
        "",
    ),
    "japanese": (
        "かきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろ",
        (2, 4),
        "",
    ),
    "arabic": ("ابتثجحخدذرزسشصضطظعغفقكلمنهوي", (3, 6), " "),
    "russian": ("абвгдежзиклмнопрстуфхцчшэюя", (4, 8), " "),
    "hindi": ("कखगघचछजझटठडढतथदधनपफबभमयरलवशसह", (2, 5), " "),
    "korean": ("가나다라마바사아자차카타파하거너더러머버서어저처고노도로모보소오조", (2, 3), " "),
}
LATIN = ("abcdefghiklmnoprstuvw", (4, 9), " ")
MADE = ("tickets", "logs", *SCRIPTS)
NAMES = ("posts", "titles", "news", *MADE)
VOCABULARY, TOPICS, OF_TOPIC, LENGTH = 3000, 30, 40, (8, 30)
MONDAY, WEEKS = datetime(2026, 1, 5), 12
INCIDENT = "headset microphone noah recognise firmware crackle"
FAILURE = "ERROR oom-killer killed worker {} cgroup memory limit {} swap"


def vocabulary(draw, letters, lengths, n):
    """Return so many different words of a script."""
    words = {}
    while len(words) < n:
        words["".join(draw.choice(letters) for _ in range(draw.randint(*lengths)))] = None
    return list(words)


def entering(name, seed):
    """Return the words of the incident of a made stream."""
    letters, lengths, _ = SCRIPTS.get(name, LATIN)
    if name in ("tickets", "logs"):
        return INCIDENT.split() if name == "tickets" else FAILURE.split()[:3]
    draw = random.Random(f"{name} {seed}")
    return vocabulary(draw, letters, lengths, VOCABULARY + len(INCIDENT.split()))[VOCABULARY:]


def texts(name, n, seed, quiet=False):
    """Yield the texts of a made stream; what enters is in the two weeks before the last one."""
    letters, lengths, between = SCRIPTS.get(name, LATIN)
    draw = random.Random(f"{name} {seed}")
    words = vocabulary(draw, letters, lengths, VOCABULARY + len(INCIDENT.split()))
    words, new = words[:VOCABULARY], words[VOCABULARY:]
    new = INCIDENT.split() if name == "tickets" else new
    weights = [1 / (rank + 5) for rank in range(VOCABULARY)]
    topics = [draw.sample(words[50:], OF_TOPIC) for _ in range(TOPICS)]
    templates = [draw.choices(words, weights, k=draw.randint(4, 9)) for _ in range(TOPICS)]
    for number in range(n):
        week, topic = WEEKS * number // n, draw.randrange(TOPICS)
        enters = not quiet and week in (WEEKS - 3, WEEKS - 2) and draw.random() < 0.08
        if name == "logs":
            yield (
                FAILURE.format(*draw.choices(range(9000), k=2))
                if enters
                else line(draw, words, templates[topic])
            )
            continue
        length = draw.randint(*LENGTH)
        text = draw.choices(words, weights, k=length // 2) + draw.choices(
            topics[topic], k=length - length // 2
        )
        text = between.join(text + (draw.sample(new, 5) if enters else []))
        yield text + (
            f". Regards, Tel. {draw.randint(1000, 9999)}"
            if name == "tickets" and draw.random() < 0.9
            else ""
        )


def line(draw, words, template):
    """Return a line of a log: a template, a word of any kind and numbers."""
    told = [draw.choice(["INFO", "WARN"]), *template, draw.choice(words)]
    return " ".join([*told, f"took={draw.randrange(90)}ms", f"id={draw.randrange(10**6)}"])


def made(name, n, seed, quiet=False):
    """Yield (id, time, text) of a made stream."""
    for number, text in enumerate(texts(name, n, seed, quiet)):
        yield f"{name}{number:06}", MONDAY + timedelta(weeks=WEEKS) * number / n, text


def real(name, n):
    """Yield (id, time, text) of the first documents of a corpus, with the times as they are."""
    import material
    import newsposts

    if name == "posts":
        for post in newsposts.read(Path(os.environ["ODL_MIRROR"]))[:n]:
            yield post.id, datetime.fromtimestamp(post.time / 1000), post.text
        return
    documents = material.read_stream({"titles": "titles", "news": "reuters"}[name])
    for row in range(min(n, len(documents.ids))):
        span = slice(*documents.counts.indptr[row : row + 2])
        words = [documents.vocabulary[term] for term in documents.counts.indices[span]]
        yield (
            documents.ids[row],
            MONDAY + timedelta(weeks=WEEKS) * row / n,
            documents.titles[row] or " ".join(words),
        )


def write(folder, name, rows):
    """Write rows (id, time, text) as files of a week: .log of log lines, .csv of tickets, else JSON lines."""
    import csv

    (folder / name).mkdir(parents=True, exist_ok=True)
    weeks = {}
    for row in rows:
        weeks.setdefault((row[1] - timedelta(days=row[1].weekday())).date(), []).append(row)
    for week, part in weeks.items():
        ending = {"logs": "log", "tickets": "csv"}.get(name, "jsonl")
        with open(folder / name / f"{week}.{ending}", "w", encoding="utf-8", newline="") as file:
            if name == "logs":
                file.writelines(
                    f"{time.isoformat(timespec='milliseconds')} {text}\n" for _, time, text in part
                )
            elif name == "tickets":
                csv.writer(file).writerows([("ticket", "created", "description"), *part])
            else:
                for ident, time, text in part:
                    fields = {"id": ident, "time": time.isoformat(), "text": text}
                    file.write(json.dumps(fields, ensure_ascii=False) + "\n")


def main():
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("folder", type=Path)
    words.add_argument("names", nargs="*", choices=[*NAMES, []], metavar="NAME")
    words.add_argument("--documents", type=int, default=3000)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--quiet", action="store_true", help="nothing enters")
    options = words.parse_args()
    for name in options.names or NAMES:
        rows = (
            made(name, options.documents, options.seed, options.quiet)
            if name in MADE
            else real(name, options.documents)
        )
        write(options.folder, name, rows)
        print(f"{name}: {options.folder / name}")


if __name__ == "__main__":
    main()
