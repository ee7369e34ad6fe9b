"""Streams made in many scripts: the topic that enters has the alerts, with its words as reasons and name."""

import json
import random
import re
import unicodedata
from datetime import datetime, timedelta

import pandas as pd
import pytest
import recipes

from odl import TextNovelty
from odl.alerts import breakdown, read
from odl.cli import main
from odl.stream import features as features_of
from odl.text.tokens import analyser

# Of each: words of two topics that are there from the start, of one that enters, and what stands
# between words; "_" is within a phrase.
STREAMS = {
    "Chinese": (
        "小麦 收成 农民 谷物 玉米 出口 种子 土壤 田野",
        "原油 炼油厂 管道 油轮 钻井 柴油 燃料 港口 价格",
        "卫星 火箭 轨道 发射 月球 宇航员 探测器 着陆 彗星",
        "",
    ),
    "Japanese": (
        "小麦の収穫 農家は 穀物を 輸出する 種をまく 土壌の トラクターが とうもろこし",
        "原油の価格 タンカーが 製油所を パイプライン 掘削する 燃料の 港に ディーゼル",
        "衛星を ロケットが 軌道に 打ち上げる 月面の 宇宙飛行士 探査機は 彗星の",
        "",
    ),
    "Thai": (
        "ข้าวสาลี เกษตรกร เก็บเกี่ยว เมล็ดพันธุ์ ส่งออก ไร่นา ข้าวโพด",
        "น้ำมันดิบ โรงกลั่น ท่อส่ง เรือบรรทุก ขุดเจาะ เชื้อเพลิง ราคา",
        "ดาวเทียม จรวด วงโคจร ปล่อย นักบินอวกาศ ดวงจันทร์ ยานสำรวจ",
        "",
    ),
    "Hindi": (
        "गेहूँ फसल किसान अनाज मक्का निर्यात बीज मिट्टी खेत",
        "कच्चा तेल रिफाइनरी पाइपलाइन टैंकर डीज़ल ईंधन बंदरगाह कीमत",
        "उपग्रह रॉकेट कक्षा प्रक्षेपण चंद्रमा अंतरिक्ष_यात्री धूमकेतु यान",
        " ",
    ),
    "Arabic": (
        "القمح الحصاد المزارعون الحبوب الذرة التصدير البذور التربة",
        "النفط المصفاة الأنابيب الناقلة الحفر الوقود الميناء السعر",
        "القمر_الصناعي الصاروخ المدار الإطلاق الفضاء المسبار المذنب الرائد",
        " ",
    ),
    "Arabic with points": (
        "القَمْحُ الحَصَادُ المُزَارِعُونَ الحُبُوبُ الذُّرَةُ التَّصْدِيرُ البُذُورُ",
        "النِّفْطُ المِصْفَاةُ الأَنَابِيبُ النَّاقِلَةُ الحَفْرُ الوَقُودُ المِينَاءُ",
        "القَمَرُ_الصِّنَاعِيُّ الصَّارُوخُ المَدَارُ الإِطْلَاقُ الفَضَاءُ المِسْبَارُ المُذَنَّبُ",
        " ",
    ),
    "Russian": (
        "пшеница урожай фермер зерно кукуруза экспорт семена почва поле",
        "нефть завод трубопровод танкер бурение топливо порт цена баррель",
        "спутник ракета орбита запуск Луна космический_корабль зонд комета экипаж",
        " ",
    ),
    "Greek": (
        "ΣΙΤΆΡΙ συγκομιδή αγρότης σιτηρά καλαμπόκι εξαγωγή σπόρος έδαφος",
        "πετρέλαιο διυλιστήριο αγωγός δεξαμενόπλοιο γεώτρηση καύσιμα λιμάνι τιμή",
        "δορυφόρος πύραυλος τροχιά εκτόξευση σελήνη Διαστημικός_Σταθμός διαστημόπλοιο κομήτης",
        " ",
    ),
    "Korean": (
        "밀을 수확이 농부가 곡물을 옥수수 수출을 종자가 토양의",
        "원유를 정유소가 송유관을 유조선이 시추를 연료가 항구에 가격이",
        "위성을 로켓이 궤도에 발사를 달에 국제_정거장은 탐사선을 혜성이",
        " ",
    ),
    "Turkish": (
        "BUĞDAY hasat ÇİFTÇİ tahıl mısır ihracat tohum toprak tarla",
        "petrol RAFİNERİ boru tanker sondaj yakıt liman fiyat varil",
        "UYDU roket yörünge FIRLATIŞ ay UZAY_İSTASYONU kuyruklu kapsül görev",
        " ",
    ),
    "German in NFD": (
        "Getreide Müller Äcker Ernte Körner Mähdrescher Dünger Böden",
        "Rohöl Förderung Tanker Röhren Häfen Preise Bohrtürme Öltank",
        "Raumfähre Höhenrakete Umlaufbahn Geglückte_Rückkehr Mondlandung Lücke Kapselöffnung Düsen",
        " ",
    ),
    "mixed": (
        "wheat 小麦 harvest пшеница урожай grain 谷物 القمح",
        "crude 原油 refinery нефть завод pipeline 管道 النفط",
        "satellite 衛星 rocket_booster ракета спутник orbit 軌道 الصاروخ",
        " ",
    ),
    "tickets": (
        "VPN login fails KB5034441 laptop token expired reset",
        "printer paper jam tray HP-4250 driver spooler queue",
        "log4j CVE-2021-44228 exploit 0x80070057 patch_server scanner H5N1",
        " ",
    ),
    "log lines": (
        "INFO pool connection opened db-17 query rows committed",
        "INFO cache hit evicted redis-3 shard rebalance keys",
        "ERROR oom-killer killed worker node-9 cgroup_memory swap panic",
        " ",
    ),
}
WEEKS, A_WEEK, LENGTH = 5, 60, 14


