"""TextNovelty gives the words, weights and scores of the workflow, from a data frame."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import streams
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from odl import NoveltyDetector, TextNovelty, learners, novelty
from odl.alerts import decision, periods, read, reasons
from odl.alerts.calibration import tail_probability
from odl.cli import main
from odl.config import project
from odl.errors import OdlError, ParameterError
from odl.files import checkpoints
from odl.files.documents import Documents
from odl.stream import duplicates, features
from odl.text.shingles import Shingler
from odl.text.tokens import count_words

ALERTS = {"budget": 5, "tail": 0.2, "warm_up": 50, "gates": False}
TOPICS = [
    "crude oil tanker refinery barrel",
    "wheat grain harvest farmers export",
    "orbit rocket satellite launch crew",
]


def texts(rng, n=60, new=0):
    """Texts of two topics, the last few of a third one."""
    topics = [TOPICS[2] if row >= n - new else TOPICS[row % 2] for row in range(n)]
    return [
        " ".join(rng.choice(topic.split(), 6)) + f" word{chr(97 + row % 26)}"
        for row, topic in enumerate(topics)
    ]


def frame(rng, start="2026-01-05", n=60, new=0):
    times = pd.date_range(start, periods=n, freq="2h")
    return pd.DataFrame(
        {"id": [f"{start}-{row}" for row in range(n)], "time": times, "text": texts(rng, n, new)}
    )


@pytest.mark.parametrize(
    ("learner", "tf", "idf"),
    [("adaptive", "log", True), pytest.param("flat", "raw", False, marks=pytest.mark.slow)],
)
def test_scores_are_those_of_the_workflow(rng, learner, tf, idf):
    """Feature files, their weights, and the learner, by hand; alerts by level and budget."""
    frames = [frame(rng, f"2026-0{t + 1}-05", new=5 * (t == 2)) for t in range(3)]
    stream = TextNovelty(
        learner, n_atoms=8, tf=tf, idf=idf, min_df=1, folds=3, warm_up=60, tail=0.05, gates=False
    )
    model, state, previous, history = learners.make(learner), None, None, None
    for t, one in enumerate(frames):
        counts, vocabulary = count_words(one["text"])
        times = one["time"].to_numpy().astype("datetime64[ms]").astype(np.int64)
        named = Documents(counts, vocabulary, one["id"].tolist(), times, [()] * 60, [""] * 60)
        previous = features.follow(named, previous)
        P = previous.weighed(tf=tf, idf="past" if idf else "none", norm=model.norm, min_df=1)[:]
        found = stream.update(one)
        assert (
            found["time"]
            .dt.tz_localize(None)
            .to_numpy()
            .astype("datetime64[ms]")
            .astype(np.int64)
            .tolist()
            == times.tolist()
        )
        assert found["id"].tolist() == one["id"].tolist()
        if t == 0:
            state = model.start(P, 8, novelty.generator(0, "start"))
        else:
            expected = novelty.score(model, state, P)
            assert np.array_equal(found["score"], expected.score)
            assert np.array_equal(found["tail"], tail_probability(expected.score, history))
            groups = duplicates.connect([Shingler().shingle(text) for text in one["text"]])
            rare = [
                row
                for row in np.unique(groups).tolist()
                if found["tail"][row] <= 0.05 and not expected.empty[row]
            ]
            assert found.index[found["alert"]].tolist() == sorted(rare) and len(rare) < 20
            assert found["item"].tolist() == one["id"].iloc[groups].tolist()
            state = model.learn(state, P, expected.codes)
        history = stream.detector_.window_
        assert [*stream.detector_.words_] == previous.vocabulary
        assert np.array_equal(stream.frequencies_, previous.frequencies_after())
        assert stream.n_documents_ == 60 * (t + 1)
    assert found["alert"][-5:].all() and found["alert"].sum() < 9


def test_the_first_batch_is_scored_but_flags_nothing(rng):
    one = frame(rng, new=3)
    stream = TextNovelty(folds=3, tail=1.0, warm_up=1, gates=False)
    found = stream.update(one)
    assert not found["alert"].any() and (found["tail"] == 1).all() and (found["batch"] == 0).all()
    assert len(stream.detector_.window_) == 60


def test_a_stream_warms_up_in_silence(rng):
    stream = TextNovelty(warm_up=61, tail=0.2, gates=False)
    parts = [
        stream.update(frame(rng, f"2026-0{month}-05", new=5 * (month == 4)))
        for month in (1, 2, 3, 4)
    ]
    assert [part["alert"].any() for part in parts] == [False, False, False, True]
    assert [(part["tail"] == 1).all() for part in parts] == [True, True, True, False]
    assert len(stream.detector_.window_) == 180


@pytest.mark.slow
def test_a_budget_is_items_of_a_period_or_a_share_of_them(rng):
    """The most novel items first; near-duplicates are one, and a document without a word is none."""
    stream = TextNovelty(folds=3, warm_up=60, tail=0.5, gates=False)
    stream.update(frame(rng))
    new = frame(rng, "2026-02-05", new=9)
    new.loc[[57, 58, 59], "text"] = ["rocket orbit launch", "Rocket: orbit, launch!", "7 9"]
    assert stream.judge(new)["item"].tolist()[57:] == [
        "2026-02-05-57",
        "2026-02-05-57",
        "2026-02-05-59",
    ]
    score = {}
    for budget, most in ((1000, 59), (4, 4), (1, 1), (0.1, 6), (0.01, 1)):
        judged = stream.set_params(budget=budget).judge(new)
        flagged = judged[judged["alert"]]
        score[budget] = flagged["score"].min()
        assert len(flagged) == most or (most == 59 and 6 < len(flagged) < 40)
        assert flagged["tail"].max() <= 0.5 and not flagged.index.isin([58, 59]).any()
    assert score[1] >= score[4] >= score[0.1] > score[1000]


@pytest.mark.slow
@pytest.mark.parametrize("gates", [False, True])
@pytest.mark.parametrize("features", [{}, {"languages": True, "max_share": 0.5, "min_df": 2}])
def test_numbers_are_those_of_odl_run(tmp_path, monkeypatch, gates, features):
    """Scores, tail probabilities, items, events, what `odl new` shows, and reasons, to the last bit."""
    monkeypatch.chdir(tmp_path)
    folder, path = streams.begin(tmp_path, weeks=6), tmp_path / "posts" / "05.jsonl"
    last = [json.loads(line) for line in path.read_text().splitlines()]
    last += [{**last[3], "id": "copy"}, {**last[0], "id": "empty", "text": "7 9"}]
    last.append({**streams.post(4, 7, "oil"), "id": "again", "time": last[9]["time"]})
    path.write_text("".join(json.dumps(row) + "\n" for row in last))
    for path in tmp_path.glob("posts/*"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        rows = [{**row, "title": " ".join(row["text"].split()[:3])} for row in rows]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    configuration = project.read(folder)
    configuration |= {"features": features, "alerts": (alerts := {**ALERTS, "gates": gates})}
    (folder / "odl.yaml").write_text(json.dumps(configuration))
    assert main(["run", str(folder)]) == 0
    batches, tokens = configuration["batches"], configuration["options"]["tokens"]
    options = {"tokens": tokens, "n_reasons": 12, **alerts, **features}
    stream = TextNovelty(period=batches["period"], initial=batches["initial"], **options)
    posts = pd.concat(
        [pd.read_json(path, lines=True, dtype=False) for path in sorted(tmp_path.glob("posts/*"))]
    )
    found = stream.update(posts.sort_values("time", kind="stable", ignore_index=True))
    (results,) = folder.glob("results/*/*/seed0/*/*/alerts")
    watch, n_shown = read.alerts_of(folder), 0
    for t, part in found.groupby("batch"):
        record, part = periods.read(results / f"{t}.h5"), part.reset_index(drop=True)
        assert np.array_equal(part["score"], record.score) and np.array_equal(
            part["tail"], record.tail
        )
        assert part["item"].tolist() == part["id"][record.item].tolist()
        period = watch.periods[t]
        alerts = (
            () if period.unproven else period.novel
        )  # which lists the most novel documents of those too
        shown = [row for one in period.headlines for row in one.examples[:3]] if gates else alerts
        assert np.flatnonzero(part["alert"]).tolist() == sorted(set(shown))
        n_shown += len(shown)
        assert part["event"].tolist() == record.event.tolist()
        of_words = [one for one in record.headlines if one.gate != "volume"]
        assert all(
            part["headline"][row] == ", ".join(one.name) for one in of_words[:1] for row in one.rows
        )
        stored = record.documents_of.items()
        assert all(
            part["reasons"][row] == ", ".join(word for word, _ in one.reasons)
            for row, one in stored
        )
    assert t == 4 and len(part) == 63 and (record.empty, record.repeats) == (1, 1)
    assert n_shown > 0
    ours, theirs = map(
        decision.as_arrays, (stream.past_, periods.read_carried(results / "4.h5").past)
    )
    assert ours["words_titles"].any()
    for name in {*ours} - {"recent"}:
        assert np.array_equal(
            *(
                one.toarray() if hasattr(one, "toarray") else one
                for one in (ours[name], theirs[name])
            )
        )
    events = stream.events_
    assert events["name"].tolist() == [
        ", ".join(event.name) for _, event in sorted(watch.events.items())
    ]
    assert events["state"].tolist() == [event.state for _, event in sorted(watch.events.items())]
    assert events["documents"].tolist() == [event.size for _, event in sorted(watch.events.items())]
    assert len(events) or not gates
    assert part["id"][part["id"] != part["item"]].tolist() == ["copy"]


def test_periods_are_batches(rng):
    whole = pd.concat(
        [frame(rng, day, n=20) for day in ("2026-01-07", "2026-01-14", "2026-01-21", "2026-01-28")]
    )
    shuffled = whole.sample(frac=1.0, random_state=1)
    found = TextNovelty(n_atoms=8, period="week", initial=21).update(shuffled)
    assert list(found.index) == list(shuffled.index)
    week = (pd.to_datetime(shuffled["time"]).dt.day - 5) // 7
    assert found["batch"].tolist() == [max(0, number - 1) for number in week]
    stream, parts = TextNovelty(n_atoms=8), []
    for days in (slice(0, 40), slice(40, 60), slice(60, 80)):
        parts.append(stream.update(whole[days]))
    assert np.array_equal(
        pd.concat(parts)["score"], found.set_index("id").loc[whole["id"], "score"]
    )
    later = TextNovelty(n_atoms=8, period="week", initial=21)
    later.update(whole[:40])
    assert later.update(whole[40:])["batch"].tolist() == [1] * 20 + [2] * 20


def test_reasons_are_led_by_shared_words(rng):
    stream = TextNovelty(n_atoms=8, n_reasons=3)
    stream.update(frame(rng))
    new = pd.DataFrame(
        {
            "text": [
                "rocket orbit aardvark",
                "rocket satellite",
                "orbit satellite",
                "crude oil tanker",
            ]
        }
    )
    found = stream.update(new)
    assert set(found["reasons"][0].split(", ")[:2]) == {"rocket", "orbit"}
    assert found["reasons"][0].endswith("aardvark")
    assert (
        stream.set_params(n_reasons=1).update(new)["reasons"].str.split(", ").str.len().max() == 1
    )


def test_words_that_others_have_lead_in_order():
    shares = sparse.csr_array([[0.1, 0.4, -0.2, 0.4]])
    assert reasons.lead(shares, 0, np.array([True, False, True, True]), 5) == [3, 0, 1]


def test_an_atom_that_points_away_is_not_near():
    P, A = sparse.csr_array([[0.6, 0.8]]), sparse.csc_array([[-1.0, 1.0, 0.0], [0.0, 0.0, 0.5]])
    atoms, cosines = reasons.nearest_atoms(P, A, 3)
    assert atoms.tolist() == [[2, 1, -1]] and np.allclose(cosines, [[0.8, 0.6, 0.0]])


def test_judging_learns_nothing(rng):
    stream = TextNovelty(n_atoms=8)
    stream.update(frame(rng))
    new = frame(rng, "2026-02-05", new=4)
    judged = stream.judge(new)
    assert stream.n_documents_ == 60 and "rocket" not in stream.detector_.words_
    assert judged.equals(stream.judge(new)) and judged.equals(stream.update(new))


def test_explanations_add_up(rng):
    stream = TextNovelty(n_atoms=8)
    stream.update(frame(rng))
    new = frame(rng, "2026-02-05", new=4)
    judged, explained = stream.judge(new), stream.explain(new["text"])
    assert np.allclose(
        [sum(why.words.values()) + why.context for why in explained], judged["score"]
    )
    assert set(explained[-1].words) & set(TOPICS[2].split())
    assert explained[0].atoms[0].words[0][0] in stream.detector_.words_
    for wrong in ("a text", ["a text", None], 3):
        with pytest.raises(ParameterError, match="a list of str"):
            stream.explain(wrong)


@pytest.mark.slow
def test_a_saved_stream_goes_on(rng, tmp_path):
    frames = [frame(rng, f"2026-0{t + 1}-05", new=5 * (t == 2)) for t in range(3)]
    stream = TextNovelty(
        "adaptive",
        n_atoms=8,
        budget=7,
        level=0.1,
        tokens={"stop_words": None},
        min_df=1,
        random_state=3,
    )
    for one in frames[:2]:
        stream.update(one)
    stream.save(tmp_path / "stream.h5")
    loaded = TextNovelty.load(tmp_path / "stream.h5")
    assert loaded.get_params() == stream.get_params()
    assert loaded.update(frames[2]).equals(stream.update(frames[2]))
    with pytest.raises(OdlError, match=r"stream\.h5 was written by another program"):
        stream.save(tmp_path / "stream.h5")
        NoveltyDetector.load(tmp_path / "stream.h5")
    NoveltyDetector().fit(np.eye(3)).save(tmp_path / "detector.h5")
    with pytest.raises(OdlError, match=r"expected a file of TextNovelty\.save"):
        TextNovelty.load(tmp_path / "detector.h5")


@pytest.mark.parametrize(
    ("options", "text", "told"),
    [
        (
            {"pieces": 0.5},
            "oil tanker",
            "has pieces of words by the rules of an earlier version; learn the texts again",
        ),
        (
            {},
            "ภาษาไทย oil",
            "has words of a script without spaces by the rules of an earlier version",
        ),
        ({"tokens": {"pattern": r"\S+"}}, "ภาษาไทย oil", ""),
        ({}, "oil tanker", ""),
    ],
)
def test_a_stream_saved_by_a_version_that_cut_words_otherwise_says_so(
    tmp_path, recwarn, options, text, told
):
    stream, path = TextNovelty(**options), tmp_path / "stream.h5"
    stream.update(pd.DataFrame({"text": [text, "oil refinery", "crude oil"]}))
    stream.save(path)
    TextNovelty.load(path)
    assert not recwarn.list
    point = checkpoints.read_checkpoint(path)
    own = {name: value for name, value in point.chain["text"].items() if name != "cut"}
    checkpoints.write(path, replace(point, chain={**point.chain, "text": own}))
    TextNovelty.load(path)
    assert [told in str(one.message) for one in recwarn.list] == [True] * bool(told)


@pytest.mark.parametrize(
    ("options", "columns", "message"),
    [
        ({"text": "body"}, {"text": ["a b"]}, "no column 'body' for text.*pass text="),
        ({"time": "day"}, {"text": ["a b"]}, "no column 'day' for time"),
        ({"period": "week"}, {"text": ["oil tanker"]}, "period='week' for a frame without times"),
        ({"period": "decade"}, {"text": ["oil tanker"]}, "period is 'decade'"),
        (
            {"strict": True},
            {"text": ["oil tanker", None]},
            "document 1 of the frame: the text is missing",
        ),
        (
            {"period": "day"},
            {"text": ["oil", "tanker"], "time": ["05.01.2026", "13.01.2026"]},
            r"may begin with the day .*correct or drop the row \(e\.g\. pandas\.to_datetime with dayfirst\)",
        ),
        ({"strict": True}, {"text": ["oil", 3]}, "document 1 of the frame: the text is a number"),
        ({}, {"text": ["oil"], "time": [None]}, "document 0 of the frame: the time is missing"),
        ({}, {"text": ["oil"], "time": ["soon"], "id": ["x"]}, "document 'x' of the frame"),
        ({}, {"text": []}, "a frame without documents"),
        ({}, {"text": ["the of and"]}, "none of the 1 documents has a weight above 0"),
        ({"n_reasons": -1}, {"text": ["oil"]}, "n_reasons is -1"),
        ({"budget": 2.5}, {"text": ["oil"]}, "budget is 2.5"),
        ({"level": 2}, {"text": ["oil"]}, "level is 2"),
        (
            {"tail": 1 / 2002},
            {"text": ["oil"]},
            "no document can be an alert; expected a tail of at least 1/2001",
        ),
        ({"window": 49}, {"text": ["oil"]}, "window is 49 and alerts.warm_up is 50"),
        ({"tf": "sqrt"}, {"text": ["oil"]}, "tf is 'sqrt'"),
        ({"learner": "adaptiv"}, {"text": ["oil"]}, "did you mean 'adaptive'"),
        ({"tokens": {"stopwords": None}}, {"text": ["oil"]}, "stopwords"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(options, columns, message):
    stream = TextNovelty(**options)
    with pytest.raises(OdlError, match=message):
        stream.update(pd.DataFrame(columns))
    assert not hasattr(stream, "detector_")


def test_frames_of_others_and_lists_are_taken(rng):
    import pyarrow

    given = frame(rng, n=30)
    given["time"] = given["time"].astype("datetime64[ms]")
    expected = TextNovelty(n_atoms=8).update(given)
    assert TextNovelty(n_atoms=8).update(pyarrow.Table.from_pandas(given)).equals(expected)
    written = given["text"].tolist()
    for same in (written, tuple(written), given["text"], np.array(written)):
        found = TextNovelty(n_atoms=8, text="body").update(same)
        assert found["id"].tolist() == list(range(30)) and found["score"].equals(expected["score"])


def test_frames_of_polars_are_taken(rng):
    polars, given = pytest.importorskip("polars"), frame(rng, n=30)
    found = TextNovelty(n_atoms=8).update(polars.DataFrame(given.to_dict("list")))
    assert found.equals(TextNovelty(n_atoms=8).update(given))


class Unconverted:
    """What polars does without pyarrow."""

    def to_pandas(self):
        raise ModuleNotFoundError("pyarrow is required")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "oil tanker",
            "a str as the frame; expected a data frame of pandas or polars, or a list of texts; pass e.g.",
        ),
        (7, "a int as the frame"),
        (None, "a NoneType as the frame"),
        (iter(["oil"]), "a list_iterator as the frame"),
        (np.array([["oil"]]), "a ndarray as the frame"),
        ([{"oil": 1}], "document 0 of the frame: the text is an object"),
        ([], "a frame without documents"),
        (Unconverted(), "pyarrow is required"),
        (pd.DataFrame([["oil", "crude"]], columns=["text", "text"]), "two columns 'text'"),
    ],
)
def test_what_is_no_frame_is_refused_in_one_sentence(given, message):
    stream = TextNovelty()
    stream.update(["oil tanker", "oil refinery"] * 3)
    for call in (TextNovelty().update, stream.judge):
        with pytest.raises(OdlError, match=message):
            call(given)


def test_a_file_that_is_none_of_ours_is_not_to_be_deleted(tmp_path):
    path = tmp_path / "posts.csv"
    path.write_text("id,text\n1,oil\n", encoding="utf-8")
    with pytest.raises(OdlError, match=r"posts\.csv is damaged .*; name a file"):
        TextNovelty.load(path)


def test_before_and_after(rng):
    stream = TextNovelty(n_atoms=8)
    for method in (stream.judge, stream.explain):
        with pytest.raises(NotFittedError, match="call update"):
            method(frame(rng))
    stream.update(frame(rng))
    with pytest.raises(ParameterError, match="levels, the learner of the earlier batches"):
        stream.set_params(learner="flat").update(frame(rng, "2026-02-05"))
    fresh = clone(stream.set_params(learner="levels", settings__nearest=3))
    assert not hasattr(fresh, "detector_") and fresh.settings == {"nearest": 3}


@pytest.mark.slow
def test_posts_that_come_again_are_no_alerts(rng, tmp_path):
    """Within four batches, also beyond a file; then they are forgotten."""
    stream = TextNovelty(folds=3, warm_up=60, tail=0.5, gates=False)
    stream.update(frame(rng))
    new = pd.DataFrame(
        {"text": ["rocket orbit launch crew satellite pad", "aardvark barks at a zebra crossing"]}
    )
    assert stream.update(new)["alert"].all()
    stream.save(tmp_path / "stream.h5")
    stream = TextNovelty.load(tmp_path / "stream.h5")
    for day in (5, 6, 7):
        assert not stream.judge(new)["alert"].any()
        stream.update(frame(rng, f"2026-02-0{day}"))
    assert not stream.judge(new)["alert"].any() and not stream.repeats_.groups.items()[1].any()
    stream.update(frame(rng, "2026-03-05"))
    assert not stream.repeats_.after(new["text"]).groups.items()[1].any()
    assert len(stream.repeats_.sets) == 240 and len(stream.repeats_.groups.starts) == 5


def test_a_word_of_most_documents_weighs_nothing():
    batches = [[f"the wheat{n % 7} grain{n % 5}" for n in range(60)] for _ in range(2)]
    plain, without = (
        TextNovelty(n_atoms=20, tokens={"stop_words": None}, max_share=share)
        for share in (1.0, 0.5)
    )
    for stream in (plain, without):
        stream.update(batches[0])
    assert "the" in plain.explain([batches[1][0]])[0].words
    assert "the" not in without.explain([batches[1][0]])[0].words


def rockets(n, prefix="r", text="rocket orbit launch crew"):
    return pd.DataFrame(
        {
            "id": [f"{prefix}{row}" for row in range(n)],
            "text": [f"{text} pad{row}" for row in range(n)],
        }
    )


@pytest.mark.slow
def test_an_event_is_followed_from_batch_to_batch_and_file_to_file(rng, tmp_path):
    stream = TextNovelty()
    for month in (1, 2, 3, 4):
        assert (
            stream.update(frame(rng, f"2026-0{month}-05"))["event"].eq(0).all()
            and stream.events_.empty
        )
    found = stream.update(pd.concat([frame(rng, "2026-05-05").drop(columns="time"), rockets(12)]))
    assert found["event"].tolist() == [0] * 60 + [1] * 12 and found["alert"][:60].sum() == 0
    event = stream.events_.loc[1]
    assert set(re.findall(r"\w+", event["words"])) >= {"rocket", "orbit", "launch", "crew"}
    assert event[["state", "birth", "documents"]].tolist() == ["new", 4, 12]
    assert found["alert"][60:].sum() == 3  # the others of it are under them
    stream.save(tmp_path / "stream.h5")
    loaded = TextNovelty.load(tmp_path / "stream.h5")
    assert loaded.events_.equals(stream.events_)
    again = pd.concat(
        [
            frame(rng, "2026-06-05").drop(columns="time"),
            rockets(2, "s", "launch of a rocket, crew in orbit"),
        ]
    )
    assert loaded.update(again).equals(stream.update(again))
    assert stream.events_.loc[1, ["state", "documents"]].tolist() == ["ongoing", 14]
    assert loaded.events_.equals(stream.events_)


def test_a_frame_given_twice_is_learned_once(rng, tmp_path):
    """By id and content, also beyond a file and in another order; without ids nothing is known of rows."""
    stream, first, more = TextNovelty(), frame(rng), frame(rng, "2026-02-05", n=20)
    stream.update(first)
    assert stream.left_out_ == (0, 0)
    both = pd.concat([first[40:], more]).sample(frac=1.0, random_state=0)
    found = stream.update(both)
    assert found["id"].tolist() == [name for name in both["id"] if name in set(more["id"])]
    assert found.index.tolist() == both.index[both["id"].isin(more["id"])].tolist()
    assert stream.left_out_ == (20, 0) and stream.n_documents_ == 80
    stream.save(tmp_path / "stream.h5")
    loaded, frequencies = TextNovelty.load(tmp_path / "stream.h5"), stream.frequencies_
    found = loaded.update(both)
    assert found.empty and found.columns.tolist() == stream.judge(both).columns.tolist()
    assert loaded.left_out_ == (40, 0) and np.array_equal(loaded.frequencies_, frequencies)
    assert str(loaded.left_out_) == "40 repeated rows left out"
    texts = more["text"].tolist()
    assert (
        len(loaded.update(texts)) == len(loaded.update(texts)) == 20 and loaded.n_documents_ == 120
    )


@pytest.mark.parametrize("changed", ["keep", "new"])
def test_other_content_under_a_known_id_follows_one_rule(rng, changed):
    stream, first = TextNovelty(changed=changed), frame(rng)
    stream.update(first)
    edited = first[:2].assign(text=["wheat harvest", first["text"][1]])
    found = stream.update(edited)
    assert stream.left_out_ == ((1, 1) if changed == "keep" else (1, 0))
    assert len(found) == (changed == "new") and stream.n_documents_ == 60 + len(found)
    assert all(name.startswith(f"{first['id'][0]}~") for name in found["id"])
    assert len(stream.update(edited)) == 0
    with pytest.raises(ParameterError, match="changed is 'always'; expected 'keep' or 'new'"):
        TextNovelty(changed="always").update(first)


def test_a_refused_frame_is_not_noted(rng):
    stream, first = TextNovelty(), frame(rng)
    with pytest.raises(ParameterError, match="has a weight above 0"):
        stream.update(first.assign(text="of the"))
    assert len(stream.update(first)) == 60


@pytest.mark.slow
def test_a_file_of_another_version_or_kind_is_refused(rng, tmp_path):
    stream, path = TextNovelty(), tmp_path / "stream.h5"
    stream.update(frame(rng))
    stream.save(path)
    point = checkpoints.read_checkpoint(path)
    for name in ("ids", "past_events_numbered", "past_gates_words", "frequencies", "shingles"):
        less = {array: value for array, value in point.arrays.items() if array != name}
        checkpoints.write(path, replace(point, arrays=less))
        with pytest.raises(
            ParameterError,
            match=r"stream\.h5 was written by another .*; expected a file of TextNovelty\.save",
        ):
            TextNovelty.load(path)
    own = {name: value for name, value in point.chain["text"].items() if name != "gates"} | {
        "ranks": True
    }
    checkpoints.write(path, replace(point, chain=point.chain | {"text": own}))
    with pytest.raises(ParameterError, match="was written by another program or version"):
        TextNovelty.load(path)
    NoveltyDetector().fit([[1, 2, 0], [0, 1, 2]]).save(path)
    with pytest.raises(ParameterError, match="was written by another program or version"):
        TextNovelty.load(path)


NONE = [None, float("nan"), pd.NA, pd.NaT]


@pytest.mark.parametrize("column", ["text", "time", "id"])
@pytest.mark.parametrize("dtype", [object, "string"])
def test_rows_with_nothing_in_a_column_are_set_aside(column, dtype):
    texts = [f"oil tanker {word}" for word in ("port", "crude", "gulf", "pipe", "drill", "fuel")]
    frame = pd.DataFrame(
        {"text": texts, "time": "2026-01-05", "id": list("abcdef")},
        index=range(10, 16),
        dtype=object,
    )
    frame[column] = [frame[column].iloc[0], *NONE, frame[column].iloc[5]]
    if dtype == "string":
        frame = frame.replace({pd.NaT: None}).convert_dtypes()
    stream = TextNovelty()
    with pytest.warns(
        UserWarning, match=f"4 of 6 rows .*the first, row 11: the {column} is missing"
    ):
        told = stream.update(frame)
    assert told.index.tolist() == [10, 15] and stream.n_documents_ == 2
    assert stream.set_aside_.index.tolist() == [11, 12, 13, 14]
    assert set(stream.set_aside_["reason"]) == {f"the {column} is missing"}
    with pytest.warns(UserWarning, match="4 of 6"):
        assert len(stream.judge(frame)) == 2
    with pytest.raises(ParameterError, match=f"the {column} is missing"):
        TextNovelty(strict=True).update(frame)


def test_rows_that_are_wrong_are_set_aside_and_the_others_are_as_without_them(tmp_path):
    good = pd.DataFrame(
        {
            "text": ["oil tanker", "crude oil", "gulf port"],
            "time": ["2026-01-05", "2026-01-06", "2026-01-07"],
        }
    )
    bad = pd.DataFrame({"text": [3, "rain"], "time": ["2026-01-05", "soon"]})
    stream = TextNovelty()
    with pytest.warns(UserWarning, match="2 of 5 rows"):
        told = stream.update(pd.concat([bad, good], ignore_index=True))
    assert stream.set_aside_.index.tolist() == [0, 1]
    expected = TextNovelty().update(good)
    assert told["score"].tolist() == expected["score"].tolist()
    stream.save(tmp_path / "stream.h5")
    assert TextNovelty.load(tmp_path / "stream.h5").strict is False


def test_authors_count_once_and_sources_have_volumes_of_their_own(rng):
    """As columns.author, and as files of a folder of `odl run`."""
    frames = [frame(rng, f"2026-{month:02d}-05") for month in range(1, 12)]
    for number, one in enumerate(frames):
        one["who"], one["forum"] = [f"person{row}" for row in range(60)], ["a", "b", "b"] * 20
        if number == 10:
            one.loc[range(12), "text"] = [f"zeppelin {text}" for text in one["text"][:12]]
            one.loc[range(12), "who"] = "Ada <ada@x.org>"
    found = {}
    for columns in ({}, {"author": "who", "source": "forum"}):
        stream = TextNovelty(n_atoms=8, **columns)
        tables = [stream.update(one) for one in frames]
        found[len(columns)] = [name for name in tables[-1]["headline"][:12] if "eppelin" in name]
        assert stream.past_.gates.sources == (["b", "a"] if columns else [])
    assert len(found[0]) == 12 and not found[2]
    with pytest.raises(ParameterError, match="no column 'by' for author"):
        TextNovelty(author="by").update(frames[0])
