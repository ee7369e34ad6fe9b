"""Figures: what they show, equal bytes for equal data, and every edge a study can have."""

import ast
import colorsys
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pandas
import pytest
import studies
from matplotlib.lines import Line2D
from matplotlib.text import Text
from places import ROOT

from odl.evaluation import study
from odl.evaluation.scorefiles import read_scores
from odl.evaluation.study import BASELINE, score_path
from odl.files import storage
from odl.files.tables import read_json
from odl.papers.experiments import convergence, quality_overview
from odl.report import figures, plots, selection
from odl.report.figures.parameters import find_sweeps, sensitivity
from odl.report.figures.scores import lower_limit, scores_over_time

pytestmark = pytest.mark.filterwarnings("error::UserWarning")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return studies.shown(tmp_path_factory.getbasetemp())


def select(made, corpus="wires", **settings):
    return selection.Selection(made[1], study.read_tables(made[0] / "tables"), corpus, settings)


def texts(figure):
    figure.draw_without_rendering()
    return [
        text.get_text()
        for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))
        if text.get_text()
    ]


def in_house_style(figure):
    """Hold a figure to what all have in common: its size, few sizes of text, all of it to be read, thin lines."""
    with plots.style():
        figure.draw_without_rendering()
        width, height = figure.get_size_inches()
        assert 3.8 <= width <= 9.5 and 1.2 <= height <= max(
            5.0, 1.4 + 0.35 * len(figure.axes[0].get_yticks())
        )
        shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        for axis in figure.axes:  # ticks beyond the ends are there, and not drawn
            for ticks in (axis.xaxis, axis.yaxis):
                low, high = sorted(ticks.get_view_interval())
                beyond = [
                    tick.label1
                    for tick in ticks.get_major_ticks()
                    if not low <= tick.get_loc() <= high
                ]
                shown = [text for text in shown if text not in beyond]
        assert {round(text.get_fontsize(), 1) for text in shown} <= {7.5, 8.5, 9, 10, 10.5}
        boxes = [text.get_window_extent().padded(-1) for text in shown]
        edge = figure.bbox.padded(3)
        assert all(edge.contains(*box.min) and edge.contains(*box.max) for box in boxes)
        overlaps = [(a, b) for place, a in enumerate(boxes) for b in boxes[:place] if a.overlaps(b)]
        assert not overlaps
    for axis in filter(lambda axis: axis.axison, figure.axes):
        assert (
            not axis.spines["top"].get_visible()
            and not axis.spines["right"].get_visible()
            and axis.get_xlabel()
        )
    assert all(0.5 <= line.get_linewidth() <= 2.2 for line in figure.findobj(Line2D))
    assert all(line.get_markersize() <= 13 for line in figure.findobj(Line2D))
    legends = [*figure.legends, *(axis.get_legend() for axis in figure.axes if axis.get_legend())]
    assert not any(legend.get_frame_on() for legend in legends)
    for legend in legends:  # outside of what is drawn
        box = legend.get_window_extent()
        assert not any(box.padded(-2).overlaps(axis.get_window_extent()) for axis in figure.axes)


def curve(axis, name):
    """Points of the line with a label."""
    containers = {container.get_label(): container.lines[0] for container in axis.containers}
    return containers[name].get_xydata()


def test_every_picture_of_every_corpus_is_written_twice_over(made):
    for corpus in ("wires", "small"):
        held = read_json(made[0] / "figures" / f"{corpus}-figures.json")
        assert held.keys() == figures.modules().keys()
        for name, found in held.items():
            assert len(found["alt"]) > 20 and found["caption"].endswith("."), name
            stem = made[0] / "figures" / f"{corpus}-{name}"
            assert stem.with_suffix(".png").read_bytes()[:4] == b"\x89PNG"
            assert ElementTree.parse(stem.with_suffix(".svg")).getroot().tag.endswith("svg")
    assert read_json(made[0] / "figures" / "wires-figures.json")["parameters"]["drawn"]
    assert not read_json(made[0] / "figures" / "small-figures.json")["parameters"]["drawn"]


