"""The benchmark command: every part runs on a tiny made stream, and its figures are measured right."""

import csv
import math
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from places import ROOT
from scipy import sparse
from workflows import Study, environment

FOLDER = ROOT / "benchmarks"


@pytest.fixture
def measure(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import measure

    return measure


@pytest.fixture
def processes(measure):
    import processes

    return processes


UNIT = "unit of the machine"


def run(tmp_path, *arguments):
    """Return the rows of some parts, without those of the unit of the machine, which each ends with."""
    (tmp_path / "none").mkdir()
    output = tmp_path / "bench.tsv"
    command = [
        sys.executable,
        FOLDER / "run.py",
        "--quick",
        "--corpora",
        tmp_path / "none",
        "--output",
        output,
    ]
    done = subprocess.run(
        [*command, "--only", *arguments], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    with open(output, newline="") as file:
        rows = list(csv.DictReader((line for line in file if line[0] != "#"), delimiter="\t"))
    for row in rows:
        assert row["what"] in done.stdout
    assert [row["part"] for row in rows if row["what"] == UNIT] == list(arguments)
    rows = [row for row in rows if row["what"] != UNIT]
    for row in rows:
        assert bool(row["in units"]) == (row["unit"].startswith("CPU") and bool(row["value"])), row
    return rows


@pytest.mark.slow
def test_every_part_in_this_process(tmp_path):
    rows = run(tmp_path, "coder", "step", "checkpoint", "adaptive", "arxiv")
    assert [row["part"] for row in rows if row["verdict"]] == ["arxiv"], (
        "only arxiv has no stream of its own"
    )
    for row in rows[:-1]:
        assert row["what"].startswith("made stream")
        assert math.isfinite(float(row["value"])) and float(row["value"]) >= 0
    parts = ("step", "checkpoint", "adaptive")
    found = {part: [float(row["value"]) for row in rows if row["part"] == part] for part in parts}
    assert [len(found[part]) for part in parts] == [20, 5, 24] and min(map(min, found.values())) > 0
    gaps = [float(row["value"]) for row in rows if "gap" in row["what"]]
    apart = [float(row["value"]) for row in rows if "differs" in row["what"]]
    assert len(gaps) == 4 and max(gaps + apart) <= 1e-9, "the peers solve another problem"
    assert all(float(row["value"]) > 1 for row in rows if "dense ADMM" in row["what"])


@pytest.mark.slow
def test_the_part_over_agents(tmp_path):
    rows = run(tmp_path, "agents")
    assert len(rows) == 2 * (3 + 2 * 6 + 4)
    found = {row["what"].partition(", ")[2]: float(row["value"]) for row in rows}
    for residual in ("squared", "Huber"):
        where = f"{residual} residual, 6 agents"
        assert found[f"{where}, fully connected: largest gap over the objective"] <= 1e-3
        assert (
            found[f"{where}, diffusion, fully_connected: largest relative error of a score"] <= 1e-2
        )
        assert found[f"{where}, diffusion, erdos_renyi: an iteration of one agent"] > 0
        assert found[f"{where}, erdos_renyi, mu 0.001: most iterations until nothing moves"] == 1
        assert found[f"{where}, erdos_renyi, mu 0.001: largest relative error of a score"] <= 1e-3


@pytest.mark.slow
def test_trees_without_the_peer(tmp_path, monkeypatch):
    """spams-bin is no dependency: its row says what is missing."""
    monkeypatch.delenv("ODL_SPAMS_PYTHON", raising=False)
    rows = run(tmp_path, "tree")
    assert rows[-1]["verdict"] == "not run" and "ODL_SPAMS_PYTHON" in rows[-1]["what"]
    assert len(rows) == 13 and all(float(row["value"]) >= 0 for row in rows[:-1])
    assert all(float(row["value"]) <= 1e-4 for row in rows if "excess" in row["what"])
    assert all(float(row["value"]) <= 1e-2 for row in rows if "objectives differ" in row["what"])


@pytest.mark.slow
def test_the_peer_of_the_l2_coder_solves_the_same_problem(tmp_path):
    rows = {row["what"].split(": ")[1]: float(row["value"]) for row in run(tmp_path, "lars")}
    (apart,) = (value for what, value in rows.items() if "differs" in what)
    (gap,) = (value for what, value in rows.items() if "gap" in what)
    assert max(apart, gap) <= 1e-9
    assert rows["scikit-learn over ours"] > 1


@pytest.mark.workflow
@pytest.mark.long
def test_every_part_that_starts_processes(tmp_path):
    rows = run(tmp_path, "job", "batch", "noop", "plan")
    assert [row["part"] for row in rows] == ["job"] * 15 + ["batch"] * 6 + ["noop"] * 2 + ["plan"]
    for row in rows:
        low, high = (40, 4000) if row["unit"] == "MB" else (0.1, 60)
        assert low < float(row["value"]) < high, row


@pytest.mark.workflow
@pytest.mark.long
def test_costs_along_a_stream(tmp_path):
    """The scale study on 8000 made documents: four timesteps of 2000, each job with its time, memory and files."""
    study = Study.create(tmp_path / "study")
    shutil.copytree(
        FOLDER, study.folder / "benchmarks", ignore=shutil.ignore_patterns("__pycache__")
    )
    words = [sys.executable, "benchmarks/scale.py", "--streams", "made", "--documents", "8000"]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=study.folder, env=environment(study.folder)
    )
    assert done.returncode == 0, done.stderr + done.stdout
    results = study.folder / "results" / "scale"
    with open(results / "costs.tsv", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    jobs = ("features", "adaptive", "dual-averaging")
    assert [(row["job"], int(row["t"])) for row in rows] == [
        (job, t) for t in range(4) for job in jobs
    ]
    for row in rows:
        assert 0.005 < float(row["cpu_s"]) < 60 and 20 < float(row["peak_mb"]) < 2000
        # Checkpoint 1 is gone (checkpoints.keep is 10), so what the updates of t = 1 took on the
        # disk is not known.
        assert (row["disk_kb"] == "") == (row["t"] == "1" and row["job"] in jobs[1:])
    assert (results / "costs.png").read_bytes().startswith(b"\x89PNG")
    with open(results / "snakemake.tsv", newline="") as file:
        (own,) = csv.DictReader(file, delimiter="\t")
    assert (
        int(own["jobs"]) > 16
        and float(own["children_cpu_s"]) > 0.1
        and float(own["snakemake_cpu_s"]) > 0.2
    )


@pytest.mark.slow
def test_the_cost_of_a_process_is_its_own(measure):
    ballast = bytearray(300_000_000)
    ballast[::4096] = b"x" * len(ballast[::4096])
    idle = measure.child([sys.executable, "-S", "-c", "print('here')"])
    assert idle.printed == "here\n" and 1e6 < idle.rss < 1e8, "the parent's memory was counted"
    code = "import time; x = bytearray(150_000_000); x[::4096] = x[::4096]\nwhile time.process_time() < .3: pass"
    nested = measure.child(
        [
            sys.executable,
            "-S",
            "-c",
            f"import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {code!r}])",
        ]
    )
    assert nested.cpu >= 0.3, "the time of a child's child was not counted"
    assert nested.rss > 1.5e8, "the memory of a child's child was not counted"
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', {code!r}], start_new_session=True)"
    left = measure.child([sys.executable, "-S", "-c", code])
    assert left.cpu >= 0.3 and left.rss > 1.5e8, "what lives on was not counted"


def test_a_failing_process_says_what_it_printed(measure):
    with pytest.raises(RuntimeError, match="out of luck"):
        measure.child([sys.executable, "-c", "import sys; sys.exit('out of luck')"])


@pytest.mark.parametrize(
    ("value", "limit", "verdict"),
    [
        (0.25, "<= 0.25", "ok"),
        (0.26, "<= 0.25", "over"),
        (30.0, ">= 30", "ok"),
        (29.9, ">= 30", "over"),
        (float("nan"), "<= 1", "over"),
        (3.0, "", ""),
        (None, "<= 3", "not run"),
    ],
)
def test_verdict(measure, value, limit, verdict):
    assert measure.Row("part", "what", value, "times", limit).verdict() == verdict


@pytest.mark.parametrize(("value", "verdict"), [(2.9, "ok"), (3.1, "over"), (None, "not run")])
def test_verdict_in_units_of_the_machine(measure, value, verdict):
    """3 s on the machine of the docs; this one is twice as slow."""
    limit = measure.within(1.5)
    row = measure.Row("part", "what", value, "CPU s", limit).over(2 * measure.UNIT_OF_DOCS)
    assert row.verdict() == verdict and limit.endswith("units")
    assert row.cells()[4] == (
        "" if value is None else measure.show(value / (2 * measure.UNIT_OF_DOCS))
    )
    milliseconds = measure.Row("part", "what", 2500.0, "CPU ms", limit).over(
        2 * measure.UNIT_OF_DOCS
    )
    assert (
        milliseconds.units == pytest.approx(2.5 / (2 * measure.UNIT_OF_DOCS))
        and milliseconds.verdict() == "ok"
    )


@pytest.mark.parametrize("unit", ["CPU s", "CPU ms", "CPU us", "CPU min", "min", "s", "ms", "us"])
def test_no_limit_is_a_time(measure, unit):
    """Every row of every part passes here (`run.measured`), also in a try-out, whose limits are then left out."""
    with pytest.raises(ValueError, match="limits of CPU times are in units"):
        measure.Row("part", "what", 1.0, unit, "<= 2").over(0.06)
    assert measure.Row("part", "what", 1.0, unit).over(0.06).verdict() == ""


def test_a_limit_in_units_is_one_of_a_time(measure):
    with pytest.raises(ValueError, match="in units"):
        measure.Row("part", "what", 1.0, "MB", measure.within(1)).over(0.06)


def test_the_unit_is_the_same_work_each_time(measure):
    documents, transposed = measure._documents()
    assert measure._work(documents, transposed) == measure._work(documents, transposed)
    assert documents.shape == (2000, 20_000) and 0.005 < measure.unit(1) < 5


def test_memory_noted_by_the_workflow(processes, tmp_path):
    (tmp_path / "benchmarks").mkdir()
    for t, memory, expected in ((1, "201.50", 201.5), (2, "-", None), (3, "NA", None)):
        (tmp_path / "benchmarks" / f"{t}.tsv").write_text(
            f"s\tmax_rss\tcpu_time\n0.9\t{memory}\t0.8\n"
        )
        assert processes.noted(tmp_path, t) == expected


@pytest.fixture
def whatsnew(measure):
    import whatsnew

    return whatsnew


WORDS = [f"word{number}" for number in range(100)]
BITMAP = "M" + "=F%S9" * 12


@pytest.mark.parametrize(
    ("ids", "novel", "expected"),
    [("abcd", "ac", 0.5), ("abcd", "", 0.0), ("a", "ab", 1.0), ("", "ab", 0.0)],
)
def test_precision_of_alerts(whatsnew, ids, novel, expected):
    assert whatsnew.precision(list(ids), set(novel)) == expected


def test_budget_of_neighbours(whatsnew):
    scores = np.array([0.9, 0.5, 0.7, 0.7, 0.7])
    assert whatsnew.top(scores, list("abcde"), np.array([1, 2, 3, 4]), 2) == ["c", "d"], (
        "a is no item, e is later"
    )


def test_near_duplicates_among_alerts(whatsnew):
    """Of 96 runs of five words, another word in the middle leaves 91 of 101, four others leave 76 of 116."""
    header = "From: {}\nSubject: said {} by another header\n\n"
    one, other = list(WORDS), list(WORDS)
    one[50] = "else"
    for place in (20, 40, 60, 80):
        other[place] = "else"
    texts = [
        header.format(number, number) + " ".join(words)
        for number, words in enumerate([WORDS, one, other])
    ]
    assert whatsnew.repeated(texts) == 1
    assert whatsnew.repeated([texts[0], texts[2]]) == 0
    assert whatsnew.repeated([texts[0]] * 3) == 3
    assert whatsnew.repeated(["", "", "\n\n"]) == 0


def test_alerts_for_encoded_blocks(whatsnew):
    text = f"Subject: a picture\n\nplain words\n{BITMAP}\n{BITMAP}\n"
    assert whatsnew.encoded(text, ["f", "s9"]) and whatsnew.encoded(text, ["f", "s9", "plain"])
    assert not whatsnew.encoded(text, ["plain", "words", "s9"])
    assert not whatsnew.encoded("see http://example.org/" + "long" * 20, ["longlong"])
    assert not whatsnew.encoded(text, [])


def test_groups_with_a_topic_of_theirs(whatsnew):
    topics = [["a", "a", "b"], ["b", "b", "c", "c"], ["d"], ["a", "c", "e"]]
    assert whatsnew.with_topic(topics) == {"a", "d"}, "half is no majority"


def test_posts_are_written_without_their_groups(measure, tmp_path):
    import newsposts

    posts = newsposts.made(200)
    stream = newsposts.entering(posts, 3, 40, {"held_back": 0.5, "first": 1, "last": 3})
    late = {post.group for post in stream} - {post.group for post in stream[:40]}
    assert late and 40 < len(stream) < 200
    assert [post.time for post in stream] == sorted(post.time for post in stream)
    newsposts.write(tmp_path / "posts.jsonl", stream)
    text = (tmp_path / "posts.jsonl").read_text()
    assert "group" not in text and text.count("\n") == len(stream)
    first, later = newsposts.weeks(posts, 1, 84)
    assert (
        len(first) == 84
        and 15 < len(later) < 18
        and {post.time < newsposts.WEEK + newsposts.LENGTH for post in first} == {True}
    )
    assert min(post.time for post in later) >= newsposts.WEEK + newsposts.LENGTH


@pytest.mark.workflow
@pytest.mark.long
def test_what_is_new_in_made_posts(tmp_path):
    rows = run(tmp_path, "new")
    found = {row["what"].split(": ", 1)[1]: float(row["value"]) for row in rows}
    assert found["precision of the alerts (1 timesteps)"] == 1.0
    assert (
        found["pairs of alerts that are near-duplicates"]
        == found["alerts for an encoded block"]
        == 0.0
    )
    assert found["share of 1 entering groups with a topic"] == 1.0
    assert 4 <= found["lines of configuration"] <= 8
    assert len(rows) == 18 and all(
        float(row["value"]) > 0 for row in rows if row["unit"] == "CPU s"
    )


@pytest.fixture
def peers(measure):
    import peers

    return peers


def test_quality_of_peers(peers):
    """A timestep with one novel document is left out."""
    labels = [np.zeros(6), np.array([1, 1, 1, 0, 0, 0]), np.array([1, 0, 0, 0, 0, 0])]
    scores = np.array([6.0, 5.0, 1.0, 4.0, 4.0, 0.0])
    precision, auc = peers.judged({1: scores, 2: scores}, labels, budget=3, fewest=2)
    assert precision == pytest.approx(2 / 3) and auc == pytest.approx(7 / 9)
    tied = np.array([6.0, 4.0, 4.0, 4.0, 0.0, 0.0])
    assert peers.judged({1: tied}, labels, budget=2, fewest=2)[0] == pytest.approx((1 + 2 / 3) / 2)
    assert all(math.isnan(value) for value in peers.judged({2: scores}, labels, budget=3, fewest=2))


def test_peers_score_a_batch_before_they_learn_it(peers, tmp_path):
    for t in range(3):
        np.savez(tmp_path / f"{t}.npz", n=t)
    done = []

    class Method:
        def __init__(self, seed):
            done.append(("made", seed))

        def score(self, batch):
            done.append(("score", batch))
            return np.full(4, batch)

        def learn(self, batch):
            done.append(("learn", batch))

    scores, spent, documents = peers.peers_stream.follow(
        Method, tmp_path, 7, 600, lambda folder, t: t
    )
    assert done == [
        ("made", 7),
        ("learn", 0),
        ("score", 1),
        ("learn", 1),
        ("score", 2),
        ("learn", 2),
    ]
    assert list(scores) == [1, 2] and documents == 8 and min(spent.values()) >= 0

    class Slow(Method):
        def learn(self, batch):
            began = time.process_time()
            while batch == 2 and time.process_time() < began + 30:
                pass

    scores, _, documents = peers.peers_stream.follow(Slow, tmp_path, 7, 0.3, lambda folder, t: t)
    assert list(scores) == [1] and documents == 4, "what was cut short counts for nothing"


def test_a_peer_that_cannot_be_installed_is_a_row(peers, tmp_path, monkeypatch):
    def environment(folder, packages):
        raise RuntimeError(f"not installed: no {packages[-1]}")

    monkeypatch.setattr(peers, "environment", environment)
    arguments = peers.argparse.Namespace(environments=tmp_path, seconds=1)
    found = {"faiss flat": [peers.measured("faiss flat", tmp_path, [], 0, arguments)]}
    found["BERTopic online"] = [peers.measured("BERTopic online", tmp_path, [], 0, arguments)]
    lines = peers.peers_table.table(found).splitlines()
    assert "not installed: no scipy" in lines[2] and "no bertopic" in lines[3]
    assert {line.count("|") for line in lines} == {len(peers.peers_table.COLUMNS) + 1}


@pytest.mark.slow
def test_times_of_peers_are_ratios_within_a_round(peers, tmp_path):
    """The second round was twice as slow; a method that gave nothing has neither ratio nor point."""
    held = {"precision": 0.5, "auc": 0.8, "mb": 100, "lines": 9, "environment": 200, "remark": ""}
    rounds = [{**held, "score": 10 * slow, "learn": 20 * slow} for slow in (1, 2)]
    ours = [{**held, "score": 5 * slow, "learn": 5 * slow, "auc": 0.9} for slow in (1, 2)]
    found = {
        "faiss flat": rounds,
        peers.peers_table.UNIT: ours,
        "river": [{"remark": "no", "environment": 3}],
    }
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in peers.peers_table.table(found).splitlines()
    ]
    named = dict(zip(rows[0], zip(*rows[2:], strict=True), strict=True))
    assert named["over levels"] == ("3", "1", "") and named["us to score"] == ("15", "8", "")
    assert named["AUC"] == ("0.800 ± 0.000", "0.900 ± 0.000", "") and named["remark"] == (
        "",
        "",
        "no",
    )
    again = peers.peers_table.merged([{"tdt2": found, "news": {}}, {"tdt2": {"river": rounds[:1]}}])
    assert again == {"tdt2": {**found, "river": rounds[:1]}}
    peers.peers_table.picture({"tdt2": found}, tmp_path / "peers.png")
    assert (tmp_path / "peers.png").read_bytes().startswith(b"\x89PNG") and (
        tmp_path / "peers.svg"
    ).exists()


def test_streams_without_texts_are_told_as_numbers_of_words(peers, tmp_path):
    counts = sparse.csr_matrix(np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]]))
    held = {f"{key}_{part}": getattr(counts, part) for key in ("weights", "counts")
            for part in ("data", "indices", "indptr", "shape")}  # fmt: skip
    np.savez(tmp_path / "0.npz", **held)
    batch = peers.peers_stream.Batch(tmp_path, 0)
    assert batch.texts == ["w0 w0 w2", "", "w1 w1 w1"] and batch.vectors is None
    np.save(
        tmp_path / "0-vectors.npy", np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 6.0]], dtype=np.float32)
    )
    other = peers.peers_stream.Batch(tmp_path, 0)
    np.testing.assert_allclose(
        np.linalg.norm(peers.peers_stream.Meaning().vectors_of(other), axis=1), 1.0
    )
    assert other.vectors[0, 0] < 0 < other.vectors[1, 0], "around the mean"


def test_columns_of_methods_whose_vocabulary_cannot_grow(peers):
    methods = peers.peers_stream
    matrix = sparse.csr_matrix(np.array([[1.0, 0.0, 2.0]]))
    wide = sparse.csr_matrix(
        (matrix.data, matrix.indices * methods.WIDTH, matrix.indptr), (1, 3 * methods.WIDTH)
    )
    assert methods.folded(matrix)[0, 2] == 2.0 and methods.folded(wide)[0, 0] == 3.0


def test_constants_are_changed_for_a_while(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import constants

    for module, names, values in constants.ROWS.values():
        if isinstance(module, str):
            continue
        before = [
            getattr(module, name) for name in (names if isinstance(names, tuple) else (names,))
        ]
        for value in values:
            with constants.changed(module, names, value):
                assert getattr(module, names if isinstance(names, str) else names[0]) != before[0]
            assert [
                getattr(module, name) for name in (names if isinstance(names, tuple) else (names,))
            ] == before
