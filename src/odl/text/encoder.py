"""Encoders, which map texts to vectors: means of token vectors, or the output of a command."""

import contextlib
import hashlib
import importlib.util
import json
import sqlite3
from pathlib import Path

import numpy as np

from odl.config import commands, project
from odl.errors import ConfigError, DataError

ENCODER_NAMES = ("wordllama",)
VECTORS_SCHEMA = {
    "type": ["string", "object", "null"],
    "additionalProperties": False,
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "command": {"type": "string", "minLength": 1},
    },
}
# Type in safetensors -> type in NumPy.
TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}


def encoder_of(option):
    """Return the encoder for the option `vectors`, or None if the option is None.

    The option is the name of an encoder, {path: FOLDER} or {command: TEXT}.

    Raises
    ------
    ConfigError
        If the option has another form, or the encoder cannot be loaded or run.
    """
    if option is None:
        return None
    if option in ENCODER_NAMES:
        spec = importlib.util.find_spec(option)
        return Static(
            spec.submodule_search_locations[0] if spec else f"the package {option}", option
        )
    if not isinstance(option, dict) or len(option) != 1:
        raise ConfigError(
            f"vectors is {option!r}",
            f"one of {', '.join(ENCODER_NAMES)}, {{path: FOLDER}}, {{command: TEXT}}",
            "choose an encoder, or remove the option vectors",
        )
    return (
        Static(option["path"], option["path"]) if "path" in option else Command(option["command"])
    )


# Expectation and advice in error messages.
TRUST = ("a command that you have read", "read it, then type: odl trust FOLDER")


class Encoder:
    """Collects texts and returns their vectors."""

    AT_ONCE = 256  # number of texts that are encoded in one call

    def __init__(self):
        self.restart()

    def restart(self):
        """Remove all texts."""
        self.rows, self.waiting = [], []

    def add(self, text):
        """Add the next text."""
        self.waiting.append(text)
        if len(self.waiting) == self.AT_ONCE:
            self._flush()

    def add_vector(self, vector):
        """Add the vector of the next text. All earlier texts must have been added with vectors."""
        self.rows.append(vector)

    def through(self, texts):
        """Yield texts, and add each before it is yielded."""
        for text in texts:
            self.add(text)
            yield text

    def vectors(self):
        """Return the vectors of all texts, shape (n_texts, n_dimensions), or None without texts."""
        self._flush()
        return np.array(self.rows, dtype=np.float32) if self.rows else None

    def _flush(self):
        """Encode the waiting texts."""
        self.rows += self.encode(self.waiting) if self.waiting else []
        self.waiting = []


class Static(Encoder):
    """Encoder whose vectors are means of static token vectors.

    Parameters
    ----------
    folder : str
        Folder with the matrix of token vectors (safetensors) and the tokenizer. The file of a
        model2vec model may also contain token weights, and a mapping from tokens to rows of the
        matrix. For `wordllama`, the folder is that of the installed package, whose own loader would
        access the network.
    name : str
        Name of the model in error messages.
    """

    def __init__(self, folder, name):
        super().__init__()
        try:
            from tokenizers import Tokenizer

            (matrix,) = Path(folder).rglob("*.safetensors")
            tokenizer_paths = sorted(
                Path(folder).rglob("*tokenizer*.json"),
                key=lambda path: path.name != "tokenizer.json",
            )
            self.tokenizer = Tokenizer.from_file(str(tokenizer_paths[0]))
            tensors = tensors_of(matrix)
            self.place, self.weight = tensors.pop("mapping", None), tensors.pop("weights", None)
            (self.table,) = tensors.values()
        except Exception as error:  # tokenizers raises no narrower type
            reason = " ".join(str(error).split())[:200]
            raise ConfigError(
                f"vectors is {name!r}, which cannot be loaded ({reason})",
                "a folder with one matrix in safetensors and a tokenizer.json, and the extra "
                "meaning",
                "pip install 'online-dictionary-learning[meaning]', name another folder, "
                "or leave vectors out",
            ) from error

    def encode(self, texts):
        """Return a list with the vector of each text, which is zero for a text without tokens."""
        encoded = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [self._mean(np.array(tokens.ids, dtype=np.int64)) for tokens in encoded]

    def _mean(self, ids):
        """Return the mean vector of the tokens with these ids."""
        rows = self.table[ids if self.place is None else self.place[ids]].astype(np.float64)
        rows = rows if self.weight is None else rows * self.weight[ids, None]
        return rows.mean(axis=0) if len(rows) else np.zeros(self.table.shape[1])


