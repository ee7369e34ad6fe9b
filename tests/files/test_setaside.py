"""Documents set aside: entries, sentence and table."""

from odl.files import setaside
from odl.files.setaside import Aside


def test_a_reason_is_one_short_line():
    entry = setaside.aside("a.jsonl", "line 3", ValueError("no\ntime\ud800" + 500 * "x"))
    assert entry.reason.startswith("no time?x") and len(entry.reason) == setaside.REASON_CHARACTERS


def test_documents_files_and_ends_are_counted_apart():
    assert setaside.account([]) == ""
    assert setaside.account([Aside("a", "line 1", "no text")]) == "1 document was set aside"
    entries = [
        Aside("a", "line 1", ""),
        Aside("a", "line 2", ""),
        Aside("b", "", ""),
        Aside("c", "after line 1", ""),
    ]
    assert setaside.account(entries) == "2 documents and 1 file and 1 end of a file were set aside"
    damaged = [Aside("d", "read", "x"), Aside("d", "read", "y")]
    assert setaside.account(damaged) == "1 damaged file was read"
    assert (
        setaside.account(entries[:1] + damaged)
        == "1 document was set aside; 1 damaged file was read"
    )


def test_the_table_is_removed_with_the_last_entry(tmp_path):
    path = tmp_path / "set-aside.tsv"
    setaside.write_table(path, [Aside("=a\tb", "line 1", "no \x1b text")])
    assert path.read_text() == "file\tplace\treason\n'=a b\tline 1\tno \\u001b text\n"
    setaside.write_table(path, [])
    setaside.write_table(path, [])
    assert not path.exists()
