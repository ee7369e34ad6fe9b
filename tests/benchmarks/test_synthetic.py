"""The made stream: equal arguments give equal bytes, and topics enter when they should."""

import gzip
import json
import sys

import numpy as np
import pytest
from places import ROOT

from odl import corpora


@pytest.fixture
def synthetic(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import synthetic

    yield synthetic
    sys.modules.pop("synthetic")


def test_equal_arguments_equal_bytes(synthetic, tmp_path):
    for name, seed in (("a.jsonl", 3), ("b.jsonl", 3), ("c.jsonl", 4)):
        synthetic.main(["300", str(tmp_path / name), "--topics", "7", "--seed", str(seed)])
    synthetic.write(tmp_path / "d.jsonl.gz", 300, 7, 3)
    first = (tmp_path / "a.jsonl").read_bytes()
    assert (
        first
        == (tmp_path / "b.jsonl").read_bytes()
        == gzip.decompress((tmp_path / "d.jsonl.gz").read_bytes())
    )
    assert first != (tmp_path / "c.jsonl").read_bytes()
    assert len(list(tmp_path.iterdir())) == 4, "a temporary file was left"


def test_blocks_do_not_depend_on_each_other(synthetic, monkeypatch):
    monkeypatch.setattr(synthetic, "BLOCK", 64)
    parts = list(synthetic.blocks(200, 10, 0))
    assert [part[0] for part in parts] == [0, 64, 128, 192]
    assert not np.array_equal(parts[0][3][:100], parts[1][3][:100]), "two blocks were drawn alike"


def test_topics_enter_over_time_and_stay(synthetic):
    n_documents, n_topics = 30_000, 40
    entry = synthetic.entries(n_documents, n_topics)
    topics = np.concatenate([part[1] for part in synthetic.blocks(n_documents, n_topics, 1)])
    assert (
        (entry[:4] == 0).all() and (np.diff(entry[3:]) > 0).all() and entry[-1] < 0.9 * n_documents
    )
    for topic in range(n_topics):
        places = np.flatnonzero(topics == topic)
        assert entry[topic] <= places[0] < entry[topic] + 1500 and places[-1] > 0.9 * n_documents


def test_topics_come_and_go_and_words_never_end(synthetic):
    n_documents, n_topics = 30_000, 40
    entry = synthetic.entries(n_documents, n_topics, 1.0)
    parts = list(synthetic.blocks(n_documents, n_topics, 1, leaving=True, fresh=0.02))
    topics, terms = (np.concatenate([part[at] for part in parts]) for at in (1, 3))
    for topic in range(n_topics):
        places = np.flatnonzero(topics == topic)
        gone = (
            entry[topic + 2] if 2 <= topic < n_topics - 2 else n_documents
        )  # two stay, two others at any time
        assert entry[topic] <= places[0] and gone - 100 < places[-1] < gone
    first = synthetic.COMMON + synthetic.OWN * n_topics
    fresh = terms[terms >= first]
    assert len(np.unique(fresh)) == len(fresh) and abs(len(fresh) / len(terms) - 0.02) < 0.001
    assert len({synthetic.word(number) for number in fresh.tolist()}) == len(fresh)


def test_the_reader_takes_it(synthetic, tmp_path):
    synthetic.write(tmp_path / "made.jsonl", 400, 20, 0)
    found = corpora.read("documents", [tmp_path / "made.jsonl"], {})
    lengths, words = np.asarray(found.counts.sum(axis=1)), np.diff(found.counts.indptr)
    assert len(found) == 400 and (lengths >= 22).all() and (lengths <= 31).all(), (
        "a word was no token"
    )
    assert 20 <= np.median(words) <= 30
    assert (np.diff(found.times) == 60_000).all()
    assert found.topics[0] == (
        json.loads((tmp_path / "made.jsonl").open().readline())["topics"][0],
    )


def test_words_differ(synthetic):
    assert len({synthetic.word(number) for number in range(60_000)}) == 60_000


@pytest.mark.parametrize(
    "words", [["0", "x.jsonl"], ["10", "x.csv"], ["10", "x.jsonl", "--topics", "0"]]
)
def test_what_cannot_be_made_is_refused(synthetic, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="synthetic: "):
        synthetic.main(words)
    assert not list(tmp_path.iterdir())