def posts(name):
    """Yield the posts of a stream, week by week; every third one of the last week is of the topic that enters."""
    *topics, between = STREAMS[name]
    for week in range(WEEKS):
        for number in range(A_WEEK):
            draw = random.Random(1000 * week + number)
            own = topics[number % (3 if week == WEEKS - 1 else 2)].split()
            text = between.join(draw.choice(own) for _ in range(LENGTH)).replace("_", " ")
            moment = datetime(2026, 1, 5) + timedelta(days=7 * week, hours=2 * number)
            if name == "log lines":
                stamp, took, trace = moment.isoformat(), draw.randrange(90), draw.getrandbits(64)
                text = f"{stamp} {text} took={took}ms trace={trace:016x}"
            if name == "German in NFD":
                text = unicodedata.normalize("NFD", text)
            yield {
                "id": f"{week}-{number}",
                "time": moment.isoformat(),
                "text": text,
                "new": number % 3 == 2,
            }


PIECES = "features: {max_share: 0.5, pieces: 0.6%s}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "features", "segment"),
    [(name, "", None) for name in STREAMS]
    + [(name, PIECES % "", None) for name in ("Russian", "Chinese", "Turkish")]
    + [("Greek", PIECES % ", max_terms: 20", None)]
    + [("Chinese", "", "jieba"), ("Japanese", "", "janome"), ("Thai", "", "pythainlp")],
)
def test_the_topic_that_enters_is_found(name, features, segment, tmp_path, monkeypatch, capsys):
    if segment:
        pytest.importorskip(segment)
    rows = list(posts(name))
    path = tmp_path / "posts.jsonl"
    path.write_text(
        "".join(json.dumps({**row, "new": None}, ensure_ascii=False) + "\n" for row in rows),
        "utf-8",
    )
    assert main(["init", str(tmp_path / "news"), str(path), "--period", "week"]) == 0
    configuration = tmp_path / "news" / "odl.yaml"
    lines = configuration.read_text(encoding="utf-8").splitlines(keepends=True)
    own = ("alerts:", "features:") if features else "alerts:"
    kept = "".join(line for line in lines if not line.startswith(own)) + features
    alerts = "alerts: {gates: true, warm_up: 50, budget: 5, unseen: 3}"
    if segment:
        kept = kept.replace("tokeniser: words", f"tokeniser: words, segment: {segment}")
        assert segment in kept
    configuration.write_text(f"{kept}{alerts}\n", encoding="utf-8")
    assert main(["run", str(tmp_path / "news")]) == 0, capsys.readouterr().err
    monkeypatch.chdir(tmp_path / "news")
    watch = read.alerts_of(".", lone=False)
    told = [one for period in watch.periods for one in period.headlines]
    last = watch.periods[-1]
    ids = features_of.read(f"{watch.place.features}/{last.t}.h5").ids
    entering = {row["id"] for row in rows if row["new"] and row["id"].startswith(f"{WEEKS - 1}-")}
    assert told and len(told) == len(last.headlines), told  # no other period speaks
    assert {ids[row] for one in told for row in one.rows} <= entering and max(
        one.size for one in told
    ) > 10
    assert {one.event for one in told} == {told[0].event}
    hangul = "pairs" if name == "Korean" else "words"
    tokens = analyser(
        {"tokeniser": "words", "stop_words": None, "hangul": hangul, "segment": segment}
    )
    texts = [unicodedata.normalize("NFC", row["text"]) for row in rows]
    words = [set(map(str.casefold, tokens(row["text"]))) for row in rows]
    known = set().union(
        *(own for own, row in zip(words, rows, strict=True) if row["id"] not in entering)
    )
    own = set().union(*words) - known
    documents = [last.documents_of[row] for one in told for row in one.examples]
    assert documents
    for each in documents:
        assert each.reasons and each.reasons[0].word.casefold() in own, each.reasons
        text = unicodedata.normalize("NFC", each.text)
        assert all(phrase in text for phrase, _ in breakdown.phrases(each)), breakdown.line(
            each
        )  # as it spells them
    for one in told:
        assert one.name and all(any(part in text for text in texts) for part in one.name)
    reasons = {phrase for each in documents for phrase, _ in breakdown.phrases(each)}
    phrases = {*told[0].name, *(one.phrase for one in last.unseen)}
    assert len(phrases) > 3 and last.unseen
    made = [
        unicodedata.normalize("NFC", word.replace("_", " "))
        for word in STREAMS[name][2].split()
        if "_" in word
    ]
    for one in made:
        inside = {
            phrase for phrase in reasons | phrases if not {*one.split()}.isdisjoint(phrase.split())
        }
        assert inside == {one}, inside  # neither a part of it nor more
    for phrase in phrases | reasons:
        if STREAMS[name][-1]:
            assert {word.casefold() for word in tokens(phrase)} <= own, phrase
        else:  # whole words of the topic, not pairs of characters
            words = re.sub(
                r"([をがはにの])(?= |$)", r"\1?", STREAMS[name][2]
            ).split()  # particles may be left out
            assert re.fullmatch(f"({'|'.join(words)})+", phrase), phrase


