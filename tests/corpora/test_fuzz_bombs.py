"""Small files that expand: memory and time are bounded, and no content is executed."""

import ast
import io
import lzma
import re
import struct
import tarfile
import time
import zlib
from contextlib import nullcontext

import numpy as np
import pytest
from places import ROOT

from odl import corpora, trees
from odl.corpora import checks, feeds, reuters21578
from odl.errors import DataError, OdlError
from odl.files import storage
from odl.papers import reconstruction


def refused(said, read, *arguments, error=DataError):
    with pytest.raises(error, match=said) as caught:
        read(*arguments)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 2500


def test_rows_that_share_texts_are_read_as_before(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = {
        "text": ["wheat grain", "oil gas", None] * 700,
        "topics": [["a", "b"], [], None] * 700,
        "counts": pa.array(
            [None, None, [("wheat", 2)]] * 700, type=pa.map_(pa.string(), pa.int64())
        ),
        "title": ["one", None, "three"] * 700,
    }
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    found = corpora.read("documents", [tmp_path / "a.parquet"])
    assert found.topics[:3] == [("a", "b"), (), ()] and found.titles[2097:] == [
        "one",
        "oil gas",
        "three",
    ]
    assert found.counts.toarray()[2097:].tolist() == [[0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 0, 2]]


def test_an_item_of_many_pieces_is_read_in_linear_time(tmp_path):
    pieces = "<category>wheat</category>" * 100_000
    (tmp_path / "a.xml").write_text(f"<rss><item><title>grain</title>{pieces}</item></rss>")
    begin = time.process_time()
    with open(tmp_path / "a.xml", "rb") as file:
        assert [row["category"] for _, row in feeds.feed_rows(file, "a.xml")] == [["wheat"]]
    assert time.process_time() - begin < 5


def test_xz_of_several_streams_is_read_whole(tmp_path):
    (tmp_path / "a.xz").write_bytes(
        lzma.compress(b"one\n") + lzma.compress(b"two\n") + lzma.compress(b"3")
    )
    with checks.unpacked(tmp_path / "a.xz", "xz") as file:
        assert file.read() == b"one\ntwo\n3"
    (tmp_path / "b.xz").write_bytes(lzma.compress(b"one\n" * 999)[:-9])
    with checks.unpacked(tmp_path / "b.xz", "xz") as file, pytest.raises(EOFError):
        file.read()


@pytest.mark.filterwarnings("ignore")
def test_an_image_that_claims_much_and_one_of_another_form(tmp_path):
    from PIL import Image

    out = io.BytesIO()
    Image.new("L", (2, 2)).save(out, "PNG")
    data = bytearray(out.getvalue())
    data[16:24] = struct.pack(">2I", 10_000, 10_000)
    data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
    out = io.BytesIO()
    Image.new("L", (2, 2)).save(out, "EPS")  # Pillow would start Ghostscript for it
    for number, image in enumerate((bytes(data), out.getvalue())):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            info = tarfile.TarInfo("a.png")
            info.size = len(image)
            archive.addfile(info, io.BytesIO(image))
        (tmp_path / f"{number}.tar.gz").write_bytes(packed.getvalue())
        refused("cannot be read", reconstruction.read_images, [tmp_path / f"{number}.tar.gz"])


@pytest.mark.parametrize(
    "piece", ["<REUTERS ", '<REUTERS NEWID="1">', '<REUTERS NEWID="1"><TEXT>', "<TEXT>", "<D>", ">"]
)
def test_sgml_that_is_never_closed_is_read_in_linear_time(piece):
    text = '<REUTERS NEWID="1"><DATE>26-FEB-1987 15:01:01.79</DATE><TOPICS>' + piece * 300_000
    begin = time.process_time()
    for end in ("", "</REUTERS>", "</TOPICS><TEXT></TEXT></REUTERS>"):
        with pytest.raises(DataError) if end == "</REUTERS>" else nullcontext():
            list(reuters21578.parse("a.sgm", text + end))
    assert time.process_time() - begin < 20  # the square of this length takes hours


def _read(path):
    with storage.reading(path, "order") as file:
        storage.read_array(file, "rows", ndim=None)


def test_what_compresses_well_is_read(tmp_path):
    with storage.writing(tmp_path / "a.h5", "order") as file:
        storage.write_array(file, "rows", np.zeros(1 << 23, dtype=np.int64))
    _read(tmp_path / "a.h5")
    assert (tmp_path / "a.h5").stat().st_size < 1 << 19


@pytest.mark.parametrize(
    "text", ["999999999999 x 2", "9" * 5000, "99999999,9999999", "parents " + "9" * 5000, "binary"]
)
def test_a_tree_that_fills_no_memory(text):
    refused("nodes|digits|roots", trees.parse, text, 10**12, error=OdlError)


@pytest.mark.slow
def test_nothing_is_unpacked_into_a_folder_and_nothing_is_run():
    """Sources with pickles, archives, YAML with Python objects and code."""
    forbidden = {
        "pickle",
        "cPickle",
        "dill",
        "marshal",
        "shelve",
        "joblib",
        "cloudpickle",
        "jsonpickle",
    }
    for path in sorted((ROOT / "src/odl").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import | ast.ImportFrom)
                else []
            )
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & forbidden, path
            assert "loadmat" not in names or path.name == "reuters21578_cai.py", (
                path
            )  # given files of a known sha256 only
            if isinstance(node, ast.Attribute):
                assert node.attr not in {
                    "extractall",
                    "unpack_archive",
                    "read_pickle",
                    "load_module",
                    "loadmat",
                }, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"eval", "exec", "compile", "__import__"}, path
        assert not re.search(
            r"allow_pickle|yaml\.(unsafe_)?load\(|np\.load\(|\.extract\(", path.read_text()
        ), path


@pytest.mark.parametrize("kind", ["sparse", "large"])
def test_a_member_that_fills_no_memory(tmp_path, kind, monkeypatch):
    if kind == "large":
        monkeypatch.setattr(checks, "MAX_MEMBER_BYTES", 2)
    out, info = io.BytesIO(), tarfile.TarInfo("a")
    info.size = 3
    if kind == "sparse":
        info.pax_headers = {"GNU.sparse.map": "0,3", "GNU.sparse.size": str(3 << 30)}
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(b"abc"))
    (tmp_path / "x.tar.gz").write_bytes(out.getvalue())
    said = {"sparse": "a is a sparse file", "large": "a has more than 2 bytes"}[kind]
    refused(said, list, checks.tar_members(tmp_path / "x.tar.gz"))


def test_members_that_lead_elsewhere_write_nothing(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, kind in (
            ("../escaped", tarfile.REGTYPE),
            ("link", tarfile.SYMTYPE),
            ("/absolute", tarfile.REGTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = (
                kind,
                "/etc/passwd",
                3 if kind == tarfile.REGTYPE else 0,
            )
            archive.addfile(info, io.BytesIO(b"abc"))
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    (inside / "x.tar.gz").write_bytes(out.getvalue())
    assert [data for _, data in checks.tar_members(inside / "x.tar.gz")] == [b"abc", b"abc"]
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "b", "x.tar.gz"]
