"""Which checkpoints of a chain stay."""

from odl.files import thinning


def test_pruning_keeps_every_nth_and_the_last_two(tmp_path):
    for t in range(8):
        (tmp_path / f"{t}.h5").touch()
        (tmp_path / f"{t}.agents").mkdir()
        (tmp_path / f"{t}.agents" / "0.h5").touch()
    (tmp_path / "scores7.h5").touch()
    thinning.prune(tmp_path / "7.h5", 0)
    assert len(list(tmp_path.iterdir())) == 17
    thinning.prune(tmp_path / "7.h5", 4)
    left = {"scores7.h5"} | {f"{t}.{kind}" for t in (0, 4, 6, 7) for kind in ("h5", "agents")}
    assert {path.name for path in tmp_path.iterdir()} == left
    thinning.prune(tmp_path / "scores7.h5", 4)
    assert {path.name for path in tmp_path.iterdir()} == left
