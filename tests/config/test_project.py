"""The few lines of an odl.yaml, as a complete configuration."""

import subprocess
import sys

import pytest

from odl.config import places, project
from odl.config.schema import check_map, load_schema
from odl.config.sections import Alerts
from odl.errors import ConfigError

HUGE = 16**5000


class TestExpand:
    def test_what_is_said_comes_first(self):
        found = project.expand(
            {"study": "x", "sources": ["."], "seeds": [1], "report": {"seed": 1}, "atoms": 9}
        )
        assert (
            found["seeds"] == [1] and found["report"]["seed"] == 1 and found["report"]["atoms"] == 9
        )
        assert found["atoms"] == [9]
        found = project.expand(
            {"sources": ["."], "runs": ["adaptive", "admm"], "batches": {"initial": 300}}
        )
        assert found["alerts"] == {**Alerts.earlier(), "run": "adaptive", "atoms": None} and found[
            "atoms"
        ] == [300]
        assert found["report"]["runs"] == ["adaptive", "admm"]

    def test_what_is_wrong_is_named(self):
        with pytest.raises(ConfigError, match="has no sources"):
            project.expand({"study": "x"})
        with pytest.raises(ConfigError, match=r"has a key 'souces'.*did you mean 'sources'"):
            project.expand({"souces": ["."], "sources": ["."]})

    def test_a_key_that_stands_twice_is_refused(self, tmp_path):
        """The second would take the place of the first without a word; one that is merged in may be replaced."""
        (tmp_path / "odl.yaml").write_text("alerts: {gates: true}\nalerts: {budget: 5}\n")
        with pytest.raises(ConfigError, match="has the key alerts twice"):
            project.read(tmp_path)
        (tmp_path / "odl.yaml").write_text(
            "batches: &some {by: period}\nalerts: {<<: *some, by: x}\n"
        )
        assert project.read(tmp_path)["alerts"] == {"by": "x"}

    @pytest.mark.parametrize(
        "line", ["study: {}", "alerts: {{warm_up: {}}}", "seeds: [{}]", "? {}\n: 1", "notify: {}"]
    )
    def test_a_number_too_large_to_print_ends_in_one_sentence(self, tmp_path, line):
        (tmp_path / "odl.yaml").write_text(
            "sources: [a.jsonl]\n" + line.format("0x" + 5000 * "f") + "\n"
        )
        with pytest.raises(ConfigError, match="line 2 has an integer beyond 2\\^63 - 1"):
            project.read(tmp_path)

    @pytest.mark.parametrize(
        "part",
        [
            {"study": HUGE},
            {"seeds": [HUGE]},
            {"runs": [HUGE]},
            {"runs": [[HUGE]]},
            {"alerts": {HUGE: 1}},
        ],
    )
    def test_and_so_it_does_where_snakemake_read_it(self, part):
        with pytest.raises(ConfigError, match="an integer beyond 2\\^63 - 1"):
            check_map(
                project.expand({"sources": ["a.jsonl"], **part}),
                load_schema(places.SCHEMAS / "config.schema.json"),
            )

    def test_a_snakefile_ends_in_one_sentence(self):
        with pytest.raises(SystemExit) as stop:
            project.checked({"study": "x"})
        assert str(stop.value).startswith("odl: odl.yaml has no sources; expected")

    def test_the_keys_are_those_of_the_schema(self):
        schema = load_schema(places.SCHEMAS / "config.schema.json")
        assert set(project.KEYS) == schema["properties"].keys()

    def test_it_needs_the_standard_library_only(self):
        code = (
            "import sys, odl.config.project; print('yaml' in sys.modules or 'numpy' in sys.modules)"
        )
        assert (
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
            == "False\n"
        )


def test_a_learner_that_no_run_uses_is_refused():
    config = {"sources": ["a.jsonl"], "learners": {"mine": {"algorithm": "adaptive"}}}
    with pytest.raises(ConfigError, match=r"learners\.mine.*runs are levels.*write runs: \[mine\]"):
        project.expand(config)
    assert project.expand({**config, "runs": ["mine"]})["runs"] == ["mine"]
