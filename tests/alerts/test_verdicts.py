"""Verdicts of several users on headlines: their lines, undo, two writers at once, and the lists that they order."""

import csv
import multiprocessing
from datetime import UTC, datetime, timedelta

import pytest
import watched
from called import odl

from odl.alerts import feedback, read, verdicts, views
from odl.alerts.feedback import FeedbackLine
from odl.alerts.verdicts import wilson

LAUNCHES = (0, 0, 0, 6, 8, 0)
ZOO = [["zebra", "savanna", "lion", "market", f"q{at}", f"r{at}"] for at in range(3)]
SINCE = ("--since", "1998-01-01", "--below")


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """A folder with odl.yaml and a made stream of six periods, with event 1 in the fourth and a zoo in the last."""
    root = tmp_path_factory.mktemp("judged")
    results, run = root / "results" / "mine", watched.run_of(atoms=20)
    watched.follow(results, run, LAUNCHES, {"gates": True}, more={5: ZOO})
    return root


@pytest.fixture
def home(stream):
    (stream / "odl.yaml").write_text("sources: [a.jsonl]\n")
    yield stream
    (stream / "feedback.csv").unlink(missing_ok=True)


def lines(home):
    with open(home / "feedback.csv", newline="") as file:
        return [*csv.DictReader(file)]


def headline_below(home):
    """Return a headline that is not unusual here and of no event, and the ids of its documents."""
    (period,) = read.alerts_of(home, last=1).periods
    (headline,) = period.below
    return headline, [period.documents_of[row].id for row in headline.examples]


def test_several_users_judge_and_take_it_back(home):
    assert odl("judge", home, "1", "yes", "--by", "anna", "--note", "a, b").stdout == (
        "odl judge: event:1 is judged yes by anna (feedback.csv).\n"
        "Judged headlines with the verdict yes: 1 of 1 (100 %, 95 % interval 21 to 100 %).\n"
    )
    told = odl("judge", home, "event:1", "no", "--by", "bob").stdout
    assert "verdict yes: 0.5 of 1 (50 %" in told
    assert odl("judge", home, "1", "known", "--by", "bob").returncode == 0
    (first, second) = lines(home)
    datetime.strptime(first["time"], "%Y-%m-%dT%H:%M:%SZ")
    assert [first[name] for name in ("what", "verdict", "judged", "by", "note", "period")] == [
        *("event:1", "", "yes", "anna", "a, b", "3"),
    ]
    assert (second["judged"], second["by"]) == ("known", "bob")
    assert "\n  judged yes by anna, " in odl("explain", home, "1").stdout
    assert "is gone from feedback.csv" in odl("judge", home, "1", "undo", "--by", "bob").stdout
    assert [line["by"] for line in lines(home)] == ["anna"]
    told = odl("judge", home, "1", "undo", "--by", "bob")
    assert told.returncode == 1 and told.stderr.count("\n") == 1
    assert "bob has not judged event:1" in told.stderr


def test_what_does_not_exist_is_refused_in_a_sentence(home):
    for what, fault in (
        ("99", "99 is no event and no document of the stream"),
        ("no/such", "no/such is no event and no document of the stream"),
    ):
        told = odl("judge", home, what, "yes")
        assert told.returncode == 1 and told.stderr.startswith(f"odl judge: {fault}; expected ")
        assert told.stderr.count("\n") == 1
    watch = read.alerts_of(home)
    period = watch.periods[-1]
    under = {row for one in (*period.headlines, *period.below) for row in one.rows}
    row = next(row for row in range(period.documents) if row not in under and not period.event[row])
    ident = read.periods.read_names(f"{watch.place.alerts}/{period.t}.h5").ids[row]
    assert f"{ident} is under no headline" in odl("judge", home, ident, "no").stderr
    assert not (home / "feedback.csv").exists()


def test_a_document_stands_for_its_headline(home):
    headline, ids = headline_below(home)
    for ident in ids:
        assert odl("judge", home, ident, "no", "--by", "anna").returncode == 0
    assert [line["what"] for line in lines(home)] == [ids[0]]
    watch = verdicts.with_verdicts(read.alerts_of(home))
    (judged,) = watch.judged
    assert judged.value == -1 and judged.name == views.name_of(headline)
    document = read.periods.read_names(f"{watch.place.alerts}/3.h5").ids
    event = next(one for one in watch.events.values()).examples[0][0]
    assert event in document and odl("judge", home, event, "yes").returncode == 0
    assert lines(home)[1]["what"] == "event:1"


def test_mute_and_verdict_of_one_event_do_not_disturb_each_other(home):
    """Also in one line of a file that a user edits."""
    (home / "feedback.csv").write_text("what,verdict,until,note,judged\nevent:1,muted,,both,yes\n")
    muted, judged = feedback.read(home)
    assert (muted.verdict, muted.judged) == ("muted", "")
    assert (judged.verdict, judged.judged, judged.by) == ("", "yes", feedback.NOBODY)
    assert odl("mute", home, "1", "--known").returncode == 0
    assert {(one.verdict, one.judged) for one in feedback.read(home)} == {
        ("known", ""),
        ("", "yes"),
    }
    watch = verdicts.with_verdicts(read.alerts_of(home))
    assert [one.what for one in watch.judged] == ["event:1"], "its period is that of its birth"
    assert odl("unmute", home, "1").returncode == 0
    assert [one.judged for one in feedback.read(home)] == ["yes"]
    assert odl("unmute", home, "1").returncode == 1
    (home / "feedback.csv").write_text("what,judged,verdict\nevent:1,perhaps,\n")
    told = odl("new", home)
    assert "feedback.csv line 2 has 'perhaps' under judged; expected one of yes, no, known" in (
        told.stderr
    )


