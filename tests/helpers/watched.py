"""A made stream with its alerts: topics that enter, grow, fall silent and return; near-duplicates; odd documents."""

from dataclasses import replace

import numpy as np
from scipy import sparse
from studies import COMMON, DAY, TOPICS

from odl.config.sections import Alerts
from odl.files import documents as docs
from odl.files.documents import Documents
from odl.jobs import alerts, runs, update
from odl.stream import features

START = 883_612_800_000
FEATURES = {"tf": "log", "idf": "past", "min_df": 0, "vocabulary": "growing"}
SETTINGS = Alerts(budget=5, warm_up=100, window=400)
# Documents of the entering topic in each period: born in 3, ongoing, growing in 6, silent from 8
# on, back in 12.
LAUNCHES = (0, 0, 0, 6, 2, 2, 20, 3, 0, 0, 0, 0, 12)
SIZE = 80


def words_of(rng, name, n=14):
    own = TOPICS[name].split()
    return [own[i] for i in rng.integers(0, 10, n)] + [COMMON[i] for i in rng.integers(0, 10, 4)]


def batch_of(t, launches, size=SIZE, more=()):
    """A period: documents of known topics, of the entering one, an odd one, two that are nearly the same, and more."""
    rng = np.random.default_rng(t)
    texts = [
        words_of(rng, ("harvest", "currency", "tanker")[row % 3]) for row in range(size - launches)
    ]
    texts += [words_of(rng, "launch") for _ in range(launches)]
    texts[5] = [f"odd{t}x{i}" for i in range(12)] + ["market", "price"]
    twice = [f"copy{t}x{i}" for i in range(10)] + ["week", "said"]
    texts[7], texts[11] = twice, [*twice, "week"]
    texts[20 : 20 + len(more)] = more
    vocabulary = sorted({word for text in texts for word in text})
    place = {word: at for at, word in enumerate(vocabulary)}
    rows = [row for row, text in enumerate(texts) for _ in text]
    columns = [place[word] for text in texts for word in text]
    counts = sparse.csr_array(
        (np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=(size, len(vocabulary))
    )
    times = START + 7 * DAY * t + np.arange(size) * 1000
    titles = [
        f"Title {t}-{row} \x1b[31m" if row == 5 else f"Title {t}-{row}" for row in range(size)
    ]
    titles[size - launches :] = [" ".join(text[:4]) for text in texts[size - launches :]]
    files = [f"{'wire' if row % 2 else 'desk'}.jsonl" for row in range(size)]
    ids = [f"{files[row]}:{t * size + row + 1}" for row in range(size)]
    return Documents(counts, vocabulary, ids, times, [()] * size, titles, files)


def run_of(algorithm="adaptive", atoms=8, **learner):
    learner = {"algorithm": algorithm, **learner}
    return {
        "corpus": "made",
        "seed": 0,
        "run": "it",
        "atoms": atoms,
        "learner": learner,
        "features": FEATURES,
    }


def follow(root, run, launches=LAUNCHES, settings=None, first=0, more=None, **bound):
    """Make the files of a study of one stream below `root`, timestep by timestep; return the folder of the alerts.

    `more` has texts, lists of words, for some of its periods.
    """
    base = root / "made" / "seed0"
    folder = base / run["run"] / f"k{run['atoms']}"
    for t in range(first, len(launches)):
        batch, data = base / "batches" / f"{t}.h5", base / "features" / f"{t}.h5"
        docs.write(batch, batch_of(t, launches[t], more=(more or {}).get(t, ())), "batch", t=t)
        features.advance(data, batch, base / "features" / f"{t - 1}.h5" if t else None, **bound)
        state, scores = folder / f"{t}.h5", folder / "scores" / f"{t}.h5"
        known = folder / f"{t - 1}.h5" if t else None
        history = base / "features"
        chain = runs.parse(run)
        update.update(
            data,
            state,
            scores,
            folder / "timings.tsv",
            run=chain,
            before=runs.Before(known, history),
        )
        previous = folder / "alerts" / f"{t - 1}.h5" if t else None
        alerts.follow(
            alerts.Written(data, scores, state), folder / "alerts" / f"{t}.h5",
            run=chain, settings=replace(SETTINGS, **(settings or {})),
            before=runs.Before(previous, known=known), batch=batch,
        )  # fmt: skip
    return folder / "alerts"
