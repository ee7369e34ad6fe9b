"""Encoders of texts: means of token vectors, and commands."""

import contextlib
import json
import sqlite3
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import streams
from called import odl

from odl import corpora
from odl.config import commands, project
from odl.errors import ConfigError, DataError
from odl.files import verify
from odl.text import encoder


class FakeTokenizer:
    """Tokenizer whose token ids are the lengths of the words."""

    @classmethod
    def from_file(cls, path):
        assert json.loads(Path(path).read_text()) == {"kind": "tokens"}
        return cls()

    def encode_batch(self, texts, add_special_tokens):
        assert not add_special_tokens and len(texts) <= encoder.Encoder.AT_ONCE
        return [types.SimpleNamespace(ids=[len(word) for word in text.split()]) for text in texts]


def safetensors(**arrays):
    """Return the bytes of a safetensors file."""
    kinds, head, body = (
        {value: key for key, value in encoder.TYPES.items()},
        {"__metadata__": {"a": "b"}},
        b"",
    )
    for name, value in arrays.items():
        offsets = [len(body), len(body) + value.nbytes]
        head[name] = {
            "dtype": kinds[value.dtype.str],
            "shape": list(value.shape),
            "data_offsets": offsets,
        }
        body += value.tobytes()
    text = json.dumps(head).encode()
    return len(text).to_bytes(8, "little") + text + body


@pytest.fixture
def table(monkeypatch, tmp_path):
    """Create a folder `model` like that of wordllama, with a fake tokenizer."""
    table = np.arange(40, dtype="<f2").reshape(20, 2) ** 2
    (tmp_path / "model" / "weights").mkdir(parents=True)
    (tmp_path / "model" / "weights" / "of_256.safetensors").write_bytes(
        safetensors(**{"embedding.weight": table})
    )
    (tmp_path / "model" / "of_tokenizer_config.json").write_text('{"kind": "tokens"}')
    tokens = types.ModuleType("tokenizers")
    tokens.Tokenizer = FakeTokenizer
    monkeypatch.setitem(sys.modules, "tokenizers", tokens)
    spec = types.SimpleNamespace(submodule_search_locations=[str(tmp_path / "model")])
    monkeypatch.setattr(encoder.importlib.util, "find_spec", lambda name: spec)
    return table.astype(float)


@pytest.mark.parametrize("named", ["wordllama", "path"])
def test_vectors_are_means_of_tokens(table, monkeypatch, tmp_path, named):
    monkeypatch.setattr(encoder.Encoder, "AT_ONCE", 2)
    made = encoder.encoder_of(named if named == "wordllama" else {"path": str(tmp_path / "model")})
    texts = ["one three", "", "seventh", "a bb", "ccc"]
    assert list(made.through(texts)) == texts
    expected = [
        table[[len(word) for word in text.split()]].mean(axis=0) if text else [0, 0]
        for text in texts
    ]
    assert np.allclose(made.vectors(), expected) and made.vectors().dtype == np.float32
    made.restart()
    assert made.vectors() is None and encoder.encoder_of(None) is None


def test_a_folder_may_have_weights_and_rows_for_several_tokens(table, tmp_path):
    """Files of model2vec; tokenizer.json precedes other files."""
    folder, draw = tmp_path / "other", np.random.default_rng(0)
    folder.mkdir()
    few, place, weight = (
        draw.normal(size=(4, 3)).astype("<f4"),
        draw.integers(4, size=9),
        draw.random(9),
    )
    (folder / "model.safetensors").write_bytes(
        safetensors(embeddings=few, mapping=place, weights=weight)
    )
    (folder / "a_tokenizer_config.json").write_text("{}")
    (folder / "tokenizer.json").write_text('{"kind": "tokens"}')
    made = encoder.encoder_of({"path": str(folder)})
    made.add("a bbb")
    expected = (few[place[1]] * weight[1] + few[place[3]] * weight[3]) / 2
    assert np.allclose(made.vectors(), [expected])


def test_a_reader_encodes_what_it_keeps(table, tmp_path):
    (tmp_path / "a.csv").write_text("id,text\nx,red brown\ny,word\nz,blue black tin\n")
    found = corpora.read(
        "documents", [tmp_path / "a.csv"], {"vectors": "wordllama", "min_words": 2}
    )
    assert found.ids == ["x", "z"]
    assert np.allclose(found.vectors, [table[[3, 5]].mean(axis=0), table[[4, 5, 3]].mean(axis=0)])
    with pytest.raises(ConfigError, match=r"vectors and columns\.vector are both set"):
        corpora.read(
            "documents", [tmp_path / "a.csv"], {"vectors": "wordllama", "columns": {"vector": "v"}}
        )


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(
        ConfigError,
        match=r"vectors is 'wordllama', which cannot be loaded .* pip install 'online-dict",
    ):
        encoder.encoder_of("wordllama")


@pytest.mark.parametrize("option", ["word2vec", {}, {"path": "a", "command": "b"}])
def test_an_encoder_that_is_none_is_refused(option):
    with pytest.raises(
        ConfigError,
        match=r"vectors is .*; expected one of wordllama, \{path: FOLDER\}, \{command: TEXT\}",
    ):
        encoder.encoder_of(option)


