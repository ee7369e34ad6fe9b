"""Headlines and events of a made stream: budget, states, reasons that add up, feedback, what is refused."""

import csv
import io
import json
import os
import re
import shutil
from dataclasses import replace

import newpages
import numpy as np
import pytest
import watched
from called import odl
from contract import EACH
from fuzzing import edited

from odl import cli
from odl.alerts import breakdown, explain, feedback, gates, maps, periods, read, show, views
from odl.config.sections import Alerts
from odl.errors import DataError, ParameterError, StorageError
from odl.evaluation.scorefiles import read_scores
from odl.files.documents import NO_TIME
from odl.files.escaping import CONTROLS
from odl.jobs import alerts, runs
from odl.stream import duplicates, features

GATED = {"gates": True}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The results of a made stream, and the folder of its alerts."""
    root = tmp_path_factory.mktemp("made")
    return root, watched.follow(root, watched.run_of(atoms=20), settings=GATED)


@pytest.fixture
def watch(made):
    return read.alerts_of(made[0])


@pytest.mark.parametrize("last", [1, 2, 4, 100])
def test_the_last_periods_say_the_same_as_all(made, watch, last, monkeypatch):
    """Without the files of other periods being read, but for the one before them and those of births."""
    opened = []
    monkeypatch.setattr(
        periods, "read", lambda path, read=periods.read: opened.append(path) or read(path)
    )
    few = read.alerts_of(made[0], last=last)
    assert len(opened) == len(few.periods) == min(last, len(watch.periods))
    for period, whole in zip(few.periods, watch.periods[-last:], strict=True):
        assert period.t == whole.t and maps.as_jsonl(few, [period]) == maps.as_jsonl(watch, [whole])
        assert show.as_text(few, [period]) == show.as_text(watch, [whole])
    earlier = 0
    for number, event in few.events.items():
        whole, first = watch.events[number], few.periods[0].t
        earlier += event.earlier
        for name in ("name", "birth", "first", "examples", "state", "size", "words", "threshold"):
            assert getattr(event, name) == getattr(whole, name)
        assert event.earlier == whole.before(first)
        assert [change for change in event.history if change[0] >= first] == [
            change for change in whole.history if change[0] >= first
        ]
    assert earlier or last > 12


def test_cached_periods_are_read_again_only_if_their_file_changes(made, tmp_path, monkeypatch):
    """What a watch shows of them does not change them."""
    shutil.copytree(made[0], tmp_path / "copy")
    place, opened = read.place_of(tmp_path / "copy"), []
    monkeypatch.setattr(
        periods, "read", lambda path, read=periods.read: opened.append(path) or read(path)
    )
    before = read.watch(read.records(place), place=place)
    number = next(one.event for period in before.periods for one in period.headlines if one.event)
    for entries in ([feedback.FeedbackLine(f"event:{number}", "follow")], []):
        opened.clear()
        watch = read.watch(read.records(place, cached=True), entries, place=place)
        text = show.as_text(watch, watch.periods)
        assert bool(entries) == (text != show.as_text(before, before.periods))
    assert not opened
    path = next(periods.paths(place.alerts))
    os.utime(path, ns=(0, 0))
    assert len([*read.records(place, cached=True)]) == len(watch.periods)
    assert opened == [os.path.abspath(path)]


@pytest.fixture
def said(made):
    """Says something in feedback.csv, which is removed afterwards."""
    root = made[0]

    def say(*entries):
        (root / feedback.FEEDBACK_FILE).unlink(missing_ok=True)
        for entry in entries:
            feedback.add(root, feedback.FeedbackLine(*entry))
        return read.alerts_of(root)

    yield say
    (root / feedback.FEEDBACK_FILE).unlink(missing_ok=True)


def documents_of(watch):
    """All documents that are stored."""
    return [document for period in watch.periods for document in period.documents_of.values()]


def explained(watch, document):
    """The same document with all its words."""
    return explain.explain_document(watch.place, *explain.find_document(watch.place, document.id))[
        0
    ]


@pytest.mark.slow
def test_a_score_spread_over_many_words_is_summed_up(tmp_path):
    """Of four hundred words that were seen before, none is worth a name: not "because: rare1 0 %, rare2 0 %"."""
    rare = [f"rare{i:03}" for i in range(400)]
    more = {0: [rare[i : i + 20] for i in range(0, 400, 20)], 3: [rare]}
    watched.follow(tmp_path, watched.run_of(atoms=20), (0, 0, 0, 0), {"rest": True}, more=more)
    watch = read.alerts_of(tmp_path)
    (document,) = [one for one in documents_of(watch) if one.title == "Title 3-20"]
    assert (
        len(document.reasons) == document.led == 12
        and document.reasons[0].share < 0.01 * document.score
    )
    told = (
        "320 words of other documents as well 128 % (none above .5 %), "
        "80 words that lower the score -28 %"
    )
    assert breakdown.line(document) == told and "rare" not in show.as_text(
        watch, [watch.periods[3]]
    )
    assert breakdown.line(replace(document, rest=None)) == "shared words 100 % (none above 1 %)"
    assert "0." not in views.DocumentView(document, watch.periods[3]).parts()
    assert len(explained(watch, document).reasons) == 400


class TestStream:
    """What a reader gets of a stream with an event that enters, grows, ends and returns."""

    def test_states_follow_the_stream(self, watch):
        (event,) = watch.events.values()
        states = [
            (3, "new"),
            (4, "ongoing"),
            (6, "growing"),
            (7, "ongoing"),
            (10, "ended"),
            (12, "returning"),
        ]
        assert list(event.history) == states and event.birth == 3 and event.state == "returning"
        assert {*event.name} <= {*watched.TOPICS["launch"].split()}
        true = {t: count for t, count in enumerate(watched.LAUNCHES) if count}
        assert event.sizes.keys() == true.keys()
        assert all(0.9 * true[t] <= size <= true[t] for t, size in event.sizes.items())

    def test_periods_keep_to_the_budget(self, made, watch):
        assert [period.unproven for period in watch.periods] == [True] * 3 + [False] * 10
        assert [period.t for period in watch.periods if period.headlines] == [3, 6, 12]
        for period in read.alerts_of(made[0], budget=1).periods:
            assert len(period.headlines) <= period.budget == 1 and not (
                period.unproven and period.headlines
            )
            assert [
                document.score for document in map(period.documents_of.get, period.novel)
            ] == sorted((period.documents_of[row].score for row in period.novel), reverse=True)

    def test_a_headline_has_the_documents_of_what_entered(self, watch):
        (headline,) = watch.periods[3].headlines
        assert (
            {*headline.rows} == set(range(74, 80))
            and headline.p <= watch.settings["level"]
            and headline.event == 1
        )
        assert {
            document.event for document in map(watch.periods[3].documents_of.get, headline.examples)
        } == {1}

    def test_near_duplicates_are_one_item(self, watch):
        found = {document.members for document in documents_of(watch) if len(document.members) > 1}
        assert ("wire.jsonl:248", "wire.jsonl:252") in found
        shown = [name for document in documents_of(watch) for name in document.members]
        assert len(shown) == len(set(shown))

    def test_words_of_one_document_neither_name_nor_lead(self, watch):
        odd = watch.periods[3].documents_of[5]
        assert odd.id == "wire.jsonl:246"
        assert odd.led == 0 and odd.own > 0.9 * odd.score and odd.reasons[0].word.startswith("odd")
        twins = next(each for each in watch.periods[3].documents_of.values() if each.row == 7)
        assert len(twins.members) == 2
        assert (
            twins.led == 0 and twins.own > 0.8 * twins.score
        )  # that a word stands in a copy makes it no shared one
        for document in documents_of(watch):
            assert not any(
                one.word.startswith(("odd", "copy")) for one in document.reasons[: document.led]
            )

    @pytest.mark.slow
    def test_shares_that_are_told_are_those_of_all_words(self, watch):
        """What is named is 1 % or more; what is summed up is the sum of the words that are not named."""
        several = 0
        for alert in documents_of(watch)[::4]:
            whole = {
                reason.word: reason.share / alert.score
                for reason in explained(watch, alert).reasons
            }
            told = {part.kind: part for part in breakdown.parts(alert) if part.kind != "word"}
            rest = 1 - alert.context / alert.score - alert.own / alert.score
            if alert.own > alert.score and not breakdown.named(
                alert
            ):  # what lowers the score is taken off
                assert told["own"].percent <= 100 and not {"down", "context"} & told.keys()
                continue
            for part in breakdown.parts(alert):
                if part.kind == "word":
                    assert part.percent >= 1 and abs(whole[part.label] - part.percent / 100) < 0.01
                    rest -= whole.pop(part.label)
            found = told.get("more") or told.get("down")
            assert abs(rest - (found.percent if found else 0) / 100) < 0.01
            if "more" in told and (
                bound := re.search(r"none above (\d*\.?\d+) %", told["more"].note)
            ):
                several += 1
                others = [
                    share for word, share in whole.items() if not word.startswith(("odd", "copy"))
                ]
                assert max(others) <= float(bound[1]) / 100 + 1e-9
        assert several

    def test_a_document_has_a_source_a_date_and_near_atoms(self, watch):
        document = watch.periods[3].documents_of[74]
        name, _, line = document.id.rpartition(":")
        assert (document.source, document.line) == (name, int(line)) and views.date_of(
            document.time
        ) == "1998-01-22"
        assert (
            document.nearest[0].likeness >= document.nearest[1].likeness > 0
            and document.nearest[0].words
        )
        assert document.nearest[0].id

    def test_the_dictionary_takes_an_event_over(self, made):
        atoms = read_scores(made[1].parent / "scores" / "12.h5").atoms
        own = {*watched.TOPICS["launch"].split()}
        assert max(len({*words.split()} & own) for words in atoms) >= 3

    def test_texts_of_the_stream_move_no_cursor_and_mark_nothing_up(self, made):
        watch = read.alerts_of(made[0])
        odd = replace(
            watch, settings={**watch.settings, "gates": False}
        )  # with the most novel documents
        (choices,) = (
            more["choices"]
            for names, more in cli.commands()["new"].arguments
            if "--format" in names
        )
        for form in choices:
            text = {**vars(show), **vars(maps)}[{"md": "as_markdown"}.get(form, f"as_{form}")](
                odd, odd.periods
            )
            assert not CONTROLS.search(text.replace("\n", "")) and "Title 3" in text.replace(
                "\\", ""
            )
        lines = [json.loads(line) for line in maps.as_jsonl(watch, watch.periods).splitlines()]
        assert {line["version"] for line in lines} == {1} and lines[0]["period"] == 3
        assert len(lines) == sum(
            len(one.examples) for period in watch.periods for one in period.headlines
        )

    def test_a_spreadsheet_runs_nothing_of_what_the_stream_says(self, watch):
        period = watch.periods[6]
        (headline,) = period.headlines
        first, second = (period.documents_of[row] for row in headline.examples[:2])
        first = replace(
            first,
            id="=1+1",
            title='=HYPERLINK("x")',
            source="-a.jsonl",
            members=("=1+1", "@b"),
            tail=-0.5,
        )
        second = replace(second, title="free;=1+1", reasons=())
        headline = replace(headline, name=("+a", "b"), examples=(first.row, second.row))
        documents = {first.row: first, second.row: second}
        text = maps.as_csv(watch, [replace(period, headlines=(headline,), documents_of=documents)])
        one, two = csv.DictReader(io.StringIO(text))
        assert (one["id"], one["title"], one["source"]) == (
            "'=1+1",
            '\'=HYPERLINK("x")',
            "'-a.jsonl",
        )
        assert (
            one["members"] == "'=1+1\t'@b"
            and one["tail"] == "-0.5"
            and float(one["score"]) == first.score
        )
        assert (
            two["title"] == "free;'=1+1" and two["headline"] == "'+a, b" and two["id"] == second.id
        )
        plain = maps.as_csv(watch, [period])
        assert "'" not in plain and len(plain.splitlines()) == 1 + len(period.headlines[0].examples)


def test_near_duplicates_of_the_stream(made, tmp_path):
    """Groups of a chain of near-duplicates: one item each, and what repeats an earlier period is not novel."""
    base, folder = made[0] / "made" / "seed0", made[1]
    names, born = (
        [str(row) for row in range(watched.SIZE)],
        np.array([[3, row] for row in range(watched.SIZE)]),
    )
    names[20], born[20] = "7", (3, 7)
    names[5], born[5] = "old", (1, 0)  # the oddest document
    shutil.copytree(base / "features", tmp_path / "features")
    grouped = tmp_path / "features" / "3.h5"
    with edited(grouped) as file:
        duplicates.write(file, duplicates.Groups(3, np.array([0, watched.SIZE]), names, born))
    files = (
        alerts.Written(grouped, folder.parent / "scores" / "3.h5", folder.parent / "3.h5"),
        tmp_path / "3.h5",
    )
    before = runs.Before(folder / "2.h5", known=folder.parent / "2.h5")
    chain = {"run": runs.parse(watched.run_of(atoms=20)), "before": before}
    alerts.follow(*files, **chain, settings=replace(watched.SETTINGS, **GATED))
    record, before = periods.read(tmp_path / "3.h5"), periods.read(folder / "3.h5")
    assert record.item[20] == 7 and record.item[11] == 11 and record.repeats == 1
    assert before.novel[0] == 5 and 5 not in record.novel
    shown = read.watch(
        [*map(periods.read, [folder / f"{t}.h5" for t in range(3)]), record]
    ).periods[3]
    assert shown.withheld == {("", "repeated"): 1}
    told = "".join(views.closing_lines(read.watch([before]), [shown]))
    assert "Held back: 1 document nearly the same as one of an earlier period." in told
    assert len(np.unique(shown.item)) < shown.documents


class TestSettings:
    """Settings of alerts that would show nothing, or everything, are refused."""

    def test_a_window_within_the_warm_up_is_refused(self):
        """No more scores are kept than the window holds, so that the warm-up would never end."""
        for given in ({"window": 49}, {"warm_up": 2001}, {"window": 5, "warm_up": 6}):
            with pytest.raises(
                ParameterError,
                match=r"alerts.window is \d+ and alerts.warm_up is \d+, .*raise window or lower",
            ):
                Alerts(**given)
        assert Alerts(window=300).window == Alerts(window=9, warm_up=1).warm_up * 300

    def test_a_level_that_no_document_can_have_is_refused(self):
        """Of n recent scores, the least tail probability is 1 / (1 + n)."""
        for given in (
            {"tail": 0.000499},
            {"tail": 0.0033, "window": 300},
            {"window": 8, "warm_up": 1},
        ):
            with pytest.raises(
                ParameterError, match=r"tail is \S+ with a window of \d+, .*at least 1/\d+"
            ):
                Alerts(**given)
        assert Alerts(tail=1 / 2001).tail == Alerts(tail=1 / 301, window=300).tail * 301 / 2001

    def test_a_budget_is_a_number_or_a_share(self):
        assert [
            Alerts(budget=budget).room(n) for budget, n in ((20, 5), (0.07, 100), (0.001, 10))
        ] == [20, 7, 1]
        for budget in (0, -1, 2.5, True, "3", float("nan")):
            with pytest.raises(ParameterError, match=r"alerts\.budget is"):
                Alerts(budget=budget)


@pytest.mark.parametrize("algorithm", EACH)
def test_reasons_add_up_to_the_score(algorithm, tmp_path):
    """For every learner and every document, from the files alone; only a score of the batch has context."""
    settings = {
        "adaptive": {"context": 0.4, "contrast": 0.3},
        "hierarchical": {"rounds": 2},
        "flat": {"rounds": 2},
    }
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
        document, earlier, meant = explain.explain_document(watch.place, 2, row)
        total = sum(reason.share for reason in document.reasons) + document.context
        assert np.isclose(total, score[row], atol=1e-12) and 0 < earlier[1] <= 1 + 1e-9
        assert meant is None and f"{score[row]:.4f}" in explain.document_text(
            watch, document, earlier, None
        )
    similar, cosine = earlier

    def dated(time):
        return replace(similar, time=time), cosine

    day = 86_400_000
    for days, said in ((40, "40 days before"), (1, "1 day before"), (0, "")):
        text = explain.document_text(watch, document, dated(document.time - days * day), None)
        assert f"last seen {views.date_of(document.time - days * day)}, {said}"[:-2] in " ".join(
            text.split()
        )
    assert "seen" not in explain.document_text(watch, document, dated(NO_TIME), None)


def test_explaining_needs_no_checkpoint(made, watch, tmp_path):
    root, folder = made
    document = watch.periods[6].documents_of[watch.periods[6].headlines[0].examples[0]]
    before = odl("explain", root, document.id).stdout
    kept = {path: path.rename(tmp_path / path.name) for path in folder.parent.glob("*.h5")}
    try:
        after = odl("explain", root, document.id)
    finally:
        for path, moved in kept.items():
            moved.rename(path)
    assert after.stdout == before and "most similar before" in before, after.stderr
    near = re.findall(
        r"nearest of the dictionary: atom \d+ \(.*\): (.*)", before.replace("\n    ", " ")
    )
    assert near == [", ".join(each.words) for each in document.nearest] and all(near)
    shares = [float(share) for share in re.findall(r"^ +(-?0\.\d{4}) +-?[\d.]+ %", before, re.M)]
    assert np.isclose(sum(shares), document.score, atol=2e-3)


def test_every_document_of_an_event_is_listed(made, watch):
    (event,) = watch.events.values()
    told = odl("explain", made[0], str(event.number)).stdout
    every = explain.read_members(watch.place, [event])[event.number]
    assert len(every) == event.size and f"{len(every)} documents, central ones first" in told
    assert {each.t for each in every} == event.sizes.keys() and {each.source for each in every} <= {
        "wire.jsonl",
        "desk.jsonl",
    }
    features_of = {t: features.read(f"{watch.place.features}/{t}.h5") for t in event.sizes}
    assert all(
        each.time == features_of[each.t].times[features_of[each.t].ids.index(each.id)]
        for each in every
    )


def test_the_most_similar_earlier_document_is_earlier(made, watch):
    place = watch.place
    earlier, cosine = explain.explain_document(place, 4, 11)[1]
    assert (
        earlier.id == "wire.jsonl:328" and earlier.t == 4 and cosine > 0.95
    )  # its twin of the same period
    data = features.read(f"{place.features}/4.h5")
    first = features.read(f"{place.features}/0.h5")
    assert explain.most_similar(place, first, 0, explain.compare_words(first, 0)) is None
    assert (
        explain.find_document(place, data.ids[11]) == (4, 11)
        and explain.find_document(place, "nobody") is None
    )


def spoken(watch):
    """Return the periods in which something is told."""
    return [period.t for period in watch.periods if period.headlines]


class TestFeedback:
    """What a person says changes what is shown, and nothing else."""

    @pytest.mark.parametrize("name", ["event:1", "topic:1"])
    def test_a_muted_event_is_held_back_and_counted(self, watch, said, name):
        muted = said((name, "muted", "", "seen"))
        assert (
            spoken(watch) == [3, 6, 12]
            and not spoken(muted)
            and muted.events[1].feedback == "muted"
        )
        for period in muted.periods:
            assert period.withheld == ({(name, "muted"): 1} if period.t in (3, 6, 12) else {})
        assert muted.events[1].sizes == watch.events[1].sizes  # counted on
        assert "Held back" in show.as_text(muted, muted.periods)

    def test_until_it_grows(self, said):
        assert spoken(said(("event:1", "muted", "grows", ""))) == [6]

    def test_until_a_date(self, watch, said):
        day = views.date_of(watch.periods[5].first)
        assert spoken(said(("event:1", "muted", day, ""))) == [6, 12]

    def test_a_followed_event_is_shown_on_days_without_growth_and_beyond_the_budget(
        self, made, monkeypatch
    ):
        def twice(path, read=periods.read):
            """Every headline once more, which has not grown."""
            record = read(path)
            again = [replace(one, repeated=True) for one in record.headlines]
            return replace(record, headlines=record.headlines + again)

        monkeypatch.setattr(periods, "read", twice)
        place = read.place_of(made[0])
        records = [*read.records(place)]
        for verdict, n in (("follow", 2), ("muted", 0)):
            shown = read.watch(
                records, [feedback.FeedbackLine("event:1", verdict)], budget=1
            ).periods[3]
            assert len(shown.headlines) == n and sum(shown.withheld.values()) == (
                verdict == "muted"
            )
        shown = read.watch(records, [feedback.FeedbackLine("event:1", "follow")], budget=1).periods[
            3
        ]
        assert {shown.documents_of[row].feedback for row in shown.headlines[0].examples} == {
            "follow"
        }
        assert len(read.watch(records, budget=1).periods[3].headlines) == 1

    @pytest.mark.slow
    def test_a_document_and_a_source_without_gates(self, tmp_path):
        """The alerts are documents by rank: one that is held back leaves its room to others."""
        watched.follow(tmp_path, watched.run_of(), watched.LAUNCHES[:4])
        plain = read.alerts_of(tmp_path).periods[3]
        first, second = (plain.documents_of[row] for row in plain.novel[:2])
        assert len(plain.novel) == plain.budget == 5 and len(second.members) == 2

        def novel(*said):
            entries = [feedback.FeedbackLine(*entry) for entry in said]
            return read.watch(read.records(read.place_of(tmp_path)), entries).periods[3]

        muted = novel((second.members[-1], "known"))  # it speaks for its duplicates
        assert muted.novel[0] == plain.novel[0] and muted.novel[1:-1] == plain.novel[2:]
        assert muted.withheld == {(second.members[-1], "known"): 1}
        assert all(
            plain.documents_of[row].source != "wire.jsonl"
            for row in novel(("source:wire.jsonl", "muted")).novel
        )
        both = novel(("source:wire.jsonl", "muted"), (first.id, "follow"))
        assert both.novel[0] == first.row and both.documents_of[first.row].feedback == "follow"


class TestCommands:
    """The words of `odl`, as a person or a job of cron uses them."""

    def test_new_and_its_status(self, made, said):
        root = made[0]
        done = odl("new", root)
        assert done.returncode == 0 and done.stdout.startswith("made, 1998-03-26: 80 documents")
        assert odl("new", root, "--fail").returncode == 10
        all_of_it = odl(
            "new", root, "--since", "1998-01-01", "--format", "jsonl"
        ).stdout.splitlines()
        assert {json.loads(line)["period"] for line in all_of_it} == {3, 6, 12}
        assert odl("new", root, "--since", "1999-01-01", "--fail").returncode == 0
        said(("event:1", "muted"))
        quiet = odl("new", root, "--fail")
        assert quiet.returncode == 0 and "Nothing new." in quiet.stdout

    @pytest.mark.slow
    def test_mute_by_number_and_by_id(self, made, said):
        root = made[0]
        done = odl("mute", root, 1, "--until", "grows", "--note", "my own")
        told = "event:1 is muted in periods in which it is not growing (feedback.csv); it holds back 2 headlines so far"
        assert (done.returncode, done.stdout) == (0, f"odl mute: {told}.\n")
        assert (
            "wire.jsonl:246 is followed (feedback.csv)."
            in odl("follow", root, "wire.jsonl:246").stdout
        )
        lines = (root / feedback.FEEDBACK_FILE).read_text().splitlines()
        assert lines[1:] == ["event:1,muted,grows,my own", "wire.jsonl:246,follow,,"]
        assert odl("mute", root, "event:1").returncode == 0
        assert (
            len((root / feedback.FEEDBACK_FILE).read_text().splitlines()) == 3
        )  # it replaces what was said before
        for name in ("nonsense.jsonl", "posts/wire.jsonl"):
            done = odl("mute", root, f"source:{name}")
            assert done.returncode == 1 and "expected a source such as source:" in done.stderr
        assert "; name source:wire.jsonl." in odl("mute", root, "wire.jsonl").stderr
        assert odl("mute", root, "source:wire.jsonl").returncode == 0
        done = odl("mute", root, "9999")
        assert done.returncode == 1 and done.stderr.startswith(
            "odl mute: 9999 is no document or event"
        )

    @pytest.mark.slow
    def test_an_event_that_grows_is_not_said_to_be_held_back(self, made, watch, tmp_path):
        """Muted until it grows, in a stream that ends with the period in which it does."""
        root = tmp_path / "made"
        shutil.copytree(made[0], root)
        for t in range(7, 13):
            (root / "made" / "seed0" / "it" / "k20" / "alerts" / f"{t}.h5").unlink()
        shown = odl("new", root).stdout
        done = odl("mute", root, 1, "--until", "grows")
        assert done.stdout.endswith("it holds back 1 headline so far, none of the last period.\n")
        assert odl("new", root).stdout == shown and "event 1, growing" in shown
        assert (
            "feedback.csv: muted in periods in which it is not growing"
            in odl("explain", root, 1).stdout
        )
        assert read.alerts_of(root).events[1].feedback == ""  # no mark on the page
        assert (
            "of event:1 (muted in feedback.csv)" in odl("new", root, "--since", "1998-01-01").stdout
        )
        day = views.date_of(watch.periods[5].first)
        done = odl("mute", root, 1, "--until", day)
        assert (
            f"is muted until {day} (feedback.csv); it holds back 1 headline so far, none of the"
            in done.stdout
        )
        assert odl("mute", root, 1).stdout.endswith("2 headlines so far.\n")
        assert read.alerts_of(root).events[1].feedback == "muted"

    def test_explain_an_event(self, made, watch):
        done = odl("explain", made[0], 1)
        assert done.stdout.startswith("Event 1 [returning]") and "growing 1998-02-12" in done.stdout
        told = json.loads(odl("explain", made[0], 1, "--format", "jsonl").stdout)
        assert told["history"][0] == [3, "new"] and told["sizes"]["3"] == watch.events[1].sizes[3]

    def test_a_folder_without_alerts(self, tmp_path):
        done = odl("new", tmp_path)
        assert (
            done.returncode == 1
            and "has no alerts; expected a folder with odl.yaml, or results/STUDY" in done.stderr
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
        with pytest.raises(DataError, match="timestep 5 without the alerts of timestep 4"):
            alerts.follow(
                alerts.Written(features, scores, state),
                output,
                run=run,
                before=runs.Before(known=known),
            )
        files = alerts.Written(features, scores.with_name("4.h5"), state)
        with pytest.raises(DataError, match=r"scores/4.h5 has scores of other documents"):
            alerts.follow(files, output, run=run, before=runs.Before(path, known=known))


def test_a_period_is_read_as_it_was_written(made, tmp_path):
    """With what the made stream does not have: languages, meaning, words never seen before."""
    path = made[1] / "6.h5"
    record, carried, names = (
        periods.read(path, shares=True),
        periods.read_carried(path),
        periods.read_names(path),
    )
    record.languages, record.meaning = {"german": 5, "": 75}, record.score / 2
    for row, document in record.documents_of.items():
        document.meaning = record.meaning[row]
    periods.write(tmp_path / "6.h5", record, names, carried)
    again = periods.read(tmp_path / "6.h5", shares=True)
    assert again.languages == record.languages and np.array_equal(again.meaning, record.meaning)
    assert (
        again.documents_of == record.documents_of
        and np.array_equal(again.shares, record.shares)
        and again.sizes == record.sizes
    )
    assert again.headlines == record.headlines != [] and again.gates == record.gates
    assert all(
        np.array_equal(*pair)
        for pair in zip(periods.read_names(tmp_path / "6.h5"), names, strict=True)
    )
    assert periods.read(path).languages == {} and periods.read(path).meaning is None


def test_the_words_of_a_headline_are_told(watch):
    period = watch.periods[3]
    (headline,) = period.headlines
    documents = [period.documents_of[row] for row in headline.examples]
    assert all(document.opening for document in documents) and len(documents) > 2
    assert {word for document in documents for word in document.opening} <= {
        *watched.TOPICS["launch"].split()
    }
    text = " ".join(show.as_text(watch, [period]).split())  # whatever the width of the terminal
    assert f"more than usual: {', '.join(documents[0].opening)}" in text
    assert json.loads(maps.as_jsonl(watch, [period]).splitlines()[0])["opening"]


@pytest.mark.slow
def test_events_only_leaves_out_what_stands_alone(made, monkeypatch):
    """As if the oddest document of each period spoke by itself."""

    def alone(path, read=periods.read):
        record = read(path)
        if not record.t:
            return record
        row = int(record.novel[0])
        made = {
            "name": (),
            "words": (),
            "rows": (row,),
            "examples": (row,),
            "gate": "lone",
            "event": 0,
            "state": "",
        }
        template = read(path.replace(f"{record.t}.h5", "3.h5")).headlines[0]
        return replace(record, headlines=[*record.headlines, replace(template, **made)])

    monkeypatch.setattr(periods, "read", alone)
    whole, some = (read.alerts_of(made[0], lone=lone) for lone in (True, False))
    for every, few in zip(whole.periods, some.periods, strict=True):
        assert [one for one in every.headlines if one.gate != "lone"] == [*few.headlines]
        assert len(every.headlines) == len(few.headlines) + bool(every.t)
    muted = read.watch(
        read.records(whole.place), [feedback.FeedbackLine("source:wire.jsonl", "muted")]
    )
    assert spoken(muted) == [3, 6, 12]  # the oddest document is of this file


def test_what_is_carried_is_bounded(made):
    carried = periods.read_carried(made[1] / "12.h5").past.gates
    assert (
        len(carried.words) == len(carried.pairs) + 1 == 12 <= gates.HISTORY
        and len(carried.highest) <= gates.HISTORY
    )


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
    (document,) = [*newpages.watch(1).periods[0].documents_of.values()][:1]
    assert replace(document, id=ident, source=source).line == line
