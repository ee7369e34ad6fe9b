"""Vectors of texts: means of the vectors of their tokens, by what is installed."""

import sys
import types

import numpy as np
import pytest

from odl import corpora
from odl.errors import ConfigError
from odl.text import encoder


class FakeTokenizer:
    @classmethod
    def from_file(cls, path):
        assert path.endswith(encoder.TOKENS)
        return cls()

    def encode_batch(self, texts, add_special_tokens):
        assert not add_special_tokens and len(texts) <= encoder.Encoder.AT_ONCE
        return [types.SimpleNamespace(ids=[len(word) for word in text.split()]) for text in texts]


@pytest.fixture
def table(monkeypatch):
    """Stands in for the packages of the extra: a token is its length."""
    table = np.arange(40, dtype=np.float16).reshape(20, 2) ** 2
    spec = types.SimpleNamespace(submodule_search_locations=["folder"])
    monkeypatch.setattr(encoder.importlib.util, "find_spec", lambda name: spec)
    loaded = types.ModuleType("safetensors.numpy")
    loaded.load_file = lambda path: {"embedding.weight": table}
    tokens = types.ModuleType("tokenizers")
    tokens.Tokenizer = FakeTokenizer
    for module in (types.ModuleType("safetensors"), loaded, tokens):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return table.astype(float)


def test_vectors_are_means_of_tokens(table, monkeypatch):
    monkeypatch.setattr(encoder.Encoder, "AT_ONCE", 2)
    made = encoder.encoder_of("wordllama")
    texts = ["one three", "", "seventh", "a bb", "ccc"]
    assert list(made.through(texts)) == texts
    expected = [table[[len(word) for word in text.split()]].mean(axis=0) if text else [0, 0] for text in texts]
    assert np.allclose(made.vectors(), expected) and made.vectors().dtype == np.float32
    assert encoder.encoder_of(None) is None


def test_a_reader_encodes_what_it_keeps(table, tmp_path):
    (tmp_path / "a.csv").write_text("id,text\nx,red brown\ny,word\nz,blue black tin\n")
    found = corpora.read("documents", [tmp_path / "a.csv"], {"vectors": "wordllama", "min_words": 2})
    assert found.ids == ["x", "z"]
    assert np.allclose(found.vectors, [table[[3, 5]].mean(axis=0), table[[4, 5, 3]].mean(axis=0)])
    with pytest.raises(ConfigError, match=r"vectors and columns\.vector at once"):
        corpora.read("documents", [tmp_path / "a.csv"], {"vectors": "wordllama", "columns": {"vector": "v"}})


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ConfigError, match=r"the extra meaning; pip install"):
        encoder.encoder_of("wordllama")
    with pytest.raises(ConfigError, match=r"vectors is 'word2vec'; expected one of None, wordllama"):
        corpora.read("documents", [], {"vectors": "word2vec"})
