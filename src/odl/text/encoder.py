"""Vectors of texts: means of static vectors of tokens, read from files, or the answers of a command."""

import contextlib
import hashlib
import importlib.util
import json
import sqlite3
from pathlib import Path

import numpy as np

from odl.config import commands, project
from odl.errors import ConfigError, DataError

NAMES = ("wordllama",)
SCHEMA = {
    "type": ["string", "object", "null"],
    "additionalProperties": False,
    "properties": {"path": {"type": "string", "minLength": 1}, "command": {"type": "string", "minLength": 1}},
}
TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}  # of safetensors, by numpy's name


def encoder_of(option):
    """Return the encoder of an option `vectors`: a name, {path: FOLDER} or {command: TEXT}; None for null.

    Raises
    ------
    ConfigError
        If it is none of these, or cannot be loaded or run.
    """
    if option is None:
        return None
    if option in NAMES:
        spec = importlib.util.find_spec(option)
        return Static(spec.submodule_search_locations[0] if spec else f"the package {option}", option)
    if not isinstance(option, dict) or len(option) != 1:
        expected = f"one of {', '.join(NAMES)}, {{path: FOLDER}}, {{command: TEXT}}"
        raise ConfigError(f"vectors is {option!r}", expected, "choose one of these, or leave vectors out")
    return Static(option["path"], option["path"]) if "path" in option else Command(option["command"])


TRUST = ("a command that somebody looked at", "look at it, then say odl trust FOLDER")


class Encoder:
    """Texts as they come, and their vectors."""

    AT_ONCE = 256  # texts

    def __init__(self):
        self.restart()

    def restart(self):
        """Forget the texts."""
        self.rows, self.waiting = [], []

    def add(self, text):
        """Take the next text."""
        self.waiting.append(text)
        if len(self.waiting) == self.AT_ONCE:
            self._flush()

    def through(self, texts):
        """Yield texts as they come, and take them."""
        for text in texts:
            self.add(text)
            yield text

    def vectors(self):
        """Return the vectors of all texts so far, (n_texts, n_dimensions), None of no text."""
        self._flush()
        return np.array(self.rows, dtype=np.float32) if self.rows else None

    def _flush(self):
        self.rows += self.encoded(self.waiting) if self.waiting else []
        self.waiting = []


class Static(Encoder):
    """Means of static vectors of tokens: a matrix in a file of safetensors, and a tokenizer, in one folder.

    That of `wordllama` is its package, whose own loader would look on the web. Folders of model2vec may have a weight
    for each token, and a row of the matrix for several.

    Parameters
    ----------
    folder : str
    name : str
        As a person calls it.
    """

    def __init__(self, folder, name):
        super().__init__()
        try:
            from tokenizers import Tokenizer

            (matrix,) = Path(folder).rglob("*.safetensors")
            named = sorted(Path(folder).rglob("*tokenizer*.json"), key=lambda path: path.name != "tokenizer.json")
            self.tokenizer = Tokenizer.from_file(str(named[0]))
            tensors = tensors_of(matrix)
            self.place, self.weight = tensors.pop("mapping", None), tensors.pop("weights", None)
            (self.table,) = tensors.values()
        except Exception as error:  # tokenizers raises no narrower one
            fault = f"vectors is {name!r}, which cannot be loaded ({' '.join(str(error).split())[:200]})"
            expected = "a folder with one matrix in safetensors and a tokenizer.json, and the extra meaning"
            todo = "pip install 'online-dictionary-learning[meaning]', name another folder, or leave vectors out"
            raise ConfigError(fault, expected, todo) from error

    def encoded(self, texts):
        """Return the vectors of texts; zeros for one without a token."""
        return [self._mean(np.array(tokens.ids, dtype=np.int64)) for tokens in
                self.tokenizer.encode_batch(texts, add_special_tokens=False)]  # fmt: skip

    def _mean(self, ids):
        rows = self.table[ids if self.place is None else self.place[ids]].astype(np.float64)
        rows = rows if self.weight is None else rows * self.weight[ids, None]
        return rows.mean(axis=0) if len(rows) else np.zeros(self.table.shape[1])


def tensors_of(path):
    """Return the arrays of a file of safetensors by name: a length, a head in JSON, and the numbers."""
    body = Path(path).read_bytes()
    first = 8 + int.from_bytes(body[:8], "little")
    head = json.loads(body[8:first])
    head.pop("__metadata__", None)
    arrays = {}
    for name, entry in head.items():
        begin, end = (first + place for place in entry["data_offsets"])
        arrays[name] = np.frombuffer(body[begin:end], dtype=TYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


class Command(Encoder):
    """Vectors that a command answers: for each line of JSON with a text a line of JSON with a list of numbers.

    It is run in the working folder, without a shell, where `odl trust` was said. What it answered is kept by the
    digest of the text.

    Parameters
    ----------
    command : str
    """

    AT_ONCE = 1000
    limit = 600.0  # seconds that it may take for so many texts

    def __init__(self, command):
        super().__init__()
        self.words, self.length = commands.words_of(command, "vectors.command"), None
        if not commands.is_trusted(".", self.words):
            fault = f"vectors.command {command!r} is not trusted here"
            raise ConfigError(fault, *TRUST)

    def encoded(self, texts):
        """Return the vectors of texts, which the command is asked for unless they are kept."""
        keys = [hashlib.blake2b("\0".join([*self.words, text]).encode("utf-8", "replace")).digest() for text in texts]
        with contextlib.closing(sqlite3.connect(project.VECTORS, timeout=60)) as kept, kept:
            kept.execute("create table if not exists vectors (text blob primary key, vector blob)")
            find = "select vector from vectors where text = ?"
            known = {key: row[0] for key in set(keys) if (row := kept.execute(find, (key,)).fetchone())}
        if new := {key: text for key, text in zip(keys, texts, strict=True) if key not in known}:
            known |= zip(new, (row.tobytes() for row in self._asked([*new.values()])), strict=True)
            with contextlib.closing(sqlite3.connect(project.VECTORS, timeout=60)) as kept, kept:
                kept.executemany("insert or ignore into vectors values (?, ?)", [(key, known[key]) for key in new])
        rows = [np.frombuffer(known[key], dtype="<f4") for key in keys]
        self.length = self.length or len(rows[0])
        if any(len(row) != self.length for row in rows):
            self._refuse(f"gave vectors of {self.length} and of other numbers")
        return rows

    def _asked(self, texts):
        """Return what the command answers to texts."""
        if not commands.is_trusted(".", self.words):  # a watch asks for days
            raise DataError(f"vectors.command: {self.words[0]} runs a file that changed since it was trusted", *TRUST)
        lines = "".join(f"{json.dumps(text)}\n" for text in texts).encode()
        said, fault = commands.run(".", self.words, lines, self.limit)
        if fault:
            self._refuse(fault)
        try:
            with np.errstate(over="ignore"):
                rows = [np.array(json.loads(line), dtype="<f4") for line in said.splitlines()]
        except (ValueError, TypeError, RecursionError, OverflowError):
            self._refuse("gave a line that is no JSON list of numbers")
        if len(rows) != len(texts):
            self._refuse(f"gave {len(rows)} lines for {len(texts)} texts")
        if any(row.ndim != 1 or not len(row) or not np.isfinite(row).all() for row in rows):
            self._refuse("gave a vector that is no list of finite numbers")
        return rows

    def _refuse(self, what):
        expected = "a line with a JSON list of numbers, as long for each text"
        raise DataError(f"vectors.command: {self.words[0]} {what}", expected, "correct the command, then run again")
