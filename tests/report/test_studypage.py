"""The page: well formed, self-contained, escaped, and saying what the tables say."""

import re
import shutil
from itertools import pairwise

import numpy as np
import pytest
import studies
from elements import Checker

from odl.config.sections import Batches, Order
from odl.evaluation import baselines, study
from odl.files import documents
from odl.files.escaping import CONTROLS
from odl.files.tables import read_json, write_json, write_table
from odl.report import figures, page, selection, studypage
from odl.stream import batching


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root, plan = studies.shown(tmp_path_factory.getbasetemp())
    page = tmp_path_factory.mktemp("report") / "report.html"
    config = {"mirror": "https://mirror.example/x", "note": "a <b>bold</b> & 'quoted' value"}
    streams = studypage.Streams(plan, root / "tables", root / "figures")
    studypage.write(page, streams, title="A <study>", config=config)
    return root, plan, page.read_text(encoding="utf-8")


def test_intervals_are_shown_as_what_they_are(made):
    """95 % is written where the 2.5 and 97.5 percentiles stand (test_tables.py, test_metrics.py)."""
    shares = re.findall(r"([\d.]+)[\s\u00a0]%[\s\u00a0]interval", made[2])
    assert shares and set(shares) == {"95"}


def test_page_is_well_formed_and_accessible(made):
    found = Checker(made[2])
    names = [name for name, _ in found.found]
    assert (
        dict(found.all("html")[0]) == {"lang": "en"}
        and names.count("h1") == names.count("title") == 1
    )
    levels = [int(name[1]) for name in names if re.fullmatch("h[1-6]", name)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(len(image["alt"]) > 20 for image in found.all("img")) and len(found.all("img")) >= 9
    assert names.count("caption") == names.count("table") > 20
    assert all("scope" in cell for cell in found.all("th"))
    identifiers = [attributes["id"] for _, attributes in found.found if "id" in attributes]
    assert len(set(identifiers)) == len(identifiers)
    assert {link["href"][1:] for link in found.all("a")} <= set(identifiers)


def test_page_loads_nothing(made):
    found = Checker(made[2])
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & {
        name for name, _ in found.found
    }
    for _, attributes in found.found:
        for name in ("src", "srcset", "href", "data", "style", "background", "poster"):
            assert re.match("data:image/|#", attributes.get(name) or "#"), attributes
        assert not any(name.startswith("on") for name in attributes)
    assert "http" not in re.sub(r"data:image/[^\"]+", "", made[2])


def test_text_of_documents_and_config_is_escaped(made):
    found = Checker(made[2])
    assert "<deal>" not in made[2] and "&lt;deal&gt;" in made[2]
    assert "<b>bold" not in made[2] and any(
        "<b>bold</b> & 'quoted'" in text for text in found.words
    )
    assert any(re.match(r"Report & notes <\d+> on", text) for text in found.words)
    assert "A <study>" in found.words and "mirror.example" not in made[2]


def test_page_says_what_the_tables_say(made):
    root, _, text = made
    words = "\n".join(Checker(text).words)
    for row in study.read_tables(root / "tables")["summary"]:
        assert page.mean_sd(row["average_mean"], row["average_sd"]) in words
    assert "NIPS 2012" in words and "not checked" in words and "BATCH-IMPL" in words
    assert "A baseline without a dictionary is better here: " in words
    assert '"gamma":4.0' in words
    assert "of the 20 shown are novel" in words
    assert re.search(r"grain\xa0\d+\.\d\xa0%", words)
    assert "\nnovel\n" in words and "\nknown\n" in words
    rows = [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)
        for row in re.findall(r"<tr>(.*?)</tr>", text, re.S)
    ]
    (batches,) = [row for row in rows if row[:2] == ["1", "1998-01-08 to 1998-01-14"]][:1]
    assert batches[2:8] == ["60", "19", "38", "3", "1", "yes"]
    (without,) = [row for row in rows if row[:2] == ["2", "1998-01-15 to 1998-01-21"]][:1]
    assert without[3] == "0" and without[7:9] == ["", ""]
    start = rows.index(
        ["rank", "score", "truth", "document", "topics", "unexplained words, share of the document"]
    )
    assert [row[0] for row in rows[start + 1 : start + 21]] == [str(rank) for rank in range(1, 21)]


@pytest.mark.slow
def test_a_window_of_the_neighbours_is_said_wherever_they_are(tmp_path):
    """Where the last timestep alone was compared with a part of its past, every table, figure and sentence says so."""
    runs = {"da": ("dual_averaging", {"gamma": 4.0}, 0.0)}
    plan = studies.make_study(
        tmp_path, seeds=1, steps=4, sizes=(10,), runs=runs, bootstrap=0, window="last12"
    )
    study.summarise(plan, tmp_path / "tables")
    named = {row["run"] for row in study.read_tables(tmp_path / "tables")["summary"]} - {"da"}
    assert named == {f"{name}-last12" for name in baselines.BASELINE_NAMES[:4]} | {
        "out-of-vocabulary",
        "length",
    }
    figures.write(plan, tmp_path / "tables", tmp_path / "figures")
    studypage.write(
        tmp_path / "page.html",
        studypage.Streams(plan, tmp_path / "tables", tmp_path / "figures"),
        title="A study",
    )
    found = Checker((tmp_path / "page.html").read_text(encoding="utf-8"))
    needed = "neighbours need all earlier documents, or the last ones that their names say"
    assert f"Baselines: no dictionary; {needed}" in found.words and not set(found.words) & set(
        baselines.BASELINE_NAMES[:4]
    )
    assert any(
        "The baseline compares every document with many earlier ones" in text
        for text in found.words
    )
    texts = [image["alt"] for image in found.all("img")]
    (text,) = (text for text in texts if text.startswith("Average AUC of"))
    assert "nearest5-logtf-last12" in text and not re.search(
        r"nearest5?-\w+(?!-last12)\b(?!-)", text
    )


