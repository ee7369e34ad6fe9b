"""Answers of a judge do not depend on what comes with a document, or on how many words are new."""

import contextlib
import json

import pytest
import streams
from called import odl

from odl.engine import folder as folders
from odl.live import judge


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 0.5])
def test_alone_or_with_others_a_document_gets_the_same_answer(tmp_path, monkeypatch, share):
    news = streams.begin(tmp_path, weeks=3)
    text = (news / "odl.yaml").read_text()
    (news / "odl.yaml").write_text(
        text.replace("features: {", f"features: {{pieces: {share}, " if share else "features: {")
    )
    assert odl("run", news).returncode == 0
    posts = [streams.post(3, number, ("grain", "sea")[number % 2]) for number in range(20)]
    for number, post in enumerate(posts):
        post["text"] += f" Neverseen{number} aardvark zebra{number % 3}"
    lines = [json.dumps(post).encode() for post in posts]
    with contextlib.chdir(news):
        folder = folders.opened()
        arrivals = judge.Arrivals(folder.stream["options"])

        def answers(size, room):
            monkeypatch.setattr(judge, "SPARE_COLUMNS", room)
            judged, told = judge.DocumentJudge(folder, 2), []
            for first in range(0, len(lines), size):
                rows = [
                    arrivals.row(number, line)
                    for number, line in enumerate(lines[first : first + size])
                ]
                told += judged(arrivals.read(rows)[0])
            return told

        together = answers(20, judge.SPARE_COLUMNS)
        assert len(together) == 20 and all(one["score"] > 0 for one in together)
        assert any("aardvark" in dict(one["reasons"]) for one in together)
        assert answers(1, 0) == answers(7, 10) == together
