"""What `odl init` finds that texts need: cleaners, titles among the words, topics; and what a run says it took out."""

import json

import numpy as np
import pytest
from test_boilerplate import FOOTER, own

from odl import corpora
from odl.corpora import feeds
from odl.errors import ConfigError, DataError
from odl.files import documents as docs
from odl.files import storage
from odl.project.look import look
from odl.stream import losses


def jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def posts(text, n=100):
    return [{"id": f"p-{number}", "text": text(number)} for number in range(n)]


def cleaners(path, text, n=100):
    found = look([jsonl(path, posts(text, n))], {})
    return found.options.get("clean", []), dict(found.said).get("clean", "")


class TestCleaners:
    def test_each_is_on_where_it_takes_something_out(self, tmp_path):
        def mail(number):
            quoted = f"> it was {own(number, 4)}\n" if number < 50 else ""
            return f"From: a@b.org\nSubject: post {number}\n\n{quoted}{own(number)}\n-- \nSome Body\n"

        found, said = cleaners(tmp_path / "a.jsonl", mail)
        assert found == ["headers", "quotes", "signatures"]
        assert said.startswith("left out: headers (in 100.0% of the documents), quotes (in 50.0% of the documents)")

    def test_what_only_looks_encoded_needs_no_cleaner(self, tmp_path):
        address = "https://example.org/archive/2026/january/the-weather-of-the-week-in-pictures.html"
        assert cleaners(tmp_path / "a.jsonl", lambda n: f"{own(n)}\n{address}/{own(n, 1)}\n") == ([], "")
        block = "\n".join("M" + "5&AE('%U:6-K(&)R;W=N(&9O>\"!J=6UP<R!O=F5R('1H92!L87IY(&1O9RX@5"[:60] for _ in range(5))
        found, said = cleaners(tmp_path / "b.jsonl", lambda n: own(n) + (f"\n{block}\n" if n < 3 else ""))
        assert found == ["encoded"] and "(in 3.0% of the documents)" in said

    def test_one_text_of_many_needs_no_cleaner(self, tmp_path):
        assert cleaners(tmp_path / "a.jsonl", lambda n: own(n) + ("\n-- \nSome Body" if n == 5 else ""))[0] == []

    def test_boilerplate_and_what_else_goes_first(self, tmp_path):
        assert cleaners(tmp_path / "a.jsonl", lambda n: f"Title\n{own(n)}\n{FOOTER}")[0] == ["boilerplate"]
        assert cleaners(tmp_path / "b.jsonl", lambda n: f"Title\n{own(n)}\n-- \n{FOOTER}")[0] == ["signatures"]
        assert cleaners(tmp_path / "c.jsonl", lambda n: f"Title\n{own(n)}\n" + (FOOTER if n < 4 else ""))[0] == []


class TestTitles:
    def rows(self, text):
        return [{"id": f"p-{n}", "subject": f"headline{chr(97 + n % 20)}", "body": text(n)} for n in range(40)]

    def test_titles_that_texts_do_not_hold_count_as_words(self, tmp_path):
        source = jsonl(tmp_path / "a.jsonl", self.rows(lambda n: own(n)))
        found = look([source], {})
        assert found.options["columns"] == {"text": ["subject", "body"], "title": "subject"}
        assert "100% of the texts do not hold" in dict(found.said)["text"]
        read = corpora.read("documents", [source], found.options)
        assert "headlineb" in read.vocabulary and read.titles[1] == "headlineb"

    def test_titles_that_texts_hold_or_a_column_that_is_named_change_nothing(self, tmp_path):
        source = jsonl(tmp_path / "a.jsonl", self.rows(lambda n: f"Headline{chr(97 + n % 20)} and {own(n)}"))
        assert look([source], {}).options["columns"]["text"] == "body"
        source = jsonl(tmp_path / "a.jsonl", self.rows(lambda n: own(n)))
        assert look([source], {"text": "body"}).options["columns"]["text"] == "body"

    def test_a_list_of_columns(self, tmp_path):
        source = jsonl(tmp_path / "a.jsonl", [{"a": "storm", "b": "harbour"}, {"a": "", "b": "harbour"}])
        read = corpora.read("documents", [source], {"columns": {"text": ["a", "b"]}})
        assert read.vocabulary == ["harbour", "storm"] and read.counts.toarray().tolist() == [[1, 1], [1, 0]]
        for wrong in ([], ["a", 3], {"a": 1}):
            with pytest.raises(ConfigError, match=r"columns\.text is"):
                corpora.read("documents", [source], {"columns": {"text": wrong}})
        source = jsonl(tmp_path / "a.jsonl", [{"a": "storm"}])
        with pytest.raises(DataError, match="a column 'c'"):
            corpora.read("documents", [source], {"columns": {"text": ["a", "c"]}})
        with pytest.raises(ConfigError, match=r"columns\.title is"):
            corpora.read("documents", [source], {"columns": {"title": ["a"]}})
        source = jsonl(tmp_path / "a.jsonl", [{"a": "one two", "b": 5}])
        with pytest.raises(DataError, match="the text is a int, not a string"):
            corpora.read("documents", [source], {"columns": {"text": ["a", "b"]}})


