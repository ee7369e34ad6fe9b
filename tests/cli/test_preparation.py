"""Stop words, cleaners and batches that a stream asks for."""

import sys
from typing import ClassVar

import numpy as np
import pytest
from called import odl
from ownfiles import FOOTER, jsonl, own

from odl.cli import preparation
from odl.cli.init import survey
from odl.errors import DataError
from odl.files.documents import NO_TIME

DAY = 86_400_000


def day(text):
    return int(np.datetime64(text, "ms").astype(np.int64))


class TestStopWords:
    GERMAN, RUSSIAN = (
        "das Wetter ist nicht so schön wie gestern und heute",
        "погода сегодня не такая как вчера",
    )
    THAI = "วันนี้อากาศดี"

    @pytest.mark.parametrize(
        ("texts", "said"),
        [
            (
                [GERMAN],
                "German (100%); stop words of a document's language have no weight; words in more than 50%",
            ),
            ([GERMAN] * 3 + [RUSSIAN], "German (75%), Russian (25%); stop words of a document's"),
            ([GERMAN] * 3 + [THAI], "German (75%), script Thai (25%); stop words of a document's"),
            (
                [GERMAN, "the weather is not as it was yesterday", "the weather is fine"],
                "English (67%), German (33%);",
            ),
            (
                [THAI],
                "script Thai (100%), without a list of stop words; words in more than 50% of the documents",
            ),
            (
                [GERMAN] + ["qua zed " * 12] * 9,
                "German (10%), not known (90%); stop words of a document's language",
            ),
            (
                ["zq 7f"],
                "not known (--stop-words names one); words in more than 50% of the documents have no weight",
            ),
        ],
    )
    def test_stop_words_are_counted_and_not_weighed(self, texts, said):
        stop_words, features, why = preparation.stop_words_of(texts)
        assert (stop_words, features) == (
            None,
            {"languages": True, "max_share": 0.5},
        ) and why.startswith(said)

    def test_a_person_may_name_a_list_or_none(self):
        assert preparation.stop_words_of([self.GERMAN], "none") == (None, {}, "as requested")
        assert preparation.stop_words_of([self.GERMAN], "english") == (
            "english",
            {},
            "as requested",
        )


