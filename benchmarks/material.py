"""Data of the parts: batches of TDT2 or of a synthetic stream, and learned dictionaries."""

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml
from measure import ROOT, say
from scipy import sparse

from odl import corpora, learners, novelty
from odl.config import chains
from odl.config.sections import Batches, Order
from odl.corpora import download
from odl.files.documents import Documents
from odl.stream import batching, features

RUNS = {
    "DA": "dual-averaging",
    "PG": "projected-gradient",
    "ADMM": "admm",
    "adaptive": "adaptive",
    "levels": "levels",
}
# Learners that config/tdt2.yaml does not have
MORE = {name: {"algorithm": name, "features": {"tf": "log"}} for name in ("adaptive", "levels")}
MORE["levels"]["recency"] = 0.5  # as `odl init` writes it
LEVELS = (800, 2000)  # atoms of `levels` with 60,000 and 150,000 numbers
SEED = 0


@dataclass(frozen=True)
class Size:
    """Sizes of a run of the benchmark.

    Parameters
    ----------
    atoms : tuple of int
        Two sizes of dictionary: that of the limits, and a larger one to compare with.
    repeats : int
        Number of repetitions of a median.
    batch, batches, terms, topics, own, tokens : int
        Sizes of the made stream; `own` is the number of words of a topic. TDT2 has the same
        `batch`.
    highs, admm : int
        Documents per batch for highspy; total number of documents for the dense ADMM.
    rounds : int, optional
        Alternations of the initialisation; by default those of the configuration.
    """

    atoms: tuple = (200, 500)
    repeats: int = 5
    batch: int = 1000
    batches: int = 10
    terms: int = 36_000
    topics: int = 30
    own: int = 400
    tokens: int = 190
    highs: int = 50
    admm: int = 4
    rounds: int | None = None


FULL = Size()
QUICK = Size(
    atoms=(6, 12),
    repeats=1,
    batch=60,
    batches=4,
    terms=300,
    topics=8,
    own=30,
    tokens=60,
    highs=4,
    admm=2,
    rounds=2,
)


@dataclass(frozen=True)
class Chain:
    """One learner over the complete stream.

    Attributes
    ----------
    learner : odl.learners.Learner
    run : dict
        Argument --run of `odl step update`.
    states : list of odl.learners.State
        states[t] scores batch t: states[0] is the initial state, states[t] the state after timestep
        t - 1.
    P : list of csr_array
        Weighted batches.
    """

    learner: learners.Learner
    run: dict
    states: list
    P: list


@dataclass
class Material:
    """The stream and the chains of learners, which are learned on first use.

    Parameters
    ----------
    size : Size
    folder : Path, optional
        Folder of the corpora, in the layout of a mirror.
    """

    size: Size = FULL
    folder: Path | None = None
    chains: dict = field(default_factory=dict)

    def __post_init__(self):
        self.settings = yaml.safe_load((ROOT / "config" / "tdt2.yaml").read_text())
        self.settings["learners"] |= MORE
        source = self.folder / "tdt2" / "TDT2_with_time.mat" if self.folder else None
        self.real = bool(source and source.exists() and self.size is FULL)
        self.name = "TDT2" if self.real else "made stream"
        documents = corpora.read("tdt2", [source]) if self.real else made(self.size)
        cut = Batches(documents=self.size.batch, initial=self.size.batch)
        parts = batching.split(documents, Order(batches=cut), SEED)
        self.place, self.batches = tempfile.TemporaryDirectory(), []
        for t, part in enumerate(parts):
            previous = self.batches[-1] if self.batches else None
            self.batches.append(
                features.follow(documents.select(part), previous, f"{self.place.name}/{t}.h5")
            )

    def full(self):
        """Return the timesteps after the first with a full batch."""
        return [batch.t for batch in self.batches[1:] if len(batch.ids) == self.size.batch]

    def atoms(self, name):
        """Return two numbers of atoms of a learner; those of `levels` follow from its memory."""
        return LEVELS if name == "levels" and self.size is FULL else self.size.atoms

    def promised(self, name):
        """Return the number of atoms of the limits: the smaller one; for `levels` the default."""
        return self.atoms(name)[name == "levels"]

    def chain(self, name, atoms):
        """Return the chain of one learner (a key of `RUNS`) at one size of dictionary."""
        if (name, atoms) not in self.chains:
            say(f"{name}, k = {atoms}: learning from {len(self.batches)} batches")
            self.chains[name, atoms] = self._learn(name, atoms)
        return self.chains[name, atoms]

    def _learn(self, name, atoms):
        run = chains.run_of(
            self.settings, RUNS[name], corpus="tdt2", seed=SEED, run=RUNS[name], atoms=atoms
        )
        chosen, weighting = run["learner"], run["features"]
        if self.size.rounds is not None and name not in MORE:
            chosen["rounds"] = self.size.rounds
        if name == "levels":
            usual = learners.make(name)
            chosen["memory"] = atoms * (usual.terms + usual.numbers_per_atom)
        learner = learners.make(**chains.learner_of(chosen))
        P = [batch.weighed(**weighting, norm=learner.norm)[:] for batch in self.batches]
        state = learner.start(P[0], atoms, novelty.generator(SEED, "start"))
        states = [state, state]
        for batch in P[1:]:
            states.append(step(learner, states[-1], batch)[0])
        return Chain(learner, run, states, P)


