"""Changed tables and JSON files are refused, or all their values are unchanged."""

import json
import random
import re

import fuzz_world
import pandas
import pytest
from fuzzing import flips

from odl import cli
from odl.config import chains
from odl.errors import OdlError, StorageError
from odl.evaluation.study import load_plan
from odl.files.tables import read_cells, read_json, read_table, write_json, write_table
from odl.files.verify import verify
from odl.papers import experiments
from odl.report import figures

TABLES = {
    "auc": "dual_averaging/auc.tsv", "summary": "dual_averaging/summary.tsv", "regret": "dual_averaging/regret.tsv",
    "emerging": "dual_averaging/emerging.tsv", "timings": "dual_averaging/timings/1.tsv", "index": "index.tsv",
    "averages": "tables/averages.tsv", "costs": "tables/costs.tsv", "nothing": "tables/published.tsv",
}  # fmt: skip
MAPS = {
    "plan": "plan.json",
    "figures": "figures/c-figures.json",
    "settings": "made/settings.json",
    "part": "part.json",
}
READERS = {"index": chains.read_index, **dict.fromkeys(MAPS, read_json), "plan": load_plan}
FILES = TABLES | MAPS


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = fuzz_world.build(tmp_path_factory.mktemp("world"))
    figures.write(root / "plan.json", root / "tables", root / "figures")
    write_json(
        root / "made/settings.json",
        {"experiment": "convergence", "settings": {"seeds": [0, 1], "weight": 2.5}},
    )
    rows = [
        {"seed": 0, "penalty": "tree", "error": 0.1 + 0.2},
        {"seed": 0, "penalty": "l1", "error": 1e-7},
    ]
    write_json(
        root / "part.json", {"experiment": "inpainting", "part": 0, "tables": {"test": rows}}
    )
    return root


def values(kind, path):
    """Return the values of a file; nan equals itself."""
    return repr(READERS.get(kind, read_table)(path))


@pytest.mark.parametrize("kind", FILES)
def test_a_flipped_bit_is_refused_or_changes_nothing(world, tmp_path, kind):
    whole, path, rnd = (
        (world / FILES[kind]).read_bytes(),
        tmp_path / f"0{FILES[kind][-5:]}",
        random.Random(kind),
    )
    path.write_bytes(whole)
    wanted, refused = values(kind, path), 0
    for flipped in flips(whole, rnd):
        path.write_bytes(flipped)
        try:
            assert values(kind, path) == wanted
        except OdlError as error:
            assert f"delete {path}" in str(error)
            refused += 1
    assert refused > 70  # white space of JSON may change


@pytest.mark.parametrize("kind", FILES)
def test_a_cut_file_is_refused(world, tmp_path, kind):
    """Cut at and within every line; only the last line break may be missing."""
    whole, path = (world / FILES[kind]).read_bytes(), tmp_path / "0"
    ends = [found.end() for found in re.finditer(b"\n", whole)]
    for end in {*ends[:-1], *(end - 2 for end in ends), *(end - 1 for end in ends[:-1]), 0}:
        path.write_bytes(whole[:end])
        with pytest.raises(StorageError, match="delete"):
            values(kind, path)


@pytest.mark.parametrize("kind", [kind for kind in TABLES if kind != "nothing"])
def test_rows_and_columns_stay_as_they_were(world, tmp_path, kind):
    path, lines = tmp_path / "0.tsv", (world / TABLES[kind]).read_text().splitlines()
    cells = [line.split("\t") for line in lines]
    swapped = [[line[1], line[0], *line[2:]] for line in cells]
    others = {
        "a column twice": [[line[0], *line] for line in cells],
        "columns in another order": swapped,
    }
    others["a column less"] = [line[1:] for line in cells]
    others["other names"] = [[f"{cells[0][0]}x", *cells[0][1:]], *cells[1:]]
    others["another cell"] = [*cells[:-1], [*cells[-1][:-2], cells[-1][-2] + "1", cells[-1][-1]]]
    others["a row twice"] = [*cells, cells[-1]]
    others["a row less"] = cells[:-1]
    others["another order"] = [cells[0], *cells[:0:-1]] if len(cells) > 2 else cells[:1]
    for what, made in others.items():
        path.write_text("\n".join(map("\t".join, made)) + "\n")
        with pytest.raises(
            StorageError, match=r"(changed|no digests|whole table).*delete .*0\.tsv and run"
        ):
            raise AssertionError(what, read_cells(path))
    path.write_text("\n".join("\t".join(line[:-1]) for line in cells) + "\n")
    with pytest.raises(
        StorageError, match=r"0\.tsv has no digests; expected .* 'digest'; delete .*0\.tsv"
    ):
        read_cells(path)