def test_without_verdicts_nothing_changes_and_plain_is_the_order_without_them(home):
    forms = [(), ("--format", "md"), ("--format", "slack"), ("--format", "jsonl")]
    before = [odl("new", home, *SINCE, *form).stdout for form in forms]
    watch = read.alerts_of(home)
    assert verdicts.with_verdicts(watch) is watch
    _, ids = headline_below(home)
    odl("judge", home, ids[0], "yes", "--by", "anna")
    odl("judge", home, "1", "no", "--by", "anna")
    assert [odl("new", home, *SINCE, *form, "--plain").stdout for form in forms] == before
    moved = [odl("new", home, *SINCE, *form).stdout for form in forms]
    assert all("moved up " in text for text in moved[:3]) and moved[3] == before[3]
    assert "by 1 verdict: " in moved[0] and "1 of 2 (50 %, 95 % interval 9 to 91 %)" in moved[0]
    plain, learned = (
        views.rows_of(views.with_below(one.periods))
        for one in (watch, verdicts.with_verdicts(read.alerts_of(home)))
    )
    assert {row.headline for row in plain} == {row.headline for row in learned}
    (home / "odl.yaml").write_text("sources: [a.jsonl]\norder_by_verdicts: false\n")
    still = odl("new", home, *SINCE).stdout
    assert "moved" not in still and "1 of 2 (50 %" in still
    (home / "odl.yaml").write_text("sources: [a.jsonl]\norder_by_verdicts: perhaps\n")
    assert "order_by_verdicts in " in odl("new", home).stderr


def test_the_order_of_lines_changes_no_list(home):
    _, ids = headline_below(home)
    for what, answer, by in (("1", "no", "a"), ("1", "yes", "b"), (ids[0], "yes", "a")):
        odl("judge", home, what, answer, "--by", by)
    first = odl("new", home, *SINCE).stdout
    head, *rows = (home / "feedback.csv").read_text().splitlines()
    (home / "feedback.csv").write_text("\n".join([head, *rows[::-1]]) + "\n")
    assert odl("new", home, *SINCE).stdout == first


def test_a_verdict_whose_headline_is_gone_is_counted(home):
    feedback.add(home, FeedbackLine("event:77", "", judged="yes", by="a", period="3"))
    feedback.add(home, FeedbackLine("gone", "", judged="no", by="a", period="400"))
    feedback.add(home, FeedbackLine("event:78", "", judged="no", by="a"))
    assert (
        "3 verdicts in feedback.csv without effect: no such headline is stored now."
        in odl("new", home).stdout
    )


def judge_many(folder, by, meet):
    meet.wait()
    for number in range(1, 21):
        feedback.add(folder, FeedbackLine(f"event:{number}", "", judged="yes", by=by))


def test_two_processes_at_once_lose_nothing(tmp_path):
    context = multiprocessing.get_context("fork")
    meet = context.Barrier(2)
    writers = [context.Process(target=judge_many, args=(tmp_path, by, meet)) for by in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    stored = {(line.what, line.by) for line in feedback.read(tmp_path)}
    assert stored == {(f"event:{number}", by) for number in range(1, 21) for by in "ab"}


def test_verdicts_follow_their_events_to_other_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(feedback, "_periods", lambda _: iter([([7, 7], ["a", "b"])]))
    line = FeedbackLine("event:1", "", judged="yes", by="anna", period="3")
    entries = [line, line._replace(by="bob", judged="no"), FeedbackLine("event:1", "muted")]
    kept, said = feedback.renumber_events(entries, tmp_path, {"1": ["a", "b"]})
    assert [(one.what, one.by, one.judged, one.period) for one in kept] == [
        ("event:7", "anna", "yes", ""),
        ("event:7", "bob", "no", ""),
        ("event:7", "", "", ""),
    ]
    assert len(said) == 3 and all("event:1 is event:7 now" in text for text in said)


@pytest.mark.parametrize(("yes", "n"), [(0, 5), (3, 7), (5, 5), (2.5, 10)])
def test_the_ends_of_the_interval_solve_its_equation(yes, n):
    for p in wilson(yes, n):
        assert (yes / n - p) ** 2 == pytest.approx(1.959964**2 * p * (1 - p) / n, abs=1e-9)


def test_shares_by_source():
    def judged(source, *answers):
        traits = verdicts.ranking.Traits({}, source)
        lines = tuple(FeedbackLine("event:1", "", judged=answer, by=answer) for answer in answers)
        return verdicts.JudgedHeadline("event:1", "x", lines, traits)

    every = [judged("b", "yes"), judged("b", "no", "yes"), judged("a", "known"), judged("b", "no")]
    every_line, by_source = verdicts.summary_lines(every, 0)
    assert every_line.startswith("Judged headlines with the verdict yes: 1.5 of 4 (38 %, ")
    assert [part.split(" (")[0] for part in by_source.split("; ")] == [
        "By source: b 1.5 of 3",
        "a 0 of 1",
    ]
    assert len(verdicts.summary_lines(every[:2], 0)) == 1


def test_a_name_and_a_note_of_several_lines_become_one(home):
    watch = read.alerts_of(home)
    line, changed = verdicts.judge(home, watch, "1", "yes", " an\nna ", "a\nb\x1b[31m")
    assert changed and feedback.read(home) == (line,)
    assert (line.note, line.by) == ("a b\\u001b[31m", "an na")
    age = datetime.now(UTC) - datetime.fromisoformat(line.time)
    assert timedelta(0) <= age < timedelta(minutes=5)
