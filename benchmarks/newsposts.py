"""Raw or synthetic posts of 20 Newsgroups with groups that enter later, as JSONL without labels."""

import json
from typing import NamedTuple

import numpy as np

from odl.config.sections import Order
from odl.corpora import checks, news20
from odl.stream import batching

FILES = ("20news-bydate.tar.gz", "20news-bydate-dates.tsv.gz")
WEEK = np.datetime64("1993-04-05", "ms").astype(np.int64)  # a Monday; few posts are earlier
LENGTH = 7 * 24 * 3600 * 1000
SYLLABLES = [first + second for first in "bdfglmnprst" for second in "aeiou"]


class Post(NamedTuple):
    """A post with its group, for evaluation only; `time` is in milliseconds since 1970."""

    id: str
    group: str
    time: int
    text: str


def read(folder):
    """Return the posts of 20 Newsgroups with headers, by time; None without the files."""
    archive, table = (folder / "20news" / name for name in FILES) if folder else (None, None)
    if not archive or not archive.exists() or not table.exists():
        return None
    times, posts = news20.read_dates(table), []
    for name, data in checks.tar_members(archive):
        match = news20.POST_MEMBER.search(name)
        if match:
            _, group, number = match.groups()
            # The numbers of posts are not unique, and the group would be a label.
            posts.append(
                Post(f"post{len(posts):05}", group, times[group, number], data.decode("latin-1"))
            )
    return sorted(posts, key=lambda post: (post.time, post.id))


def made(n=420, seed=0):
    """Make posts of eight groups, each with its own words."""
    rng = np.random.default_rng(seed)
    words = sorted({"".join(rng.choice(SYLLABLES, 3)) for _ in range(1200)})
    shared, own = words[:200], [words[200 + 100 * group : 300 + 100 * group] for group in range(8)]
    posts = []
    for number in range(n):
        group = int(rng.integers(8))
        text = " ".join([*rng.choice(shared, 30), *rng.choice(own[group], 30)])
        posts.append(
            Post(f"post{number:05}", f"group{group}", int(WEEK + number * 3_600_000), f"{text}.\n")
        )
    return posts


def entering(posts, seed, size, entry):
    """Return the posts in order, without those before the entry of their group.

    Entries are drawn by `odl.stream.batching`.

    Parameters
    ----------
    posts : list of Post
        Sorted by time.
    seed : int
    size : int
        Documents of a batch.
    entry : dict
        Fields of `odl.config.sections.TopicEntry`.
    """
    listed = batching.Listed(
        [""] * len(posts),
        np.array([post.time for post in posts]),
        [""] * len(posts),
        [(post.group,) for post in posts],
    )
    cut = {"by": "documents", "documents": size, "initial": size}
    stream = {"protocol": "topic-entry", "topic_entry": entry, "ties": "source", "batches": cut}
    parts = batching.split(listed, Order.from_map(stream), seed)
    return [posts[row] for part in parts for row in part]


def weeks(posts, first, most):
    """Return (posts of the first weeks, posts of the next week).

    At most `most` posts of the first weeks are taken, evenly spaced, and the same share of the next
    week.
    """
    week_of = [(post.time - WEEK) // LENGTH for post in posts]
    early = [post for post, week in zip(posts, week_of, strict=True) if 0 <= week < first]
    later = [post for post, week in zip(posts, week_of, strict=True) if week == first]
    share = min(1.0, most / max(len(early), 1))
    return tuple(
        [group[int(at)] for at in np.arange(round(share * len(group))) / share]
        for group in (early, later)
    )


def write(path, posts):
    """Write posts as JSONL, without groups."""
    with open(path, "w", encoding="utf-8") as file:
        for post in posts:
            sent = f"{np.datetime64(post.time, 'ms').astype('datetime64[s]')}Z"
            file.write(json.dumps({"name": post.id, "sent": sent, "message": post.text}) + "\n")
