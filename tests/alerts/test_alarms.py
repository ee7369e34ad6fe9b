"""Alarms about the watch: what sounds, and how often they cry wolf on streams in which nothing changes."""

from dataclasses import replace

import newpages
import numpy as np
import pytest
import streams
from called import odl

from odl.alerts import alarms

DAY = 86_400_000


def quiet(n, seed, documents=200):
    """A watch in which nothing enters: tails are uniform, words come at the rate of one law, days are regular."""
    rng, watch = np.random.default_rng(seed), newpages.watch(3)
    periods = [
        replace(
            watch.periods[-1], t=t, first=newpages.START + 7 * DAY * t + int(rng.integers(DAY)), alerts=(),
            warm_up=False, tails=rng.uniform(size=documents), first_seen=rng.binomial(2000, 0.03) / 2000,
        )
        for t in range(n)
    ]  # fmt: skip
    return replace(watch, periods=tuple(periods), topics={})


def kinds(watch, now=None):
    return [alarm.kind for alarm in alarms.of(watch, now)]


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
    for kind, change in {"scores": {"tails": np.full(200, 0.05)}, "words": {"first_seen": 0.15}}.items():
        last = [replace(period, **change) for period in watch.periods[-2:]]
        assert kinds(replace(watch, periods=(*watch.periods[:-1], last[1]))) == []
        assert kinds(replace(watch, periods=(*watch.periods[:-2], *last))) == [kind]
    born = {1: replace(newpages.watch().topics[1], birth=length - 2)}
    assert kinds(replace(watch, periods=(*watch.periods[:-2], *last), topics=born)) == []  # it brings its words
    flood = replace(watch.periods[-1], first_seen=0.4)  # boilerplate is new in one period only
    assert kinds(replace(watch, periods=(*watch.periods[:-1], flood), topics=born)) == ["words"]


def test_a_pause_and_a_budget_that_is_full():
    watch = quiet(12, 0)
    late = replace(watch.periods[-1], first=watch.periods[-1].first + 15 * DAY)
    assert kinds(replace(watch, periods=(*watch.periods[:-1], late))) == ["pause"]
    end = watch.periods[-1].first
    assert kinds(watch, end + 7 * DAY) == [] and kinds(watch, end + 17 * DAY) == ["pause"]
    assert kinds(watch, end + 365 * DAY) == []  # nobody waits for more
    assert kinds(watch, end - 12 * 3_600_000) == [] and kinds(watch, end - 2 * DAY) == ["ahead"]
    full = [replace(period, budget=1, alerts=newpages.watch().periods[-1].alerts[:1]) for period in watch.periods]
    gates = {**watch.settings, "gates": True}
    full[-1] = replace(full[-1], budget=2, alerts=2 * full[-1].alerts)
    told = replace(watch, periods=(*watch.periods[:8], *full[8:]), settings=gates)
    assert kinds(told) == ["budget"] and alarms.of(told)[0].text.startswith("The budget of 2 has been full for 4")
    assert kinds(replace(watch, periods=(*watch.periods[:9], *full[9:]), settings=gates)) == []


def test_a_source_that_falls_silent_is_told_for_some_periods(monkeypatch):
    def silences(names):
        return [alarm.what for alarm in alarms._silences(names)]

    both, one = {"a.jsonl", "b.jsonl"}, {"a.jsonl"}
    assert [silences(20 * [both] + n * [one]) for n in range(8)] == 2 * [[]] + 4 * [["b.jsonl"]] + 2 * [[]]
    assert silences([{f"{t}.jsonl"} for t in range(30)]) == []  # a file a period
    rng, sounded = np.random.default_rng(0), 0
    for _ in range(200):
        names = [{"a"} | ({"b"} if rng.random() < 0.5 else set()) for _ in range(50)]
        sounded += sum(bool(silences(names[: n + 1])) for n in range(10, 50))
    assert sounded <= 200 * 40 / 50


def test_fail_ends_with_the_status_of_news_or_else_of_an_alarm(tmp_path, monkeypatch):
    """The made stream is of January: since then nothing came; so far back it would be an archive."""
    monkeypatch.setattr(alarms, "ARCHIVE", np.inf)
    folder = streams.begin(tmp_path, weeks=12)
    assert odl("run", folder).returncode == 0
    done = odl("new", folder, "--fail")
    assert done.returncode == 10 and "No document came for" in done.stderr  # the last week has a new topic
    streams.write(tmp_path, 12, ("grain", "oil", "space"))
    assert odl("run", folder).returncode == 0
    (folder / "feedback.csv").write_text("what,verdict\nsource:12.jsonl,muted\n")
    done = odl("new", folder, "--fail")
    assert done.returncode == 11 and done.stdout and "No document came for" in done.stderr
