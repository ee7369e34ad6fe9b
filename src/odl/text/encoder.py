"""Vectors of texts by a small encoder that a package ships: static vectors of tokens, averaged. Works offline."""

import importlib.util
import os

import numpy as np

from odl.errors import ConfigError

NAMES = ("wordllama",)
SCHEMA = {"type": ["string", "null"], "enum": [None, *NAMES]}
WEIGHTS, TOKENS = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"


def encoder_of(name):
    """Return the encoder of an option `vectors`, one of `NAMES`; None for null."""
    return Encoder() if name else None


class Encoder:
    """Means of the 256-dimensional static token vectors of `wordllama`.

    The files of the package are read here: its own loader looks for the tokens of its wheel in another folder, and
    then on the web.

    Raises
    ------
    ConfigError
        If the packages of the extra `meaning` are not installed.
    """

    AT_ONCE = 256  # texts

    def __init__(self):
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer

            folder = importlib.util.find_spec("wordllama").submodule_search_locations[0]
            self.table = next(iter(load_file(os.path.join(folder, WEIGHTS)).values()))
            self.tokenizer = Tokenizer.from_file(os.path.join(folder, TOKENS))
        except (ImportError, AttributeError, OSError) as error:
            fault = f"vectors is 'wordllama', which cannot be loaded ({error})"
            todo = "pip install 'online-dictionary-learning[meaning]', or leave vectors out"
            raise ConfigError(fault, "the extra meaning", todo) from error
        self.restart()

    def restart(self):
        """Forget the texts."""
        self.rows, self.waiting = [], []

    def add(self, text):
        """Take the next text."""
        self.waiting.append(text)
        if len(self.waiting) == self.AT_ONCE:
            self._encode()

    def through(self, texts):
        """Yield texts as they come, and take them."""
        for text in texts:
            self.add(text)
            yield text

    def vectors(self):
        """Return the vectors of all texts so far, (n_texts, 256); zeros for a text without tokens."""
        self._encode()
        return np.array(self.rows, dtype=np.float32).reshape(len(self.rows), self.table.shape[1])

    def _encode(self):
        for tokens in self.tokenizer.encode_batch(self.waiting, add_special_tokens=False):
            rows = self.table[tokens.ids].astype(np.float64)
            self.rows.append(rows.mean(axis=0) if len(rows) else np.zeros(self.table.shape[1]))
        self.waiting = []