def step(learner, state, P):
    """Score a batch and learn from it, as one timestep does; return (state, codes)."""
    current = learner.fit_terms(state, P.shape[1])
    codes = novelty.score(learner, current, P).codes
    return learner.learn(current, P, codes), codes


def made(size, seed=0):
    """Return a synthetic stream of documents.

    Half of the words are common to all topics, half belong to the topic of the document. Two thirds
    of the topics occur from the start; the others enter one by one.
    """
    rng = np.random.default_rng(seed)
    n, topics, own = size.batch * size.batches, size.topics, size.own
    common, local = 1.0 / np.arange(1, size.terms + 1), 1.0 / np.arange(1, own + 1)
    words = np.array([rng.choice(size.terms, own, replace=False) for _ in range(topics)])
    n_present = 2 * topics // 3 + np.arange(n) * (topics - 2 * topics // 3) // n + 1
    topic = (rng.random(n) * n_present).astype(int)
    half = size.tokens // 2
    shared = rng.choice(size.terms, (n, half), p=common / common.sum())
    special = words[topic[:, None], rng.choice(own, (n, half), p=local / local.sum())]
    columns = np.hstack([shared, special]).ravel()
    rows = np.repeat(np.arange(n), 2 * half)
    counts = sparse.csr_array(
        (np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=(n, size.terms)
    )
    names = [f"made-{row}" for row in range(n)]
    return Documents(
        counts, [f"t{term:05}" for term in range(size.terms)], names, np.arange(n) * 60_000,
        [(f"topic{number:02}",) for number in topic], names,
    )  # fmt: skip


def find_corpora(given=None):
    """Return the folder of the corpora, or None.

    It is the argument, ODL_CORPORA, ODL_MIRROR, or ../shared/corpora.
    """
    if given or os.environ.get("ODL_CORPORA"):
        place = Path(given or os.environ["ODL_CORPORA"])
        return place.resolve() if place.is_dir() else None
    # ODL_MIRROR may also be an address, which is not read here.
    for place in (os.environ.get("ODL_MIRROR"), ROOT.parent / "shared" / "corpora"):
        if place and Path(place).is_dir():
            return Path(place).resolve()
    return None


def read_stream(name):
    """Return the documents of a stream of config/quality.yaml, from the folder ODL_MIRROR."""
    chosen = yaml.safe_load((ROOT / "config/quality.yaml").read_text(encoding="utf-8"))["corpora"][
        name
    ]
    registry = download.load_registry(ROOT / "data/corpora.csv")
    rows = download.files_of(chosen["reader"], registry)
    files = [f"{os.environ['ODL_MIRROR']}/{row['folder']}/{row['file']}" for row in rows]
    return corpora.read(chosen["reader"], files, chosen["options"])