@pytest.mark.slow
def test_bytes_are_reproducible_and_say_nothing_of_when_and_with_what(made, tmp_path):
    root, plan = made
    figures.write(plan, root / "tables", tmp_path)
    for path in sorted((root / "figures").iterdir()):
        assert storage.sha256_of(path) == storage.sha256_of(tmp_path / path.name), path.name
        content = path.read_bytes()
        assert b"Matplotlib v" not in content and b"matplotlib.org" not in content
        assert b"<dc:date>" not in content


@pytest.mark.parametrize("corpus", ["wires", "small"])
def test_all_pictures_are_in_the_house_style(made, corpus):
    chosen = select(made, corpus)
    for name in figures.modules():
        picture = figures.draw(name, chosen)
        if picture.drawn:
            in_house_style(picture.figure)


def test_colours_are_eight_that_differ_from_each_other_and_from_grey():
    parts = [
        colorsys.rgb_to_hsv(*(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)))
        for colour in plots.COLOURS
    ]
    assert len({*plots.COLOURS}) == 8 and all(saturation > 0.2 for _, saturation, _ in parts)


def test_auc_against_k_shows_the_means_of_the_table(made):
    chosen = select(made)
    axis = figures.draw("auc", chosen).figure.axes[0]
    summary = {(row["run"], row["k"]): row["average_mean"] for row in chosen.tables["summary"]}
    for run in chosen.runs:
        points = curve(axis, run)
        np.testing.assert_allclose(points[:, 1], [summary[run, 10], summary[run, 20]], atol=2e-6)
        np.testing.assert_allclose(points[:, 0], [10, 20], atol=0.5)
    said = texts(axis.figure)
    assert any(text.startswith("nearest5-logtf 0.") for text in said)
    assert "BATCH-IMPL, published 0.788" in said


def test_one_size_gives_a_ranking(made):
    picture = figures.draw("auc", select(made, "small"))
    assert picture.caption.startswith("Average AUC of every run, one seed. Grey: ")
    assert figures.draw("auc", select(made)).caption.startswith(
        "Average AUC against the number of atoms k, mean and"
    )
    said = texts(picture.figure)
    assert {"da", "pg", "nearest5-logtf", "average AUC (k = 20)"} <= set(said)


def test_runs_differ_without_colour():
    looks = [(plots.look_of(i)["marker"], str(plots.look_of(i)["linestyle"])) for i in range(8)]
    assert len({marker for marker, _ in looks}) == len({line for _, line in looks}) == 8


def test_sweeps_are_runs_that_differ_in_one_number():
    rows = [
        {
            "algorithm": "a",
            "k": k,
            "run": f"a{gamma}",
            "seed": 0,
            "average": gamma / 10,
            "parameters": text,
        }
        for gamma in (1, 2, 4)
        for k, text in (
            (10, f'{{"features":{{"min_df":1}},"gamma":{gamma}}}'),
            (20, f'{{"gamma":{gamma}}}'),
        )
    ]
    rows += [
        {
            "algorithm": "b",
            "k": 10,
            "run": "b1",
            "seed": 0,
            "average": 0.5,
            "parameters": '{"eta":1,"on":true}',
        }
    ]
    rows += [
        {
            "algorithm": "b",
            "k": 10,
            "run": "b2",
            "seed": 0,
            "average": 0.6,
            "parameters": '{"eta":2,"on":false}',
        }
    ]
    sweeps = find_sweeps(pandas.DataFrame(rows), prefer=20)
    assert [(algorithm, k, name) for algorithm, k, name, _ in sweeps] == [("a", 20, "gamma")]
    assert sweeps[0][3]["value"].tolist() == [1, 2, 4]
    assert find_sweeps(pandas.DataFrame(rows), prefer=10)[0][1] == 10
    assert find_sweeps(pandas.DataFrame(rows[:1])) == []


def test_figure_2_has_a_panel_for_each_algorithm(made):
    figure = figures.draw("parameters", select(made)).figure
    assert [axis.get_title() for axis in figure.axes] == ["dual averaging, k = 20"]
    assert [axis.get_xlabel() for axis in figure.axes] == ["gamma"]


