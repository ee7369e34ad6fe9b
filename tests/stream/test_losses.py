"""What a run took out of documents, in one line."""

import numpy as np
from ownfiles import jsonl, own

from odl import corpora
from odl.files import documents as docs
from odl.files import storage
from odl.stream import losses


def test_what_a_run_took_out_is_one_line(tmp_path):
    rows = [{"id": f"p-{n}", "text": f"{own(n)}\n-- \nSome Body"} for n in range(5)] + [{"id": "short", "text": "a"}]
    options = {"clean": ["headers", "signatures"], "min_words": 5, "tokens": {"stop_words": None}}
    docs.write(tmp_path / "documents.h5", corpora.read("documents", [jsonl(tmp_path / "a.jsonl", rows)], options))
    said = "cleaned 5 documents: signatures of 5 (70 characters)"
    places = tmp_path / "documents.h5", tmp_path / "seed0" / "features" / "1.h5"
    assert losses.sentence(*places) == f"{said}; 1 more were too short and are left out"
    (tmp_path / "seed0" / "features").mkdir(parents=True)
    for t in (0, 1):
        with storage.writing(tmp_path / "seed0" / "features" / f"{t}.h5", "features", t=t) as file:
            file.create_group("boilerplate").attrs["sums"] = np.array([1 + t, 1200 * (1 + t)])
    assert losses.sentence(*places).startswith(f"{said}, boilerplate of 2 (2,400 characters); ")
    assert losses.sentence(tmp_path / "absent", tmp_path) == ""
