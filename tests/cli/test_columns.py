"""Column roles: by names, by values, and as a person says."""

import pytest

from odl.cli.columns import Column, choose, date_form
from odl.errors import ConfigError


def column(name, *values):
    found = Column(name)
    for value in values:
        found.add(value)
    return found


@pytest.mark.parametrize(
    ("name", "values", "chosen"),
    [
        ("author", ["ada", "bo", "ada", "cy"], True),
        ("user", [{"screen_name": "ada", "id": 1}, {"screen_name": "bo", "id": 2}] * 2, True),
        ("from", ["Ada <ada@x.org>", "bo@x.org"] * 2, True),
        ("from", ["Berlin", "Oslo"] * 2, False),
        ("author", ["a", "b", "c", "d"], False),  # an id
        ("author", ["one"] * 4, False),
        (
            "creator",
            ["a tool that writes long sentences"] * 2 + ["another one of these long sentences"] * 2,
            False,
        ),
        ("user_timezone", ["Quito", "Bern"] * 2, False),
    ],
)
def test_authors_are_told_by_name_and_values(name, values, chosen):
    texts = column("text", *["a long story of many words"] * 4)
    found = roles(4, texts, column(name, *values))
    assert (found.get("author") == name) == chosen


def roles(n_rows, *columns, **given):
    chosen = choose({one.name: one for one in columns}, n_rows, given)
    return {role: one.name for role, (one, _) in chosen.items() if one}