def tensors_of(path):
    """Read the arrays in a safetensors file; return a dict from name to array.

    The file consists of the length of a head (8 bytes), the head in JSON, and the numbers.
    """
    body = Path(path).read_bytes()
    first = 8 + int.from_bytes(body[:8], "little")
    head = json.loads(body[8:first])
    head.pop("__metadata__", None)
    arrays = {}
    for name, entry in head.items():
        begin, end = (first + offset for offset in entry["data_offsets"])
        numbers = np.frombuffer(body[begin:end], dtype=TYPES[entry["dtype"]])
        arrays[name] = numbers.reshape(entry["shape"])
    return arrays


class Command(Encoder):
    """Encoder that runs a command of the user.

    The command reads one JSON string per line, and writes a JSON list of numbers for each. It runs
    in the working folder without a shell, and only if the folder is trusted (`odl trust`). Vectors
    are cached in a file of the folder.

    Parameters
    ----------
    command : str
    """

    AT_ONCE = 1000  # number of texts that are sent to the command in one call
    limit = 600.0  # seconds after which a call of the command is stopped

    def __init__(self, command):
        super().__init__()
        self.words, self.length = commands.words_of(command, "vectors.command"), None
        if not commands.is_trusted(".", self.words):
            raise ConfigError(f"vectors.command {command!r} is not trusted here", *TRUST)

    def encode(self, texts):
        """Return the vectors of texts, from the cache or else from the command."""
        keys = list(map(self._key_of, texts))
        text_of_key = dict(zip(keys, texts, strict=True))
        with contextlib.closing(sqlite3.connect(project.VECTORS, timeout=60)) as cache, cache:
            cache.execute("create table if not exists vectors (text blob primary key, vector blob)")
            find = "select vector from vectors where text = ?"
            found = {key: cache.execute(find, (key,)).fetchone() for key in text_of_key}
        bytes_of_key = {key: row[0] for key, row in found.items() if row}
        missing = {key: text for key, text in text_of_key.items() if key not in bytes_of_key}
        if missing:
            computed = [vector.tobytes() for vector in self._run_command([*missing.values()])]
            rows = list(zip(missing, computed, strict=True))
            with contextlib.closing(sqlite3.connect(project.VECTORS, timeout=60)) as cache, cache:
                cache.executemany("insert or ignore into vectors values (?, ?)", rows)
            bytes_of_key |= rows
        vectors = [np.frombuffer(bytes_of_key[key], dtype="<f4") for key in keys]
        self.length = self.length or len(vectors[0])
        if any(len(vector) != self.length for vector in vectors):
            self._refuse(f"printed vectors of {self.length} numbers and of other lengths")
        return vectors

    def _key_of(self, text):
        """Return the digest of the command and a text, the key of the text in the cache."""
        content = "\0".join([*self.words, text])
        return hashlib.blake2b(content.encode("utf-8", "replace")).digest()

    def _run_command(self, texts):
        """Run the user's command for some texts; return the vectors that it prints."""
        # `odl watch` may run for days after the check in __init__.
        if not commands.is_trusted(".", self.words):
            raise DataError(
                f"vectors.command: {self.words[0]} runs a file that changed since it was trusted",
                *TRUST,
            )
        lines = "".join(f"{json.dumps(text)}\n" for text in texts).encode()
        output, fault = commands.run(".", self.words, lines, self.limit)
        if fault:
            self._refuse(fault)
        try:
            with np.errstate(over="ignore"):
                rows = [np.array(json.loads(line), dtype="<f4") for line in output.splitlines()]
        except (ValueError, TypeError, RecursionError, OverflowError):
            self._refuse("printed a line that is not a JSON list of numbers")
        if len(rows) != len(texts):
            self._refuse(f"printed {len(rows)} lines for {len(texts)} texts")
        if any(row.ndim != 1 or not len(row) or not np.isfinite(row).all() for row in rows):
            self._refuse("printed a vector that is not a list of finite numbers")
        return rows

    def _refuse(self, fault):
        """Raise the DataError for wrong output of the command."""
        raise DataError(
            f"vectors.command: {self.words[0]} {fault}",
            "one line for each text, with a JSON list of numbers; all lists of equal length",
            "correct the command, then run again",
        )
