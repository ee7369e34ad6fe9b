"""The benchmark of vectors beside words: MiniLM in numpy against its equations, methods against their definitions."""

import io
import json
import types
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from places import ROOT
from scipy import sparse
from scipy.special import erf, softmax

from odl import corpora
from odl.learners.peers import by_peers, in_order
from odl.papers.experiments import quality
from odl.papers.rivals import meaning as meaning_weight
from odl.stream import dense


@pytest.fixture
def minilm(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import minilm

    for name, value in {"HEADS": 3, "LAYERS": 2, "WIDTH": 12}.items():
        monkeypatch.setattr(minilm, name, value)
    monkeypatch.setattr(minilm.MiniLM, "AT_ONCE", 3)
    return minilm


@pytest.fixture
def weights(rng):
    """Those of two layers of three heads of width 4."""

    def made(*shape):
        return rng.normal(size=shape).astype(np.float32)

    sizes = {"word": 20, "position": 8, "token_type": 2}
    found = {
        f"embeddings.{name}_embeddings.weight": made(number, 12) for name, number in sizes.items()
    }
    found |= {f"embeddings.LayerNorm.{name}": made(12) for name in ("weight", "bias")}
    for layer in range(2):
        at = f"encoder.layer.{layer}."
        shapes = {f"attention.self.{name}": (12, 12) for name in ("query", "key", "value")}
        shapes |= {
            "attention.output.dense": (12, 12),
            "intermediate.dense": (16, 12),
            "output.dense": (12, 16),
        }
        for name, shape in shapes.items():
            found |= {f"{at}{name}.weight": made(*shape), f"{at}{name}.bias": made(shape[0])}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            found |= {f"{at}{name}.weight": made(12), f"{at}{name}.bias": made(12)}
    return found


@pytest.fixture
def model(minilm, weights, monkeypatch, tmp_path):
    """Stands in for the packages: a token is the length of a word."""
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as packed:
        packed.writestr("model.safetensors", "")
        packed.writestr("tokenizer.json", "{}")

    class Tokenizer:
        from_str = classmethod(lambda cls, text: cls())
        no_padding = staticmethod(lambda: None)
        enable_truncation = staticmethod(lambda length: None)

        def encode_batch(self, texts):
            return [types.SimpleNamespace(ids=[1, *map(len, text.split()), 2]) for text in texts]

    loaded, tokens = types.ModuleType("safetensors.numpy"), types.ModuleType("tokenizers")
    loaded.load, tokens.Tokenizer = lambda data: weights, Tokenizer
    for module in (types.ModuleType("safetensors"), loaded, tokens):
        monkeypatch.setitem(minilm.sys.modules, module.__name__, module)
    spec = types.SimpleNamespace(submodule_search_locations=[tmp_path])
    monkeypatch.setattr(minilm.importlib.util, "find_spec", lambda name: spec)
    return minilm.MiniLM()


def encoded(weights, ids):
    """Return the vector of one text, head by head and in double precision."""
    of = {name: value.astype(np.float64) for name, value in weights.items()}

    def normed(x, name):
        x = x - x.mean(axis=1, keepdims=True)
        return (
            x / np.sqrt(x.var(axis=1, keepdims=True) + 1e-12) * of[f"{name}.weight"]
            + of[f"{name}.bias"]
        )

    def times(x, name):
        return x @ of[f"{name}.weight"].T + of[f"{name}.bias"]

    words, places, kinds = (
        of[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    x = normed(words[ids] + places[: len(ids)] + kinds[0], "embeddings.LayerNorm")
    for layer in range(2):
        at = f"encoder.layer.{layer}."
        Q, K, V = (times(x, f"{at}attention.self.{name}") for name in ("query", "key", "value"))
        heads = [slice(first, first + 4) for first in (0, 4, 8)]
        told = np.hstack(
            [softmax(Q[:, head] @ K[:, head].T / 2.0, axis=1) @ V[:, head] for head in heads]
        )
        x = normed(
            x + times(told, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm"
        )
        inside = times(x, f"{at}intermediate.dense")
        inside = inside * (1.0 + erf(inside / np.sqrt(2.0))) / 2.0
        x = normed(x + times(inside, f"{at}output.dense"), f"{at}output.LayerNorm")
    return x.mean(axis=0)


TEXTS = ["a bb ccc", "dddd", "", "ee f gggg", "hhhhh ii", "j"]


def test_the_encoder_is_its_equations(model, weights):
    assert list(model.through(TEXTS)) == TEXTS
    expected = [encoded(weights, [1, *map(len, text.split()), 2]) for text in TEXTS]
    assert model.vectors().dtype == np.float32 and np.allclose(model.vectors(), expected, atol=1e-4)


def test_rows_get_a_column(minilm, model, weights, tmp_path, monkeypatch, capsys):
    path = tmp_path / "posts.jsonl"
    path.write_text(
        "".join(json.dumps({"id": i, "body": text}) + "\n" for i, text in enumerate(TEXTS))
    )
    monkeypatch.setattr(
        minilm.sys, "argv", ["minilm.py", str(path), "--text", "body", "--vector", "meaning"]
    )
    minilm.main()
    rows = [json.loads(line) for line in io.StringIO(capsys.readouterr().out)]
    assert [(row["id"], row["body"]) for row in rows] == list(enumerate(TEXTS))
    assert np.allclose(rows[3]["meaning"], encoded(weights, [1, 2, 1, 4, 2]), atol=1e-4)


@pytest.fixture
def meaning(minilm):
    import meaning

    return meaning


@pytest.fixture
def both(rng):
    """Words and vectors of a batch of 30 and a past of 60, in that order."""
    P = sparse.random_array((90, 40), density=0.3, rng=rng, format="csr")
    return sparse.csr_array(dense.unit(P.toarray())), dense.unit(rng.normal(size=(90, 5)))


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_context_is_that_of_levels_among_joined_rows(meaning, both, weight, rng):
    P, E = (rows[:30] for rows in both)
    scores = rng.random(30)
    found = by_peers(scores, *meaning.peers_by((P @ P.T).toarray(), E @ E.T, weight), meaning.SHARE)
    assert np.allclose(found, in_order(meaning_weight.join_views(P, E, weight), scores, 0.5, 10))


def test_methods_are_what_they_are_called(meaning, both, rng):
    P, E = both
    W, V, own = (P[:30] @ P[30:].T).toarray(), E[:30] @ E[30:].T, rng.random(30)
    found = meaning.methods((W, V), {"levels": own}, length=64)

    def five(cosines):
        return 1.0 - np.sort(cosines, axis=1)[:, -5:].mean(axis=1)

    assert np.allclose(found["neighbours, a = 0.25"][0], five(0.75 * W + 0.25 * V))
    assert np.allclose(found["neighbours, a by length"][0], five(0.8 * W + 0.2 * V))

    def rank(values):
        return (np.argsort(np.argsort(values)) + 0.5) / 30

    assert np.allclose(
        found["neighbours, vectors, ranks with a by length"][0],
        0.8 * rank(five(W)) + 0.2 * rank(five(V)),
    )
    assert np.isclose(found["levels, vectors, ranks with a = 8/(8 + n)"][1], 8 / (8 + 64))
    mixed, weight = found["levels, vectors, ranks with a = 0.5"]
    assert np.allclose(mixed, (rank(own) + rank(five(V))) / 2) and weight == 0.5
    assert np.array_equal(found["levels"][0], own) and found["levels"][1] == 0.0


@pytest.mark.slow
def test_a_stream_is_measured(meaning, rng):
    documents = corpora.read("simulation", options={"documents": 900, "days": 9})
    documents = replace(documents, vectors=rng.normal(size=(900, 8)).astype(np.float32))
    setting = {
        "protocol": "topic-entry", "topic_entry": {"held_back": 0.5, "first": 1, "last": 4}, "ties": "source",
        "batches": {"by": "documents", "documents": 200, "period": "month", "initial": 100, "flush": True},
        "timesteps": [],
    }  # fmt: skip
    rule = {"topics": "dominant", "min_novel": 5, "min_known": 5, "bootstrap": 0, "seed": 0}
    rows, weights = meaning.measure(quality.SeededStream("simulation", documents, setting, rule, 0))
    plain = {method: average for method, average, _ in rows}
    assert plain["levels"] > 0.6 > plain["neighbours, a = 1"]
    assert plain["neighbours"] == plain["neighbours, a = 0"]
    assert all(0.2 < weight < 0.5 for weight in weights)
