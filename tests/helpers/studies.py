"""A small invented study on disk: documents of named topics, real feature chains, score files."""

from types import SimpleNamespace

import numpy as np
from places import made_once
from scipy import sparse

from odl.evaluation import averages, baselines, scorefiles, study
from odl.evaluation.study import load_plan, score_path, write_plan
from odl.files.documents import NO_TIME, Documents
from odl.jobs import update
from odl.report import figures
from odl.stream import features

TOPICS = {
    "harvest": "wheat grain tonnes crop export maize barley silo farmer acre",
    "currency": "dollar yen bank rate intervention dealer mark central float peg",
    "tanker": "oil barrel tanker gulf refinery opec crude pipeline cargo port",
    "merger": "shares offer board merger stake bid takeover holder filing <deal>",
    "strike": "union workers pay strike mine ballot wage shift picket talks",
    "launch": "satellite rocket launch orbit payload pad mission fuel engine crew",
}
COMMON = (
    "said",
    "year",
    "new",
    "government",
    "company",
    "report",
    "week",
    "official",
    "market",
    "price",
)
DAY = 86_400_000


def batch_of(rng, t, n, names, corpus="wires", plain=False):
    """One batch: every document has a topic of `names` and words of it among common ones; plain: bare text."""
    words = sorted({*COMMON, *" ".join(TOPICS.values()).split()})
    column = {word: position for position, word in enumerate(words)}
    rows, columns, topics = [], [], []
    for row in range(n):
        name = names[int(rng.integers(len(names)))]
        topics.append((name,) if rng.random() > 0.05 and not plain else ())
        own, size = TOPICS[name].split(), int(rng.integers(8, 30)) if rng.random() > 0.03 else 0
        drawn = [
            own[i] if rng.random() < 0.6 else COMMON[i] for i in rng.integers(0, 10, size=size)
        ]
        columns += [column[word] for word in drawn]
        rows += [row] * size
    counts = sparse.csr_array(
        (np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=(n, len(words))
    )
    ids = [f"{corpus}-{t}-{row}" for row in range(n)]
    times = 883_612_800_000 + DAY * (7 * t + np.sort(rng.integers(0, 7, size=n)))
    times = np.full(n, NO_TIME) if plain else times
    titles = [
        f"Report & notes <{row}> on {' / '.join(topics[row]) or 'nothing'}" for row in range(n)
    ]
    return Documents(counts, words, ids, times, topics, titles).select(list(range(n)))


def chain_of(seed, steps, n, corpus="wires", plain=False, folder=None):
    """Feature chain in which some timesteps bring a new topic and some do not; its files in a folder, f0.h5 ..."""
    rng = np.random.default_rng(seed)
    entering = {0: 2, 1: 3, 2: 3, 3: 4, 4: 5, 5: 6}
    names, chain = list(TOPICS), []
    for t in range(steps):
        documents = batch_of(rng, t, n, names[: entering.get(t, 6)], corpus, plain)
        output = folder / f"f{t}.h5" if folder else None
        chain.append(features.follow(documents, chain[-1] if chain else None, output))
    return chain


def write_scores(path, batch, *, run, corpus, seed, k, skill, rng):
    """A score file with plausible scores: the more skill, the better novel documents stand out."""
    n = len(batch.ids)
    empty = np.asarray(batch.counts[:].sum(axis=1)).ravel() == 0
    score = np.clip(0.6 + 0.16 * rng.normal(size=n) + skill * (batch.novel == 1), 0.1, 1.0)
    score[(score > 0.95) | empty] = 1.0
    top = np.argsort(-score, kind="stable")[:20]
    missing, counts = [], batch.counts[:]
    for row in top:
        terms = counts.indices[counts.indptr[row] : counts.indptr[row + 1]][:6]
        missing.append([(int(term), 0.2 / (1 + place)) for place, term in enumerate(terms)])
    atoms = [
        [
            (int(term), 0.4 / (1 + i))
            for i, term in enumerate(rng.permutation(len(batch.vocabulary))[:8])
        ]
        for _ in range(k)
    ]
    novelty = SimpleNamespace(
        score=score,
        residual=score - 0.05,
        penalty=np.full(n, 0.05),
        empty=empty,
        uncoded=float(np.mean(score == 1)),
        gap=0.0,
        meaning=None,
    )
    use = np.sort(rng.gamma(0.5, size=k))[::-1]
    scorefiles.write_scores(
        path, batch, novelty, top=top, missing=missing, top_atoms=atoms, atom_use=use,
        algorithm="dual_averaging", solver="exact", weighting="{}", atoms=k, corpus=corpus, seed=seed, run=run,
    )  # fmt: skip


def write_jobs(folder, t, rng, k):
    """Timing and benchmark files as the workflow leaves them."""
    for name in ("timings", "benchmarks"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    seconds = 0.01 + k * rng.uniform(0.9, 1.1) / 1000
    phases = {
        "start": 2.0 if t == 0 else 0.0,
        "score": seconds,
        "learn": 2 * seconds,
        "job": 0.6 + 3 * seconds,
    }
    update.write_timings(folder / "timings" / f"{t}.tsv", phases, 60)
    memory = "-" if t == 1 else f"{150 + k:.2f}"
    (folder / "benchmarks" / f"{t}.tsv").write_text(
        f"s\th:m:s\tmax_rss\tcpu_time\n0.91\t0:00:00\t{memory}\t0.8\n"
    )


def make_study(
    root,
    *,
    seeds=2,
    steps=6,
    n=60,
    sizes=(10, 20),
    runs=None,
    reader="tdt2",
    corpus="wires",
    bootstrap=100,
    plain=False,
    window="",
):
    """Write score files and evaluations below `root`; return the plan. The last baselines say the window."""
    runs = runs or {
        "da": ("dual_averaging", {"gamma": 4.0, "lam": 0.1}, 0.25),
        "da-gamma2": ("dual_averaging", {"gamma": 2.0, "lam": 0.1}, 0.15),
        "da-gamma8": ("dual_averaging", {"gamma": 8.0, "lam": 0.1}, 0.20),
        "pg": ("projected_gradient", {"eta": 11.0, "lam": 0.1}, 0.12),
        "admm": ("online_admm", {"beta": 9.0, "lam": 0.1}, 0.08),
    }
    plan = []
    for seed in range(seeds):
        chain = chain_of(seed, steps, n, corpus, plain)
        base = root / corpus / f"seed{seed}"
        common = {
            "corpus": corpus,
            "reader": reader,
            "protocol": "by-date",
            "seed": seed,
            "timesteps": list(range(steps)),
        }
        for t in range(1, steps):
            path, said = base / "baselines" / f"{t}.h5", window if t == steps - 1 else ""
            scorefiles.write_baselines(path, chain[t], baselines.score(chain[t], chain[:t]), said)
        entry = {**common, "run": "baselines", "algorithm": "baseline", "k": None, "parameters": {}}
        plan.append({**entry, "folder": str(base / "baselines")})
        for number, (run, (algorithm, parameters, skill)) in enumerate(runs.items()):
            for k in sizes:
                rng = np.random.default_rng([seed, number, k])
                folder = base / run / f"k{k}"
                for t in range(steps):
                    write_scores(
                        folder / "scores" / f"{t}.h5",
                        chain[t],
                        run=run,
                        corpus=corpus,
                        seed=seed,
                        k=k,
                        skill=skill + k / 3000,
                        rng=rng,
                    )
                    write_jobs(folder, t, rng, k)
                entry = {
                    **common,
                    "run": run,
                    "algorithm": algorithm,
                    "k": k,
                    "parameters": parameters,
                }
                plan.append({**entry, "folder": str(folder)})
    for entry in plan:
        first = 1 if entry["algorithm"] == "baseline" else 0
        paths = [score_path(entry, t) for t in range(first, steps)]
        folder = entry["folder"]
        averages.write_evaluation(
            paths, f"{folder}/auc.tsv", f"{folder}/summary.tsv", min_novel=3, bootstrap=bootstrap
        )
    return plan


def unevaluated(root):
    """Write a study of which nothing can be evaluated, with its tables and figures; return the plan."""
    runs = {"da": ("dual_averaging", {"gamma": 4.0}, 0.2)}
    plan = make_study(root, seeds=1, steps=1, sizes=(20,), runs=runs)
    plan = [entry for entry in plan if entry["algorithm"] != "baseline"]
    study.summarise(plan, root / "tables")
    figures.write(plan, root / "tables", root / "figures")
    return plan


def shown(base):
    """Return root and plan of a study of two streams with its tables and figures, made once; not to be changed."""

    def make(root):
        plan = make_study(root)
        one = {
            "da": ("dual_averaging", {"gamma": 4.0}, 0.2),
            "pg": ("projected_gradient", {"eta": 11.0}, 0.1),
        }
        plan += make_study(
            root, seeds=1, steps=4, sizes=(20,), runs=one, reader="scipydocs", corpus="small"
        )
        study.summarise(plan, root / "tables")
        figures.write(plan, root / "tables", root / "figures")
        write_plan(root / "plan.json", plan)

    root = made_once(base, "shown", make)
    return root, load_plan(root / "plan.json")
