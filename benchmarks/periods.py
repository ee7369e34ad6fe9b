"""What a period of `odl run` costs along a stream of many: all at once, then appended one by one.

    python benchmarks/periods.py --corpora FOLDER [--periods 330] [--documents 50] [--appended 30] [--abstracts]

Raw posts of 20 Newsgroups in the order of posting in one file, or abstracts of arXiv in a file a day, so many a day;
CPU s also as multiples of `CountVectorizer` on 6,400 of the posts.
"""

import argparse
import csv
import lzma
import sys
import tempfile
from pathlib import Path
from statistics import mean

import newsposts
import whatsnew
from measure import child, say, tool

from odl.files.tables import read_table

DAY, SPAN = 24 * 3600 * 1000, 100  # ms; periods of a mean
STEPS = ("batch", "features", "update", "alerts")


def abstracts(folder):
    """Return the abstracts of arXiv in the order of the archive."""
    path = folder / "arxiv_cs" / "arxiv_cs_abstracts.tsv.xz"
    if not path.exists():
        return None
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [newsposts.Post(row["arxiv_id"], "", 0, f"{row['title']}\n{row['abstract']}") for row in rows]


def daily(posts, documents):
    """Return posts under times by which so many come each day."""
    return [
        post._replace(time=int(newsposts.WEEK) + at // documents * DAY + at % documents)
        for at, post in enumerate(posts)
    ]


def of_periods(table):
    """Return the CPU seconds of each period that a run made."""
    costs = {}
    for row in read_table(table):
        if row["step"] in STEPS:
            costs[row["t"]] = costs.get(row["t"], 0.0) + row["cpu_s"]
    return [costs[t] for t in sorted(costs)]


def measured(folder, posts, options):
    """Yield (what, CPU s, MB at most or None) of the runs of a folder."""
    run, size = [tool("odl"), "run", "news"], options.documents
    first = options.periods * size
    each_day = size if options.abstracts else first
    for begin in range(0, first, each_day):
        newsposts.write(folder / f"{begin // each_day:05d}.jsonl", posts[begin : begin + each_day])
    child([tool("odl"), "init", "news", "*.jsonl"], folder=folder)
    place = folder / "news" / "odl.yaml"
    place.write_text(place.read_text().replace("period: week", "period: day"))
    say(f"periods: {options.periods} at once")
    cost, costs = child(run, folder=folder), of_periods(folder / "news" / "results" / "news" / "run.tsv")
    span = min(SPAN, len(costs) // 2)
    yield f"at once, a period of the first {span}", mean(costs[1 : span + 1]), None
    yield f"at once, a period of the last {span}", mean(costs[-span:]), cost.rss / 1e6
    nothing = min(child(run, folder=folder).cpu for _ in range(3))
    yield "nothing to do", nothing, None
    each = []
    for number in range(options.appended):
        begin = first + number * size
        newsposts.write(folder / f"{options.periods + number:05d}.jsonl", posts[begin : begin + size])
        each.append(child(run, folder=folder))
    for name, part in (("first", each[: len(each) // 2]), ("last", each[len(each) // 2 :])):
        rss = max(cost.rss for cost in part) / 1e6
        yield f"appended one by one, beyond nothing to do, {name} half", mean(cost.cpu for cost in part) - nothing, rss


def main():
    """Print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=Path, required=True)
    for name, default in (("periods", 330), ("documents", 50), ("appended", 30)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--abstracts", action="store_true", help="of arXiv, in place of the posts")
    options = parser.parse_args()
    posts = newsposts.read(options.corpora)
    stream = abstracts(options.corpora) if options.abstracts else posts
    if not posts or not stream:
        sys.exit("no 20news/, or no arxiv_cs/, in the folder of corpora")
    unit = whatsnew.unit_of(newsposts.weeks(posts, whatsnew.WEEKS, whatsnew.POSTS)[0])
    print(f"CountVectorizer on {whatsnew.POSTS} posts: {unit:.2f} CPU s")
    with tempfile.TemporaryDirectory() as place:
        for what, seconds, megabytes in measured(Path(place), daily(stream, options.documents), options):
            more = f", {megabytes:.0f} MB at most" if megabytes else ""
            print(f"{what}: {seconds:.3f} CPU s, {seconds / unit:.3f} units{more}", flush=True)


if __name__ == "__main__":
    main()
