"""Files that are small and ask for much: memory and time stay bounded, and nothing of them is run."""

import ast
import gzip
import io
import json
import lzma
import re
import resource
import struct
import tarfile
import time
import zlib
from contextlib import nullcontext

import h5py
import numpy as np
import pytest
import yaml
from places import ROOT

from odl import corpora, trees
from odl.cli import survey
from odl.config.consistency import check_config
from odl.config.schema import load_schema
from odl.corpora import arxiv_cs, checks, mailfeeds, reuters21578
from odl.errors import ConfigError, DataError, OdlError, StorageError
from odl.files import blocks, digests, storage
from odl.papers import reconstruction
from odl.papers.experiments import biclustering


@pytest.fixture
def narrow(monkeypatch):
    """Bounds that small files reach."""
    monkeypatch.setattr(checks, "FLOOR", 1 << 20)
    monkeypatch.setattr(checks, "LONGEST_LINE", 1 << 18)


def refused(said, read, *arguments, error=DataError):
    with pytest.raises(error, match=said) as caught:
        read(*arguments)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 2500


def tar_of(size):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("reut2-000.sgm")
        info.size = size
        archive.addfile(info, io.BytesIO(bytes(size)))
    return out.getvalue()


def test_a_gzip_bomb_in_every_form(tmp_path, narrow):
    for name, data, read in (
        ("a.tar.gz", tar_of(3 << 20), lambda path: list(checks.tar_members(path))),
        ("a.csv.gz", b'"","A"\n"g",0\n' + b'"g",0\n' * (1 << 18), biclustering.parse_expression),
        ("a.jsonl.gz", b'{"text": "wheat grain"}\n' * (3 << 15), lambda path: corpora.read("documents", [path])),
    ):
        (tmp_path / name).write_bytes(gzip.compress(data))
        refused("unpacks to more than", read, tmp_path / name)
    for letter, said in ((b"w", "line 1 has 262144 characters or more"), (b"\0", "holds zeros as no text does")):
        (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(letter * (3 << 20)))
        refused(said, corpora.read, "documents", [tmp_path / "b.jsonl.gz"])


