"""What a period of `odl run` costs along a stream of many: all at once, then appended one by one.

    python benchmarks/periods.py --corpora FOLDER [--periods 330] [--documents 50] [--appended 30]

Raw posts of 20 Newsgroups in the order of posting, so many a day; CPU s also as multiples of `CountVectorizer` on 6,400
of them.
"""

import argparse
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
    newsposts.write(folder / "0.jsonl", posts[:first])
    child([tool("odl"), "init", "news", "*.jsonl"], folder=folder)
    place = folder / "news" / "odl.yaml"
    place.write_text(place.read_text().replace("period: week", "period: day"))
    say(f"periods: {options.periods} at once")
    cost, costs = child(run, folder=folder), of_periods(folder / "news" / "results" / "news" / "run.tsv")
    yield "at once, a period of the first 100", mean(costs[1 : SPAN + 1]), None
    yield "at once, a period of the last 100", mean(costs[-SPAN:]), cost.rss / 1e6
    nothing = min(child(run, folder=folder).cpu for _ in range(3))
    yield "nothing to do", nothing, None
    each = []
    for number in range(options.appended):
        begin = first + number * size
        newsposts.write(folder / f"{number + 1}.jsonl", posts[begin : begin + size])
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
    options = parser.parse_args()
    posts = newsposts.read(options.corpora)
    if not posts:
        sys.exit("no 20news/ in the folder of corpora")
    unit = whatsnew.unit_of(newsposts.weeks(posts, whatsnew.WEEKS, whatsnew.POSTS)[0])
    print(f"CountVectorizer on {whatsnew.POSTS} posts: {unit:.2f} CPU s")
    with tempfile.TemporaryDirectory() as place:
        for what, seconds, megabytes in measured(Path(place), daily(posts, options.documents), options):
            more = f", {megabytes:.0f} MB at most" if megabytes else ""
            print(f"{what}: {seconds:.3f} CPU s, {seconds / unit:.3f} units{more}", flush=True)


if __name__ == "__main__":
    main()
