"""The loop of odl run: what is done again, and when; what kills, locks and damage leave; the bytes of Snakemake."""

import contextlib
import importlib.metadata
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import disks
import pytest
import streams

from odl.alerts import feedback
from odl.cli import main
from odl.config import sources
from odl.engine import ledger, loop, processes
from odl.files import blocks, storage
from odl.files.tables import read_cells


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A folder that was run."""
    return streams.learned(tmp_path_factory.getbasetemp())


@pytest.fixture
def news(first, tmp_path):
    return streams.copy(first, tmp_path)


def done(folder, *words, status=0):
    """Run a folder; return the steps that were done, as "step t"."""
    table = folder / "results" / "news" / "run.tsv"
    table.unlink(missing_ok=True)
    assert main(["run", str(folder), *words]) == status
    rows = read_cells(table)[1] if table.exists() else []
    return [f"{row[0]} {row[1]}".strip() for row in rows]


def chain(folder, part, t):
    places = {
        "state": "levels/k*/{t}.h5",
        "scores": "levels/k*/scores/{t}.h5",
        "alerts": "levels/k*/alerts/{t}.h5",
    }
    pattern = places.get(part, part + "/{t}.h5").format(t=t)
    (path,) = (folder / "results" / "news" / "news" / "seed0").glob(pattern)
    return path


class TestFresh:
    """A file is made again when and only when what it was made from has changed."""

    def test_nothing_is_done_twice(self, news, capsys):
        assert done(news) == []
        assert "nothing has changed since the last run" in capsys.readouterr().out

    @pytest.mark.slow
    def test_times_and_places_do_not_matter(self, news, tmp_path):
        for path in news.parent.rglob("*"):
            os.utime(path, (1, 1) if path.suffix == ".jsonl" else (2_000_000_000, 2_000_000_000))
        assert done(news) == []
        (tmp_path / "elsewhere").mkdir()
        assert done(streams.copy(news, tmp_path / "elsewhere")) == []
        (news / "results" / "news" / ".verified.json").unlink()
        assert done(news) == []

    @pytest.mark.parametrize(
        ("part", "steps"),
        [
            ("batches", ["batch 2"]),
            ("features", ["features 2"]),
            ("scores", ["update 2"]),
            ("state", ["update 2"]),
            ("alerts", ["alerts 2"]),
        ],
    )
    def test_a_deleted_file_comes_back_alone(self, news, part, steps):
        path = chain(news, part, 2)
        before = path.read_bytes()
        path.unlink()
        assert done(news) == steps and path.read_bytes() == before

    @pytest.mark.slow
    def test_files_of_the_whole_stream_come_back_alone(self, news):
        for name, steps in (
            ("documents.h5", ["read"]),
            ("seed0/index.tsv", ["index"]),
            ("seed0/order.h5", ["index"]),
        ):
            (news / "results" / "news" / "news" / name).unlink()
            assert done(news) == steps
        for name in ("new.html", "new.atom", "new.json"):
            before = (news / name).read_bytes()
            (news / name).unlink()
            assert done(news) == ["newpage"] and (news / name).read_bytes() == before

    def test_a_damaged_file_is_made_again(self, news):
        path = chain(news, "features", 3)
        before = path.read_bytes()
        flipped = bytearray(before)
        flipped[before.index(b"n_before") + 1] ^= 1
        path.write_bytes(flipped)
        assert done(news) == ["features 3"] and path.read_bytes() == before

    def test_a_file_of_another_stream_is_made_again(self, news):
        path = chain(news, "scores", 3)
        before = path.read_bytes()
        shutil.copy(chain(news, "scores", 2), path)
        assert done(news) == ["update 3"] and path.read_bytes() == before

    def test_a_week_more(self, news):
        before = streams.contents(news)
        streams.write(news.parent, 5)
        steps = done(news)
        assert steps == [
            "read",
            "index",
            *(f"{step} 5" for step in ("batch", "features", "update", "alerts")),
            "newpage",
        ]
        after = streams.contents(news)
        assert {name for name in before if re.search(r"/[0-4]\.h5$", name)} and not [
            name
            for name in before
            if re.search(r"/[0-4]\.h5$", name) and after[name] != before[name]
        ]

    def test_no_document_of_a_period_is_read_twice(self, news, monkeypatch):
        """Its batch is read once for all of its headlines, and no earlier one."""
        read, strings = [], storage.read_strings

        def noted(file, name):
            read.append((blocks.path_of(file), name))
            return strings(file, name)

        monkeypatch.setattr(storage, "read_strings", noted)
        streams.write(news.parent, 5, ("grain", "oil", "sea"))
        assert "alerts 5" in done(news)
        read = [(path, name) for path, name in read if "/batches/" in path]
        assert {os.path.basename(path) for path, _ in read} == {"5.h5"} and len(read) == len(
            {*read}
        )

    @pytest.mark.slow
    def test_at_once_or_appended_gives_the_same_bytes(self, news, tmp_path):
        streams.write(news.parent, 5)
        done(news)
        (tmp_path / "once").mkdir()
        other = streams.copy(news, tmp_path / "once")
        shutil.rmtree(other / "results")
        done(other)
        assert streams.contents(other) == streams.contents(news)

    @pytest.mark.slow
    def test_one_core_makes_the_same_files(self, first, news):
        shutil.rmtree(news / "results")
        assert "update 4" in done(news, "--cores", "1") and streams.contents(
            news
        ) == streams.contents(first)

    @pytest.mark.slow
    def test_words_weighed_by_the_whole_corpus_are_weighed_anew_with_every_week(self, news):
        """Of which the last features know the most; `idf: corpus` is for a corpus that does not grow."""
        settings = (news / "odl.yaml").read_text()
        assert settings.count("levels: {recency: 0.5}") == 1
        learner = "levels: {algorithm: levels, features: {tf: log, idf: corpus}}"
        (news / "odl.yaml").write_text(settings.replace("levels: {recency: 0.5}", learner))
        before, updates = chain(news, "scores", 2).read_bytes(), [f"update {t}" for t in range(5)]
        assert [step for step in done(news) if step.startswith("update")] == updates
        assert chain(news, "scores", 2).read_bytes() != before
        streams.write(news.parent, 5)
        assert [step for step in done(news) if step.startswith("update")] == [*updates, "update 5"]
        assert done(news) == []

    def test_what_comes_out_the_same_goes_no_further(self, news):
        """A file written anew with the same posts is read, and nothing else is done."""
        path = news.parent / "posts" / "03.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(dict(reversed(row.items()))) + "\n" for row in rows))
        assert done(news) == ["read"]

    def test_an_edited_post_changes_its_week_and_what_follows(self, news):
        path = news.parent / "posts" / "03.jsonl"
        path.write_text(path.read_text().replace("wheat", "spelt", 1))
        steps = done(news)
        assert steps[:3] == ["read", "index", "batch 3"] and "batch 4" not in steps
        assert {"update 3", "alerts 3", "update 4"} <= {*steps} and "update 2" not in steps

    @pytest.mark.slow
    def test_a_setting_changes_what_reads_it(self, news):
        path = news / "odl.yaml"
        path.write_text(path.read_text().replace("budget: 5", "budget: 4"))
        assert {step.split()[0] for step in done(news)} == {"alerts", "newpage"}
        (news / "feedback.csv").write_text("what,verdict,until,note\nw3-1,known,,\n")
        assert done(news) == ["newpage"]
        text = path.read_text()
        path.write_text(text + "order_by_verdicts: false\n")
        assert done(news) == ["newpage"] and done(news) == []
        path.write_text(text)
        assert done(news) == ["newpage"]

    @pytest.mark.slow
    def test_the_time_of_a_file_is_recorded_once(self, tmp_path):
        texts = tmp_path / "texts"
        texts.mkdir()
        for number in range(240):
            path = texts / f"{number:03d}.txt"
            path.write_text(
                streams.post(number // 60, number % 60, "grain" if number % 2 else "oil")["text"]
            )
            os.utime(path, (1_770_000_000 + 2_000 * number,) * 2)
        folder = tmp_path / "news"
        assert main(["init", str(folder), str(texts), "--times", "modified"]) == 0
        assert done(folder)
        before = streams.contents(folder)
        for path in texts.iterdir():
            os.utime(path, (1_780_000_000,) * 2)
        assert done(folder) == []
        (folder / "results" / "news" / "news" / "documents.h5").unlink()
        assert done(folder) == ["read"] and streams.contents(folder) == before
        (texts / "000.txt").write_text("wheat and a word that nobody has written before")
        assert done(folder)[0] == "read"

    def test_a_shorter_stream_leaves_nothing_of_the_longer_one(self, news):
        (news.parent / "posts" / "04.jsonl").unlink()
        done(news)
        assert not [name for name in streams.contents(news) if re.search(r"/[4-9]\.h5$", name)]

    def test_a_dry_run_says_what_and_why(self, news, capsys):
        assert main(["run", str(news), "--dry-run"]) == 0
        assert "nothing to do" in capsys.readouterr().out
        streams.write(news.parent, 5)
        before = streams.contents(news)
        assert main(["run", str(news), "-n"]) == 0
        assert (
            "  read: sources changed" in capsys.readouterr().out
            and streams.contents(news) == before
        )

    def test_a_dry_run_of_a_folder_that_was_never_run(self, tmp_path, capsys):
        folder = streams.begin(tmp_path, weeks=2)
        capsys.readouterr()
        assert main(["run", str(folder), "-n"]) == 0
        assert "  read: results/news/news/documents.h5 is missing" in capsys.readouterr().out
        assert not list((folder / "results").rglob("*.h5"))

    @pytest.mark.slow
    def test_a_dry_run_says_what_a_run_does(self, news, capsys):
        """Steps of their own reasons, where a timestep stands between as well; a setting by its name."""
        for t in (0, 1, 3):
            chain(news, "features", t).unlink()
        capsys.readouterr()
        assert main(["run", str(news), "-n"]) == 0
        plan = capsys.readouterr().out.splitlines()
        folder = "results/news/news/seed0"
        assert plan[1:-1] == [f"  features 0 to 1, 3: {folder}/features/0.h5 is missing"]
        assert plan[-1] == "and every later step whose input changes"
        assert done(news) == ["features 0", "features 1", "features 3"]
        path = news / "odl.yaml"
        path.write_text(
            path.read_text()
            .replace("budget: 5", "budget: 4")
            .replace("max_share: 0.5", "max_share: 0.4")
        )
        capsys.readouterr()
        assert main(["run", str(news), "-n"]) == 0
        plan = capsys.readouterr().out
        assert "  update 0 to 4: run.features.max_share changed\n" in plan
        assert "  alerts 0 to 4: run.features.max_share, settings.budget changed\n" in plan

    def test_what_was_made_from_another_file_is_named(self, news, capsys):
        folder = news / "results" / "news"
        assert main(["verify", str(folder)]) in (0, None)
        (features,) = folder.rglob("features/1.h5")
        shutil.copy(features.with_name("0.h5"), features)
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main(["verify", str(folder)])
        wrong = [
            line.split(" was computed from")[0]
            for line in capsys.readouterr().out.splitlines()[:-1]
        ]
        run = next(folder.rglob("alerts")).parent
        made_of_it = [
            features,
            features.with_name("2.h5"),
            *(run / part / "1.h5" for part in ("", "alerts", "scores")),
        ]
        assert sorted(wrong) == sorted(map(str, made_of_it))

    @pytest.mark.parametrize("name", ["new.html", "new.atom", "new.json"])
    def test_a_page_and_its_feeds_are_held_to_their_digests(self, news, name, capsys):
        """By both; a byte that is no text is a change like others."""
        path, folder = news / name, str(news / "results" / "news")
        content = path.read_bytes()
        with open(path, "r+b") as file:
            file.seek(len(content) // 2)
            file.write(b"\xff")
        with pytest.raises(SystemExit):
            main(["verify", folder])
        said = capsys.readouterr().out.splitlines()
        assert len(said) == 2 and f"{path} was changed after it was written" in said[0]
        assert f"delete {news / 'new.html'} and run" in said[0]
        assert done(news) == ["newpage"] and path.read_bytes() == content
        assert main(["verify", folder]) in (0, None)

    def test_everything_is_read_where_asked(self, news):
        """A flip that size, time and inode do not tell of is seen by --check alone."""
        assert done(news) == []
        path = chain(news, "features", 1)
        facts, before = path.stat(), path.read_bytes()
        with open(path, "r+b") as file:
            file.seek(before.index(b"n_before") + 1)
            file.write(b"x")
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        assert done(news) == []
        assert done(news, "--check") == ["features 1"] and path.read_bytes() == before


class TestCode:
    """New code alone starts nothing; what it would do is said, and done when asked for."""

    @pytest.mark.slow
    def test_it_is_said_and_done_when_asked(self, news, monkeypatch, capsys):
        real = sources.digest
        monkeypatch.setattr(
            sources,
            "digest",
            lambda *names, **more: real(*names, **more)[:8] + "other" * ("jobs/alerts" in names),
        )
        capsys.readouterr()
        assert done(news) == []
        told = capsys.readouterr().out
        assert re.search(
            r"computed by another version of odl, and still used: .*alerts of 5.* --again", told
        )
        steps = done(news, "--again")
        assert {step.split()[0] for step in steps} == {
            "read",
            "index",
            "batch",
            "features",
            "update",
            "alerts",
            "newpage",
        }
        assert "another version" not in capsys.readouterr().out and done(news) == []

    @pytest.mark.slow
    def test_what_was_said_of_events_follows_them(self, news, capsys):
        assert main(["mute", str(news), "event:1", "--note", "rockets"]) == 0
        path = streams.write(
            news.parent, 2, ("grain", "oil", "sea")
        )  # an earlier event takes the number
        assert path.exists() and done(news)
        told = capsys.readouterr().out
        found = re.search(
            r"feedback.csv: event:1 is event:(\d+) now, by (\d+) of its (\d+) documents", told
        )
        assert found and int(found[2]) > int(found[3]) / 2
        table = (news / "feedback.csv").read_text()
        assert table == f"what,verdict,until,note\nevent:{found[1]},muted,,rockets\n"
        page = (news / "new.html").read_bytes()
        assert done(news) == [] and (news / "new.html").read_bytes() == page
        streams.write(news.parent, 4, ("grain", "oil"))
        done(news)
        assert "is no event any more, its line (muted) is gone" in capsys.readouterr().out
        assert "event" not in (news / "feedback.csv").read_text()

    @pytest.mark.slow
    def test_a_kill_before_feedback_is_written(self, news, monkeypatch):
        assert main(["mute", str(news), "event:1"]) == 0
        streams.write(news.parent, 2, ("grain", "oil", "sea"))
        with monkeypatch.context() as patch:
            patch.setattr(
                feedback, "write", lambda *words: (_ for _ in ()).throw(KeyboardInterrupt)
            )
            main(["run", str(news)])
        assert "event:1," in (news / "feedback.csv").read_text()
        done(news)
        assert re.search(r"event:[^1]", (news / "feedback.csv").read_text())

    def test_another_version_of_a_segmenter_is_said(self, tmp_path, monkeypatch, capsys):
        """Reading depends on it, no other step does; a stream without one does not."""
        pytest.importorskip("jieba")
        real, folder = importlib.metadata.version, streams.begin(tmp_path, 3)
        path = folder / "odl.yaml"
        path.write_text(
            path.read_text().replace("stop_words: null", "stop_words: null, segment: jieba")
        )
        assert done(folder)

        def version(name):
            return "0.43" if name == "jieba" else real(name)

        monkeypatch.setattr(importlib.metadata, "version", version)
        sources.digest.cache_clear()
        capsys.readouterr()
        assert done(folder) == []
        assert (
            "computed by another version of odl or jieba, and still used: read; "
            in capsys.readouterr().out
        )
        assert done(folder, "--again") == ["read"]
        monkeypatch.undo()
        sources.digest.cache_clear()

    @pytest.mark.parametrize(
        "text",
        ["def f(x):\n    '''Other.'''\n    return x + 1  # more\n", "\n\ndef f(x): return x + 1"],
    )
    def test_comments_and_docstrings_mean_nothing(self, text):
        meaning = sources.meaning("def f(x):\n    '''One.'''\n    return x + 1\n")
        assert (sources.meaning(text) == meaning) == ("'''" in text) or "'''" not in text
        assert sources.meaning(text.replace("+ 1", "+ 2")) != sources.meaning(text)
        assert sources.meaning("x = 'a'") != sources.meaning("x = 'b'")


class TestCheckpoints:
    """Checkpoints that were deleted to save space are learned again, to the same bytes."""

    @pytest.mark.slow
    def test_thinned(self, tmp_path):
        whole = streams.begin(tmp_path, 7)
        done(whole)
        kept = {path.name for path in chain(whole, "state", 1).parent.glob("*.h5")}
        assert kept == {f"{t}.h5" for t in range(6)}  # the first holds two weeks
        states = {
            name: held
            for name, held in streams.contents(whole).items()
            if re.search(r"k\d+/\d\.h5$", name)
        }
        path = whole / "odl.yaml"
        path.write_text(path.read_text().replace("keep: 0", "keep: 3"))
        streams.write(tmp_path, 7)
        done(whole)
        assert {path.name for path in chain(whole, "state", 0).parent.glob("*.h5")} == {
            "0.h5",
            "3.h5",
            "5.h5",
            "6.h5",
        }
        assert done(whole) == []
        path.write_text(path.read_text().replace("budget: 5", "budget: 4"))  # alerts read them all
        steps = done(whole)
        assert {"update 1", "alerts 1", "alerts 6"} <= {*steps}
        after = streams.contents(whole)
        assert all(after[name] == held for name, held in states.items() if name in after)


class TestOneRun:
    """One run a folder."""

    def test_the_second_says_who_runs(self, news, capsys):
        path = news / "results" / "news" / ".lock"
        with processes.alone(path):
            assert main(["run", str(news)]) == 75
            said = capsys.readouterr().err
            assert re.search(
                rf"odl run: .* is run by process {os.getpid()} since .*; expected at most one run in a folder; .*--wait",
                said,
            )
            path.write_text(
                json.dumps({"process": 1, "host": "another", "since": "2026-01-05 09:00:00"})
            )
            assert main(["run", str(news)]) == 75
            assert (
                "is run by process 1 on another since 2026-01-05 09:00:00;"
                in capsys.readouterr().err
            )
        assert main(["run", str(news)]) == 0


@pytest.mark.slow
def test_a_full_disk(first, tmp_path):
    """One sentence with the first file that found no room; with room again the same bytes."""
    folder = streams.copy(first, tmp_path)
    shutil.rmtree(folder / "results")
    with disks.small_disk(folder / "results", 100 * 1024) as disk:
        done = subprocess.run(
            [sys.executable, "-m", "odl", "run", str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        last = done.stderr.splitlines()[-1]
        assert done.returncode == 1 and re.match(
            r"odl run: No space left on device \(results/news/news/\S+\.h5\); ", last
        )
        assert "Traceback" not in done.stderr and not list(disk.rglob("*.part"))
        disks.resize(disk, 64 << 20)
        assert main(["run", str(folder)]) == 0 and streams.contents(folder) == streams.contents(
            first
        )


def start(folder):
    return subprocess.Popen(
        [sys.executable, "-m", "odl", "run", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class TestStrikes:
    """Kills and signals at random moments: the next run ends with the same bytes."""

    @pytest.mark.parametrize(
        "number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 2, 3))]
    )
    def test_a_few(self, first, tmp_path, number):
        strike(first, tmp_path, number)

    @pytest.mark.long
    @pytest.mark.parametrize("number", range(4, 304))
    def test_many(self, first, tmp_path, number):
        strike(first, tmp_path, number)

    def test_below_hdf5_nothing_is_raised(self, first, tmp_path, monkeypatch):
        """HDF5 calls Python to read; the signal that comes there stops the command when it has returned."""
        path, real, came = chain(first, "scores", 2), blocks.Verified.verify, []

        def verify(*words):
            came.append(signal.raise_signal(signal.SIGTERM))
            return real(*words)

        monkeypatch.setattr(blocks.Verified, "verify", verify)
        with (
            processes.heeding(),
            pytest.raises(processes.Stopped) as stop,
            storage.reading(path, "scores") as file,
        ):
            came.append(len(file["score"][:]))
            time.sleep(5)
        assert len(came) > 1 and stop.value.status == 128 + signal.SIGTERM

    def test_a_signal_that_came_while_reading_waits_for_a_writer(self, tmp_path, monkeypatch):
        """Its timer ends while HDF5 writes through us: an exception there would end in a segmentation fault."""
        real, escaped = storage._Sink.write, []

        def write(*words):
            try:
                signal.raise_signal(signal.SIGALRM)
            except processes.Stopped:
                escaped.append(words)
            return real(*words)

        monkeypatch.setattr(storage._Sink, "write", write)
        with pytest.raises(processes.Stopped) as stop, processes.heeding() as heed:
            heed.number = signal.SIGTERM
            with storage.writing(tmp_path / "a.h5", "scores") as file:
                file["score"] = [1.0, 2.0]
        assert not escaped and stop.value.status == 128 + signal.SIGTERM
        assert not list(tmp_path.glob("a.h5*"))

    def test_what_python_makes_of_a_signal_is_the_signal(self):
        """In the body of a class it is a RuntimeError; without a signal an error stays what it is."""

        class Struck:
            def __set_name__(self, owner, name):
                signal.raise_signal(signal.SIGTERM)

        with pytest.raises(processes.Stopped) as stop, processes.heeding():
            type("Period", (), {"languages": Struck()})
        assert stop.value.status == 128 + signal.SIGTERM
        with pytest.raises(RuntimeError, match="other"), processes.heeding():
            raise RuntimeError("other")

    @pytest.mark.slow
    def test_what_a_person_stops_is_said(self, first, tmp_path):
        folder = streams.copy(first, tmp_path)
        shutil.rmtree(folder / "results")
        process = start(folder)
        while not list((folder / "results").rglob("batches/0.h5")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert (
            process.returncode == 130
            and "stopped; finished steps are stored" in said
            and "Traceback" not in said
        )


def strike(first, place, number):
    """Strike a run once at a random moment, run it again, and compare."""
    draw = random.Random(number)
    folder = streams.copy(first, place)
    shutil.rmtree(folder / "results")
    (folder / "new.html").unlink()
    signals = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
    process, struck = start(folder), signals[number % 3]
    time.sleep(draw.uniform(0.2, 3.0))
    process.send_signal(struck)
    began = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - began < 20
    early = "Traceback" in said and not re.search(
        r"/odl/(cli|engine|files)/", said
    )  # Python itself, before it came to us
    assert early or ("Traceback" not in said and process.returncode in (0, 130, 143, -struck))
    assert main(["run", str(folder)]) == 0
    assert streams.contents(folder) == streams.contents(first)
    assert not list(folder.rglob("*.part"))


class TestRecords:
    """What a file says it was made from."""

    def test_a_flip_in_the_record_is_seen(self, news, capsys):
        path = chain(news, "scores", 2)
        content = bytearray(path.read_bytes())
        content[content.index(b'"step":"update"') + 9] ^= 1
        path.write_bytes(content)
        with pytest.raises(SystemExit):
            main(["verify", str(news / "results" / "news")])
        assert "scores/2.h5 was changed after it was written" in capsys.readouterr().out


@pytest.mark.parametrize(("seconds", "saves"), [(-1.0, True), (1e9, False)])
def test_what_was_verified_is_saved_now_and_then(news, monkeypatch, seconds, saves):
    """So that a run that is killed after hours does not read all files again: not at each step, which takes time."""
    moments = []
    save = ledger.Ledger.save
    monkeypatch.setattr(loop, "SAVE_INTERVAL", seconds)
    monkeypatch.setattr(
        ledger.Ledger, "save", lambda self: (moments.append(time.monotonic()), save(self))[1]
    )
    finished = []
    timestep = loop.Loop.timestep
    monkeypatch.setattr(
        loop.Loop,
        "timestep",
        lambda *args, **named: (timestep(*args, **named), finished.append(1))[0],
    )
    monkeypatch.setattr(loop.Loop, "page", lambda self, n: finished.append(len(moments)))
    with contextlib.suppress(Exception):
        main(["run", str(news)])
    *steps, before_page = finished
    assert len(steps) > 1 and before_page == len(steps) * saves