class TestPeriods:
    @pytest.mark.parametrize(
        ("a_day", "period"),
        [(7, "day"), (6, "week"), (0.9, "month"), (0.2, "quarter"), (0.05, "year")],
    )
    def test_the_shortest_period_whose_median_has_seven_documents(self, a_day, period):
        times = [
            day("2000-01-01") + int(DAY * number / a_day) for number in range(int(a_day * 3650))
        ]
        found, said = preparation.batches_of(times)
        assert found == {"by": "period", "period": period, "initial": min(100, len(times) // 5)}
        assert said.startswith(
            f"by {period}, the shortest period that usually has 7 documents (median "
        )
        assert f"each {period} is compared with earlier {period}s" in said
        assert f"by {period}, as requested" in preparation.batches_of(times, period)[1]

    def test_empty_days_do_not_count(self):
        times = [day("2020-01-01") + DAY * (3 * (number // 8)) for number in range(800)]
        assert preparation.batches_of(times)[0]["period"] == "day"

    def test_without_times_or_in_one_moment_by_documents(self):
        assert preparation.batches_of([NO_TIME] * 3000)[0] == {
            "by": "documents",
            "documents": 72,
            "initial": 100,
        }
        assert preparation.batches_of([5] * 3000)[0]["by"] == "documents"
        assert preparation.batches_of([NO_TIME] * 3000)[1].endswith(
            "the first 2 periods are unproven, without alerts"
        )
        assert preparation.batches_of([NO_TIME] * 60)[1].endswith(
            "strongest words are shown as unproven"
        )
        assert preparation.alerts_begin([30, 19, 1, 1, 1]).startswith("the first 4 periods")
        assert preparation.alerts_begin([30, 19]).endswith("are shown as unproven")
        assert preparation.batches_of([NO_TIME] * 60)[0] == {
            "by": "documents",
            "documents": 7,
            "initial": 12,
        }
        assert preparation.batches_of([5, 5])[0] == {
            "by": "documents",
            "documents": 7,
            "initial": 1,
        }

    def test_too_little(self):
        with pytest.raises(DataError, match="1 document; expected at least two"):
            preparation.batches_of([5])
        with pytest.raises(DataError, match="batches by week"):
            preparation.batches_of([NO_TIME] * 100, "week")


def posts(text, n=100):
    return [{"id": f"p-{number}", "text": text(number)} for number in range(n)]


def cleaners(path, text, n=100):
    found = survey([jsonl(path, posts(text, n))], {})
    return found.options.get("clean", []), dict(found.lines).get("clean", "")


class TestCleaners:
    def test_each_is_on_where_it_takes_something_out(self, tmp_path):
        def mail(number):
            quoted = f"> it was {own(number, 4)}\n" if number < 50 else ""
            return (
                f"From: a@b.org\nSubject: post {number}\n\n{quoted}{own(number)}\n-- \nSome Body\n"
            )

        found, said = cleaners(tmp_path / "a.jsonl", mail)
        assert found == ["headers", "quotes", "signatures"]
        assert said.startswith(
            "left out: headers (in 100.0% of the documents), quotes (in 50.0% of the documents)"
        )

    def test_what_only_looks_encoded_needs_no_cleaner(self, tmp_path):
        address = (
            "https://example.org/archive/2026/january/the-weather-of-the-week-in-pictures.html"
        )
        assert cleaners(tmp_path / "a.jsonl", lambda n: f"{own(n)}\n{address}/{own(n, 1)}\n") == (
            [],
            "",
        )
        block = "\n".join(
            "M" + "5&AE('%U:6-K(&)R;W=N(&9O>\"!J=6UP<R!O=F5R('1H92!L87IY(&1O9RX@5"[:60]
            for _ in range(5)
        )
        found, said = cleaners(
            tmp_path / "b.jsonl", lambda n: own(n) + (f"\n{block}\n" if n < 3 else "")
        )
        assert found == ["encoded"] and "(in 3.0% of the documents)" in said

    def test_one_text_of_many_needs_no_cleaner(self, tmp_path):
        assert (
            cleaners(
                tmp_path / "a.jsonl", lambda n: own(n) + ("\n-- \nSome Body" if n == 5 else "")
            )[0]
            == []
        )

    @pytest.mark.slow
    def test_boilerplate_and_what_else_goes_first(self, tmp_path):
        assert cleaners(tmp_path / "a.jsonl", lambda n: f"Title\n{own(n)}\n{FOOTER}")[0] == [
            "boilerplate"
        ]
        assert cleaners(tmp_path / "b.jsonl", lambda n: f"Title\n{own(n)}\n-- \n{FOOTER}")[0] == [
            "signatures"
        ]
        assert (
            cleaners(
                tmp_path / "c.jsonl", lambda n: f"Title\n{own(n)}\n" + (FOOTER if n < 4 else "")
            )[0]
            == []
        )


class TestMeaning:
    """Vectors beside words are offered where texts are short and English, and taken where somebody says so."""

    TEXTS = (
        "the harvest of the year is in",
        "a tanker and the port of call",
        "they were at sea for the night",
    )
    TOKENS: ClassVar = {"tokeniser": "words", "stop_words": None}

    def test_short_texts_have_an_offer_with_its_cost(self):
        options, features, why = preparation.meaning_of(self.TEXTS, self.TOKENS, False)
        assert (options, features) == ({}, {})
        assert (
            "Texts have about 2 distinct words" in why
            and "odl init --meaning" in why
            and "320 kB" in why
        )

    @pytest.mark.parametrize(
        ("texts", "tokens"),
        [
            ([" ".join(f"word{chr(97 + n)}" for n in range(20))] * 3, TOKENS),
            (TEXTS, {**TOKENS, "stop_words": "german"}),
            (["das Wetter ist nicht so schön"] * 3, TOKENS),
            ((), TOKENS),
        ],
    )
    def test_others_have_none(self, texts, tokens):
        assert preparation.meaning_of(texts, tokens, False) == ({}, {}, "")

    def test_who_asks_has_them_if_the_encoder_can_be_loaded(self, monkeypatch, tmp_path):
        monkeypatch.setattr(preparation.encoder, "encoder_of", lambda name: name)
        options, features, why = preparation.meaning_of(self.TEXTS, self.TOKENS, True)
        assert (
            options == {"vectors": "wordllama"}
            and features == {"meaning": None}
            and "per checkpoint" in why
        )
        assert "a weight of 0.67 for about 2 distinct words" in why
        long = [" ".join(f"word{chr(97 + n)}{chr(97 + m)}" for n in range(24) for m in range(2))]
        assert (
            "a weight of 0.25 for about 48 distinct words"
            in preparation.meaning_of(long, self.TOKENS, True)[2]
        )
        monkeypatch.undo()
        monkeypatch.setitem(sys.modules, "tokenizers", None)
        (tmp_path / "a.csv").write_text("id,text\n1,the harvest is in\n2,the port of call\n")
        said = odl("init", tmp_path / "mine", tmp_path / "a.csv", "--meaning")
        assert (
            said.returncode == 1
            and "pip install 'online-dictionary-learning[meaning]'" in said.stderr
        )
        assert not (tmp_path / "mine").exists()