def test_scores_figure_marks_the_novel_and_rasterises_the_points(made):
    chosen = select(made, run="da", k=20)
    picture = figures.draw("scores", chosen)
    labels = np.concatenate([read_scores(score_path(chosen.shown, t)).novel for t in range(1, 6)])
    collections = {found.get_label(): found for found in picture.figure.axes[0].collections}
    drawn = collections[f"truly novel ({(labels == 1).sum()})"]
    assert len(drawn.get_offsets()) == (labels == 1).sum() and drawn.get_rasterized()
    np.testing.assert_array_equal(drawn.get_offsets()[:, 0], np.flatnonzero(labels == 1))
    scores = np.concatenate(
        [read_scores(score_path(chosen.shown, t)).scores["da"] for t in range(1, 6)]
    )
    assert (
        f"exactly 1 and tie: {100 * np.mean(scores == 1):.1f} % of all." in picture.caption
        and (scores == 1).any()
    )


def test_scores_figure_has_documents_of_every_kind(rng):
    labels = np.repeat([-1, 0, 1], [5, 40, 15])
    with plots.style():
        figure = scores_over_time(rng.random(60), labels, range(0, 60, 30), ["t = 0", "t = 1"])
    (legend,) = [one.get_legend() or figure.legends[0] for one in figure.axes[:1]]
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["unlabelled (5)", "known topic (40)", "truly novel (15)"]
    in_house_style(figure)
    unlabelled, known, novel = figure.axes[0].collections
    assert unlabelled.zorder < known.zorder < novel.zorder and all(
        one.get_rasterized() for one in (known, novel)
    )
    low, high = figure.axes[0].get_xlim()
    assert -1 < low < 0 and 59 < high < 60