def test_pandas_reads_a_table_as_it_is(world):
    found = pandas.read_csv(world / TABLES["auc"], sep="\t")
    assert list(found)[-1] == "digest" and (found.digest.str.len() == 16).all()
    rows = read_table(world / TABLES["auc"])
    assert (
        found.auc.tolist() == pytest.approx([row["auc"] for row in rows], nan_ok=True)
        and "digest" not in rows[0]
    )
    assert len(pandas.read_csv(world / TABLES["nothing"], sep="\t")) == 0


def test_another_form_of_the_same_json_is_read(world, tmp_path):
    held = json.loads((world / MAPS["part"]).read_text())
    (tmp_path / "0.json").write_text(json.dumps(held))
    assert read_json(tmp_path / "0.json") == read_json(world / MAPS["part"])
    reversed_rows = [dict(reversed(row.items())) for row in held["tables"]["test"]]
    (tmp_path / "0.json").write_text(json.dumps({**held, "tables": {"test": reversed_rows}}))
    with pytest.raises(StorageError, match="changed"):  # the order of columns is that of the keys
        read_json(tmp_path / "0.json")
    with pytest.raises(ValueError, match="digest"):
        write_json(tmp_path / "0.json", held)


def test_an_experiment_is_deleted_as_a_whole(tmp_path):
    """Snakemake would not detect one missing table in its folder."""
    folder = tmp_path / "experiments/mine"
    write_json(folder / "settings.json", {"experiment": "quality_overview", "settings": {}})
    write_table(folder / "table.tsv", [{"stream": "a", "auc": 0.5}])
    (folder / "table.tsv").write_text((folder / "table.tsv").read_text().replace("0.5", "0.6"))
    with pytest.raises(OdlError, match=rf"table\.tsv was changed .*delete {folder} and run"):
        experiments.section(folder)
    with pytest.raises(StorageError, match=rf"table\.tsv was changed .*delete {folder} and run"):
        experiments.run("quality_overview", tmp_path / "o", {}, [str(folder)])
    assert f"delete {folder} and run" in verify(tmp_path)[1][0]


class TestVerify:
    def place(self, study, name):
        return study / name if name == "plan.json" else study / "c/seed0" / name

    @pytest.fixture
    def study(self, world, tmp_path):
        for name in FILES.values():
            path = self.place(tmp_path / "s", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((world / name).read_bytes())
        benchmarks, logs = tmp_path / "s/c/benchmarks", tmp_path / "s/logs"
        for folder in (benchmarks, logs):
            folder.mkdir(parents=True)
        (tmp_path / "s/notes.tsv").write_text("my\tnotes\n")
        (benchmarks / "1.tsv").write_text("s\th:m:s\tmax_rss\n0.91\t0:00:00\t150\n")
        (logs / "attempt.json").write_text("{}")
        return tmp_path / "s"

    def test_what_has_digests_is_counted(self, study, capsys):
        assert cli.main(["verify", str(study)]) in (0, None)
        assert capsys.readouterr().out.startswith(f"odl verify: {len(FILES)} files, ")

    @pytest.mark.parametrize("kind", FILES)
    def test_an_edited_file_is_named(self, study, kind):
        path = self.place(study, FILES[kind])
        text = path.read_text()
        digit = next(found for found in re.finditer(r"\d", text[text.index("\n") + 1 :] or text))
        place = digit.start() + (text.index("\n") + 1 if text.index("\n") + 1 < len(text) else 0)
        path.write_text(text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :])
        (sentence,) = verify(study)[1]
        assert (
            sentence.startswith(f"{path} was changed after it was written")
            and f"delete {path}" in sentence
        )


def test_numbers_of_a_table_have_six_digits(tmp_path):
    """Six decimals, or six digits below a thousandth; an empty cell for nan."""
    row = {
        "none": None,
        "nan": float("nan"),
        "whole": 3,
        "zero": 0.0,
        "half": 0.5,
        "edge": 0.001,
        "small": 0.000123456789,
    }
    write_table(tmp_path / "a.tsv", [row])
    cells = (tmp_path / "a.tsv").read_text().splitlines()[1].split("\t")[:-1]
    assert cells == ["", "", "3", "0.000000", "0.500000", "0.001000", "0.000123457"]
