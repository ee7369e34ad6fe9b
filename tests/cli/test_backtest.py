"""`odl backtest` prints what other settings of alerts would have given, and writes nothing."""

import json

import pytest
import streams

from odl.cli import main


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
    assert status == 0 and text.endswith("The headlines are the same.\n")
    assert streams.contents(news) == before


def test_a_longer_warm_up_loses_headlines(news, capsys):
    settings = ("--set", "alerts.warm_up=1000", "--set", "alerts.certain=0")
    status, text, _ = output(capsys, news, *settings)
    assert status == 0
    assert (
        "alerts.warm_up: 1000 instead of 50" in text and "alerts.certain: 0 instead of 10.0" in text
    )
    assert "instead: 0 headlines in 0 of 5 periods" in text and "\nlost " in text
    found = json.loads(output(capsys, news, *settings, "--format", "json")[1])
    assert {one["change"] for one in found["changes"]} == {"lost"}
    assert found["instead"] == [] and sum(len(one["headlines"]) for one in found["stored"]) == len(
        found["changes"]
    )


def test_periods_before_a_date_are_left_out(news, capsys):
    assert (
        "\nstored:  1 headline in 1 of 1 period\n"
        in output(capsys, news, "--from", "2026-02-02")[1]
    )
    assert output(capsys, news, "--from", "2030")[1] == "No period since 2030.\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--set", "alerts.levl=.2"), "did you mean 'level'?"),
        (("--set", "alerts.level=2"), "alerts.level"),
        (("--set", "level"), "expected KEY=VALUE such as alerts.level=.02"),
        (("--set", "features.idf=corpus"), "needs learning again; expected a key of alerts"),
    ],
)
def test_a_wrong_setting_is_one_sentence(words, told, news, capsys):
    status, text, error = output(capsys, news, *words)
    assert status and not text and told in error and error.count("\n") == 1


def test_a_folder_that_was_not_run_is_refused(tmp_path, capsys):
    (tmp_path / "odl.yaml").write_text("sources: [a.jsonl]\n")
    status, text, error = output(capsys, tmp_path)
    assert status and not text and "has no alerts yet" in error