@pytest.mark.parametrize(("n", "size"), [(60, 14), (4000, 5), (40_000, 1.5)])
@pytest.mark.parametrize(("batches", "lines", "shown"), [(4, 3, 4), (40, 39, 10), (41, 0, 9)])
def test_more_documents_are_smaller_points_and_more_batches_have_fewer_labels(
    n, size, batches, lines, shown
):
    starts, labels = np.arange(batches) * n // batches, np.arange(n) % 5 == 1
    axis = scores_over_time(
        np.linspace(0, 1, n), labels, starts, [f"t = {t}" for t in range(batches)]
    ).axes[0]
    known, novel = axis.collections
    assert known.get_sizes().tolist() == [size] and novel.get_sizes().tolist() == [3 * size + 8]
    assert [line.get_xdata()[0] for line in axis.lines] == (starts[1:] - 0.5).tolist()[
        :lines
    ] and len(axis.lines) == lines
    step = -(-batches // 10)
    assert axis.get_xticks().tolist() == starts[::step].tolist() and len(axis.get_xticks()) == shown
    assert axis.get_xticklabels()[1].get_text() == f"t = {step}"


@pytest.mark.slow
def test_scores_figure_stays_small_with_many_points(tmp_path, rng):
    scores, labels = rng.random(30_000), (rng.random(30_000) < 0.02).astype(int)
    figure = scores_over_time(
        scores, labels, range(0, 30_000, 1000), [f"t = {t}\n2000" for t in range(30)]
    )
    plots.save(figure, tmp_path / "many")
    assert (tmp_path / "many.svg").stat().st_size < 1_000_000
    assert len(figure.axes[0].get_xticks()) <= 12


def test_few_low_scores_do_not_set_the_axis(rng):
    assert lower_limit(np.array([]), np.array([])) == 0
    assert (
        lower_limit(np.repeat([0.0, 20.0], [4, 300]), np.zeros(304)) == 0
    )  # more than one in two hundred are low
    ten = np.array([0.0, *np.linspace(9, 10, 999)])
    assert (
        8.9 < lower_limit(ten, np.zeros(1000)) < 9.1
        and lower_limit(np.array([0.0, 0.5, 10.0]), np.zeros(3)) == 0
    )
    scores, labels = 0.9 + 0.1 * rng.random(2000), np.zeros(2000, dtype=int)
    assert lower_limit(scores, labels) == scores.min()
    scores[7] = 0.1
    low = lower_limit(scores, labels)
    assert 0.9 < low < 0.902
    axis = scores_over_time(scores, labels, [0], ["t = 1"]).axes[0]
    assert axis.get_ylim()[0] > 0.88 and axis.collections[0].get_offsets()[7, 1] == low
    labels[7] = 1
    assert lower_limit(scores, labels) == 0.1


def test_settings_choose_runs_and_detail(made):
    chosen = select(made, run="pg", k=10, seed=1, runs=["admm", "pg"])
    assert (chosen.runs, chosen.shown["run"], chosen.shown["seed"]) == (["admm", "pg"], "pg", 1)
    assert "pg, k = 10, seed 1" in figures.draw("scores", chosen).caption


def test_a_stream_without_novel_documents_gets_notes(tmp_path):
    studies.unevaluated(tmp_path)
    held = read_json(tmp_path / "figures" / "wires-figures.json")
    assert not any(held[name]["drawn"] for name in ("auc", "scores", "time", "tradeoff"))


def test_tradeoff_has_the_seconds_of_scoring_and_learning(made):
    chosen = select(made)
    seconds = {}
    for row in chosen.tables["costs"]:
        seconds.setdefault((row["run"], row["k"]), []).append(
            row["score_cpu_s"] + row["learn_cpu_s"]
        )
    points = figures.draw("tradeoff", chosen).figure.axes[0].collections
    drawn = {
        round(x, 9) for line in points for segment in line.get_segments() for x in segment[:, 0]
    }
    assert drawn == {
        round(sum(held), 9) for (name, _), held in seconds.items() if name in chosen.runs
    }


def test_seconds_against_sizes_have_the_sizes_below(made):
    axes = figures.draw("time", select(made)).figure.axes
    assert [[text.get_text() for text in axis.get_xticklabels()] for axis in axes] == 2 * [
        ["10", "20"]
    ]
    assert [axis.get_title() for axis in axes] == ["score", "learn"] and axes[
        0
    ].get_ylabel().startswith("CPU seconds")
    assert [axis.get_ylim()[0] for axis in axes] == [0, 0]


def test_baselines_are_those_of_the_shown_seed(made):
    """Of seed 0 where seeds share batches."""
    for seed in (0, 1):
        chosen = select(made, run="pg", k=10, seed=seed)
        assert chosen.baselines()["seed"] == seed and chosen.entry("da")["seed"] == seed
    chosen.plan = [
        entry for entry in chosen.plan if entry["algorithm"] != BASELINE or entry["seed"] == 0
    ]
    assert chosen.baselines()["seed"] == 0
    chosen.plan = [entry for entry in chosen.plan if entry["algorithm"] != BASELINE]
    assert chosen.baselines() is None


def test_thin_keeps_both_ends():
    assert selection.thin(range(100), 3) == [0, 50, 99]
    assert selection.thin([1, 2], 3) == [1, 2]


@pytest.mark.parametrize(
    ("n", "rows", "columns"), [(1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 2, 3), (7, 3, 3)]
)
def test_panels_are_three_in_a_row(n, rows, columns):
    figure, axes = plots.panels(n, 2.0, 1.5)
    assert len(axes) == n and len(figure.axes) == rows * columns
    assert [axis.axison for axis in figure.axes] == [True] * n + [False] * (rows * columns - n)
    assert figure.get_size_inches().tolist() == [max(3.8, 2.0 * columns), 1.5 * rows]


def test_a_ranking_has_dots_their_mean_and_their_deviation():
    values = [0.5, 0.6, 0.85]
    with plots.style():
        ((axis,),) = plots.new_figure(6, 3)[1]
        plots.ranking(
            axis,
            [
                ("base", None, [0.4]),
                ("one", plots.look_of(0), [0.7]),
                ("run", plots.look_of(1), values),
            ],
        )
    assert [text.get_text() for text in axis.texts] == ["0.400", "0.700", f"{np.mean(values):.3f}"]
    assert [text.xy for text in axis.texts] == [(1.01, 0), (1.01, 1), (1.01, 2)]
    assert [text.get_text() for text in axis.get_yticklabels()] == ["base", "one", "run"]
    assert axis.get_ylim() == pytest.approx((-0.6, 2.6)) and axis.get_yticks().tolist() == [0, 1, 2]
    single, several = (container.lines[2][0].get_segments()[0] for container in axis.containers)
    deviation = np.std(values, ddof=1)
    assert single.tolist() == [[0.7, 1], [0.7, 1]]
    assert several[:, 0] == pytest.approx(
        [np.mean(values) - deviation, np.mean(values) + deviation]
    )
    dots = [line for line in axis.lines if line.get_marker() == "."]
    assert [dot.get_xdata().tolist() for dot in dots] == [[0.7], values] and dots[
        1
    ].get_ydata().tolist() == [2] * 3
    stroke = next(line for line in axis.lines if line.get_marker() == "|")
    assert stroke.get_xydata().tolist() == [[0.4, 0]] and stroke.get_color() == plots.GREY
    rules = [
        line.get_ydata()[0]
        for line in axis.lines
        if len(line.get_xdata()) == 2 and line.get_zorder() == 0
    ]
    assert rules == [0, 1, 2] and all(
        not tick.tick1line.get_markersize() for tick in axis.yaxis.get_major_ticks()
    )


@pytest.mark.parametrize(("sizes", "scale"), [([1, 8], "linear"), ([1, 2, 9], "log")])
def test_sizes_that_differ_much_have_a_logarithmic_axis(sizes, scale):
    ((axis,),) = plots.new_figure(6, 3)[1]
    plots.sizes_below(axis, sizes)
    assert (
        axis.get_xscale() == scale
        and axis.get_xlabel() == "atoms k"
        and not len(axis.get_xticks(minor=True))
    )
    assert [text.get_text() for text in axis.get_xticklabels()] == [str(size) for size in sizes]


@pytest.mark.parametrize(("n", "columns"), [(2, 2), (5, 3)])
def test_a_legend_has_a_column_for_each_name_and_some_at_most(n, columns):
    figure, ((axis,),) = plots.new_figure(6, 3)
    for number in range(n):
        axis.plot([0, 1], [0, number], label=f"run {number}")
    (legend,) = plots.legend_below(figure, 3).legends
    figure.draw_without_rendering()
    assert len({round(text.get_window_extent().x0) for text in legend.get_texts()}) == columns
    assert [text.get_text() for text in legend.get_texts()] == [
        f"run {number}" for number in range(n)
    ]


def test_a_note_is_wrapped_in_the_middle_of_its_figure():
    figure = plots.note("several words " * 20)
    (text,) = figure.texts
    figure.draw_without_rendering()
    box, whole = text.get_window_extent(), figure.bbox
    assert max(map(len, text.get_text().splitlines())) in range(70, 81)
    assert abs(box.x0 + box.x1 - whole.width) < 2 and abs(box.y0 + box.y1 - whole.height) < 4


def test_seconds_begin_at_zero_unless_they_differ_tenfold(made, monkeypatch):
    chosen = select(made)
    costs = chosen.frame("costs")
    for least, most, logarithmic in (
        (1.0, 10.0, False),
        (1.0, 10.1, True),
        (0.0, 0.0, False),
        (0.0, 5.0, False),
    ):
        sizes = costs["k"].map({10: least, 20: most})
        seconds = costs.assign(score_cpu_s=sizes / costs["t"].max(), learn_cpu_s=0.0)
        seconds = seconds[seconds["t"] > 0]
        monkeypatch.setattr(
            chosen,
            "frame",
            lambda name, costs=seconds: costs if name == "costs" else select(made).frame(name),
        )
        axis = figures.draw("tradeoff", chosen).figure.axes[0]
        assert (axis.get_xscale() == "log") == logarithmic
        if not logarithmic:
            assert axis.get_xlim() == pytest.approx((0, 1.08 * max(most, 1e-9)), rel=0.05)
        assert {text.get_text() for text in axis.texts} == {"10", "20"}
        low, high = axis.get_ylim()
        ends = [y for line in axis.lines for y in line.get_ydata()]
        assert max(ends) - min(ends) > 0.4 * (high - low)


BROKEN = r"$\frac{x$"  # mathematics to matplotlib, and wrong
ESCAPE = f"{BROKEN}\x1b[31m"  # a control character, which no XML may hold


def all_plain(figure, stem):
    """Save a figure, which lays out every text, and say whether the text of data is in it and none is parsed."""
    plots.save(figure, stem)
    found = [text for text in figure.findobj(Text) if text.get_text()]
    assert found and not any(text.get_parse_math() or "\x1b" in text.get_text() for text in found)
    return any(BROKEN in text.get_text() for text in found)


@pytest.mark.slow
def test_no_text_of_data_is_read_as_mathematics(tmp_path, monkeypatch):
    """Tokens, topics and runs; then the names that experiments take from data."""
    monkeypatch.setattr(studies, "TOPICS", {name + BROKEN: " ".join(f"{word}{BROKEN}" for word in words.split())
                                            for name, words in studies.TOPICS.items()})  # fmt: skip
    names = [f"{BROKEN}{number}" for number in range(3)]
    runs = {name: ("dual_averaging", {"gamma": 2.0**n}, 0.2) for n, name in enumerate(names)}
    plan = studies.make_study(tmp_path, seeds=1, steps=4, sizes=(10, 20), runs=runs, bootstrap=20)
    study.summarise(plan, tmp_path / "tables")
    chosen = selection.Selection(plan, study.read_tables(tmp_path / "tables"), "wires", {})
    shown = {
        name
        for name in figures.modules()
        if all_plain(figures.draw(name, chosen).figure, tmp_path / "figure")
    }
    assert shown >= {"auc", "time", "tradeoff"}
    path = {"problem": BROKEN, "network": "ring", "method": BROKEN}
    rows = [{**path, "exchanges": n, "inner": n, "floats": n, "distance": 1 / n} for n in (10, 100)]
    memory = [
        {"stream": BROKEN, "seed": 0, "run": BROKEN, "size": 9, "entries": n, "average": 0.5}
        for n in (1, 9)
    ]
    with plots.style():
        swept = sensitivity(
            [(BROKEN, BROKEN, pandas.DataFrame({"value": [1.0, 99.0], "seed": 0, "average": 0.5}))]
        )
    for figure in (
        plots.note(ESCAPE),
        swept,
        convergence.draw_paths(rows),
        quality_overview.curves(memory),
    ):
        assert all_plain(figure, tmp_path / "figure")


def test_powers_of_ten_are_plain_text():
    path = {"problem": "p", "network": "n", "method": "m"}
    rows = [
        {**path, "exchanges": n, "inner": n, "floats": n, "distance": 1e-6 * n**2}
        for n in (10, 100, 1000)
    ]
    figure = convergence.draw_paths(rows)
    with plots.style():
        said = texts(figure)
    assert {"10³", "10²", "10⁻⁴"} <= set(said) and not any(
        "$" in text or "{" in text for text in said
    )
    assert plots.Powers(labelOnlyBase=False)(0.0002) == "2×10⁻⁴"


@pytest.mark.slow
def test_every_function_that_makes_a_figure_does_so_in_the_house_style():
    """Those of a stream are drawn by `odl.report.figures.draw`, which sees to it."""
    figures_of = []
    for path in sorted((ROOT / "src/odl").rglob("*.py")):
        functions = [
            node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)
        ]
        for function in functions if path.parent.name != "figures" else ():
            calls = {
                ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)
            }
            makers = {call.rpartition(".")[2] for call in calls} & {
                "new_figure",
                "panels",
                "Figure",
            }
            if makers and function.name not in ("new_figure", "panels"):
                decorators = [
                    ast.unparse(decorator).rpartition(".")[2]
                    for decorator in function.decorator_list
                ]
                figures_of.append((path.name, function.name, decorators))
        assert 'set_xscale("log' not in path.read_text() and 'scale="log' not in path.read_text(), (
            path
        )
    assert len(figures_of) >= 7 and all(
        decorators == ["style()"] for _, _, decorators in figures_of
    ), figures_of


def test_a_matplotlibrc_changes_no_figure():
    """That of the working folder, which matplotlib reads when it is imported."""
    said = {"lines.linewidth": 40, "font.sans-serif": ["Comic"], "xtick.color": "red"}
    with matplotlib.rc_context(said), plots.style():
        assert all(matplotlib.rcParams[name] != value for name, value in said.items())
