"""Work on several cores: what fails, what is stopped and what is left of it."""

import os
import signal
import time

import pytest

from odl.engine import forking


def test_all_is_done_and_what_fails_stays_in_its_process(tmp_path):
    def work(number):
        if number == 3:
            raise ValueError(number)
        (tmp_path / str(number)).touch()

    forking.each(work, [(number,) for number in range(6)], 2)
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "2", "4"}


def test_there_are_no_more_processes_than_tasks_and_cores(tmp_path):
    for n_tasks, cores, n_processes in ((5, 2, 2), (2, 5, 2), (3, 1, 1)):
        folder = tmp_path / f"{n_tasks}-{cores}"
        folder.mkdir()
        forking.each(lambda n: (folder / f"{n}-{os.getpid()}").touch(), [(n,) for n in range(n_tasks)], cores)  # noqa: B023
        names = [path.name.split("-") for path in folder.iterdir()]
        assert sorted(number for number, _ in names) == [str(n) for n in range(n_tasks)]
        assert len({process for _, process in names}) == n_processes and str(os.getpid()) not in {*dict(names).values()}


def test_an_interrupt_of_all_processes_is_for_the_first_one(tmp_path):
    def work():
        os.kill(os.getpid(), signal.SIGINT)
        (tmp_path / "done").touch()

    forking.each(work, [()], 1)
    assert (tmp_path / "done").exists()


def test_processes_end_with_the_one_that_made_them(tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    def work(number):
        (tmp_path / str(os.getpid())).touch()
        time.sleep(60)

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(KeyboardInterrupt):
            forking.each(work, [(0,), (1,)], 2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for path in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name), 0)
