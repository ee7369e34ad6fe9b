"""Progress: the lines of a run on a terminal and elsewhere."""

import io

import pytest

from odl.cli.progress import Progress, duration


class TestProgress:
    def script(self, live, end=True, n=3):
        """Show a run of three timesteps, `n` of them learned; return what was written."""
        stream, now = io.StringIO(), [0.0]

        def clock():
            now[0] += 1
            return now[0]

        shown = Progress(stream, live, clock)
        for step, note in (("share", ""), ("share", ""), ("read", "15 documents, 9 terms"), ("index", "")):
            shown.started(step)
            shown.finished(step, None, note)
        shown.steps = 3
        for t in range(n):
            for step in ("batch", "features", "update"):
                shown.started(step, t)
                shown.finished(step, t, f"5 documents, 2026-01-0{t + 1} to 2026-01-0{t + 2}")
        if end:
            shown.close(whole=n == 3)
        return stream.getvalue()

    def test_elsewhere_than_on_a_terminal_a_line_a_stage(self):
        lines = self.script(live=False).splitlines()
        assert [line.split()[0] for line in lines] == ["reading", "batches", "learning"]
        assert "15 documents, 9 terms" in lines[0] and " 6/6 " in lines[1] and " 3/3 " in lines[2]
        assert "2026-01-03 to 2026-01-04" in lines[2] and "\x1b" not in "".join(lines)

    def test_on_a_terminal_lines_change(self):
        written = self.script(live=True)
        assert "1/3  2026-01-01 to 2026-01-02" in written and "s left" in written and "\x1b[" in written
        assert written.rpartition("\x1b[J")[2].count("\n") == 3

    def test_a_run_that_was_stopped_says_how_far_it_came(self):
        lines = self.script(live=False, n=2).splitlines()
        assert " 4/6 " in lines[1] and " 2/3 " in lines[2] and lines[2].endswith(" left")

    def test_timesteps_before_the_first_that_is_done_do_not_count(self):
        stream = io.StringIO()
        shown = Progress(stream, False)
        shown.steps = 10
        shown.started("update", 8)
        shown.finished("update", 8)
        assert not stream.getvalue()
        shown.started("update", 9)
        shown.finished("update", 9)
        assert " 2/2  timestep 9" in stream.getvalue()

    @pytest.mark.parametrize(("seconds", "said"), [(0.2, "0 s"), (75, "75 s"), (600, "10 min"), (7200, "2.0 h")])
    def test_durations(self, seconds, said):
        assert duration(seconds) == said
