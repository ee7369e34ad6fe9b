"""Methods of odl on the streams of `peers.py`, measured as those of `peers_methods.py`."""

import sys
from types import MappingProxyType

from peers_stream import Batch, run
from scipy import sparse

from odl import learners, novelty
from odl.papers import rivals
from odl.stream import features

ATOMS = 500


class Learned:
    NAME, OWN = "adaptive", MappingProxyType({})

    def __init__(self, seed):
        self.learner, self.seed, self.state = learners.make(self.NAME, **self.OWN), seed, None

    def score(self, P):
        self.state = self.learner.fit_terms(self.state, P.shape[1])
        return novelty.score(self.learner, self.state, P).score

    def learn(self, P):
        if self.state is None:
            self.state = self.learner.start(P, ATOMS, novelty.generator(self.seed, "start"))
        else:
            self.state = self.learner.learn(self.state, P, None)


class AdaptiveContext(Learned):
    OWN = MappingProxyType({"contrast": 0.3, "context": 0.5})


class Levels(Learned):
    NAME = "levels"


class LevelsContext(Levels):
    OWN = MappingProxyType({"context": 0.5})


METHODS = {
    "odl levels": Levels,
    "odl levels, whole batch": LevelsContext,
    "odl adaptive": Learned,
    "odl adaptive, whole batch": AdaptiveContext,
    "5 nearest, whole past": rivals.WholePast,
    "5 nearest, last 1000": rivals.LastThousand,
    "first story by LSH": rivals.FirstStory,
}


def weights(folder, t):
    """Return the weights of a batch, the same that other packages get."""
    return sparse.csr_array(Batch(folder, t).P)


def counted(folder, t):
    """Return a batch with its counts; methods that find neighbours compute their own weights."""
    return features.read(folder / f"{t}.h5")


def main():
    """Run a method of this package."""
    run(METHODS, weights if issubclass(METHODS[sys.argv[1]], Learned) else counted)


if __name__ == "__main__":
    main()
