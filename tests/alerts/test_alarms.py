"""Alarms about the watch: what sounds, and how often they cry wolf on streams in which nothing changes."""

from dataclasses import replace

import newpages
import numpy as np
import pytest
import streams
from called import odl
from scipy import stats

from odl.alerts import alarms

DAY = 86_400_000


def quiet(n, seed, documents=200):
    """A watch in which nothing enters: tails are uniform, words come at the rate of one law, days are regular."""
    rng, watch = np.random.default_rng(seed), newpages.watch(3)
    periods = [
        replace(
            watch.periods[-1], t=t, first=newpages.START + 7 * DAY * t + int(rng.integers(DAY)), headlines=(),
            unproven=False, tail=rng.uniform(size=documents), first_seen=rng.binomial(2000, 0.03) / 2000,
        )
        for t in range(n)
    ]  # fmt: skip
    return replace(watch, periods=tuple(periods), events={})


def kinds(watch, now=None):
    return [alarm.kind for alarm in alarms.find_alarms(watch, now)]


def test_it_cries_wolf_in_one_of_fifty_quiet_periods_at_most():
    sounded, periods = 0, 0
    for seed in range(40):
        watch = quiet(40, seed)
        for last in range(10, 41):
            sounded += bool(kinds(replace(watch, periods=watch.periods[:last])))
            periods += 1
    assert periods == 1240 and sounded <= periods / 50


@pytest.mark.parametrize("length", [12, 30])
def test_what_changes_is_told_after_two_periods(length):
    watch = quiet(length, 0)
    for kind, change in {
        "scores": {"tail": np.full(200, 0.05)},
        "words": {"first_seen": 0.15},
    }.items():
        last = [replace(period, **change) for period in watch.periods[-2:]]
        assert kinds(replace(watch, periods=(*watch.periods[:-1], last[1]))) == []
        assert kinds(replace(watch, periods=(*watch.periods[:-2], *last))) == [kind]
    born = {1: replace(newpages.watch().events[1], birth=length - 2)}
    assert (
        kinds(replace(watch, periods=(*watch.periods[:-2], *last), events=born)) == []
    )  # it brings its words
    old = {1: replace(born[1], birth=length - 3)}
    assert kinds(replace(watch, periods=(*watch.periods[:-2], *last), events=old)) == [
        kind
    ]  # born before they came
    flood = replace(watch.periods[-1], first_seen=0.4)  # boilerplate is new in one period only
    assert kinds(replace(watch, periods=(*watch.periods[:-1], flood), events=born)) == ["words"]


def test_two_periods_are_told_where_many_words_are_always_new():
    watch = quiet(11, 0)
    usual = [replace(each, first_seen=0.22 + 0.012 * (-1) ** each.t) for each in watch.periods[:-2]]
    last = [
        replace(each, first_seen=0.275) for each in watch.periods[-2:]
    ]  # the first makes the second less unusual
    assert kinds(replace(watch, periods=(*usual, *last))) == ["words"]
    assert kinds(replace(watch, periods=tuple(usual))) == []


def test_a_pause_and_a_budget_that_is_full():
    watch = quiet(12, 0)
    late = replace(watch.periods[-1], first=watch.periods[-1].first + 15 * DAY)
    assert kinds(replace(watch, periods=(*watch.periods[:-1], late))) == ["pause"]
    end = watch.periods[-1].first
    assert kinds(watch, end + 7 * DAY) == [] and kinds(watch, end + 17 * DAY) == ["pause"]
    assert kinds(watch, end + 365 * DAY) == []  # nobody waits for more
    assert kinds(watch, end - 12 * 3_600_000) == [] and kinds(watch, end - 2 * DAY) == ["ahead"]
    full = [
        replace(period, budget=1, headlines=newpages.watch().periods[-1].headlines)
        for period in watch.periods
    ]
    gates = {**watch.settings, "gates": True}
    full[-1] = replace(full[-1], budget=2, headlines=2 * full[-1].headlines)
    told = replace(watch, periods=(*watch.periods[:8], *full[8:]), settings=gates)
    assert kinds(told) == ["budget"] and alarms.find_alarms(told)[0].text.startswith(
        "The budget of 2 has been full for 4"
    )
    assert kinds(replace(watch, periods=(*watch.periods[:9], *full[9:]), settings=gates)) == []
    assert (
        kinds(replace(watch, periods=tuple(full[-3:]), settings=gates)) == []
    )  # a stream of three


