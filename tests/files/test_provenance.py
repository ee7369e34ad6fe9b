"""Provenance records in pages and in attributes."""

import h5py

from odl.files import provenance


def test_a_page():
    with provenance.recording({"step": "newpage", "inputs": {"a": "-->"}}) as outputs:
        text = provenance.page("<html></html>\n")
    assert provenance.of_page(text) == (
        outputs[0],
        {"step": "newpage", "inputs": {"a": "-->"}, "beside": []},
    )
    assert text.count("-->") == 1
    assert provenance.of_page(text.replace("<html>", "<body>"))[1] is None
    assert provenance.of_page("<html></html>\n") == (outputs[0], None)


def test_a_file_goes_on_where_step_settings_and_code_are_those_of_now():
    record = {"step": "read", "settings": {"a": 1}, "inputs": {"x": "d"}, "code": "c"}
    with provenance.recording({**record, "inputs": {}}):
        for changed, same in (
            ({}, True),
            ({"step": "share"}, False),
            ({"settings": {}}, False),
            ({"code": ""}, False),
        ):
            assert provenance.goes_on({"made": provenance.text_of(record | changed)}) == same
        for made in ({}, {"made": "{"}, {"made": "[]"}, {"made": 7}):
            assert not provenance.goes_on(made) and provenance.of_attributes(made) is None
    assert not provenance.goes_on(
        {"made": provenance.text_of(record)}
    )  # nothing is made at the moment


def test_the_record_of_a_file_names_the_files_that_its_step_finished_before(tmp_path):
    with provenance.recording({"step": "index"}), h5py.File(tmp_path / "order.h5", "w") as file:
        provenance.note("digest of the table")
        provenance.finish(file, "digest of the order")
        assert provenance.of_attributes(file.attrs)["beside"] == ["digest of the table"]
    provenance.note("a file outside of a step")
