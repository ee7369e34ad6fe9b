"""The examples of the gallery (docs/examples) run as they stand, without a network, and draw what they promise."""

import ast
import socket

import matplotlib
import numpy as np
import pytest
from places import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


@pytest.fixture
def pyplot(monkeypatch, tmp_path):
    """Pyplot without a window or settings of a user, in an empty folder, and no way out."""

    def refused(*arguments):
        raise AssertionError("an example asks for the network")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", refused)
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    with matplotlib.rc_context(matplotlib.rcParamsDefault | {"backend": "Agg"}):
        yield pyplot
    pyplot.close("all")


def test_there_are_ten_examples_and_the_gallery_takes_all():
    assert len(EXAMPLES) >= 10
    assert all(path.name.startswith("plot_") for path in EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_draws(path, pyplot, tmp_path):
    source = path.read_text(encoding="utf-8")
    exec(compile(source, str(path), "exec"), {"__name__": path.stem})
    (number,) = pyplot.get_fignums()
    figure = pyplot.figure(number)
    figure.canvas.draw()
    assert figure.axes and all(axes.has_data() for axes in figure.axes)
    for axes in (axes for axes in figure.axes if axes.axison):
        assert axes.get_xlabel() and any(
            one.get_ylabel() for one in axes.get_shared_y_axes().get_siblings(axes)
        )
    assert np.ptp(np.asarray(figure.canvas.buffer_rgba())[..., :3]) > 0
    assert not list(tmp_path.iterdir()), "an example leaves files"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_what_to_see(path):
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    title, line, empty, *rest = text.splitlines()
    assert line == "=" * len(title) and not empty
    assert 20 <= len(" ".join(rest).split()) <= 110
