"""The methods of this package on the stream of `peers.py`, measured as those of `peers_methods.py`."""

from types import MappingProxyType

from peers_methods import run

from odl import learners, novelty
from odl.evaluation import rivals
from odl.stream import features

ATOMS = 500
CONTEXT = {"contrast": 0.3, "context": 0.5}


class Adaptive:
    OWN = MappingProxyType({})

    def __init__(self, seed):
        self.learner, self.seed, self.state = learners.make("adaptive", **self.OWN), seed, None

    def rows(self, batch):
        return batch.weighed(tf="log", norm=self.learner.norm)[:]

    def score(self, batch):
        P = self.rows(batch)
        self.state = self.learner.fit_terms(self.state, P.shape[1])
        return novelty.score(self.learner, self.state, P).score

    def learn(self, batch):
        P = self.rows(batch)
        if self.state is None:
            self.state = self.learner.start(P, ATOMS, novelty.generator(self.seed, "start"))
        else:
            self.state = self.learner.learn(self.state, P, None)


class AdaptiveContext(Adaptive):
    OWN = CONTEXT


METHODS = {
    "odl adaptive": Adaptive,
    "odl adaptive in context": AdaptiveContext,
    "5 nearest, whole past": rivals.WholePast,
    "5 nearest, last 1000": rivals.LastThousand,
    "first story by LSH": rivals.FirstStory,
}


def main():
    """Run a method of this package."""
    run(METHODS, lambda folder, t: features.read(folder / f"{t}.h5"))


if __name__ == "__main__":
    main()