def test_a_source_that_falls_silent_is_told_for_some_periods(monkeypatch):
    def silences(names):
        return [alarm.what for alarm in alarms._silences(names)]

    both, one = {"a.jsonl", "b.jsonl"}, {"a.jsonl"}
    assert [silences(20 * [both] + n * [one]) for n in range(8)] == 2 * [[]] + 4 * [
        ["b.jsonl"]
    ] + 2 * [[]]
    assert silences([{f"{t}.jsonl"} for t in range(30)]) == []  # a file a period
    rng, sounded = np.random.default_rng(0), 0
    for _ in range(200):
        names = [{"a"} | ({"b"} if rng.random() < 0.5 else set()) for _ in range(50)]
        sounded += sum(bool(silences(names[: n + 1])) for n in range(10, 50))
    assert sounded <= 200 * 40 / 50


def regular(n):
    """A quiet watch whose periods begin every seven days."""
    watch = quiet(n, 0)
    return replace(
        watch, periods=tuple(replace(each, first=7 * DAY * each.t) for each in watch.periods)
    )


def test_a_pause_is_told_from_twice_to_twenty_times_the_longest():
    watch, end = regular(9), 56 * DAY
    for days, more, told in ((14, 0, False), (14, 1, True), (140, 0, True), (140, 1, False)):
        assert (kinds(watch, end + days * DAY + more) == ["pause"]) == told
    assert kinds(regular(8), 49 * DAY + 15 * DAY) == []  # eight steps tell little
    (alarm,) = alarms.find_alarms(watch, end + 15 * DAY)
    assert alarm.text == "No document came for 15.0 days; the longest pause before was 7.0 days."
    late = replace(
        watch.periods[4], first=watch.periods[4].first + 3 * DAY
    )  # of ten and of four days
    uneven = replace(watch, periods=(*watch.periods[:4], late, *watch.periods[5:]))
    assert kinds(uneven, end + 20 * DAY) == [] and kinds(uneven, end + 20 * DAY + 1) == ["pause"]


def test_a_period_to_come_is_told_from_a_day_on():
    watch, end = regular(3), 14 * DAY
    assert kinds(watch, end - DAY) == [] and kinds(watch) == []
    (alarm,) = alarms.find_alarms(watch, end - DAY - 1)
    assert alarm.text.startswith("The last period begins on 1970-01-15, which is still to come")


def test_silence_is_told_of_the_last_fifty_periods():
    watch = regular(60)
    for first, silent, told in ((0, 3, True), (0, 1, False), (50, 3, False), (49, 3, True)):
        named = [{"a"} | ({"b"} if first <= t < 60 - silent else set()) for t in range(60)]
        sources = tuple(
            replace(each, sources=tuple(one))
            for each, one in zip(watch.periods, named, strict=True)
        )
        sounded = [
            alarm
            for alarm in alarms.find_alarms(replace(watch, periods=sources))
            if alarm.kind == "silence"
        ]
        assert [alarm.what for alarm in sounded] == ["b"] * told
    assert (
        sounded[0].text
        == "No document came from b for 3 periods; before, 89% of the periods had some."
    )


def test_what_changes_is_a_prediction_of_students_law(rng):
    """Both of the last periods are beyond it; of eight before at least, and of fifty at most."""
    for n in (7, 8, 50):
        past = rng.uniform(0.08, 0.12, n)
        angle = np.arcsin(np.sqrt(past))
        law = stats.t(n - 1, angle.mean(), angle.std(ddof=1) * np.sqrt(1 + 1 / n))
        above, below = (float(np.sin(law.isf(0.005) + step) ** 2) for step in (1e-6, -1e-6))
        assert alarms._beyond([*past, above, above], 2) == (n >= 8)
        assert not alarms._beyond([*past, above, below], 2) and not alarms._beyond(
            [*past, below, above], 2
        )
    assert alarms._beyond([*rng.uniform(0.5, 0.9, 9), *past, above, above], 2)  # of long ago


@pytest.mark.slow
def test_fail_ends_with_the_status_of_news_or_else_of_an_alarm(tmp_path, monkeypatch):
    """The made stream is of January: since then nothing came; so far back it would be an archive."""
    monkeypatch.setattr(alarms, "ARCHIVE_RATIO", np.inf)
    folder = streams.begin(tmp_path, weeks=12)
    assert odl("run", folder).returncode == 0
    done = odl("new", folder, "--fail")
    assert (
        done.returncode == 10 and "No document came for" in done.stderr
    )  # the last week has a new topic
    streams.write(tmp_path, 12, ("grain", "oil", "space"))
    assert odl("run", folder).returncode == 0
    (folder / "feedback.csv").write_text("what,verdict\nsource:12.jsonl,muted\n")
    done = odl("new", folder, "--fail")
    assert done.returncode == 11 and done.stdout and "No document came for" in done.stderr
