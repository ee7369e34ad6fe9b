"""`odl backtest` prints what other settings of alerts would have given, and writes nothing."""

import json
import re
import shutil
from dataclasses import replace

import pytest
import streams

from odl.alerts import difference, read
from odl.cli import main
from odl.report import backtestpage


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    return streams.learned(tmp_path_factory.getbasetemp())


def output(capsys, *words):
    """Return status, standard output and standard error of a command."""
    status = main(["backtest", *map(str, words)])
    return status, *capsys.readouterr()


def test_the_settings_of_the_folder_change_no_headline(news, capsys):
    before = streams.contents(news)
    status, text, _ = output(capsys, news)
    assert status == 0 and text.endswith("odl.yaml: the headlines are the same.\n")
    assert streams.contents(news) == before


def test_a_longer_warm_up_loses_headlines(news, capsys):
    settings = ("--set", "alerts.warm_up=1000", "--set", "alerts.certain=0")
    status, text, _ = output(capsys, news, *settings)
    assert status == 0
    assert (
        "alerts.warm_up: 1000 instead of 50" in text and "alerts.certain: 0 instead of 10.0" in text
    )
    assert re.search("warm_up 1000, certain 0 +0 +0 of 5 +0 +1 +0 +0\n", text)
    found = json.loads(output(capsys, news, *settings, "--format", "json")[1])
    (other,) = found["others"]
    assert other["settings"] == {"alerts.certain": 0, "alerts.warm_up": 1000}
    assert [one["change"] for one in other["changes"]] == ["lost"] and other["periods"] == []
    assert sum(len(one["headlines"]) for one in found["stored"]) == 1


def test_several_values_are_compared_in_one_pass(news, capsys):
    """Repeated values count once, and each list is the one that its settings alone give."""
    several = ("--set", "alerts.warm_up=50,1000", "--set", "alerts.warm_up=5e1,60")
    found = json.loads(output(capsys, news, *several, "--format", "json")[1])
    settings = [one["settings"].get("alerts.warm_up", 50) for one in found["others"]]
    assert settings == [50, 1000, 60]
    for other in found["others"]:
        value = other["settings"].get("alerts.warm_up", 50)
        alone = output(capsys, news, "--set", f"alerts.warm_up={value}", "--format", "json")[1]
        assert json.loads(alone)["others"] == [other]


def test_many_alternatives_have_numbers_as_columns(news, capsys):
    values = ",".join(f"{n}" for n in range(100, 112))
    text = output(capsys, news, "--set", f"alerts.warm_up={values}")[1]
    assert "\n12: warm_up 111 " in text and re.search("as stored +1 +2 .* 11 +12\n", text)
    assert max(map(len, text.splitlines())) <= 110
    assert "at most 12" in output(capsys, news, "--set", f"alerts.warm_up={values},112")[2]


def test_the_page_has_no_script_and_all_lists(news, capsys):
    settings = ("--set", "alerts.warm_up=60,1000", "--format", "html")
    status, text, _ = output(capsys, news, *settings)
    assert status == 0 and "<script" not in text and "http" not in text
    assert "warm_up 60: the headlines are the same" in text and "warm_up 1000: 1 lost" in text
    assert re.search(
        r"<th[^>]*>2026-02-02</th><td>60</td>(<td[^>]*>crew, launch, comet</td>){2}", text
    )


def test_the_page_isolates_text_of_another_direction(news):
    watch = read.alerts_of(news)
    last = watch.periods[-1]
    headline = replace(last.headlines[0], name=("خبر", "<b>"))
    other = replace(last, headlines=(headline,))
    change = difference.Change("gained", other, headline)
    one = difference.Alternative("level 0.02", {}, (other,), [change])
    text = backtestpage.render_page(watch, [last], [one])
    assert text.count("<bdi>خبر</bdi>, &lt;b&gt;") == 2 and "\\u2068" not in text


def test_settings_that_were_edited_without_a_run_are_refused(news, capsys, tmp_path):
    """A step records its settings; the sentence names those of odl.yaml that differ."""
    folder = shutil.copytree(news, tmp_path / "news")
    told = (folder / "odl.yaml").read_text()
    for before, after, name in (
        ("max_share: 0.5", "max_share: 0.4", "features.max_share"),
        ("recency: 0.5", "recency: 0.2", "learner.recency"),
        ("period: week", "period: day", "batches.period"),
        ("keep_text: 2000", "keep_text: 0", "options.keep_text"),
    ):
        (folder / "odl.yaml").write_text(told.replace(before, after))
        status, text, error = output(capsys, folder)
        assert status and not text and error.count("\n") == 1
        assert f"has changed {name} since the scores were computed" in error
        assert "which learns again 300 documents in 5 periods" in error
    (folder / "odl.yaml").write_text(told.replace("warm_up: 50", "warm_up: 1000"))
    assert "alerts.warm_up: 1000 instead of 50" in output(capsys, folder)[1]


def test_periods_before_a_date_are_left_out(news, capsys):
    text = output(capsys, news, "--from", "2026-02-02")[1]
    assert re.search("as stored +1 +1 of 1\n", text) and "2026-01-26" not in text
    assert "up to the last period (2026-02-02)" in output(capsys, news, "--from", "2030")[2]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--set", "alerts.levl=.2"), "did you mean 'level'?"),
        (("--set", "alerts.level=2"), "alerts.level"),
        (("--set", "level"), "expected KEY=VALUE such as alerts.level=.02"),
        (("--set", "alerts.gates=false"), "add --set alerts.gates=true"),
        (("--set", "features.idf=corpus"), "needs learning again; expected a setting of alerts"),
    ],
)
def test_a_wrong_setting_is_one_sentence(words, told, news, capsys):
    status, text, error = output(capsys, news, *words)
    assert status and not text and told in error and error.count("\n") == 1


def test_a_folder_that_was_not_run_is_refused(tmp_path, capsys):
    (tmp_path / "odl.yaml").write_text("sources: [a.jsonl]\n")
    status, text, error = output(capsys, tmp_path)
    assert status and not text and "has no alerts yet" in error
