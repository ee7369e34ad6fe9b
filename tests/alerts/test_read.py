"""Alerts of a made stream: budget, topics and their states, names, reasons that add up, feedback, what is refused."""

import csv
import io
import itertools
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import watched
from called import odl
from fuzzing import edited
from scipy import sparse
from scipy.stats import binom

from odl import cli, learners
from odl.alerts import breakdown, candidates, explain, feedback, gates, memory, periods, phrasing, read, show
from odl.alerts.calibration import tail_probability
from odl.alerts.folding import Kind, Room
from odl.alerts.memory import nothing
from odl.alerts.model import Reason
from odl.config.sections import Alerts
from odl.errors import DataError, ParameterError, StorageError
from odl.evaluation.scorefiles import read_scores
from odl.files.documents import NO_TIME
from odl.files.escaping import CONTROLS
from odl.jobs import alerts, runs
from odl.report import newparts, newtext
from odl.stream import duplicates, features


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The results of a made stream, and the folder of its alerts."""
    root = tmp_path_factory.mktemp("made")
    return root, watched.follow(root, watched.run_of(atoms=20))


@pytest.fixture
def watch(made):
    return read.alerts_of(made[0])


@pytest.mark.parametrize("last", [1, 2, 4, 100])
def test_the_last_periods_say_the_same_as_all(made, watch, last, monkeypatch):
    """Without the files of other periods being read, but for the one before them and those of births."""
    opened = []
    monkeypatch.setattr(periods, "read", lambda path, read=periods.read: opened.append(path) or read(path))
    few = read.alerts_of(made[0], last=last)
    assert len(opened) == len(few.periods) == min(last, len(watch.periods))
    for period, whole in zip(few.periods, watch.periods[-last:], strict=True):
        assert period.t == whole.t and show.as_jsonl(few, [period]) == show.as_jsonl(watch, [whole])
        assert show.as_text(few, [period]) == show.as_text(watch, [whole])
        seen = watch.scored_before(period.t)
        assert few.scored_before(period.t) == seen or seen > few.scored_before(period.t) >= few.settings["window"]
    earlier = 0
    for number, topic in few.topics.items():
        whole, first = watch.topics[number], few.periods[0].t
        earlier += topic.earlier
        for name in ("name", "birth", "first", "representative", "title", "state", "size", "atom"):
            assert getattr(topic, name) == getattr(whole, name)
        assert topic.earlier == whole.before(first)
        assert [change for change in topic.history if change[0] >= first] == [
            change for change in whole.history if change[0] >= first
        ]
    assert earlier or last > 2


@pytest.fixture
def said(made):
    """Says something in feedback.csv, which is removed afterwards."""
    root = made[0]

    def say(*entries):
        (root / feedback.FILE).unlink(missing_ok=True)
        for entry in entries:
            feedback.add(root, feedback.Entry(*entry))
        return read.alerts_of(root)

    yield say
    (root / feedback.FILE).unlink(missing_ok=True)


def launch_of(watch):
    """The topic that enters in period 3."""
    (topic,) = [topic for topic in watch.topics.values() if {"rocket", "launch", "mission"} & set(topic.name)]
    return topic


def explained(watch, alert):
    """The same alert with all its words."""
    return explain.document(watch.place, *explain.find(watch.place, alert.id), watch)[0]


def test_a_score_spread_over_many_words_is_summed_up(tmp_path):
    """Of four hundred words that were seen before, none is worth a name: not "because: rare1 0 %, rare2 0 %"."""
    rare = [f"rare{i:03}" for i in range(400)]
    more = {0: [rare[i : i + 20] for i in range(0, 400, 20)], 3: [rare]}
    watched.follow(tmp_path, watched.run_of(atoms=20), (0, 0, 0, 0), {"rest": True}, more=more)
    watch = read.alerts_of(tmp_path)
    (alert,) = [alert for period in watch.periods for alert in period.alerts if alert.title == "Title 3-20"]
    assert len(alert.reasons) == alert.led == 12 and alert.reasons[0].share < 0.01 * alert.score
    told = "320 words of other documents as well 128 % (none above .5 %), 80 words that pull down -28 %"
    assert breakdown.line(replace(alert, rest=None)) == "shared words 100 % (none above 1 %)"
    alone = [replace(watch.periods[alert.t], alerts=(replace(alert, folded=False),))]  # not under "Title 3-5"
    for text in (show.as_text(watch, alone), show.as_markdown(watch, alone).replace("\\", "")):
        assert f"because: {told}" in text and "rare" not in text
    first, second = (text.replace("\u00a0", " ") for _, text in newtext.reasons(alert, 300)[:2])
    assert f"{first}, {second}" == told
    assert newtext.leading(alert) == told
    assert newparts.shared([alert]).endswith(" of the score)") and "0." not in newparts.shared([alert])
    assert len(explained(watch, alert).reasons) == 400


def test_reasons_are_wrapped_not_cut(watch):
    alert = watch.periods[3].alerts[2]
    wide = replace(alert, reasons=tuple(replace(r, word=r.word.ljust(25, "x")) for r in alert.reasons))
    text = show.as_text(replace(watch, periods=()), (replace(watch.periods[3], alerts=(wide,)),))
    lines = text.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith(show.BECAUSE))
    last = next(place for place, line in enumerate(lines) if line.startswith("      id: "))
    assert last - first > 1 and all(len(line) <= show.WIDTH for line in lines[first:last])
    told = " ".join(line[len(show.BECAUSE) :] for line in lines[first:last])
    assert told == breakdown.line(wide) and len(breakdown.named(wide)) == 3


class TestStream:
    """What a reader gets of a stream with a topic that enters, grows, ends and returns."""

    def test_states_follow_the_stream(self, watch):
        topic = launch_of(watch)
        states = [(3, "new"), (4, "ongoing"), (6, "growing"), (7, "ongoing"), (10, "ended"), (12, "returning")]
        assert list(topic.history) == states and topic.birth == 3 and topic.state == "returning"
        true = {t: count for t, count in enumerate(watched.LAUNCHES) if count}
        assert topic.sizes.keys() == true.keys()
        assert all(0.7 * true[t] <= size <= true[t] for t, size in topic.sizes.items())

    def test_periods_keep_to_the_budget(self, watch):
        assert [period.warm_up for period in watch.periods] == [True] * 3 + [False] * 10
        for period in watch.periods:
            assert len([alert for alert in period.alerts if not alert.folded]) <= period.budget == 5
            assert not (period.warm_up and period.alerts)
            assert [alert.rank for alert in period.alerts] == sorted(alert.rank for alert in period.alerts)
            assert all(alert.tail <= watch.settings["level"] for alert in period.alerts)
            scores = [alert.score for alert in period.alerts]
            assert scores == sorted(scores, reverse=True)

    def test_near_duplicates_are_one_item(self, watch):
        found = {alert.members for period in watch.periods for alert in period.alerts if len(alert.members) > 1}
        assert ("wire.jsonl:248", "wire.jsonl:252") in found
        shown = [name for period in watch.periods for alert in period.alerts for name in alert.members]
        assert len(shown) == len(set(shown))

    def test_words_of_one_document_neither_name_nor_lead(self, watch):
        for topic in watch.topics.values():
            assert not any(word.startswith(("odd", "copy")) for word in topic.name) and topic.name
        odd = next(alert for alert in watch.periods[3].alerts if alert.id == "wire.jsonl:246")
        assert odd.led == 0 and odd.own > 0.9 * odd.score and odd.reasons[0].word.startswith("odd")
        twins = next(alert for alert in watch.periods[3].alerts if len(alert.members) == 2)
        assert twins.led == 0 and twins.own > 0.8 * twins.score  # that a word stands in a copy makes it no shared one
        assert "% (odd3x0 odd3x1 odd3x10)" in show.as_text(watch, watch.periods[3:4])
        for alert in [alert for period in watch.periods for alert in period.alerts]:
            assert not any(reason.word.startswith(("odd", "copy")) for reason in alert.reasons[: alert.led])

    def test_shares_that_are_told_are_those_of_all_words(self, watch):
        """What is named is 1 % or more; what is summed up is the sum of the words that are not named."""
        several = 0
        for alert in [alert for period in watch.periods for alert in period.alerts][::4]:
            whole = {reason.word: reason.share / alert.score for reason in explained(watch, alert).reasons}
            told = {part.kind: part for part in breakdown.parts(alert) if part.kind != "word"}
            rest = 1 - alert.context / alert.score - alert.own / alert.score
            if alert.own > alert.score and not breakdown.named(alert):  # what pulls down is taken off
                assert told["own"].percent <= 100 and not {"down", "context"} & told.keys()
                continue
            for part in breakdown.parts(alert):
                if part.kind == "word":
                    assert part.percent >= 1 and abs(whole[part.label] - part.percent / 100) < 0.01
                    rest -= whole.pop(part.label)
            found = told.get("more") or told.get("down")
            assert abs(rest - (found.percent if found else 0) / 100) < 0.01
            if "more" in told and (bound := re.search(r"none above (\d*\.?\d+) %", told["more"].note)):
                several += 1
                others = [share for word, share in whole.items() if not word.startswith(("odd", "copy"))]
                assert max(others) <= float(bound[1]) / 100 + 1e-9
        assert several

    def test_a_topic_has_a_source_a_date_and_near_atoms(self, watch):
        alert = next(alert for alert in watch.periods[3].alerts if alert.topic)
        name, _, line = alert.id.rpartition(":")
        assert (alert.source, alert.line) == (name, int(line)) and show.date_of(alert.time) == "1998-01-22"
        assert alert.nearest[0].likeness >= alert.nearest[1].likeness > 0 and alert.nearest[0].words
        assert alert.nearest[0].id

    def test_at_most_three_of_a_topic_are_shown_and_the_others_cost_nothing(self, made):
        for budget in (5, 12):
            watch = read.alerts_of(made[0], budget=budget)
            shown = [alert for alert in watch.periods[3].alerts if alert.topic == launch_of(watch).number]
            assert [alert.folded for alert in shown] == [False] * 3 + [True] * (len(shown) - 3)
        assert len(shown) > 3 and watch.periods[3].budget == 12

    def test_what_is_folded_costs_no_budget(self, made, watch):
        whole, before = read.alerts_of(made[0], budget=1000), 0
        for t, period in enumerate(whole.periods):
            folded = [alert.folded for alert in period.alerts]
            single = folded.count(False)
            if single:
                again = read.alerts_of(made[0], budget=single).periods[t].alerts
                assert [alert.folded for alert in again].count(False) == single
                before += sum(folded[: len(folded) - folded[::-1].index(False)])
        assert before > 0

    def test_the_dictionary_takes_a_topic_over(self, made, watch):
        topic = launch_of(watch)
        atoms = read_scores(made[1].parent / "scores" / "12.h5").atoms
        assert len({*atoms[topic.atom].split()} & {"rocket", "launch", "mission", "orbit", "pad", "crew"}) >= 3

    def test_texts_of_the_stream_move_no_cursor_and_mark_nothing_up(self, watch):
        (choices,) = (more["choices"] for names, more in cli.commands()["new"].arguments if "--format" in names)
        assert choices == tuple(show.SHOWN)
        for form in ("text", "jsonl", "csv", "md"):
            text = show.SHOWN[form](watch, watch.periods)
            assert not CONTROLS.search(text.replace("\n", "")) and "Title 3" in text.replace("\\", "")
        assert show.escaped("[a](b) <i> @me *x*") == r"\[a\]\(b\) \<i\> @&#8203;me \*x\*"
        lines = [json.loads(line) for line in show.as_jsonl(watch, watch.periods).splitlines()]
        assert {line["version"] for line in lines} == {1} and lines[0]["period"] == 3
        assert len(lines) == sum(len(period.alerts) for period in watch.periods)

    def test_a_spreadsheet_runs_nothing_of_what_the_stream_says(self, watch):
        (period,) = [period for period in watch.periods if period.t == 6]
        first, second = period.alerts[:2]
        first = replace(first, id="=1+1", title='=HYPERLINK("x")', source="-a.jsonl", members=("=1+1", "@b"), tail=-0.5)
        second = replace(second, title="free;=1+1", topic_name=("+a", "b"), reasons=())
        text = show.as_csv(watch, [replace(period, alerts=(first, second))])
        one, two = csv.DictReader(io.StringIO(text))
        assert (one["id"], one["title"], one["source"]) == ("'=1+1", '\'=HYPERLINK("x")', "'-a.jsonl")
        assert one["members"] == "'=1+1\t'@b" and one["tail"] == "-0.5" and float(one["score"]) == first.score
        assert two["title"] == "free;'=1+1" and two["topic_name"] == "'+a, b" and two["id"] == second.id
        plain = show.as_csv(watch, [period])
        assert "'" not in plain and len(plain.splitlines()) == 1 + len(period.alerts)


def test_near_duplicates_of_the_stream(made, tmp_path):
    """Groups of a chain of near-duplicates: one item each, and what repeats an earlier period is no alert."""
    base, folder = made[0] / "made" / "seed0", made[1]
    names, born = [str(row) for row in range(watched.SIZE)], np.array([[3, row] for row in range(watched.SIZE)])
    names[20], born[20] = "7", (3, 7)
    names[5], born[5] = "old", (1, 0)  # the oddest document
    shutil.copytree(base / "features", tmp_path / "features")
    grouped = tmp_path / "features" / "3.h5"
    with edited(grouped) as file:
        duplicates.write(file, duplicates.Groups(3, np.array([0, watched.SIZE]), names, born))
    files = alerts.Written(grouped, folder.parent / "scores" / "3.h5", folder.parent / "3.h5"), tmp_path / "3.h5"
    before = runs.Before(folder / "2.h5", known=folder.parent / "2.h5")
    chain = {"run": runs.parse(watched.run_of(atoms=20)), "before": before}
    alerts.follow(*files, **chain, settings=watched.SETTINGS)
    record, before = periods.read(tmp_path / "3.h5"), periods.read(folder / "3.h5")
    assert record.item[20] == 7 and record.item[11] == 11 and record.facts["repeats"] == 1
    assert before.pool[0].row == 5 and 5 not in {item.row for item in record.pool}
    shown = read.watch([*map(periods.read, [folder / f"{t}.h5" for t in range(3)]), record]).periods[3]
    assert [(held.verdict, held.items) for held in shown.withheld] == [("repeated", 1)]
    told = "".join(show.closing(read.watch([before]), [shown]))
    assert "Held back: 1 document nearly the same as one of an earlier period." in told
    assert shown.items < shown.documents and f" of {shown.items} items (near-duplicates counted once)" in told
    single = replace(shown, documents=shown.items)  # none: nothing is said of them
    assert "near-duplicates" not in "".join(show.closing(read.watch([before]), [single]))


def test_an_unusual_text_that_came_often_is_told_of(made):
    """Copies are one item; where that is no alert, a person still learns that so many came."""
    records = [periods.read(made[1] / f"{t}.h5") for t in range(4)]
    alerting = {alert.id for alert in read.watch(records).periods[3].alerts}
    place, item = next((place, item) for place, item in enumerate(records[3].pool) if item.id not in alerting)
    said = f"Held back: {read.COPIES} documents nearly the same as one another, unusual but within chance: {item.id}."
    for copies in (read.COPIES - 1, read.COPIES):
        records[3].pool[place] = replace(item, members=[f"copy{n}" for n in range(copies)])
        watch = read.watch(records)
        assert (said in show.closing(watch, watch.periods[3:])) == (copies == read.COPIES)


class TestCalibration:
    """Scores that are all alike: alerts are as rare as the level says."""

    def test_exchangeable_scores_keep_to_the_level(self, made, tmp_path):
        batches, rng = [], np.random.default_rng(1)
        record = periods.read(made[1] / "3.h5")
        recent, n = rng.random(400), 200
        for _ in range(60):
            record.score, record.tail = rng.random(n), np.zeros(n)
            batches.append(tail_probability(record.score, recent))
            recent = np.append(recent, record.score)[-2000:]
        assert abs(np.mean(np.concatenate(batches) <= 0.1) - 0.1) < 0.01

    def test_growth_is_the_tail_of_a_binomial(self, rng):
        """Also where a term of the sum is no number of the machine: a topic that collapses."""
        cases = [(5, 70, 3, 210), (20, 700, 30, 2100), (1, 7, 3, 7), (5, 2000, 1200, 2000), (1, 1, 1, 1)]
        cases += [(10**6, 10**6, 1, 10**6), (1, 10**6, 10**6, 10**6), (1, 1, 1, 10**7), (1, 10**7, 1, 1)]
        for total, past in np.exp(rng.uniform(0, 14, (1500, 2))).astype(int).tolist():
            part, rate = rng.random(2) ** rng.integers(1, 7, 2)
            count, before = 1 + int(part * (total - 1)), 1 + int(rate * (past - 1))
            cases += [(count, total, before, past), (1 + int(rate * (total - 1)), total, before, past)]
        found = np.array([candidates.growth_chance(*case) for case in cases])
        count, total, before, past = np.array(cases).T
        expected = binom.sf(count - 1, count + before, total / (total + past))
        assert np.allclose(found, expected, rtol=1e-6, atol=1e-250) and found.max() <= 1.0
        growth = Alerts().growth
        assert np.array_equal(found <= growth, expected <= growth) and 200 < (found <= growth).sum() < len(cases) - 200

    def test_a_topic_that_collapses_does_not_grow(self):
        assert np.isclose(candidates.growth_chance(5, 2000, 1200, 2000), 1.0, rtol=1e-12)

    def test_a_window_within_the_warm_up_is_refused(self):
        """No more scores are kept than the window holds, so that the warm-up would never end."""
        for given in ({"window": 200}, {"warm_up": 2001}, {"window": 5, "warm_up": 6}):
            with pytest.raises(ParameterError, match=r"alerts.window is \d+ and warm_up \d+.*raise window or lower"):
                Alerts(**given)
        assert Alerts(window=300).window == Alerts(window=9, warm_up=1).warm_up * 300

    def test_a_level_that_no_document_can_have_is_refused(self):
        """Of n recent scores, the least tail probability is 1 / (1 + n)."""
        for given in ({"level": 0.000499}, {"level": 0.0033, "window": 300}, {"window": 8, "warm_up": 1}):
            with pytest.raises(ParameterError, match=r"level is \S+ with a window of \d+: .*at least 1/\d+"):
                Alerts(**given)
        assert Alerts(level=1 / 2001).level == Alerts(level=1 / 301, window=300).level * 301 / 2001

    def test_a_budget_is_a_number_or_a_share(self):
        assert [Alerts(budget=budget).room(n) for budget, n in ((20, 5), (0.07, 100), (0.001, 10))] == [20, 7, 1]
        for budget in (0, -1, 2.5, True, "3", float("nan")):
            with pytest.raises(ParameterError, match=r"alerts\.budget is"):
                Alerts(budget=budget)


class TestKinds:
    """Lone items of one kind: one is shown, the others are folded under it and cost no budget."""

    @pytest.fixture
    def lone(self, watch):
        alert = next(alert for period in watch.periods for alert in period.alerts)

        def item(title, *words):
            reasons = tuple(Reason(word, 0.25 * alert.score) for word in words)
            return Kind.of(replace(alert, topic=0, title=title, reasons=reasons, led=len(words)))

        return item

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("The 1964 Phillies", "Re: The 1964 Phillies", True),
            ("Re: RE[2]: Fwd: scam?", "AW: Scam?", True),
            ("sample H5N1 batch 12 positive", "sample H5N1  batch 7 positive", True),
            ("sample H5N1 positive", "sample H5N1 negative", False),
            ("2026-01-05", "2025-12-31", False),
            ("", "", False),
            ("reset", "set", False),
        ],
    )
    def test_by_their_subjects(self, lone, one, other, same):
        assert lone(one, "a", "b").resembles(lone(other, "c", "d")) == same

    def test_by_the_words_that_explain_half(self, lone):
        first = lone("one", "thermoscan", "broken")
        assert first.resembles(lone("two", "thermoscan", "fever"))
        assert not first.resembles(lone("two", "fever", "cold", "thermoscan"))  # two explain half of it
        assert not lone("one").resembles(lone("two"))  # without words nothing is shared

    def test_they_cost_no_budget(self, lone):
        room = Room(2)
        items = [lone("tigers", "a"), lone("Re: tigers", "b"), lone("lions", "c"), lone("bears", "d")]
        assert [room.take(0, item, True) for item in items] == [
            (True, False), (True, True), (True, False), (False, False)
        ]  # fmt: skip

    def test_a_topic_shows_three_of_other_subjects(self, lone):
        """Items of a topic share words, so that only their subjects tell them apart; those of other topics do not."""
        room = Room(9)
        titles = ["tigers", "Re: tigers", "lions", "", "", "bears"]
        folded = [room.take(1, lone(title, "a"), True)[1] for title in titles]
        assert folded == [False, True, False, False, True, True] and room.spent == 3
        assert not room.take(2, lone("tigers", "a"), True)[1] and not room.take(0, lone("tigers", "a"), True)[1]


class TestClusters:
    """Groups against their definitions."""

    def test_average_linkage(self, rng):
        Q = rng.random((40, 12)) * (rng.random((40, 12)) < 0.3)
        Q /= np.maximum(np.linalg.norm(Q, axis=1, keepdims=True), 1e-9)
        cosines = Q @ Q.T
        for least in (0.2, 0.5, 0.8):
            groups = [[row] for row in range(40)]
            while len(groups) > 1:
                pairs = itertools.combinations(range(len(groups)), 2)
                means = {pair: cosines[np.ix_(*(groups[at] for at in pair))].mean() for pair in pairs}
                one, other = max(means, key=means.get)
                if means[one, other] < least:
                    break
                groups[one] += groups.pop(other)
            assert sorted(map(sorted, groups)) == [
                np.flatnonzero(candidates.alike(cosines, least) == first).tolist() for first in sorted(map(min, groups))
            ]
        assert candidates.alike(np.ones((1, 1)), 0.5).tolist() == [0]

    def test_an_item_joins_by_the_ratio_of_cosine_to_reach(self):
        """The rule of docs/alerts.md: a topic that reaches far is not joined for a cosine that is usual for it."""
        reach = np.array([0.2, 0.6, 0.3])
        cosines = np.array([[0.5, 0.55, 0.4], [0.3, 0.61, 0.2], [0.5, 0.7, 0.4], [0.19, 0.59, 0.29], [0.2, 0.6, 0.3]])
        assert candidates.joined(cosines, reach, reach).tolist() == [0, 0, 0, -1, 0]
        assert candidates.joined(cosines, reach[::-1], reach[::-1]).tolist() == [2, 1, 2, 2, 2]

    def test_near_duplicates(self, rng, monkeypatch):
        Q = np.repeat(rng.random((10, 30)), 3, axis=0)[rng.permutation(30)] + 0.001 * rng.random((30, 30))
        Q = sparse.csr_array(Q / np.linalg.norm(Q, axis=1, keepdims=True) * (Q > 0.2))
        first = candidates.near_duplicates(Q)
        monkeypatch.setattr(candidates, "BLOCK", 7)
        assert np.array_equal(candidates.near_duplicates(Q), first)
        cosines = (Q @ Q.T).toarray()
        for row in range(30):
            earlier = [other for other in range(row) if cosines[row, other] >= candidates.ALIKE]
            assert first[row] == (first[earlier[0]] if earlier else row)
        assert len(np.unique(first)) < 30

    def test_a_name_is_of_words_that_items_share(self):
        sums = sparse.csr_array(np.array([[9.0, 0.0, 2.0, 1.0, 0.5]]))
        words, held = ["own", "none", "some", "most", "few"], np.array([1, 2, 4, 1])
        none = np.zeros(0, dtype=int)
        assert memory.name_words(sums, held, 5, none, words) == {"some": 4.0, "most": 4.0}
        assert memory.name_words(sums, held, 5, np.array([0, 3]), words) == {"most": 4.0}  # "some" is broad
        assert memory.name_words(sums, held, 20, none, words) == {}  # a quarter of them, five, share none
        assert phrasing.name_of({"some": 4.0, "most": 3.0}, [], 1) == ("some",)

    def test_a_name_is_of_phrases_as_most_items_spell_them(self):
        """Words that belong together are one part; a run of a script without spaces counts as one."""
        texts = ["Duct Tape holds NASA", "the duct tape of NASA", "duct tape", "tape, nasa"]
        words = {"tape": 5.0, "duct": 4.0, "holds": 3.5, "nasa": 3.0}
        assert phrasing.name_of(words, texts, 3) == ("duct tape", "holds")
        assert phrasing.name_of(words, texts, 4) == ("duct tape", "holds", "NASA")
        pairs = {"気象": 1.0, "象衛": 1.0, "衛星": 2.0, "打上": 3.0}
        assert phrasing.name_of(pairs, ["気象衛星を打上", "気象衛星、打上", "衛星"], 5) == ("気象衛星", "打上")

    def test_a_group_that_the_stream_knows_is_no_new_topic(self, rng):
        """Three odd items with ordinary ones like them, and three without."""
        Q = np.zeros((20, 40))
        for row in range(13):
            Q[row, rng.choice(10, 6, replace=False)] = 1.0
        for row in range(13, 16):
            Q[row, 10 + rng.choice(8, 6, replace=False)] = 1.0
        for row in range(16, 20):
            Q[row, 20 + 5 * (row - 16) : 25 + 5 * (row - 16)] = 1.0
        Q = sparse.csr_array(Q / np.linalg.norm(Q, axis=1, keepdims=True))
        pool, names = np.array([0, 1, 2, 13, 14, 15]), [f"d{row}" for row in range(20)]
        odd, words = np.isin(np.arange(20), pool), [f"w{term}" for term in range(40)]
        memory = nothing(Alerts())
        items = candidates.Items(Q, names, pool, odd, np.zeros(40, dtype=np.int64), 60, [])
        found = candidates.advance(memory, 3, items, words, Alerts())[1]
        assert [number for number, _ in found.born] == [1] and set(np.flatnonzero(found.topic)) == {13, 14, 15}
        found = candidates.advance(memory, 3, items._replace(novel=odd | True), words, Alerts())[1]
        assert len(found.born) == 2 and set(np.flatnonzero(found.topic)) == set(range(16))

    def test_items_of_two_periods_make_a_topic_and_the_oldest_are_forgotten(self):
        """An item that was alone waits for its like; with too many topics the one that ended first goes."""
        words, chosen = [f"w{term}" for term in range(30)], Alerts(support=2, silence=2, topics=1)
        memory, history = nothing(chosen), []
        for t, terms in enumerate([0, 20, 0, 10, 10]):
            Q = np.zeros((1, 30))
            Q[0, [terms, terms + 1, terms + 2 + t]] = 3**-0.5
            every, none = np.array([0]), np.zeros(30, dtype=np.int64)
            items = candidates.Items(sparse.csr_array(Q), [f"d{t}"], every, every == 0, none, t, [])
            memory, found = candidates.advance(memory, t, items, words, chosen)
            history.append((found.joined, [number for number, _ in found.born], memory.number.tolist()))
        assert history[:3] == [([], [], []), ([], [], []), ([(1, "d0")], [1], [1])]
        assert history[4] == ([(2, "d3")], [2], [2]) and memory.numbered == 2

    def test_the_cosine_with_the_others(self, rng):
        Q = rng.random((6, 9))
        Q /= np.linalg.norm(Q, axis=1, keepdims=True)
        others = [Q.sum(axis=0) - row for row in Q]
        expected = np.mean([row @ rest / np.linalg.norm(rest) for row, rest in zip(Q, others, strict=True)])
        assert np.isclose(candidates.own_likeness(sparse.csr_array(Q)), expected)


@pytest.mark.parametrize("algorithm", learners.LEARNERS)
def test_reasons_add_up_to_the_score(algorithm, tmp_path):
    """For every learner and every document, from the files alone; only a score of the batch has context."""
    settings = {"adaptive": {"context": 0.4, "contrast": 0.3}, "hierarchical": {"rounds": 2}, "flat": {"rounds": 2}}
    run = watched.run_of(algorithm, 7, **settings.get(algorithm, {}))
    folder = watched.follow(tmp_path, run, launches=(0, 3, 9), settings={"warm_up": 40})
    watch = read.alerts_of(tmp_path)
    for t in range(3):
        score = read_scores(folder.parent / "scores" / f"{t}.h5").scores["it"]
        record = periods.read(folder / f"{t}.h5", shares=True)
        counts = features.read(read.place_of(tmp_path).features + f"/{t}.h5").counts[:]
        assert len(record.shares) == counts.nnz
        sums = np.add.reduceat(record.shares.astype(np.float64), counts.indptr[:-1])
        assert np.allclose(sums + record.context, score, rtol=0, atol=1e-12)
        assert (np.abs(record.context).max() > 0.01) == (algorithm == "adaptive")
    for row in (0, 5, 79):
        alert, earlier, meant = explain.document(watch.place, 2, row, watch)
        total = sum(reason.share for reason in alert.reasons) + alert.context
        assert np.isclose(total, score[row], atol=1e-12) and 0 < earlier.likeness <= 1 + 1e-9
        assert meant is None and f"{score[row]:.4f}" in explain.document_text(alert, earlier, None, False)
    day = 86_400_000
    for days, said in ((40, "40 days before, "), (1, "1 day before, "), (0, "")):
        text = explain.document_text(alert, earlier._replace(time=alert.time - days * day), None, False)
        assert f"last seen {show.date_of(alert.time - days * day)}, {said}period {earlier.t}" in text
    assert "seen" not in explain.document_text(alert, earlier._replace(time=NO_TIME), None, False)


def test_explaining_needs_no_checkpoint(made, watch, tmp_path):
    root, folder = made
    alert = watch.periods[6].alerts[0]
    before = odl("explain", root, alert.id).stdout
    kept = {path: path.rename(tmp_path / path.name) for path in folder.parent.glob("*.h5")}
    try:
        after = odl("explain", root, alert.id)
    finally:
        for path, moved in kept.items():
            moved.rename(path)
    assert after.stdout == before and "most similar before" in before, after.stderr
    near = re.findall(r"nearest of the dictionary: atom \d+ \(.*\): (.*)", before)
    assert near == [", ".join(each.words) for each in alert.nearest] and all(near)
    shares = [float(share) for share in re.findall(r"^ +(-?0\.\d{4}) +-?[\d.]+ %", before, re.M)]
    assert np.isclose(sum(shares), alert.score, atol=2e-3)


def test_every_document_of_a_topic_is_listed(made, watch):
    topic = launch_of(watch)
    told = odl("explain", made[0], str(topic.number)).stdout
    every = explain.members(watch.place, [topic], watch.settings["silence"])[topic.number]
    assert len(every) >= topic.size and f"all {len(every)} documents" in told  # an item may be several
    assert all(f"period {each.t}: {each.title[:80]}  (id: {each.id})" in told for each in every)
    assert {each.t for each in every} == topic.sizes.keys() and {each.source for each in every} <= {
        "wire.jsonl",
        "desk.jsonl",
    }
    features_of = {t: features.read(f"{watch.place.features}/{t}.h5") for t in topic.sizes}
    assert all(each.time == features_of[each.t].times[features_of[each.t].ids.index(each.id)] for each in every)


def test_a_topic_counts_and_lists_the_items_of_earlier_periods_that_it_was_made_of(watch, monkeypatch):
    """Of three items one may be of the period of birth: that is no topic of one document."""
    topic, place = launch_of(watch), watch.place
    t, before = topic.birth, features.read(f"{place.features}/{topic.birth - 1}.h5")
    founders = [(topic.number, before.ids[row]) for row in (3, 5)]
    records = [replace(each, joined=founders if each.t == t else []) for each in read.records(place)]
    counted = read.watch(records).topics[topic.number]
    assert counted.before(t) == 2 and counted.size == topic.size + 2
    assert ", 2 before)" in show.topic_line(counted, [watch.periods[t]])
    births = periods.read_births
    monkeypatch.setattr(periods, "read_births", lambda path: (*births(path)[:2], founders))
    listed = explain.members(place, [topic], watch.settings["silence"])[topic.number]
    assert [(each.t, each.id) for each in listed][:2] == [(t - 1, ident) for _, ident in founders]
    assert listed[2].t == t


def test_the_most_similar_earlier_document_is_earlier(made, watch):
    place = watch.place
    earlier = explain.document(place, 4, 11, watch)[1]
    assert earlier.id == "wire.jsonl:328" and earlier.t == 4 and earlier.likeness > 0.95  # its twin of the same period
    data = features.read(f"{place.features}/4.h5")
    first = features.read(f"{place.features}/0.h5")
    assert explain.earlier(place, first, 0, explain.by_words(first, 0)) is None
    assert explain.find(place, data.ids[11]) == (4, 11) and explain.find(place, "nobody") is None


class TestFeedback:
    """What a person says changes what is shown, and nothing else."""

    def test_a_muted_topic_is_held_back_and_counted(self, watch, said):
        number = launch_of(watch).number
        muted = said((f"topic:{number}", "muted", "", "seen"))
        shown = [alert for period in muted.periods for alert in period.alerts if alert.topic == number]
        assert not shown and muted.topics[number].feedback == "muted"
        held = muted.periods[3].withheld
        assert [(entry.what, entry.verdict) for entry in held] == [(f"topic:{number}", "muted")] and held[0].items >= 3
        assert muted.topics[number].sizes == watch.topics[number].sizes  # counted on
        assert "Held back" in show.as_text(muted, muted.periods)
        further = [
            line for line in show.closing(muted, [muted.periods[watch.topics[number].birth]]) if "Further" in line
        ]
        assert not any(f" {number} " in line for line in further)

    def test_until_it_grows(self, watch, said):
        number = launch_of(watch).number
        muted = said((f"topic:{number}", "muted", "grows", ""))
        periods = {alert.t for period in muted.periods for alert in period.alerts if alert.topic == number}
        assert periods == {6}

    @pytest.mark.parametrize("until", ["", "grows"])
    def test_what_is_held_back_is_what_would_be_shown(self, watch, said, until):
        number = launch_of(watch).number
        muted, of_topic = said((f"topic:{number}", "muted", until)), []
        for held, period in zip(muted.periods, watch.periods, strict=True):
            shown, left = ({alert.id for alert in p.alerts if alert.topic == number} for p in (period, held))
            of_topic.append(sum(entry.items for entry in held.withheld))
            assert left <= shown and of_topic[-1] == len(shown - left)
        assert of_topic[3] > 0 and of_topic[12] > 0 and (of_topic[6] == 0) == (until == "grows")

    def test_until_a_date(self, watch, said):
        day = show.date_of(watch.periods[5].first)
        muted = said(("source:wire.jsonl", "muted", day, ""))
        sources = [{alert.source for alert in period.alerts} for period in muted.periods]
        assert all("wire.jsonl" not in held for held in sources[:5]) and "wire.jsonl" in sources[5]

    def test_a_document_speaks_for_its_duplicates(self, watch, said):
        muted = said(("wire.jsonl:252", "known"))
        assert not any("wire.jsonl:248" in alert.members for period in muted.periods for alert in period.alerts)
        assert [(entry.verdict, entry.items) for entry in muted.periods[3].withheld] == [("known", 1)]

    def test_what_is_followed_is_shown_beyond_the_budget(self, made, watch, said):
        number = launch_of(watch).number
        followed = said((f"topic:{number}", "follow"))
        before = sum(alert.topic == number for period in watch.periods for alert in period.alerts)
        shown = [alert for period in followed.periods for alert in period.alerts if alert.topic == number]
        assert len(shown) > before and {alert.feedback for alert in shown} == {"follow"}

    def test_room_that_is_freed_goes_to_others(self, watch, said):
        first = watch.periods[3].alerts[0]
        muted = said((first.id, "muted"))
        assert {alert.id for alert in watch.periods[3].alerts} - {first.id} <= {
            alert.id for alert in muted.periods[3].alerts
        }


class TestCommands:
    """The words of `odl`, as a person or a job of cron uses them."""

    def test_new_and_its_status(self, made, said):
        root = made[0]
        done = odl("new", root)
        assert done.returncode == 0 and done.stdout.startswith("made, period 12, 1998-03-26: 80 documents")
        called = subprocess.run([sys.executable, "-m", "odl", "new", str(root), "--fail"], stdout=subprocess.DEVNULL)
        assert called.returncode == 10
        all_of_it = odl("new", root, "--since", "1998-01-01", "--format", "jsonl").stdout.splitlines()
        assert {json.loads(line)["period"] for line in all_of_it} == set(range(3, 13))
        assert odl("new", root, "--since", "1999-01-01", "--fail").returncode == 0
        said(("source:wire.jsonl", "muted"), ("source:desk.jsonl", "muted"))
        quiet = odl("new", root, "--fail")
        assert quiet.returncode == 0 and "Nothing new." in quiet.stdout

    def test_mute_by_number_and_by_id(self, made, watch, said):
        root, number = made[0], launch_of(watch).number
        done = odl("mute", root, number, "--until", "grows", "--note", "my own")
        count = sum(alert.topic == number for period in watch.periods if period.t != 6 for alert in period.alerts)
        told = (
            f"topic:{number} is muted in periods in which it is not growing (feedback.csv); it holds back {count} items"
        )
        assert (done.returncode, done.stdout) == (0, f"odl mute: {told} so far.\n")
        assert "wire.jsonl:246 is followed (feedback.csv)." in odl("follow", root, "wire.jsonl:246").stdout
        lines = (root / feedback.FILE).read_text().splitlines()
        assert lines[1:] == [f"topic:{number},muted,grows,my own", "wire.jsonl:246,follow,,"]
        assert odl("mute", root, f"topic:{number}").returncode == 0
        assert len((root / feedback.FILE).read_text().splitlines()) == 3  # it replaces what was said before
        for name in ("nonsense.jsonl", "posts/wire.jsonl"):
            done = odl("mute", root, f"source:{name}")
            assert done.returncode == 1 and "expected one such as source:" in done.stderr
        assert "; say source:wire.jsonl." in odl("mute", root, "wire.jsonl").stderr
        assert odl("mute", root, "source:wire.jsonl").returncode == 0
        done = odl("mute", root, "9999")
        assert done.returncode == 1 and done.stderr.startswith("odl mute: 9999 is no document or topic")

    def test_a_topic_that_grows_is_not_said_to_be_held_back(self, made, watch, tmp_path):
        """Muted until it grows, in a stream that ends with the period in which it does."""
        root, number = tmp_path / "made", launch_of(watch).number
        shutil.copytree(made[0], root)
        for t in range(7, 13):
            (root / "made" / "seed0" / "it" / "k20" / "alerts" / f"{t}.h5").unlink()
        shown = odl("new", root).stdout
        done = odl("mute", root, number, "--until", "grows")
        count = sum(alert.topic == number for period in watch.periods[:6] for alert in period.alerts)
        assert done.stdout.endswith(f"it holds back {count} items so far, none of the last period.\n")
        assert odl("new", root).stdout == shown and f"Topic {number} [growing]" in shown
        assert "you said: muted in periods in which it is not growing" in odl("explain", root, number).stdout
        assert read.alerts_of(root).topics[number].feedback == ""  # no mark on the page
        since = odl("new", root, "--since", "1998-01-01").stdout
        assert "of topic:1 (muted in feedback.csv)" in since
        day = show.date_of(watch.periods[5].first)
        done = odl("mute", root, number, "--until", day)
        assert f"is muted until {day} (feedback.csv); it holds back {count} items so far, none of the" in done.stdout
        assert odl("mute", root, number).stdout.endswith("items so far.\n")
        assert read.alerts_of(root).topics[number].feedback == "muted"

    def test_explain_a_topic(self, made, watch):
        topic = launch_of(watch)
        done = odl("explain", made[0], topic.number)
        assert done.stdout.startswith(f"Topic {topic.number} [returning]") and "growing in 6" in done.stdout
        told = json.loads(odl("explain", made[0], topic.number, "--format", "jsonl").stdout)
        assert told["history"][0] == [3, "new"] and told["sizes"]["3"] == topic.sizes[3]

    def test_a_folder_without_alerts(self, tmp_path):
        done = odl("new", tmp_path)
        assert (
            done.returncode == 1 and "has no alerts; expected a folder with odl.yaml, or results/STUDY" in done.stderr
        )


class TestRefused:
    """A chain goes on from its own files only."""

    def test_other_settings_or_timesteps(self, made):
        run = runs.parse(watched.run_of(atoms=20))
        named = {"corpus": "made", "seed": 0, "run": "it", "atoms": 20, "algorithm": "adaptive"}
        path = made[1] / "4.h5"
        with pytest.raises(StorageError, match=r"4.h5 is of timestep 4; expected timestep 5"):
            periods.read_carried(path, named, t=5)
        with pytest.raises(StorageError, match=r"4.h5 is of run .* expected"):
            periods.read_carried(path, {**named, "seed": 1})
        with pytest.raises(StorageError, match=r"4.h5 is of settings"):
            periods.read_carried(path, named, {"budget": 7})
        features, scores, state = (made[0] / "made" / "seed0" / "features" / "5.h5", made[1].parent / "scores" / "5.h5",
                                   made[1].parent / "5.h5")  # fmt: skip
        known, output = made[1].parent / "4.h5", made[0] / "out.h5"
        with pytest.raises(DataError, match="timestep 5 without the alerts before it"):
            alerts.follow(alerts.Written(features, scores, state), output, run=run, before=runs.Before(known=known))
        files = alerts.Written(features, scores.with_name("4.h5"), state)
        with pytest.raises(DataError, match=r"scores/4.h5 is of other documents"):
            alerts.follow(files, output, run=run, before=runs.Before(path, known=known))


def test_a_period_is_read_as_it_was_written(made, tmp_path):
    """With what the made stream does not have: languages, meaning, words never seen before."""
    path = made[1] / "4.h5"
    record, carried, names = periods.read(path, shares=True), periods.read_carried(path), periods.read_names(path)
    record.languages, record.meaning = {"german": 5, "": 75}, record.score / 2
    periods.write(tmp_path / "4.h5", record, names, carried)
    again = periods.read(tmp_path / "4.h5", shares=True)
    assert again.languages == record.languages and np.array_equal(again.meaning, record.meaning)
    assert again.pool == record.pool and np.array_equal(again.shares, record.shares) and again.sizes == record.sizes
    assert all(np.array_equal(*pair) for pair in zip(periods.read_names(tmp_path / "4.h5"), names, strict=True))
    assert periods.read(path).languages == {} and periods.read(path).meaning is None


@pytest.fixture(scope="module")
def gated(tmp_path_factory):
    """The same stream with gates."""
    root = tmp_path_factory.mktemp("gated")
    return root, watched.follow(root, watched.run_of(atoms=20), settings={"gates": True})


class TestGates:
    """Periods speak where a gate opens; more is there for whoever asks."""

    def test_what_enters_speaks_by_its_words(self, gated):
        """The documents of the launch, six of eighty in period 3 and twenty in period 6, and hardly another."""
        record = periods.read(gated[1] / "3.h5")
        by_words = {item.row for item in record.pool if item.gate == "words"}
        assert {item.gate for item in record.pool} <= {"", *gates.GATES} and set(range(74, 80)) <= by_words
        assert len(by_words) < 12

    def test_the_words_that_open_the_gate_are_told(self, gated):
        watch = read.alerts_of(gated[0])
        alerts = [alert for alert in watch.periods[3].alerts if alert.gate == "words"]
        assert all(alert.opening for alert in alerts) and len(alerts) > 2
        assert {word for alert in alerts for word in alert.opening} <= {*watched.TOPICS["launch"].split()}
        text = show.as_text(watch, watch.periods[3:4])
        first = next(alert for alert in alerts if not alert.folded)
        line = f"more than usual: {', '.join(first.opening)}"
        assert line in text and line in show.as_markdown(watch, watch.periods[3:4])
        assert "More than usual" in dict(newtext.reasons(first, 400))
        assert json.loads(show.as_jsonl(watch, watch.periods[3:4]).splitlines()[0])["opening"]
        lone = replace(first, gate="lone", opening=())
        assert "more than usual" not in "".join(show._item(lone))

    def test_fewer_alerts_than_by_the_level_and_more_on_request(self, gated, watch):
        gated_watch = read.alerts_of(gated[0])
        by_gates, by_level = ([len(period.alerts) for period in each.periods] for each in (gated_watch, watch))
        assert 0 < sum(by_gates) < sum(by_level)
        asked = read.alerts_of(gated[0], budget=5)
        for few, more, level in zip(gated_watch.periods, asked.periods, watch.periods, strict=True):
            shown, others = ({alert.id for alert in period.alerts} for period in (few, more))
            assert len(others) >= len(level.alerts) and (shown <= others or len(others) >= 5)

    def test_topics_only_leaves_out_what_stands_alone(self, gated, monkeypatch):
        """As if the odd document of each period had opened the lone gate."""

        def alone(path, read=periods.read):
            record = read(path)
            return replace(record, pool=[replace(item, gate="lone") if item.row == 5 else item for item in record.pool])

        monkeypatch.setattr(periods, "read", alone)
        whole, some = (read.alerts_of(gated[0], lone=lone) for lone in (True, False))
        odd = {f"wire.jsonl:{80 * t + 6}" for t in range(13)}
        for all_of, few in zip(whole.periods, some.periods, strict=True):
            kept = [alert.id for alert in all_of.alerts if alert.id not in odd]
            assert [alert.id for alert in few.alerts][: len(kept)] == kept
        every, few, usual = (show.as_jsonl(each, each.periods) for each in (whole, some, read.alerts_of(gated[0])))
        assert usual == every != few and not odd & {alert.id for period in some.periods for alert in period.alerts}
        silent = [period for period in some.periods if not period.alerts and not period.warm_up]
        assert silent and "Nothing new." in show.as_text(some, silent[:1])

    def test_the_status_follows_the_gates(self, gated):
        last = read.alerts_of(gated[0], lone=False).periods[-1]
        ended = odl("new", gated[0], "--fail", "--topics-only")
        assert ended.returncode == (10 if last.alerts else 0), ended.stderr

    def test_what_is_carried_is_bounded_and_a_chain_of_before_has_none(self, gated, made):
        carried = periods.read_carried(gated[1] / "12.h5")
        assert sum(part.size for part in carried.gates) <= 5 * gates.PERIODS
        before = periods.read_carried(made[1] / "12.h5")
        assert before.gates is None and before.settings["gates"] is False
        assert '"gate"' not in (made[1] / "12.h5").read_bytes().decode("latin-1")


@pytest.mark.parametrize(
    ("ident", "source", "line"),
    [
        ("posts.csv:12", "posts.csv", 12),
        ("a:b.csv:3", "a:b.csv", 3),
        ("posts.csv:12", "other.csv", 0),
        ("posts.csv:twelve", "posts.csv", 0),
        ("posts.csv:", "posts.csv", 0),
        (":12", "", 0),
        ("12", "", 0),
        ("posts.csv:²", "posts.csv", 0),
    ],
)
def test_the_line_of_a_document_is_that_of_an_id_of_its_own_file(ident, source, line):
    assert read._line_of(ident, source) == line
