"""A run is parsed once: typed for jobs, and named in files as it was given."""

import contextlib
import json
import re
import shutil

import numpy as np
import pytest
import streams
from called import odl

from odl import corpora, learners
from odl.engine import folder as folders
from odl.errors import DataError, OdlError
from odl.evaluation import scorefiles
from odl.files import checkpoints, verify
from odl.jobs import runs
from odl.learners.vectors import VectorMemory
from odl.live import judge
from odl.stream import features
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
    ("named", "recency"), [({}, 0), ({"recency": 0.5}, 0.5), ({"recency": 1}, 1)]
)
def test_a_run_of_levels_that_names_no_recency_has_none(named, recency):
    learner = {"algorithm": "levels", **named}
    assert runs.parse({**CHAIN, "learner": learner}).learner == learners.make(
        "levels", recency=recency
    )


@pytest.mark.parametrize(
    ("section", "settings", "message"),
    [
        (
            "learner",
            {"algorithm": "dual_averaging", "lam": -1},
            "lam is -1; expected a number at least 0",
        ),
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


MEANING = {"grain": (3, 0), "oil": (0, 3), "space": (-2, -2)}


def give_vectors(news):
    """Give the posts of a folder vectors that tell their topics, and let its run have them beside words."""
    draw = np.random.default_rng(0)
    for path in sorted((news.parent / "posts").glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            topic = next(
                name
                for name in MEANING
                if set(row["text"].split()) & set(streams.WORDS[name].split())
            )
            row["v"] = [
                *np.round(draw.normal(size=10), 3),
                *(np.array(MEANING[topic]) + draw.normal(size=2).round(3)),
            ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = (news / "odl.yaml").read_text()
    text = text.replace("options: {", "options: {columns: {vector: v}, ").replace(
        "features: {", "features: {meaning: null, "
    )
    (news / "odl.yaml").write_text(text)


@pytest.fixture(scope="class")
def appended(tmp_path_factory):
    """A folder with vectors, run after four weeks and again after five; what it held after four."""
    news = streams.begin(tmp_path_factory.mktemp("vectors"))
    give_vectors(news)
    last = news.parent / "posts" / "04.jsonl"
    last.rename(news.parent / "04.jsonl")
    assert odl("run", news).returncode == 0
    (news.parent / "04.jsonl").rename(last)
    assert odl("run", news).returncode == 0
    return news


def part(news, name, t):
    (path,) = (news / "results" / "news" / "news" / "seed0").glob(f"levels/k*/{name}{t}.h5")
    return path


class TestMeaning:
    """A run with vectors beside words, from files to the explanation."""

    @pytest.mark.slow
    def test_appended_is_what_all_at_once_gives(self, appended, tmp_path):
        other = streams.copy(appended, tmp_path)
        shutil.rmtree(other / "results")
        assert odl("run", other).returncode == 0
        first, second = streams.contents(appended), streams.contents(other)
        assert first == second
        assert verify.verify(appended / "results")[1] == []

    def test_a_checkpoint_is_gone_on_from(self, appended, tmp_path):
        other = streams.copy(appended, tmp_path)
        for name in ("", "scores/", "alerts/"):
            part(other, name, 4).unlink()
        assert odl("run", other).returncode == 0
        assert all(
            part(other, name, 4).read_bytes() == part(appended, name, 4).read_bytes()
            for name in ("", "scores/")
        )

    def test_scores_are_those_of_their_definition(self, appended):
        before, after = (checkpoints.read_checkpoint(part(appended, "", t)).meaning for t in (3, 4))
        data = features.read(appended / "results" / "news" / "news" / "seed0" / "features" / "4.h5")
        score, residual, penalty, empty, meaning = scorefiles.read_parts(
            part(appended, "scores/", 4)
        )
        memory = VectorMemory(**before)
        apart = memory.distances(data.vectors)
        words, vectors = memory.combine_scores(residual + penalty, apart, memory.weight())
        assert (
            np.array_equal(meaning, vectors)
            and np.array_equal(score, words + vectors)
            and not empty.any()
        )
        assert 0.4 < memory.weight() < 0.7 and after["signs"].shape == (300, 2)
        assert np.array_equal(after["vectors"], np.append(before["vectors"], apart))
        assert "meaning" not in checkpoints.read_checkpoint(part(appended, "", 0)).arrays

    @pytest.mark.slow
    def test_what_is_told_adds_up(self, appended):
        """The share of meaning is a part of its own, of the line as of the explanation."""
        said = json.loads(odl("explain", appended, "w4-2", "--format", "jsonl").stdout)
        shares = {kind: share for kind, _, share in said["parts"]}
        assert sum(share for *_, share in said["parts"]) == 100 and shares["meaning"] > 20
        text = odl("explain", appended, "w4-2").stdout
        lines = [
            float(share) for share in re.findall(r"^ +-?\d\.\d+ +(-?[\d.]+) %", text, re.MULTILINE)
        ]
        assert (
            abs(sum(lines) - 100) < 1
            and "(meaning: distance of its vector from earlier vectors)" in text
        )
        (nearest,) = re.findall(r"nearest by meaning: (\S+) \(cosine", text)
        assert nearest in {f"w{week}-{number}" for week in range(5) for number in range(60)}
        assert re.search(r"meaning\s+\d+ %", odl("new", appended).stdout)

    def test_an_answer_at_arrival_is_that_of_the_run(self, appended):
        with contextlib.chdir(appended):
            folder = folders.opened()
            judged, arrivals = (
                judge.DocumentJudge(folder, 3),
                judge.Arrivals(folder.stream["options"]),
            )
            lines = (appended.parent / "posts" / "04.jsonl").read_bytes().splitlines()
            rows = [arrivals.row(number, line) for number, line in enumerate(lines)]
            together, alone = judged(arrivals.read(rows)[0]), judged(arrivals.read(rows[7:8])[0])
        score = scorefiles.read_parts(part(appended, "scores/", 4))[0]
        assert alone[0]["score"] == together[7]["score"]
        assert np.allclose([one["score"] for one in together], score, atol=1e-12)

    def test_a_stream_without_vectors_is_refused(self, appended, tmp_path):
        other = streams.copy(appended, tmp_path)
        (other / "odl.yaml").write_text(
            (other / "odl.yaml").read_text().replace("columns: {vector: v}, ", "")
        )
        said = odl("run", other)
        assert said.returncode == 1 and said.stderr.count("\n") == 1
        assert (
            "run 'levels' has features.meaning null, and corpora.news has no vectors; expected a stream"
            in said.stderr
        )
        with pytest.raises(
            DataError, match="but the stream has no vectors; expected a vector for each document"
        ):
            runs.open_documents(features.follow(corpora.read("simulation", options={"documents": 60, "days": 6})),
                                runs.parse({**CHAIN, "features": {"meaning": 0.5}}))  # fmt: skip

    @pytest.mark.parametrize(("value", "said"), [(None, "it has no vector"), ([1, 2], "has 2 numbers"),
                                                 ([*range(11), float("nan")], "that is not finite")])  # fmt: skip
    def test_a_document_without_a_vector_is_set_aside_or_refused(
        self, appended, tmp_path, value, said
    ):
        other = streams.copy(appended, tmp_path)
        row = {
            **json.loads((other.parent / "posts" / "04.jsonl").read_text().splitlines()[0]),
            "id": "x",
            "v": value,
        }
        with open(other.parent / "posts" / "04.jsonl", "a") as file:
            file.write(json.dumps(row) + "\n")
        before, scores = (
            streams.contents(other),
            scorefiles.read_parts(part(other, "scores/", 4))[0],
        )
        path = other / "odl.yaml"
        lenient = path.read_text()
        path.write_text(lenient.replace("options: {", "options: {strict: true, "))
        told = odl("run", other)
        assert told.returncode == 1 and said in told.stderr and "04.jsonl line 61" in told.stderr
        path.write_text(lenient)
        assert streams.contents(other) == before
        told = odl("run", other)
        assert told.returncode == 0 and "1 document was set aside" in told.stderr
        (row,) = [
            row
            for row in (other / "results" / "set-aside.tsv").read_text().splitlines()
            if "04.jsonl" in row
        ]
        assert "61" in row and said in row
        assert np.array_equal(scorefiles.read_parts(part(other, "scores/", 4))[0], scores)
