"""The part `new`: alerts of `odl new` on raw posts, and nearest neighbours with the same budget."""

import re
import tempfile
from pathlib import Path
from unittest import mock

import newsposts
import numpy as np
from material import FULL
from measure import Row, child, cpu, say, tool
from scipy import sparse

from odl.alerts import maps, read
from odl.evaluation import baselines
from odl.learners.adaptive import combine_with_peers
from odl.stream import features
from odl.stream.weighting import Weighting, weigh
from odl.text.stopwords import StopWords

SEEDS = (0, 1, 2)
BUDGET, SIZE, ENTRY = 20, 1000, {"held_back": 0.5, "first": 1, "last": 12}
QUICK = {"seeds": (3,), "size": 60, "entry": {"held_back": 0.5, "first": 2, "last": 4}, "budget": 5}
# The made stream has four batches of 60 posts. Of so few, a new group is unusual at level .05 only.
MADE_ALERTS = "alerts: {gates: true, budget: 5, level: 0.05, warm_up: 40}"
FEWEST = 10  # smallest number of novel items of an evaluated timestep
ALIKE, RUN = 0.8, 5
CONTEXT = {"contrast": 0.3, "context": 0.5, "peers": 10}
POSTS, WEEKS = 6400, 3
LINES = "<= 8"
ENCODED = re.compile(r"M[ -`]{60}\s*$|\s*\S{45,}\s*$")
ADDRESS = re.compile(r"://|@")


def new(material):
    """Evaluate the alerts of several streams, then measure the CPU time of a folder of posts."""
    quick = material.size is not FULL
    posts = newsposts.made() if quick else newsposts.read(material.folder)
    if posts is None:
        return [Row("new", "no 20news/ in the folder of corpora", None)]
    with tempfile.TemporaryDirectory() as place:
        name = "made posts" if quick else "20 Newsgroups raw"
        found = [watched(Path(place) / f"seed{seed}", posts, seed, quick) for seed in _seeds(quick)]
        rows = rows_of(name, found, QUICK["budget"] if quick else BUDGET)
        return rows + _costs(Path(place), posts, name, quick)


def _seeds(quick):
    return QUICK["seeds"] if quick else SEEDS


def watched(folder, posts, seed, quick, without=()):
    """Run `odl init` and `odl run` on one stream, and evaluate the alerts.

    The settings `without` are removed from its odl.yaml.
    """
    size, entry = (QUICK["size"], QUICK["entry"]) if quick else (SIZE, ENTRY)
    stream = newsposts.entering(posts, seed, size, entry)
    folder.mkdir()
    newsposts.write(folder / "posts.jsonl", stream)
    say(f"new: seed {seed}, {len(stream)} posts")
    child([tool("odl"), "init", "news", "posts.jsonl"], folder=folder)
    lines = (folder / "news" / "odl.yaml").read_text().splitlines()
    cut = f"batches: {{by: documents, documents: {size}, initial: {size}}}"
    lines = [cut if line.startswith("batches:") else line for line in lines]
    lines = [MADE_ALERTS if quick and line.startswith("alerts:") else line for line in lines]
    for setting in without:
        lines = [line.replace(setting, "") for line in lines]
    (folder / "news" / "odl.yaml").write_text("\n".join(lines) + "\n")
    child([tool("odl"), "run", "news"], folder=folder)
    budget = QUICK["budget"] if quick else BUDGET
    return judged(
        read.alerts_of(folder / "news", budget=budget),
        {post.id: post for post in stream},
        budget,
        lines,
    )