class TestColumns:
    def test_by_name_and_content(self):
        texts = ["a long story of many words", "another story of many words"]
        found = roles(
            2,
            column("ticketId", 7, 8),
            column("created_at", "2026-01-03", "2026-01-04"),
            column("updated_at", "2026-02-03", "2026-02-04"),
            column("Message", *texts),
            column("Subject", "one", "two"),
            column("permalink", "https://x.org/1", "https://x.org/2"),
            column("score", 2025, 2026),
        )
        assert found == {
            "id": "ticketId",
            "time": "created_at",
            "text": "Message",
            "title": "Subject",
            "url": "permalink",
        }

    def test_a_column_is_not_what_its_name_alone_says(self):
        found = roles(
            3,
            column("id", "a", "a", "b"),
            column("link", "x y", "y z", "z x"),
            column("text", "p q", "r s", "t u"),
        )
        assert found == {"text": "text"}  # ids repeat, links are none
        assert "time" not in roles(2, column("count", 2025, 2026), column("text", "p q", "r s"))
        assert (
            roles(2, column("wann", "2026-01-03", "2026-01-04"), column("body", "p q", "r s"))[
                "time"
            ]
            == "wann"
        )

    def test_a_column_with_a_word_of_its_own_in_each_row_is_the_id(self):
        columns = (
            column("post", "p-1", "p-2"),
            column("size", "11", "12"),
            column("body", "p q r", "r s t"),
        )
        assert roles(2, *columns)["id"] == "post"
        assert "id" not in roles(2, *columns[1:])

    def test_words_are_counted_where_there_are_spaces(self):
        found = column("text", "今天天气很好", "明天有雨")
        assert choose({"text": found}, 2, {})["text"] == (found, "contains text without spaces")
        assert choose({"text": column("text", "p q r")}, 1, {})["text"][1] == "about 3 words each"

    def test_a_summary_beside_a_text_is_its_title(self):
        summary, text = (
            column("Summary", "disk full", "disk full"),
            column("Description", "the disk is full", "it is so"),
        )
        assert roles(2, summary, text) == {"text": "Description", "title": "Summary"}
        assert roles(2, summary) == {"text": "Summary"}

    def test_an_object_is_no_text(self):
        inside = column("fields", {"body": "rain and floods in the whole valley"}, {"n": 4})
        text = column("text", "rain and floods in the valley", "snow on the hills above the valley")
        assert roles(2, text, inside)["text"] == "text"
        with pytest.raises(ConfigError, match="--text names 'fields', which contains"):
            roles(2, text, inside, text="fields")

    def test_names_in_other_scripts(self):
        texts = ["a long story of many words", "another story of many words"]
        for number, title in (
            ("Номер", "제목"),
            ("番号", "件名"),
            (" الرقم", "标题"),
            ("Mã", "Subject"),
            ("मूल", "หัวข้อ"),
        ):
            found = roles(2, column(number, 7, 8), column("x", *texts), column(title, "one", "two"))
            assert found == {"text": "x", "title": title} | (
                {"id": number} if number != "मूल" else {}
            )

    def test_an_example_is_spelled_as_it_is_read(self):
        assert (
            Column("x", ["\u202b\u200fמה ש\u00adלום\u202c, it's"]).example()
            == "'\u200fמה שלום, it's'"
        )

    def test_a_few_values_of_another_kind_make_no_other_column(self):
        """As a journal has them, where a message with colours is a list of bytes."""
        found = column("text", *99 * ["a message of words"], [27, 91])
        assert choose({"text": found}, 100, {})["text"] == (found, "about 4 words each")

    def test_a_title_is_told_by_what_a_column_holds(self):
        long = "a much longer text with many more words than its title has, {}".format
        texts = column("लेख", *map(long, range(20)))
        title = column("शीर्षक", *(f"बाढ़ के बाद {n}" for n in range(20)))
        assert roles(20, texts, title) == {"text": "लेख", "title": "शीर्षक"}
        assert (
            roles(20, texts, column("題名", *(f"洪水が来た{n}" for n in range(20))))["title"]
            == "題名"
        )
        others = (
            column("a", *["the same short line"] * 20),
            column("b", *(f"Jane Doe{n}" for n in range(20))),
            column("c", *(f"two\nlines of {n}" for n in range(20))),
            column(
                "d",
                *(
                    f"nearly as long a text with many other words, but no title, {n}"
                    for n in range(20)
                ),
            ),
            column("e", *(f"a line {n}" for n in range(10))),
        )
        assert all("title" not in roles(20, texts, other) for other in others)
        assert "title" not in roles(
            20, texts, title, column("f", *(f"another line of {n}" for n in range(20)))
        )

    def test_what_a_person_says_comes_first(self):
        columns = (
            column("a", "x y z w", "z x y w"),
            column("text", "p", "r"),
            column("time", "2026", "2027"),
        )
        assert roles(2, *columns, text="text", time="") == {"text": "text"}
        with pytest.raises(
            ConfigError, match="--text names 'b'; expected one of the columns a, text, time"
        ):
            roles(2, *columns, text="b")

    @pytest.mark.parametrize("values", [("2026-01-03", "soon"), ("2026-01-03", "")])
    def test_times_of_some_rows_only_are_not_dropped_silently(self, values):
        with pytest.raises(ConfigError, match="expected dates in all rows"):
            roles(2, column("time", *values), column("text", "p q", "r s"))

    def test_a_column_of_times_that_few_rows_have_is_passed_over(self):
        texts = column("text", *(f"it rains again in week {n}" for n in range(20)))
        times = column("ts", *(1767571200.5 + n for n in range(20)))
        other, topics = column("created", 1767571200), column("topic", {"value": "x"})
        chosen = choose({one.name: one for one in (other, topics, texts, times)}, 21, {})
        assert chosen["time"][0].name == "ts" and chosen["topics"][0] is None

    def test_a_column_of_times_that_holds_none_is_named(self):
        spoken = {"time": column("time", "05.01.26 um 9"), "text": column("text", "p q")}
        todo = "--time-format sets their format"
        reason = f"no column contains dates ('time' contains '05.01.26 um 9'; {todo}); the order is that of the files"
        assert choose(spoken, 1, {})["time"] == (None, reason)
        assert choose(spoken, 1, {}, ("%d.%m.%y um %H",))["time"] == (
            spoken["time"],
            "contains dates",
        )
        assert roles(1, column("ts", 1767254400), column("text", "p q")) == {
            "time": "ts",
            "text": "text",
        }

    def test_a_table_without_a_line_of_names_is_refused(self):
        with pytest.raises(ConfigError, match="add a first line with the names of the columns"):
            roles(
                1,
                column("T-0", "T-1"),
                column("2026-01-01T08:00", "2026-01-01T10:00"),
                column("p q", "r s"),
            )

    @pytest.mark.parametrize(
        ("values", "form"),
        [
            (["03/14/2026", "03/04/2026"], "month-first"),
            (["14/03/2026"], "day-first"),
            (["03.04.2026"], "day-first"),
            (["2026-03-04"], None),
            ([1767225600], None),
        ],
    )
    def test_form_of_dates(self, values, form):
        assert date_form(column("time", *values))[0] == form

    @pytest.mark.parametrize("values", [["03/04/2026"], ["14/03/2026", "03/14/2026"]])
    def test_dates_of_two_readings_are_asked_for(self, values):
        with pytest.raises(ConfigError, match="type --dates day-first or --dates month-first"):
            date_form(column("time", *values))
        assert date_form(column("time", *values), "day-first")[0] == "day-first"