def test_verdict_follows_the_numbers(made, monkeypatch):
    plan, found = made[1], study.read_tables(made[0] / "tables")
    for row in found["summary"]:
        if row["algorithm"] == "baseline":
            row["average_mean"] = 0.01
    chosen = selection.Selection(plan, found, "wires")
    assert studypage.verdict(chosen).startswith("The best learner, da with k = 20")
    for row in found["summary"]:
        row["average_mean"] = 0.75
    assert "are equal to three digits." in studypage.verdict(
        selection.Selection(plan, found, "wires")
    )
    for row in found["summary"]:
        row["average_mean"] = (
            0.751
            if row["run"] == "nearest-tfidf"
            else 0.75
            if (row["run"], row["k"]) == ("da", 20)
            else 0.7
        )
    monkeypatch.setattr(
        studypage.FACTS, "paired_difference", lambda chosen, name: (0.001, -0.01, 0.02)
    )
    shown = {"run": "da", "k": 20, "seed": 0}
    said = studypage.verdict(selection.Selection(plan, found, "wires", shown))
    assert "are level. The baseline compares" in said and said.endswith(
        "no difference beyond chance."
    )
    monkeypatch.setattr(
        studypage.FACTS, "paired_difference", lambda chosen, name: (-0.03, -0.04, -0.02)
    )
    said = studypage.verdict(selection.Selection(plan, found, "wires", shown))
    assert said.startswith("A baseline without a dictionary is better here: ") and said.endswith(
        "worse beyond chance."
    )
    for row in found["summary"]:
        row["average_mean"] = float("nan")
    assert "No timestep" in studypage.verdict(selection.Selection(plan, found, "wires"))


def test_the_rule_for_labels_follows_the_settings(made):
    settings = {"run": "pg", "k": 10, "seed": 1, "topics": "dominant"}
    chosen = selection.Selection(made[1], study.read_tables(made[0] / "tables"), "wires", settings)
    batch = chosen.batch(chosen.shown, 1)
    assert chosen.labels(batch) is batch.novel_dominant


def test_main_table_for_the_terminal(made):
    text = studypage.main_table(made[0] / "tables")
    assert "which need topics" not in text
    wires, small = text.split("\n\n")
    summary = study.read_tables(made[0] / "tables")["summary"]
    row = next(row for row in summary if row["run"] == "da" and row["k"] == 20)
    line = next(line for line in wires.splitlines() if line.startswith("da "))
    assert line.split("  ")[-1].strip() == page.mean_sd(row["average_mean"], row["average_sd"])
    assert "mean ± sd over 2 seeds" in wires and "average AUC, one seed\n" in small
    assert "ONLINE (OIADMM) (published, as recalled)  0.771" in wires and "published" not in small
    assert max(map(len, text.splitlines())) < 120
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_report_of_a_stream_without_evaluation(tmp_path):
    plan = studies.unevaluated(tmp_path)
    studypage.write(
        tmp_path / "r.html",
        studypage.Streams(plan, tmp_path / "tables", tmp_path / "figures"),
        title="empty",
    )
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    Checker(text)
    assert "No timestep has enough novel and known documents" in text
    table = studypage.main_table(tmp_path / "tables").splitlines()
    assert table[3].split() == ["da", "-"] and "which need topics" in table[-1]


@pytest.mark.slow
def test_report_of_documents_without_topics_and_dates(tmp_path):
    one = {
        "da": ("dual_averaging", {"gamma": 4.0}, 0.2),
        "pg": ("projected_gradient", {"eta": 11.0}, 0.1),
    }
    plan = studies.make_study(
        tmp_path, seeds=1, steps=4, sizes=(20,), runs=one, reader="documents", plain=True
    )
    study.summarise(plan, tmp_path / "tables")
    figures.write(plan, tmp_path / "tables", tmp_path / "figures")
    held = read_json(tmp_path / "figures" / "wires-figures.json")
    assert all(held[name]["drawn"] for name in ("scores", "time"))
    assert not any(held[name]["drawn"] for name in ("auc", "parameters", "tradeoff"))
    studypage.write(
        tmp_path / "r.html",
        studypage.Streams(plan, tmp_path / "tables", tmp_path / "figures"),
        title="plain",
    )
    words = Checker((tmp_path / "r.html").read_text(encoding="utf-8")).words
    assert "unlabelled" in words and "novel" not in words[words.index("rank") :]
    assert any(
        re.match("Timestep 1: 20 documents, no document of the batch has a topic", text)
        for text in words
    )
    assert not any("shown are novel" in text for text in words)
    assert held["scores"]["alt"].endswith("batches. None of them has a topic.")