def judged(watch, posts, budget, lines):
    """Evaluate the alerts of one stream by the groups of posts, which odl does not know.

    Parameters
    ----------
    watch : odl.alerts.model.StreamAlerts
    posts : dict of str to newsposts.Post
    budget : int
    lines : list of str
        Lines of odl.yaml.

    Returns
    -------
    dict
        ``timesteps``: evaluated ones; ``precision``: of odl and of neighbours, by name, in each;
        ``alerts``: number in each; ``repeated``: pairs of near-duplicates; ``encoded``: alerts for
        encoded blocks; ``entered``, ``named``: groups that entered after the warm-up, and those
        with an own event; ``lines``.
    """
    n_lines = sum(bool(line) and line[0] != "#" for line in lines)
    found = {"timesteps": [], "precision": {}, "alerts": [], "lines": n_lines}
    seen, entered, members, past = set(), set(), {}, []
    for period, record in zip(watch.periods, read.records(watch.place), strict=True):
        batch = features.read(Path(watch.place.features) / f"{period.t}.h5")
        groups = [posts[name].group for name in batch.ids]
        for name, number in zip(groups, record.event.tolist(), strict=True):
            members.setdefault(number, []).append(name)
        novel = {name for name, group in zip(batch.ids, groups, strict=True) if group not in seen}
        if period.t and not period.unproven:
            entered |= set(groups) - seen
            items = np.flatnonzero(
                (record.item == np.arange(len(groups))) & (np.diff(batch.counts[:].indptr) > 0)
            )
            if len(novel & {batch.ids[row] for row in items}) >= FEWEST:
                shown = [document.id for document in _alerts(watch, period, budget)]
                found["timesteps"].append(period.t)
                found["alerts"].append(len(shown))
                chosen = {"product": shown, **_neighbours(batch, past, items, budget)}
                for name, ids in chosen.items():
                    found["precision"].setdefault(name, []).append(precision(ids, novel))
        seen |= set(groups)
        past.append(batch)
    members.pop(0, None)
    alerts = [document for period in watch.periods for document in _alerts(watch, period, budget)]
    found["repeated"] = repeated([posts[document.id].text for document in alerts])
    found["encoded"] = sum(
        encoded(posts[document.id].text, [reason.word for reason in document.reasons])
        for document in alerts
    )
    found["entered"], found["named"] = len(entered), len(entered & with_topic(members.values()))
    return found


def _alerts(watch, period, budget):
    """Return the first `budget` documents that the lists of a period show below its headlines.

    The budget of the settings counts headlines, each of which shows several documents. Neighbours
    have the same number of documents.
    """
    alerts = maps.alerts_of(watch, period)
    return [document for document, _, folded in alerts if not folded][:budget]


def _neighbours(batch, past, items, budget):
    """Return the ids of the items with the largest distances to earlier documents, by method.

    Methods are without and with the effect of batch peers.
    """
    found, Q = {}, _weighed(batch, "log")
    with mock.patch.object(baselines, "weighed", _weighed):
        nearest = baselines.nearest(batch, past)
    for name, scores in nearest.items():
        found[f"plain {name}"] = top(scores, batch.ids, items, budget)
        found[f"context {name}"] = top(
            sum(combine_with_peers(Q, scores, **CONTEXT)), batch.ids, items, budget
        )
    return found


def _weighed(batch, form, counts=None):
    """Return `baselines.weighed` without the stop words that odl omits."""
    counts = batch.counts[:] if counts is None else counts
    beyond = counts.shape[1] - batch.counts.shape[1]
    frequencies, words = np.pad(batch.frequencies, (0, beyond)), batch.vocabulary + [""] * beyond
    weighting, stop_words = Weighting(tf=form, max_share=0.5), StopWords(words, frequencies)
    rows = weigh(counts, frequencies, batch.n_before, weighting, "l2", stop_words=stop_words)
    return sparse.csr_array(rows[:, : batch.counts.shape[1]])


def top(scores, ids, rows, budget):
    """Return the ids of the rows with the highest scores; of equals, the earlier ones."""
    order = rows[np.argsort(-scores[rows], kind="stable")]
    return [ids[row] for row in order[:budget]]


def precision(ids, novel):
    """Return the share of ids that are novel; 0 without ids."""
    return sum(name in novel for name in ids) / max(len(ids), 1)


def repeated(texts, alike=ALIKE):
    """Count pairs of texts with a Jaccard index of five-word shingles of their bodies > `alike`."""
    sets, pairs = [_shingles(_body(text)) for text in texts], 0
    for at, one in enumerate(sets):
        # Sets whose sizes differ more cannot be as similar.
        near = (
            other
            for other in sets[:at]
            if alike * len(one) < len(other) and alike * len(other) < len(one)
        )
        pairs += sum(len(one & other) > alike * len(one | other) for other in near)
    return pairs


def _body(text):
    return text.partition("\n\n")[2] or text


def _shingles(text):
    words = re.findall(r"\w+", text.lower())
    return (
        {tuple(words[at : at + RUN]) for at in range(max(1, len(words) - RUN + 1))}
        if words
        else set()
    )


def encoded(text, words):
    """Return whether most of the words of an alert occur only in encoded lines of its document."""
    lines = text.splitlines()
    plain = " ".join(
        line for line in lines if ADDRESS.search(line) or not ENCODED.match(line)
    ).lower()
    inside = [word for word in words if word not in plain and word in text.lower()]
    return 2 * len(inside) > len(words)


