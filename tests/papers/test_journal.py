"""A long measurement that was interrupted goes on from its journal, to the same bytes."""

import json
import os

import pytest
from experimented import TREES, settings_of

from odl import cli
from odl.papers import experiments, reconstruction
from odl.papers.experiments import UNFINISHED, Journal

HEAD = {"settings": {"a": [1, 2]}}
VALUES = {("x", 50): [0.1, 1 / 3], ("y", (1, 2.5)): [1e-300, 5.0], ("z", None): "ü"}


class Stopped(Exception):
    pass


def filled(path, head=HEAD):
    journal = Journal(path, head)
    return {key: journal.once(key, lambda value=value: value) for key, value in VALUES.items()}


def missed(path, head=HEAD):
    """Return the keys that a new journal does not have."""
    journal, missed = Journal(path, head), []
    for key, value in VALUES.items():
        assert journal.once(key, lambda key=key, value=value: (missed.append(key), value)[1]) == value
    return missed


class TestJournal:
    def test_values_outlive_a_process_to_the_last_digit(self, tmp_path):
        filled(tmp_path / "j")
        assert missed(tmp_path / "j") == []

    def test_a_line_that_is_cut_off_or_damaged_is_measured_again(self, tmp_path):
        filled(tmp_path / "j")
        whole = (tmp_path / "j").read_bytes()
        lines = whole.splitlines(keepends=True)
        assert len(lines) == 4
        keys = list(VALUES)
        for place in range(len(whole)):
            (tmp_path / "j").write_bytes(whole[:place])
            at = whole[:place].count(b"\n")  # lines that are whole before it
            assert missed(tmp_path / "j") == keys[max(at - 1, 0) :]
            (tmp_path / "j").write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            two_in_one = whole[place : place + 1] == b"\n"
            hit = keys[at - 1 : at + two_in_one] if at else keys
            assert missed(tmp_path / "j") == hit
            assert missed(tmp_path / "j") == []

    def test_other_settings_begin_anew(self, tmp_path):
        filled(tmp_path / "j")
        assert missed(tmp_path / "j", {"settings": {"a": [1, 3]}}) == list(VALUES)
        assert missed(tmp_path / "j") == list(VALUES)

    def test_at_the_end_it_is_gone(self, tmp_path):
        journal = Journal(tmp_path / "j", HEAD)
        assert os.path.exists(tmp_path / "j")
        journal.end()
        assert os.listdir(tmp_path) == []


def test_a_part_that_was_killed_goes_on(tmp_path, monkeypatch):
    measured, count, stop = reconstruction.Bench._measured, [], [None]

    def counted(bench, key, share):
        if len(count) == stop[0]:
            raise Stopped
        count.append(key)
        return measured(bench, key, share)

    monkeypatch.setattr(reconstruction.Bench, "_measured", counted)
    experiments.measure("inpainting", tmp_path / "whole.json", 1, TREES)
    n_all, n_before = len(count), 3
    assert n_all > 6 and os.listdir(tmp_path) == ["whole.json"]
    count.clear()
    stop[0] = n_before
    with pytest.raises(Stopped):
        experiments.measure("inpainting", tmp_path / "part.json", 1, TREES)
    assert sorted(os.listdir(tmp_path)) == ["part.json" + UNFINISHED, "whole.json"]
    count.clear()
    stop[0] = None
    experiments.measure("inpainting", tmp_path / "part.json", 1, TREES)
    assert len(count) == n_all - n_before
    assert (tmp_path / "part.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["part.json", "whole.json"]


def test_without_structures_neither_their_table_nor_picture(tmp_path):
    settings = {**TREES, "seeds": [0], "structures": False}
    assert (
        cli.main(["step", "experiment", "inpainting", str(tmp_path / "found"), "--settings", json.dumps(settings)]) == 0
    )
    names = os.listdir(tmp_path / "found")
    assert "test.tsv" in names and not [name for name in names if name.startswith("structures")]
    assert experiments.section(tmp_path / "found")[2].count("<figure") == 2
    assert settings_of("inpainting")["structures"]