class TestTopics:
    def feed(self, path, category):
        items = [
            f"<item><title>storm {n}</title><guid>g{n}</guid>{category(n)}"
            f"<pubDate>0{1 + n // 10} Jan 2026 10:00 GMT</pubDate></item>"
            for n in range(60)
        ]
        path.write_text(f"<rss xmlns:dc='http://purl.org/dc/elements/1.1/'><channel>{''.join(items)}</channel></rss>")
        return str(path)

    def test_categories_of_feeds(self, tmp_path):
        source = self.feed(
            tmp_path / "a.xml", lambda n: f"<category>Sea &amp; air</category><dc:subject>s{n % 3}</dc:subject>"
        )
        found = look([source], {})
        assert found.options["columns"] == {"topics": "category"} and "4 different" in dict(found.said)["topics"]
        assert corpora.read("documents", [source], found.options).topics[4] == ("Sea & air", "s1")
        assert corpora.read("documents", [source], {}).topics[4] == ()
        assert "columns" not in look([source], {"topics": ""}).options

    def test_too_many_are_none_unless_asked_for(self, tmp_path):
        source = self.feed(tmp_path / "a.xml", lambda n: f"<category>tag {n}</category>")
        assert "columns" not in (found := look([source], {})).options and "too many" in dict(found.said)["topics"]
        assert look([source], {"topics": "category"}).options["columns"] == {"topics": "category"}
        with pytest.raises(ConfigError, match="--topics names 'tag'; expected 'category' or nothing"):
            look([source], {"topics": "tag"})

    def test_categories_of_atom(self, tmp_path):
        (tmp_path / "a.atom").write_text(
            '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><category term="a b" label="A B"/>'
            '<category term="c"/><title>storm</title></entry><entry><id>2</id><title>calm</title></entry></feed>'
        )
        with open(tmp_path / "a.atom", "rb") as file:
            found = [row.get("category") for _, row in feeds.rows(file, "a.atom")]
        assert found == [["A B", "c"], None]

    def test_other_columns_that_may_be_topics_are_named(self, tmp_path):
        rows = [{"text": own(n), "section": n % 3, "category": f"c{n % 4}", "key": n} for n in range(40)]
        said = dict(look([jsonl(tmp_path / "a.jsonl", rows)], {}).said)["topics"]
        assert said.startswith("column 'category', 4 different, rather than 'section' (--topics)")


def test_what_a_run_took_out_is_one_line(tmp_path):
    rows = [{"id": f"p-{n}", "text": f"{own(n)}\n-- \nSome Body"} for n in range(5)] + [{"id": "short", "text": "a"}]
    options = {"clean": ["headers", "signatures"], "min_words": 5, "tokens": {"stop_words": None}}
    docs.write(tmp_path / "documents.h5", corpora.read("documents", [jsonl(tmp_path / "a.jsonl", rows)], options))
    said = "cleaned 5 documents: signatures of 5 (70 characters)"
    places = tmp_path / "documents.h5", tmp_path / "seed0" / "features"
    assert losses.sentence(*places) == f"{said}; 1 more were too short and are left out"
    (tmp_path / "seed0" / "features").mkdir(parents=True)
    for t in (0, 1):
        with storage.writing(tmp_path / "seed0" / "features" / f"{t}.h5", "features", t=t) as file:
            storage.write_array(file.create_group("boilerplate"), "taken", np.array([0, 1200], dtype=np.int32))
    assert losses.sentence(*places).startswith(f"{said}, boilerplate of 2 (2,400 characters); ")
    assert losses.sentence(tmp_path / "absent", tmp_path) == ""