@pytest.mark.slow
def test_control_characters_are_spelt_out_everywhere(tmp_path, monkeypatch):
    """NUL, ESC, CSI and a turn of direction, in tokens, topics and titles: page, tables and pictures."""
    evil = "\x00\x1b[31m\x9b\u202e"
    monkeypatch.setattr(studies, "TOPICS", {name + evil: " ".join(f"{word}{evil}" for word in words.split())
                                            for name, words in studies.TOPICS.items()})  # fmt: skip
    runs = {"tree": ("hierarchical", {"tree": "3,2"}, 0.2)}
    plan = studies.make_study(tmp_path, seeds=1, steps=4, sizes=(10,), runs=runs, bootstrap=20)
    study.summarise(plan, tmp_path / "tables")
    figures.write(plan, tmp_path / "tables", tmp_path / "figures")
    streams = studypage.Streams(plan, tmp_path / "tables", tmp_path / "figures")
    studypage.write(tmp_path / "r.html", streams, title=evil)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert text.count(r"harvest\u0000\u001b[31m\u009b\u202e") > 3 and not CONTROLS.search(text)
    pictures = [path.read_text(encoding="utf-8") for path in (tmp_path / "figures").glob("*.svg")]
    assert pictures and not any(map(CONTROLS.search, pictures))
    write_table(tmp_path / "a.tsv", [{"run": evil}])
    assert (
        (tmp_path / "a.tsv")
        .read_text()
        .startswith("run\tdigest\n" + r"\u0000\u001b[31m\u009b\u202e" + "\t")
    )


def test_a_figure_stands_where_it_says(made, tmp_path):
    """Between two tables, and in a section of its own; what `figures.write` wrote is all that the page goes by."""
    shutil.copytree(made[0] / "figures", tmp_path / "figures")
    path = tmp_path / "figures" / "small-figures.json"
    held = read_json(path)
    held["scores"] |= {"place": ["Timesteps", 1.5], "caption": "Moved."}
    held["time"] |= {"place": ["Authors", 0.1], "caption": "New."}
    write_json(path, held)
    plan = [entry for entry in made[1] if entry["corpus"] == "small"]
    studypage.write(
        tmp_path / "r.html",
        studypage.Streams(plan, made[0] / "tables", tmp_path / "figures"),
        title="moved",
    )
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    order = [
        "Batches and AUC per timestep",
        "Moved.",
        "AUC with intervals",
        ">Runs</h3>",
        ">Authors</h3>",
        "New.",
    ]
    assert sorted(order, key=text.index) == order


def test_pieces_of_the_page():
    assert (
        page.element("p", "<x>", page.Markup("<b>y</b>"), class_='a"b')
        == '<p class="a&quot;b">&lt;x&gt;<b>y</b></p>'
    )
    assert page.escape(None) == page.escape(float("nan")) == ""
    assert (page.mean_sd(0.5, float("nan")), page.mean_sd(float("nan"), 0.1)) == ("0.500", "")


def test_topics_are_the_most_used_atoms_with_their_words(made):
    chosen = selection.Selection(made[1], study.read_tables(made[0] / "tables"), "wires")
    steps = chosen.shown["timesteps"]
    first, last = (chosen.batch(chosen.shown, t) for t in (steps[0], steps[-1]))
    names, rows = studypage.topics(chosen)
    assert (names[0], names[-1]) == (f"after timestep {steps[0]}", f"after timestep {steps[-1]}")
    use = [np.array(chosen.batch(chosen.shown, t).use) for t in steps]
    share = np.mean([one / one.sum() for one in use], axis=0)
    assert [row[0] for row in rows] == [
        atom for atom in np.argsort(-share, kind="stable")[:40] if share[atom] > 0
    ]
    assert rows[0][1] == page.percent(share[rows[0][0]]) and rows[0][2] == first.atoms[rows[0][0]]
    last.atoms.append("fresh words")
    last.use.append(1e9)  # of an atom that came later
    (grown,) = (row for row in studypage.topics(chosen)[1] if row[0] == len(last.atoms) - 1)
    assert grown[2:] == ["", "", "fresh words", "0 of 2"]


def test_control_characters_of_ids_are_spelt_out_in_the_index(tmp_path):
    held = studies.batch_of(np.random.default_rng(0), 0, 6, ["harvest"])
    held.ids = [f"\x1b[2J\x00{row}" for row in range(6)]
    documents.write(tmp_path / "d.h5", held, reader="documents")
    stream = Order(ties="source", batches=Batches(documents=3, initial=3))
    batching.index(
        tmp_path / "d.h5", tmp_path / "index.tsv", tmp_path / "order.h5", seed=0, stream=stream
    )
    text = (tmp_path / "index.tsv").read_text(encoding="utf-8")
    assert r"\u001b[2J\u00000" in text and not CONTROLS.search(text)