def with_topic(topics):
    """Return the groups that have more than half of the documents of some topic.

    Parameters
    ----------
    topics : iterable of list of str
        Groups of the documents of each topic.
    """
    found = set()
    for groups in map(list, topics):
        first = max(set(groups), key=groups.count)
        if 2 * groups.count(first) > len(groups):
            found.add(first)
    return found


def rows_of(name, found, budget):
    """Return the rows about alerts: means over the evaluated timesteps of all streams."""
    what = f"{name}, {len(found)} streams, budget {budget}"
    held = [one["precision"] for one in found if one["precision"]]
    if not held:
        return [Row("new", f"{what}: no timestep after the warm-up has {FEWEST} novel items", None)]
    means = {key: np.mean(np.concatenate([one[key] for one in held])) for key in held[0]}
    repeats, blocks = (sum(one[key] for one in found) for key in ("repeated", "encoded"))
    shown, ours = [n for one in found for n in one["alerts"]], means["product"]
    spread = np.std([np.mean(one["product"]) for one in held])
    rows = [
        Row("new", f"{what}: precision of the alerts ({len(shown)} timesteps)", ours),
        Row("new", f"{what}: its standard deviation over streams", spread),
        Row("new", f"{what}: alerts of a judged timestep", np.mean(shown)),
    ]
    for kind in ("plain", "context"):
        best = max((key for key in means if key.startswith(kind)), key=means.get)
        value = means[best]
        rows.append(Row("new", f"{what}: precision of the best neighbours, {best}", value))
        rows.append(
            Row("new", f"{what}: alerts over these neighbours", ours / max(value, 1e-9), "times")
        )
    entered, named = (sum(one[key] for one in found) for key in ("entered", "named"))
    rows += [
        Row("new", f"{what}: pairs of alerts that are near-duplicates", repeats, "", "<= 0"),
        Row("new", f"{what}: alerts for an encoded block", blocks, "", "<= 0"),
        Row(
            "new",
            f"{what}: share of {entered} entering groups with a topic",
            named / max(entered, 1),
            "",
            ">= 0.5",
        ),
        Row(
            "new",
            f"{what}: lines of configuration",
            max(one["lines"] for one in found),
            "lines",
            LINES,
        ),
    ]
    return rows


def unit_of(posts):
    """Return the CPU seconds of scikit-learn's `CountVectorizer` on posts."""
    from sklearn.feature_extraction.text import CountVectorizer

    return min(
        cpu(CountVectorizer().fit_transform, [post.text for post in posts])[0] for _ in range(3)
    )


def _costs(place, posts, name, quick):
    """Measure CPU time of a first run, of one more week, and of a run with nothing to do.

    Times are also given in units of `unit_of`.
    """
    first, later = newsposts.weeks(posts, 1 if quick else WEEKS, POSTS)
    unit = unit_of(first)
    folder = place / "costs"
    (folder / "posts").mkdir(parents=True)
    newsposts.write(folder / "posts" / "first.jsonl", first)
    say(f"new: a folder of {len(first)} posts, then {len(later)} more")
    run = [tool("odl"), "run", "news"]
    began = (
        child([tool("odl"), "init", "news", "posts/*.jsonl"], folder=folder).cpu
        + child(run, folder=folder).cpu
    )
    newsposts.write(folder / "posts" / "later.jsonl", later)
    week, nothing = (child(run, folder=folder).cpu for _ in range(2))
    rows = [
        Row(
            "new",
            f"{name}: CountVectorizer of scikit-learn on {len(first)} posts, the unit",
            unit,
            "CPU s",
        )
    ]
    for what, seconds, limit in (
        (f"odl init and first run, {len(first)} posts", began, FIRST_LIMIT),
        (f"a run after a week more, {len(later)} posts", week, WEEK_LIMIT),
        ("a run with nothing to do", nothing, NOTHING_LIMIT),
    ):
        rows.append(Row("new", f"{name}: {what}", seconds, "CPU s"))
        rows.append(Row("new", f"{name}: {what}, over the unit", seconds / unit, "times", limit))
    return rows


# 12, 3 and .6 CPU s on a machine on which the unit takes .97 s.
FIRST_LIMIT, WEEK_LIMIT, NOTHING_LIMIT = "<= 12.4", "<= 3.1", "<= 0.62"