def test_a_parquet_file_whose_rows_share_long_texts(tmp_path, narrow):
    """Of 3 kB, which took 240 MB: dictionary and run lengths store a text once for all rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    long, options = "grain " * 40_000, {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30}
    options["store_schema"] = False  # a reader finds plain texts
    same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, dtype=np.int32)), pa.array([long]))
    for name, column in (
        ("a", same),
        ("b", pa.ListArray.from_arrays(np.arange(0, 901, 9, dtype=np.int32), same[:900])),
    ):
        text = ["wheat grain"] * len(column)
        pq.write_table(pa.table({"text": text, "topics": column}), tmp_path / f"{name}.parquet", **options)
        assert (tmp_path / f"{name}.parquet").stat().st_size < 1 << 13
    begin, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused("unpacks to more than 1 MiB", corpora.read, "documents", [tmp_path / "a.parquet"])
    refused("unpacks to more than 1 MiB|row 1 has", corpora.read, "documents", [tmp_path / "b.parquet"])
    assert time.process_time() - begin < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 17  # KiB


def test_a_parquet_row_that_is_too_long_and_many_rows_of_nothing(tmp_path, narrow):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = {"text": ["wheat grain", "wheat " * (1 << 16)], "topics": [["a"], ["b"]]}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    refused(r"row 2 has \d+ bytes", corpora.read, "documents", [tmp_path / "a.parquet"])
    pq.write_table(pa.table({"text": ["wheat grain"] * (1 << 18)}), tmp_path / "b.parquet")
    refused("unpacks to more than 1 MiB", corpora.read, "documents", [tmp_path / "b.parquet"])


def test_rows_that_share_texts_are_read_as_before(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = {
        "text": ["wheat grain", "oil gas", None] * 700,
        "topics": [["a", "b"], [], None] * 700,
        "counts": pa.array([None, None, [("wheat", 2)]] * 700, type=pa.map_(pa.string(), pa.int64())),
        "title": ["one", None, "three"] * 700,
    }
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    found = corpora.read("documents", [tmp_path / "a.parquet"])
    assert found.topics[:3] == [("a", "b"), (), ()] and found.titles[2097:] == ["one", "oil gas", "three"]
    assert found.counts.toarray()[2097:].tolist() == [[0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 0, 2]]


def test_blank_lines_without_end(tmp_path, monkeypatch):
    """700 MB of them take 700 kB packed."""
    monkeypatch.setattr(checks, "BLANK_LINES", 1 << 17)
    for name, rows in (("a.jsonl.gz", b""), ("b.csv.gz", b"text\nwheat\n")):
        with gzip.open(tmp_path / name, "wb", compresslevel=1) as file:
            file.write(rows)
            for _ in range(10):
                file.write(b"\n" * 2_000_000)
        begin = time.process_time()
        refused("blank lines up to line", corpora.read, "documents", [tmp_path / name])
        assert time.process_time() - begin < 2
    (tmp_path / "c.jsonl").write_bytes(b'{"text": "wheat grain"}\n \n\n' * 20)
    monkeypatch.setattr(checks, "BLANK_LINES", 30)
    assert len(corpora.read("documents", [tmp_path / "c.jsonl"])) == 20


@pytest.mark.parametrize("piece", ["<a/>", "<a>", "<a> </a>\n", "&nbsp;", "<item/>", "<category/>"])
def test_a_feed_of_tags_without_text(tmp_path, monkeypatch, piece):
    """587 MB of them kept the reader busy for longer than 100 s."""
    monkeypatch.setattr(mailfeeds, "MARKUP", 1 << 16)
    (tmp_path / "a.xml").write_text("<rss><item><title>wheat grain</title>" + piece * (3 << 19))
    begin = time.process_time()
    said = "a.xml has 65,536 tags and entities more than characters of text up to line"
    refused(said, corpora.read, "documents", [tmp_path / "a.xml"])
    refused(said, survey.survey, [str(tmp_path / "a.xml")], {})
    assert time.process_time() - begin < 4


def test_an_item_of_many_pieces_is_read_in_linear_time(tmp_path):
    pieces = "<category>wheat</category>" * 100_000
    (tmp_path / "a.xml").write_text(f"<rss><item><title>grain</title>{pieces}</item></rss>")
    begin = time.process_time()
    with open(tmp_path / "a.xml", "rb") as file:
        assert [row["category"] for _, row in mailfeeds.feed_rows(file, "a.xml")] == [["wheat"]]
    assert time.process_time() - begin < 5


def wide(path, n):
    names = ["text", *(f"c{number}" for number in range(1, n))]
    if path.suffix == ".jsonl":
        path.write_text(json.dumps(dict.fromkeys(names, "wheat grain")) + "\n")
    else:
        path.write_text(",".join(names) + "\n" + ",".join(["wheat grain"] * n) + "\n")
    return path


def test_tables_of_many_columns_are_read_in_linear_time_or_refused(tmp_path):
    begin = time.process_time()
    for name in ("a.csv", "a.jsonl"):
        path = wide(tmp_path / name, 200_000)
        refused("line . has 200000 columns; expected at most 65536", corpora.read, "documents", [path])
        refused("line . has 200000 columns; expected at most 65536", survey.survey, [str(path)], {})
        assert len(corpora.read("documents", [wide(tmp_path / name, 65_536)])) == 1
    assert time.process_time() - begin < 8


def test_an_xz_bomb(tmp_path, narrow):
    header = ("\t".join(arxiv_cs.COLUMNS) + "\n").encode()
    (tmp_path / "a.xz").write_bytes(lzma.compress(header + b"1\t2000-01-01\tcs.AI\tcs.AI\tT\tw\n" * (1 << 18)))
    refused("unpacks to more than", corpora.read, "arxiv-cs", [tmp_path / "a.xz"])


def test_xz_of_several_streams_is_read_whole(tmp_path):
    (tmp_path / "a.xz").write_bytes(lzma.compress(b"one\n") + lzma.compress(b"two\n") + lzma.compress(b"3"))
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


def test_a_claimed_size_is_not_believed(tmp_path):
    path = tmp_path / "a.h5"
    for shape, kind in (((2**50,), "f8"), ((2**28,), "i4"), ((2**31, 2**31), "u1")):
        with h5py.File(path, "w") as file:
            file.attrs.update(kind="order", format=storage.FORMAT)
            file.create_dataset("rows", shape, kind, chunks=True)
            file.attrs["digest"] = digests.FIRST
        refused("claims", _read, path, error=StorageError)
        other = tmp_path / f"{kind}.h5"
        with h5py.File(other, "w", userblock_size=blocks.HEAD) as file:
            file.attrs.update(kind="order", format=storage.FORMAT)
            file.create_dataset("rows", shape, kind, chunks=True)
        blocks.close(other)
        refused("claims", _read, other, error=StorageError)


def _read(path):
    with storage.reading(path, "order") as file:
        storage.read_array(file, "rows", ndim=None)


def test_what_compresses_well_is_read(tmp_path):
    with storage.writing(tmp_path / "a.h5", "order") as file:
        storage.write_array(file, "rows", np.zeros(1 << 23, dtype=np.int64))
    _read(tmp_path / "a.h5")
    assert (tmp_path / "a.h5").stat().st_size < 1 << 19


def test_an_array_in_another_file_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(b"0123456789abcdef")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["rows"] = np.arange(3)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs.update(kind="order", format=storage.FORMAT)
        file["rows"] = h5py.ExternalLink("other.h5", "rows")
        file.attrs["digest"] = digests.digest_of(file)
    refused("lies in another file", _read, tmp_path / "a.h5", error=StorageError)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs.update(kind="order", format=storage.FORMAT)
        file.create_dataset("rows", (16,), "u1", external=[(str(tmp_path / "secret"), 0, 16)])
        file.attrs["digest"] = digests.digest_of(file)
    refused("lies in another file", _read, tmp_path / "a.h5", error=StorageError)


def test_a_configuration_that_multiplies_itself():
    schema = load_schema(ROOT / "workflow/schemas/config.schema.json")
    given = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    bomb = ["x"]
    for _ in range(40):
        bomb = [bomb] * 9
    loop = []
    loop.append(loop)
    for value in (bomb, loop, {"a": bomb}, [[["x" * 10**6]] * 50]):
        for place in (("seeds",), ("report", "run"), ("corpora", "scipydocs", "options", "tokens")):
            held = json.loads(json.dumps(given))
            inside = held
            for key in place[:-1]:
                inside = inside.setdefault(key, {})
            inside[place[-1]] = value
            refused("configuration has more|is ", check_config, held, schema, error=ConfigError)
    refused("more than 256 bits", check_config, {**given, "seeds": [1 << 20_000]}, schema, error=ConfigError)
    begin = time.process_time()
    refused("twice", check_config, {**given, "seeds": [*range(50_000), 7]}, schema, error=ConfigError)
    assert time.process_time() - begin < 20


@pytest.mark.parametrize(
    "text", ["999999999999 x 2", "9" * 5000, "99999999,9999999", "parents " + "9" * 5000, "binary"]
)
def test_a_tree_that_fills_no_memory(text):
    refused("nodes|digits|roots", trees.parse, text, 10**12, error=OdlError)


def test_nothing_is_unpacked_into_a_folder_and_nothing_is_run():
    """No pickle, no archive written out, no YAML of Python objects, no code from a file."""
    forbidden = {"pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "cloudpickle", "jsonpickle"}
    for path in sorted((ROOT / "src/odl").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & forbidden, path
            assert "loadmat" not in names or path.name == "reuters21578_cai.py", (
                path
            )  # given files of a known sha256 only
            if isinstance(node, ast.Attribute):
                assert node.attr not in {"extractall", "unpack_archive", "read_pickle", "load_module", "loadmat"}, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                allowed = (
                    {"exec"} if path.name == "compile.py" else set()
                )  # makes wrappers of its own table, reads no file
                assert node.func.id not in {"eval", "exec", "compile", "__import__"} - allowed, path
        assert not re.search(r"allow_pickle|yaml\.(unsafe_)?load\(|np\.load\(|\.extract\(", path.read_text()), path


def test_members_that_lead_elsewhere_write_nothing(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, kind in (("../escaped", tarfile.REGTYPE), ("link", tarfile.SYMTYPE), ("/absolute", tarfile.REGTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, "/etc/passwd", 3 if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(b"abc"))
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    (inside / "x.tar.gz").write_bytes(out.getvalue())
    assert [data for _, data in checks.tar_members(inside / "x.tar.gz")] == [b"abc", b"abc"]
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "b", "x.tar.gz"]
