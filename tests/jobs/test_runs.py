"""A run is parsed once: typed for jobs, and named in files as it was given."""

import json

import pytest

from odl import learners
from odl.errors import DataError, OdlError
from odl.jobs import runs
from odl.stream.weighting import Weighting

CHAIN = {
    "corpus": "toy",
    "seed": 3,
    "run": "da",
    "atoms": 5,
    "learner": {"lam": 0.2, "algorithm": "dual_averaging"},
    "features": {"tf": "log"},
}


def test_a_run_is_typed_and_its_chain_stays_as_it_was_given():
    text = json.dumps(CHAIN)
    run = runs.parse(json.loads(text))
    assert run.learner == learners.make("dual_averaging", lam=0.2)
    assert run.weighting == Weighting(tf="log", idf="past", min_df=0, vocabulary="growing")
    assert (run.corpus, run.seed, run.run, run.atoms) == ("toy", 3, "da", 5)
    assert json.dumps(run.chain) == text


@pytest.mark.parametrize(
    ("section", "settings", "message"),
    [
        ("learner", {"algorithm": "dual_averaging", "lam": -1}, "lam=-1; expected a finite number of at least 0"),
        ("learner", {"algorithm": "dual_averaging", "lan": 1}, "did you mean 'lam'"),
        ("features", {"idf": "future"}, "idf is 'future'"),
    ],
)
def test_a_setting_out_of_range_is_refused_before_a_file_is_opened(section, settings, message):
    with pytest.raises(OdlError, match=message):
        runs.parse({**CHAIN, section: settings})


@pytest.mark.parametrize(("t", "previous"), [(0, "0.h5"), (1, None)])
def test_a_timestep_has_a_checkpoint_before_it_or_is_the_first(t, previous):
    with pytest.raises(DataError, match=f"timestep {t} with"):
        runs.check_previous(t, previous)