@pytest.mark.parametrize("damage", ["cut", "two", "none"])
def test_a_folder_that_is_no_model_is_refused(table, tmp_path, damage):
    path = tmp_path / "model" / "weights" / "of_256.safetensors"
    body = path.read_bytes()
    path.write_bytes(body[:40] if damage == "cut" else body)
    if damage == "two":
        (path.parent / "b.safetensors").write_bytes(body)
    if damage == "none":
        (tmp_path / "model" / "of_tokenizer_config.json").unlink()
    with pytest.raises(
        ConfigError, match=r"model', which cannot be loaded .*; expected a folder with one matrix"
    ):
        encoder.encoder_of({"path": str(tmp_path / "model")})


ANSWER = """import json, sys
with open("asked", "a") as file:
    for line in sys.stdin:
        text = json.loads(line)
        file.write(line)
        {}
"""
GOOD = 'print(json.dumps([len(text), text.count("e"), 1]))'


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Create a trusted folder whose encoder is a script; return a function that encodes texts."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "news").mkdir()
    monkeypatch.chdir(tmp_path / "news")
    command = f"{sys.executable} answer.py"
    with open("odl.yaml", "w") as file:
        file.write(f"sources: [a.jsonl]\noptions: {{vectors: {{command: {command}}}}}\n")

    def encode(texts, line=GOOD):
        with open("answer.py", "w") as file:
            file.write(ANSWER.format(line))
        assert odl("trust", ".").returncode == 0
        made = encoder.encoder_of({"command": command})
        for text in texts:
            made.add(text)
        return made.vectors()

    return encode


class TestCommand:
    def test_each_text_is_asked_for_once(self, asked, tmp_path, monkeypatch):
        monkeypatch.setattr(encoder.Command, "AT_ONCE", 2)
        texts = ["one", "two\nlines", "one", "", "\udc00e"]
        vectors = [[len(text), text.count("e"), 1] for text in texts]
        assert asked(texts).tolist() == vectors and asked(texts[::-1]).tolist() == vectors[::-1]
        assert len(Path("asked").read_text().splitlines()) == 4

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("sys.exit('out of memory')", "ended with 1: out of memory"),
            ("pass", "printed 0 lines for 2 texts"),
            ("print('[1, NaN]')", "not a list of finite numbers"),
            ("print('[1e60]')", "not a list of finite numbers"),
            ("print('[]')", "not a list of finite numbers"),
            ("print('{}')", "not a JSON list of numbers"),
            ("print('a')", "not a JSON list of numbers"),
            ("print([1] * len(text))", "printed vectors of 3 numbers and of other lengths"),
        ],
    )
    def test_answers_that_cannot_be_used(self, asked, line, said):
        with pytest.raises(
            DataError, match=f"vectors.command: .*{said}; expected one line for each text"
        ):
            asked(["one", "four"], line)
        assert len(asked(["one", "four"])) == 2 if "other lengths" not in said else True, (
            "nothing wrong is kept"
        )

    def test_one_that_nobody_trusts_is_not_run(self, asked, tmp_path):
        with pytest.raises(
            ConfigError, match=r"is not trusted here; .*; read it, then type: odl trust"
        ):
            encoder.encoder_of({"command": "touch hacked"})
        with pytest.raises(ConfigError, match="is not trusted here"):
            encoder.encoder_of({"command": f"{sys.executable} answer.py; touch hacked"})
        assert not (tmp_path / "news" / "hacked").exists()


@pytest.mark.slow
def test_a_folder_with_a_command(tmp_path, monkeypatch):
    """An untrusted command is refused; a trusted one receives new texts only."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    news = streams.begin(tmp_path, weeks=4)
    (news / "answer.py").write_text(ANSWER.format(GOOD))
    text = (news / "odl.yaml").read_text()
    text = text.replace(
        "options: {", f"options: {{vectors: {{command: {sys.executable} answer.py}}, "
    )
    (news / "odl.yaml").write_text(text.replace("features: {", "features: {meaning: null, "))
    said = odl("run", news)
    assert (
        said.returncode == 1
        and "is not trusted here" in said.stderr
        and not (news / "asked").exists()
    )
    assert "options.vectors" not in odl("trust", news).stdout and odl("run", news).returncode == 0
    n = len((news / "asked").read_text().splitlines())
    assert n <= 240
    streams.write(tmp_path, 4)
    assert odl("run", news).returncode == 0
    assert n < len((news / "asked").read_text().splitlines()) <= n + 60
    assert verify.verify(news / "results")[1] == [] and (news / project.VECTORS).exists()
    with contextlib.closing(sqlite3.connect(news / project.VECTORS)) as kept:
        before = kept.execute("select count(*) from vectors").fetchone()[0]
    assert odl("forget", news, "w1-3").returncode == 0
    with contextlib.closing(sqlite3.connect(news / project.VECTORS)) as kept:
        assert kept.execute("select count(*) from vectors").fetchone()[0] < before
    with open(news / "answer.py", "a") as file:
        file.write("# another\n")
    assert (
        "computed by another version of odl or the encoder, and still used"
        in odl("run", news).stdout
    )


def test_trust_is_of_each_command(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "odl.yaml").write_text(
        "sources: [a]\nnotify: ./tell a\noptions: {vectors: {command: ./code b}}\n"
    )
    assert commands.trust(tmp_path) == [["./tell", "a"], ["./code", "b"]]
    assert commands.is_trusted(tmp_path, ["./code", "b"]) and commands.is_trusted(
        tmp_path, ["./tell", "a"]
    )
    assert not commands.is_trusted(tmp_path, ["./code", "c"])
