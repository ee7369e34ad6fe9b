"""Excerpts of texts around the words of their reasons: bounded, of the place that tells most, words marked."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from odl import cli
from odl.alerts import excerpts, read, show
from odl.files import documents
from odl.report import page

WORDS = st.lists(st.sampled_from(["oil", "new_york", "Öl", "石油", "c++", "_", ""]), max_size=5)


@given(st.text(max_size=900), WORDS)
def test_an_excerpt_is_bounded(text, words):
    part = excerpts.excerpt(text, words)
    assert len(part.strip("…")) <= excerpts.LONGEST and len(part) <= excerpts.LONGEST + 2
    assert part.strip("…") in " ".join(text.split())
    assert excerpts.marked(text, words, lambda piece, _: piece) == text


@given(st.text("ab ", max_size=400), st.text("ab ", max_size=400))
def test_it_is_where_the_words_are(before, after):
    assert "the tanker" in excerpts.excerpt(f"{before} the tanker {after}", ["tanker"])


def test_it_begins_and_ends_with_whole_words():
    text = " ".join(["harbour"] * 100 + ["tanker"] + ["harbour"] * 100)
    part = excerpts.excerpt(text, ["tanker"])
    assert part[0] == part[-1] == "…" and {*part.strip("…").split()} == {"harbour", "tanker"}
    before, after = part.split("tanker")
    assert abs(len(before) - len(after)) <= 2 * len("harbour ")  # in the middle


def test_words_stand_where_they_are_counted():
    text = "New  York: the OIL of oilseeds; 中国石油公司"
    found = [text[first:last] for first, last in excerpts.marks(text, ["new_york", "oil", "石油"])]
    assert found == ["New  York", "OIL", "石油"]


def test_from_the_file_to_the_reader(tmp_path, capsys):
    """With a title of its own the text is shown, escaped and marked."""
    rows = []
    for week in range(5):
        for n in range(60):
            odd = week == 4 and n < 6
            text = " ".join(["launch <b>rocket</b> *orbit* capsule" if odd else f"wheat grain harvest crop{n % 5}"] * 3)
            rows.append(
                {"id": f"{week}-{n}", "time": f"2026-01-{1 + 7 * week:02d}" if week < 5 else "", "title": f"T{n}"}
            )
            rows[-1]["text"] = f"{'filler ' * 60 if odd else ''}{text} word{n}"
    for row in rows:
        if row["time"] == "2026-01-29":
            row["time"] = "2026-02-02"
    (tmp_path / "posts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cli.main(["init", str(tmp_path / "it"), str(tmp_path / "posts.jsonl"), "--period", "week"]) == 0
    said = (tmp_path / "it" / "odl.yaml").read_text()
    assert "keep_text: 2000" in said
    said = said.replace("gates: true", "gates: true, warm_up: 50")
    (tmp_path / "it" / "odl.yaml").write_text(said)
    assert cli.main(["run", str(tmp_path / "it")]) == 0
    watch = read.alerts_of(tmp_path / "it")
    alert = next(each for each in watch.periods[-1].alerts if "rocket" in each.text)
    assert alert.text.startswith("…") and len(alert.text) <= excerpts.LONGEST + 2
    page = (tmp_path / "it" / "new.html").read_text()
    assert "&lt;b&gt;<mark>rocket</mark>&lt;/b&gt;" in page and "<b>rocket</b> *orbit" not in page
    assert r"**rocket**\</b\>" in show.as_markdown(watch, watch.periods[-1:])
    text = show.as_text(watch, watch.periods[-1:])
    assert "<b>rocket</b> *orbit*" in text and "\x1b" not in text
    capsys.readouterr()
    assert cli.main(["explain", str(tmp_path / "it"), alert.id]) == 0
    assert "<b>rocket</b>" in capsys.readouterr().out
    (found,) = (tmp_path / "it" / "results").rglob("documents.h5")
    assert documents.read(found).texts[0].endswith(rows[0]["text"])


def test_without_the_option_nothing_is_kept(tmp_path):
    from odl import corpora

    (tmp_path / "a.jsonl").write_text(
        '{"text": "From: a@b.org\\nSubject: Late tankers\\nLines: 1\\n\\nSeven ships wait"}\n'
    )
    plain = corpora.read("documents", [tmp_path / "a.jsonl"], {"clean": ["headers"]})
    kept = corpora.read("documents", [tmp_path / "a.jsonl"], {"clean": ["headers"], "keep_text": 9})
    assert plain.texts == [] and kept.texts == ["Late tank"] and kept.titles == ["Late tankers"] != plain.titles
    assert (kept.digests() != plain.digests()).any() and kept.select([0]).texts == kept.texts


def test_phrases_are_those_of_the_text():
    """Words stand as the text spells them; a phrase has three words at most, a run of pairs as many as it takes."""
    text = "The iPhone of NASA, Köln: low earth orbit satellite launch. 気象衛星を打ち上げ"
    assert excerpts.phrases([text], ["iphone", "nasa", "köln"]) == [
        ("iPhone", ["iphone"]),
        ("NASA", ["nasa"]),
        ("Köln", ["köln"]),
    ]
    assert excerpts.phrases([text], ["orbit", "low", "earth"]) == [("low earth orbit", ["orbit", "low", "earth"])]
    longer = ["orbit", "low", "earth", "satellite"]
    assert excerpts.phrases([text], longer) == [
        ("earth orbit satellite", ["orbit", "earth", "satellite"]),
        ("low", ["low"]),
    ]
    pairs = ["気象", "象衛", "衛星", "打ち", "上げ"]
    assert excerpts.phrases([text], pairs) == [("気象衛星", pairs[:3]), ("打ち上げ", pairs[3:])]
    assert excerpts.phrases([""], ["oil", "absent"]) == [("oil", ["oil"]), ("absent", ["absent"])]


@given(st.text(max_size=300), WORDS)
def test_each_word_is_in_one_phrase(text, words):
    assert sorted(word for _, own in excerpts.phrases([text], words) for word in own) == sorted(words)


def test_points_and_signs_belong_to_their_letters():
    pointed = "السَّلَامُ عَلَيْكُمْ"
    assert excerpts.phrases([pointed], ["السلام", "عليكم"]) == [(pointed, ["السلام", "عليكم"])]
    assert excerpts.phrases(["हिन्दी में"], ["हिन्दी"]) == [("हिन्दी", ["हिन्दी"])]
    assert excerpts.marked(pointed, ["عليكم"], "{0}:{1} ".format) == "السَّلَامُ :False عَلَيْكُمْ:True :False "
    assert excerpts.phrases(["감기약 값이"], ["감기", "기약"]) == [("감기약", ["감기", "기약"])]
    spelled = ["Straße", "İzmir", "#Flood", "Example.com"]
    text = f"({spelled[0]}) «{spelled[1]}» {spelled[2]}! http://www.{spelled[3]}/a"
    words = ["strasse", "izmir", "#flood", "example.com"]
    assert excerpts.phrases([text], words) == [(one, [word]) for one, word in zip(spelled, words, strict=True)]


def test_what_is_written_from_right_to_left_stands_by_itself():
    """A name among English words is isolated in the terminal and on the page; nothing else is."""
    assert show.name_of(("duct tape", "القمر")) == "duct tape, \u2068القمر\u2069"
    assert page.apart("القمر") == "<bdi>القمر</bdi>" and page.apart("duct <tape>") == "duct &lt;tape&gt;"


def test_a_part_of_a_run_begins_with_a_letter():
    """A triple of Thai may begin with a mark of the letter before it."""
    assert excerpts.phrases(["ชาวบราซิลผู้นี้ได้ลง"], ["ู้น", "ลง"]) == [("ผู้นี้", ["ู้น"]), ("ลง", ["ลง"])]
    assert excerpts.places("ผู้นี้ผู้นี้", ["ู้น"]) == [(0, 6, "ู้น"), (6, 12, "ู้น")]


def test_a_run_without_spaces_is_whole_to_both_sides():
    """With each character that stands beside it in four of five places, and no further than is told."""
    texts = ["の気象衛星を打", "新気象衛星の", "気象衛星"]
    assert excerpts.phrases(texts, ["象衛"]) == [("気象衛星", ["象衛"])]
    assert excerpts.phrases([*texts, "対象衛生"], ["象衛"]) == [("象衛", ["象衛"])]  # three of four places
    assert excerpts.phrases([*texts, *texts, "対象衛星"], ["象衛"]) == [("気象衛星", ["象衛"])]  # six of seven


def test_a_run_ends_where_the_text_begins():
    texts = ["象衛星は星", "象衛星の星"]
    assert excerpts.phrases(texts, ["衛星"]) == [("象衛星", ["衛星"])]


def test_marks_that_overlap_are_one_wherever_they_stand():
    assert excerpts.marks("oil 気象衛星", ["oil", "気象", "象衛"]) == [(0, 3), (4, 7)]


NUMBERED = " ".join(f"w{number:03d}" for number in range(100))  # a word every five characters


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        (["w050"], 21, 79),
        (["w040", "w060"], 21, 79),
        (["w010", "w090"], 0, 59),  # of two that are too far apart the first
        (["w000"], 0, 59),
        (["w099"], 40, 99),
        (["w090", "w091", "w005"], 40, 99),  # most of the words
        (["absent"], 0, 59),
    ],
)
def test_an_excerpt_has_the_words_in_its_middle(words, first, last):
    part = " ".join(f"w{number:03d}" for number in range(first, last + 1))
    assert excerpts.excerpt(NUMBERED, words) == "…" * (first > 0) + part + "…" * (last < 99)


def test_an_excerpt_has_different_words_rather_than_one_often():
    text = f"{'oil ' * 9}{'x' * 290} oil gas {'x' * 200}"
    assert " oil gas " in excerpts.excerpt(text, ["oil", "gas"])
    assert excerpts.excerpt(text, ["oil"]).startswith("oil oil") and excerpts.excerpt("a  b", ["c"], 3) == "a b"


def test_an_excerpt_of_a_word_longer_than_it_has_all_characters():
    assert excerpts.excerpt("a" * 9, ["b"], 5) == "aaaaa…" and excerpts.excerpt("a" * 9, ["a" * 9], 5) == "aaaaa…"


def test_words_of_another_tokeniser_stand_in_runs_and_between_letters():
    assert excerpts.places("中国石油公司", ["国石油"]) == [(1, 4, "国石油")]
    assert excerpts.places("oilseeds, xoil", ["oil"]) == []
    assert excerpts.places("New York oil", ["oil", "new_york"]) == [(0, 8, "new_york"), (9, 12, "oil")]
    assert excerpts.places("the oil price of oil", ["oil", "oil_price", "_"])[-1] == (17, 20, "oil")


def test_marks_that_overlap_are_one_wherever_they_stand_among_several():
    assert excerpts.marks("oil and oil 気象衛星 oil", ["oil", "気象", "象衛", "衛星"]) == [
        (0, 3), (8, 11), (12, 16), (17, 20),
    ]  # fmt: skip
    assert excerpts.marks("気象衛星", ["気象", "衛星"]) == [(0, 2), (2, 4)]  # side by side
    assert excerpts.marked("an oil", ["oil"], "{0}|{1};".format) == "an |False;oil|True;|False;"


def period(texts, n):
    """A period of n texts, these and others that have none of their words."""
    texts = [*texts, *["other"] * (n - len(texts))]
    vocabulary = sorted({word for text in texts for word in text.split()})
    X = sparse.csr_array([[word in text.split() for word in vocabulary] for text in texts], dtype=int)
    return excerpts.Period.of(texts, X, vocabulary)


@pytest.mark.parametrize(
    ("together", "duct", "tape", "joined"),
    [(1, 0, 0, True), (1, 9, 0, False), (5, 0, 20, True), (2, 20, 20, False), (2, 1, 3, True), (1, 2, 3, False)],
)
def test_a_phrase_is_of_words_that_the_period_has_together(together, duct, tape, joined):
    """Whatever one text says: a word that others have often without the other one is by itself."""
    texts = ["duct tape"] * together + ["duct holds"] * duct + ["tape holds"] * tape
    parts = [part for part, _ in excerpts.phrases(["duct tape"], ["duct", "tape"], period=period(texts, 200))]
    assert parts == (["duct tape"] if joined else ["duct", "tape"])


def test_three_words_are_a_phrase_of_two_texts_and_need_a_link_at_each_place():
    words, text = ["low", "earth", "orbit"], "low earth orbit"
    told = [excerpts.phrases([text], words, period=period([text] * n, 100)) for n in (1, 2)]
    assert [part for part, _ in told[0]] == ["low", "earth orbit"]
    assert told[1] == [(text, words)]
    apart = period([text] * 2 + ["orbit of"] * 30, 100)
    assert [part for part, _ in excerpts.phrases([text], words, period=apart)] == ["low earth", "orbit"]


def test_a_light_word_neither_begins_nor_ends_a_phrase():
    weights = {"to": 0.2, "low": 1.0, "orbit": 1.0}
    assert [part for part, _ in excerpts.phrases(["to low orbit"], weights)] == ["to", "low orbit"]
    assert [part for part, _ in excerpts.phrases(["to low orbit"], weights | {"to": 0.25})] == ["to low orbit"]
    assert [part for part, _ in excerpts.phrases(["low to orbit"], weights)] == ["low to orbit"]


def test_a_run_is_cut_at_pieces_of_few_texts_which_go_to_what_is_beside_them():
    texts = ["卫星发射"] * 2 + ["卫星"] * 9 + ["发射"] * 9
    words = ["星发", "卫星", "发射"]
    assert excerpts.phrases(["卫星发射"], words) == [("卫星发射", words)]
    assert excerpts.phrases(texts, words) == [("卫星", ["星发", "卫星"]), ("发射", ["发射"])]


def test_no_part_of_a_name_repeats_another_one():
    texts = ["星ひま x", "のひま y", "がひま z", *["ひまから最初の画像"] * 2]
    words = [pair for at in range(8) if (pair := "ひまから最初の画像"[at : at + 2])]
    assert [part for part, _ in excerpts.phrases(texts, words, 2)] == ["ひまから最初の画像"]
    assert excerpts.phrases(["気象衛星と気象", "気象衛星"], ["気象", "象衛"]) == [("気象衛星", ["気象", "象衛"])]


def test_a_run_ends_after_24_characters_or_48_letters():
    letters = "天地人山水火木金土日月星雨雪风云花草树鸟鱼马牛羊门窗"
    ((whole, _),) = excerpts.phrases([f"a {letters} b"] * 3, ["火木"])
    assert len(whole) == 24 and whole in letters and "火木" in whole
    thai = "มหาวิทยาลัยเทคโนโลยีพระจอมเกล้า"
    assert excerpts.phrases([f"ที่ {thai} ใน"] * 3, ["หาว"]) == [(thai, ["หาว"])] and len(thai) > 24


def test_a_vowel_before_its_letter_goes_with_it():
    assert excerpts.places("ของเชิงไทย", ["ชิง"]) == [(3, 7, "ชิง")] and excerpts.places("กินไก่", ["ินไ"]) == [(0, 3, "ินไ")]


def test_a_thai_run_begins_with_a_syllable():
    assert excerpts.places("การจัด", ["ารจ"]) == [(0, 5, "ารจ")] and excerpts.places("หาคำ", ["าคำ"]) == [(0, 4, "าคำ")]
    assert excerpts.places("ซอร์อยู่", ["ร์อ"]) == [(1, 5, "ร์อ")]


def test_particles_are_no_part_of_a_japanese_phrase():
    told = excerpts.phrases(["の旅行 な観光は お茶"], ["の旅", "旅行", "な観", "観光", "光は", "お茶"])
    assert told == [("旅行", ["の旅", "旅行"]), ("観光", ["な観", "観光", "光は"]), ("お茶", ["お茶"])]
    assert excerpts.phrases(["それは"], ["それ", "れは"]) == [("それは", ["それ", "れは"])]


def test_a_name_has_no_part_of_grammar_beside_another_one():
    words = {"する": 2.0, "るこ": 2.0, "旅行": 1.0}
    assert excerpts.name_of(words, ["旅行 すること"] * 2, 3) == ("旅行",)
    assert excerpts.name_of({"りん": 1.0, "んご": 1.0}, ["りんご x", "りんご y"], 3) == ("りんご",)


def test_a_phrase_of_one_script_does_not_go_across_a_space():
    assert [part for part, _ in excerpts.phrases(["السكان 火山灰"], ["السكان", "火山"])] == ["السكان", "火山"]


def test_no_phrase_has_half_of_a_word():
    told = excerpts.phrases(["The agency hasn't, it HASN’T"], ["agency", "hasn"])
    assert told == [("agency hasn't", ["agency", "hasn"])]
    assert excerpts.phrases(["aujourd'hui"], ["aujourd", "hui"]) == [("aujourd'hui", ["aujourd", "hui"])]
    assert excerpts.marks("Kennedy's", ["kennedy"]) == [(0, 7)]


def test_a_name_has_words_up_to_the_limit_by_their_weight():
    weights = {"a": 1.0, "b": 3.0, "c": 2.0, "d": 0.5}
    assert excerpts.name_of(weights, [], 3) == ("b", "c", "a") and excerpts.name_of(weights, [], 9)[-1] == "d"
    assert excerpts.name_of({"duct": 1.0, "tape": 1.5, "nasa": 2.0}, ["duct tape, nasa"] * 2, 3) == (
        "duct tape",
        "nasa",
    )