FUNCTION_WORDS = {  # of ten languages, one of which has no list
    "english": "the of and is in that was with", "german": "der die und ist das nicht auf mit",
    "french": "le la et est dans les pas avec", "spanish": "el los y es que por con una",
    "italian": "il che della non per gli sono anche", "portuguese": "os não uma do da em mais foi",
    "dutch": "het een van niet zijn met dat ook", "swedish": "och att det som en inte för på",
    "russian": "что как это был они его для она", "chinese": "的 是 不 了 在 有 我 他",
}  # fmt: skip


def page(language, week, number):
    """Return a post in a language: names that all share, of one of three topics, between its function words."""
    draw = random.Random(f"{language} {week} {number}")
    enters = week == WEEKS - 1 and number % 3 == 0
    names = ("Apollo Rocket Orbit Luna", "Brent Tanker Opec Barrel", "Weizen Silo Mais Traktor")[
        0 if enters else 1 + number % 2
    ]
    words = draw.choices(names.split(), k=6) + draw.choices(FUNCTION_WORDS[language].split(), k=9)
    draw.shuffle(words)
    return " ".join(words)


@pytest.mark.slow
def test_a_page_in_ten_languages(tmp_path, capsys):
    """Each loses its own stop words; the topic that enters in all of them alerts; a language that goes is said."""
    moment = datetime(2026, 1, 5)
    rows = [
        {"id": f"{language}-{week}-{number}", "time": (moment + timedelta(days=7 * week, hours=number)).isoformat(),
         "text": page(language, week, number)}
        for week in range(WEEKS) for number in range(12) for language in FUNCTION_WORDS
        if not (week == WEEKS - 1 and language in ("german", "swedish"))
    ]  # fmt: skip
    path = tmp_path / "posts.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    assert main(["init", str(tmp_path / "it"), str(path), "--period", "week"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert all(f"{language.capitalize()} (" in said for language in list(FUNCTION_WORDS)[:9])
    configuration = tmp_path / "it" / "odl.yaml"
    lines = configuration.read_text(encoding="utf-8").splitlines(keepends=True)
    assert "features: {languages: true, max_share: 0.5}\n" in lines
    kept = "".join(line for line in lines if not line.startswith("alerts:"))
    configuration.write_text(
        f"{kept}alerts: {{gates: true, warm_up: 50, budget: 5}}\n", encoding="utf-8"
    )
    assert main(["run", str(tmp_path / "it")]) == 0, capsys.readouterr().err
    watch = read.alerts_of(tmp_path / "it")
    told = watch.periods[1].languages
    assert told.keys() - {""} == {*list(FUNCTION_WORDS)[:9], "Han or kana"}
    assert all(abs(n - 12) <= 2 for name, n in told.items() if name), told
    told = [(period, one) for period in watch.periods for one in period.headlines]
    documents = [period.documents_of[row] for period, one in told for row in one.examples]
    ids = features_of.read(f"{watch.place.features}/{watch.periods[-1].t}.h5").ids
    assert {period.t for period, _ in told} == {watch.periods[-1].t}
    languages = {ids[row].split("-")[0] for _, one in told for row in one.rows}
    assert languages == FUNCTION_WORDS.keys() - {"german", "swedish"}
    reasons = {phrase for each in documents for phrase, _ in breakdown.phrases(each)}
    assert reasons and {word for phrase in reasons for word in phrase.split()} <= {
        "Apollo",
        "Rocket",
        "Orbit",
        "Luna",
    }
    text = (tmp_path / "it" / "new.html").read_text(encoding="utf-8")
    assert "Languages of the documents of the latest period" in text


@pytest.mark.parametrize("name", recipes.MADE)
def test_a_recipe_makes_the_same_stream_again(name):
    rows = list(recipes.made(name, 600, 3))
    assert rows == list(recipes.made(name, 600, 3)) and len({ident for ident, _, _ in rows}) == 600
    calm = [text for _, _, text in recipes.made(name, 600, 3, quiet=True)]
    differ = [row for row, other in zip(rows, calm, strict=True) if row[2] != other]
    assert differ and differ[0][1] - rows[0][1] >= timedelta(
        weeks=recipes.WEEKS - 3
    )  # nothing enters before


@pytest.mark.parametrize("name", ["tickets", "logs", "arabic"])
def test_odl_init_takes_the_files_of_a_recipe(name, tmp_path, capsys):
    recipes.write(tmp_path, name, recipes.made(name, 240, 0))
    assert main(["init", str(tmp_path / "own"), f"{tmp_path}/{name}/*", "--period", "week"]) == 0
    assert "240 documents, 2026-01-05 to 2026-03-29" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_an_incident_that_tickets_mention_beside_other_things_is_one_event(seed):
    """Its words bring the tickets together, in both weeks; nothing else is an alert."""
    frame = pd.DataFrame(recipes.made("tickets", 3000, seed), columns=["id", "time", "text"])
    stream = TextNovelty(period="week", initial=750)
    told = stream.update(frame)
    incident = frame["text"].str.count("|".join(recipes.INCIDENT.split())) >= 5
    event = told["event"][told["alert"]].unique()
    assert len(event) == 1 and event[0] > 0
    assert told["event"].eq(event[0]).tolist() == incident.tolist()
    assert set(re.findall(r"\w+", stream.events_["name"][event[0]])) <= set(
        recipes.INCIDENT.split()
    )
