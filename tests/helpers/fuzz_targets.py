"""The readers of odl, each with a maker of malformed files for it."""

import functools
import hashlib
import io
import json
import re
import struct
import zlib
from typing import NamedTuple
from unittest.mock import patch

import fuzzing as fz
import numpy as np
import yaml
from configurations import DEFAULT, SCHEMA
from fuzz_world import ALGORITHMS, rows, run_of

from odl import corpora, detector, learners, novelty, trees
from odl.cli import parse_map
from odl.config import consistency
from odl.config.sections import Batches, Order
from odl.config.setting import merge
from odl.corpora import arxiv_cs, checks, download, news20, nips, reuters21578, scipydocs
from odl.evaluation import averages, baselines, study
from odl.evaluation.scorefiles import read_scores
from odl.evaluation.study import PLAN_KEYS, load_plan
from odl.files import agentfiles, checkpoints, documents, storage
from odl.papers import emergingfiles, hindsight, reconstruction
from odl.papers.experiments import biclustering
from odl.stream import batchfile, batching, features


class Target(NamedTuple):
    """A reader under test.

    Attributes
    ----------
    suffix : str
        How the file's name ends.
    make : callable
        `random.Random` to bytes.
    read : callable
        Path to anything: what odl does with such a file.
    """

    suffix: str
    make: callable
    read: callable


def _mostly(rnd, made, seeds):
    """What was made from the grammar, or a mutated valid file."""
    return made(rnd) if rnd.random() < 0.5 else fz.mutated(rnd, seeds)


# --- a person's documents ------------------------------------------------------------------------


def _row(rnd):
    row = dict(rnd.choice(rows()))
    for _ in range(rnd.choice((0, 1, 1, 2))):
        key = rnd.choice((*row, "counts", "more"))
        row[key] = fz.value(rnd)
        if key == "counts" and rnd.random() < 0.7:
            row[key] = {fz.word(rnd): rnd.choice((*fz.NUMBERS, 2.0, 0.5)) for _ in range(3)}
        if rnd.random() < 0.2:
            del row[key]
    return row


def _jsonl(rnd):
    lines = [
        fz.json_text(rnd, _row(rnd) if rnd.random() < 0.9 else None)
        for _ in range(rnd.randrange(5))
    ]
    return fz.encoded("\n".join(lines))


def _csv(rnd):
    def good(rnd, name):
        return str(_row(rnd).get(name, fz.word(rnd)))

    return fz.encoded(fz.table(rnd, list(rows()[0]), rnd.choice(",,,;\t"), good))


def _parquet(rnd):
    import datetime

    import pyarrow as pa
    import pyarrow.parquet as pq

    made = {
        "text": ["wheat and oil", "", "crude oil"], "id": [1, 2, 3], "counts": [[("wheat", 2)], [], None],
        "time": [datetime.datetime(2020, 1, 1), None, datetime.datetime(1, 1, 1)], "topics": [["a"], ["b"], []],
    }  # fmt: skip
    types = [
        pa.string(),
        pa.binary(),
        pa.int64(),
        pa.float16(),
        pa.bool_(),
        pa.date32(),
        pa.date64(),
        pa.time64("ns"),
    ]
    types += [
        pa.timestamp("ns"),
        pa.timestamp("s", tz="+23:59"),
        pa.duration("ns"),
        pa.decimal128(5, 2),
        pa.null(),
    ]
    types += [
        pa.list_(pa.string()),
        pa.map_(pa.string(), pa.int32()),
        pa.struct([("a", pa.timestamp("ns"))]),
    ]
    types += [
        pa.dictionary(pa.int8(), pa.string()),
        pa.timestamp("ns", tz="Nowhere/None"),
        pa.list_(pa.timestamp("ns")),
    ]
    arrays = {}
    for name in ["text", *fz.some(rnd, list(made), 0, 3)]:
        kind = rnd.choice(types)
        if rnd.random() < 0.6:
            kind = {"counts": pa.map_(pa.string(), pa.int32()), "time": pa.timestamp("us")}.get(
                name
            )
            arrays[name] = pa.array(made[name], type=kind)
            continue
        size = kind.bit_width // 8 if pa.types.is_primitive(kind) and kind.bit_width >= 8 else 0
        if size:
            arrays[name] = pa.Array.from_buffers(
                kind, 3, [None, pa.py_buffer(rnd.randbytes(3 * size))]
            )
        elif pa.types.is_string(kind) or pa.types.is_binary(kind):
            ends = pa.py_buffer(struct.pack("<4i", 0, 1, 2, 4))
            arrays[name] = pa.Array.from_buffers(
                kind, 3, [None, ends, pa.py_buffer(rnd.randbytes(4))]
            )
        else:
            arrays[name] = pa.nulls(3, kind)
    out = io.BytesIO()
    try:
        pq.write_table(pa.table(arrays), out, compression=rnd.choice(("snappy", "none", "gzip")))
    except (pa.ArrowException, ValueError):
        return b"PAR1"
    return fz.mutated(rnd, [out.getvalue()]) if rnd.random() < 0.5 else out.getvalue()


def _documents(path):
    found = corpora.read("documents", [path])
    documents.write(path.with_suffix(".h5"), found, reader="documents")


def own_documents(world):
    seed = (world / "mine.jsonl").read_bytes()
    table = "\n".join([",".join(rows()[0]), *(",".join(row.values()) for row in rows())]).encode()
    jsonl, csv_file = functools.partial(_mostly, made=_jsonl, seeds=[seed]), _csv
    return {
        "documents.jsonl": Target(".jsonl", jsonl, _documents),
        "documents.jsonl.gz": Target(
            ".jsonl.gz", functools.partial(fz.packed, _jsonl, fz.gzipped, seeds=[seed]), _documents
        ),
        "documents.csv": Target(
            ".csv", functools.partial(_mostly, made=csv_file, seeds=[table]), _documents
        ),
        "documents.parquet": Target(".parquet", _parquet, _documents),
    }


# --- corpora -------------------------------------------------------------------------------------

SGML = """<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" OLDID="5544" NEWID="1"><DATE>26-FEB-1987 15:01:01.79</DATE>
<TOPICS><D>cocoa</D><D>tea</D></TOPICS>
<TEXT>&#2;<TITLE>BAHIA &lt;COCOA></TITLE><DATELINE> SALVADOR</DATELINE>
<BODY>Showers continued &amp; on. &#3;</BODY></TEXT>
</REUTERS>
<REUTERS NEWID="2"><DATE> 2-MAR-1987 15:02:20.00</DATE><TOPICS></TOPICS><TEXT TYPE="BRIEF"><TITLE>SHORT</TITLE></TEXT>
</REUTERS>
<REUTERS NEWID="3"><DATE>26-FEB-1987 15:03:27.51</DATE><TEXT TYPE="UNPROC">*** whole
text</TEXT></REUTERS>"""
GRAMMAR = [
    "<REUTERS ",
    'NEWID="',
    '1"',
    '2"',
    "9" * 5000,
    '">',
    ">",
    "</REUTERS>",
    "<DATE>",
    "26-FEB-1987 15:01:01.79",
]
GRAMMAR += [
    "99-FEB-0000 99:99:99.9",
    "</DATE>",
    "<TOPICS>",
    "<D>",
    "a\tb",
    "\n",
    "</D>",
    "</TOPICS>",
    "<TEXT>",
    "<TEXT",
]
GRAMMAR += [
    ' TYPE="',
    "BRIEF",
    "UNPROC",
    '"',
    "</TEXT>",
    "<TITLE>",
    "</TITLE>",
    "<BODY>",
    "</BODY>",
    "&#1;",
    "&#",
    "&lt;",
]
GRAMMAR += ["&#x110000;", "&#" + "9" * 5000, "&#55296;", "&", ";", " ", "word"]


def _sgml(path):
    data = path.read_bytes()
    archive = path.with_suffix(".tar.gz")
    archive.write_bytes(fz.gzipped(_plain_tar([("reut2-000.sgm", data)])))
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    with patch.multiple(reuters21578, N_DOCUMENTS=data.count(b"</REUTERS>"), FIRST_FILE_MD5=md5):
        corpora.read("reuters21578", [archive])


def _plain_tar(members):
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


NIPS = {
    "nips.corpus": "2 0:1 1:2\n1 1:3\n", "nips.docnames": "nips00/0001.txt\nnips01/0002.txt\n", "nips.docs": "A\nB\n",
    "nips.labels": "0\n1\n", "nips.labels.key": "Theory\nUncategorised\n", "nips.vocab": "net = 1 = 2\nloss = 2\n",
    "nips.vols": "0\n1\n",
}  # fmt: skip
POST = (
    b"From: a\nSubject: Tank guns\n\tfolded\nDate: 19 Apr 93 16:15:19 GMT\n\n"
    b"In article <1> x writes:\n> quoted\nown\n"
)
MEMBERS = {
    "nips": [(f"nips_0-12/{name}", text.encode()) for name, text in NIPS.items()],
    "20news": [
        (f"20news-bydate-{part}/sci.med/{n}", POST) for n, part in enumerate(("train", "test"))
    ],
}


def _members(rnd, kind):
    """The members of an archive, some damaged."""
    found = []
    for name, data in MEMBERS[kind]:
        if rnd.random() < 0.1:
            data = fz.mutated(rnd, [data])
        elif rnd.random() < 0.07:
            data = fz.encoded("\n".join(fz.word(rnd) for _ in range(2)) + "\n")
        if rnd.random() < 0.05:
            name = fz.mutated(rnd, [name.encode()]).decode("latin-1")[:90].replace("\0", "")
        found += [(name, data)] * rnd.choice((*[1] * 30, 2, 0))
    return found


def _archive(kind):
    return functools.partial(
        fz.packed,
        lambda rnd: fz.tar(rnd, _members(rnd, kind)),
        fz.gzipped,
        seeds=[_plain_tar(MEMBERS[kind])],
    )


def _zip(rnd):
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(
        out, "w", rnd.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    ) as archive:
        for name, data in _members(rnd, "nips"):
            archive.writestr(
                rnd.choice(("", "../../", "/")) + name or "x", data
            )  # zipfile writes no empty name
    return fz.mutated(rnd, [out.getvalue()]) if rnd.random() < 0.6 else out.getvalue()


def _whole_zip(path):
    """Make an archive of it, as a download is built from its originals."""
    nips.archive([path], path.with_suffix(".made"))


def _arxiv(rnd):
    def good(rnd, name):
        values = {
            "arxiv_id": ["1", "2"],
            "created": ["2001-01-01"],
            "primary_cat": ["cs.AI"],
            "categories": ["cs.AI,x"],
        }
        return rnd.choice(values.get(name, ["a title", "some words"]))

    return fz.encoded(fz.table(rnd, arxiv_cs.TABLE_COLUMNS, "\t", good))


def _arxiv_seed():
    return (
        "\t".join(arxiv_cs.TABLE_COLUMNS) + "\n1\t2001-01-01\tcs.AI\tcs.AI,x\tT\tsome words\n"
    ).encode()


def _originals(path):
    named = path.with_name("cs.AI.tsv.xz")
    path.rename(named)
    with patch.multiple(arxiv_cs, N_DOCUMENTS=1):
        arxiv_cs.abstracts([named], path.with_suffix(".made"))


def _posts(path):
    with patch.multiple(news20, N_POSTS=2):
        news20.dates([path], f"{path}.made")


def _abstracts(path):
    with patch.multiple(arxiv_cs, N_DOCUMENTS=1):
        corpora.read("arxiv-cs", [path])


DATES = b"split\tnewsgroup\tid\tdate_utc\tdate_header\tmessage_id\n" + b"".join(
    b"\tsci.med\t%d\t1993-04-19T13:15:19Z\t\t\n" % n for n in range(2)
)


def _dates(rnd):
    def good(rnd, name):
        return {
            "newsgroup": "sci.med",
            "id": rnd.choice("01"),
            "date_utc": "1993-04-19T13:15:19Z",
        }.get(name, "")

    names = ["split", "newsgroup", "id", "date_utc", "date_header", "message_id"]
    return fz.encoded(fz.table(rnd, names, "\t", good))


def _news20(table, path):
    known = {"number of documents": 2, "number of training posts": 1, "number of newsgroups": 1}
    with patch.multiple(news20, KNOWN_CONTENT=known):
        corpora.read("20news", [path, table], {"quotes": False})


LUNG = b'"","Colon","Normal"\n"g1",0.5,-0.5\n"g2",1e3,-1e3\n'


def _lung(rnd):
    return fz.encoded(fz.table(rnd, ["", "Colon", "Normal"], ",", lambda rnd, name: "0.5"))


def _images(rnd):
    from PIL import Image

    members = []
    for name in fz.some(rnd, ["a.png", "b.PNG", "c.png"], 1, 2):
        image = Image.new(
            rnd.choice(("L", "RGB", "RGBA", "P", "1", "I;16", "LA")), rnd.choice(((1, 1), (9, 7)))
        )
        out = io.BytesIO()
        image.save(
            out,
            rnd.choice(("PNG", "PNG", "PNG", "GIF", "BMP", "TIFF")) if image.mode == "L" else "PNG",
        )
        data = bytearray(out.getvalue())
        if (
            rnd.random() < 0.3 and data[:4] == b"\x89PNG"
        ):  # a size that is only claimed, with its checksum
            data[16:24] = struct.pack(
                ">2I", rnd.choice((0, 10**5, 2**31 - 1)), rnd.choice((1, 10**4, 10**5))
            )
            data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
        members.append(
            (name, fz.mutated(rnd, [bytes(data)]) if rnd.random() < 0.4 else bytes(data))
        )
    return fz.tar(rnd, members)


PYTHON = [
    '"""Doc of many words."""\n',
    "def f():\n",
    "    '''Inner.'''\n",
    "class A:\n",
    "(" * 300,
    "-" * 9000,
    "\\",
    "\0",
]
PYTHON += [
    "add_newdoc('numpy', 'x', 'text')\n",
    "add_newdoc({[]}, [], {})\n",
    "add_newdoc(-'a', 1)\n",
    "if 1:\n",
    "\n",
]
PYTHON += [
    "add_newdoc('numpy', 'x', [('a', 'b'), 3, ('c',)])\n",
    "x = " + "[" * 150 + "\n",
    "é = 1\n",
    "    ",
    "\t",
    '"""',
]


def corpus_files(world):
    table = world / "dates.tsv.gz"
    table.write_bytes(fz.gzipped(DATES))

    def text(made, seed, pack):
        return functools.partial(
            fz.packed, functools.partial(_mostly, made=made, seeds=[seed]), pack, seeds=[seed]
        )

    def sgml(rnd):
        return fz.encoded(fz.tokens(rnd, GRAMMAR))

    return {
        "reuters21578 (SGML)": Target(
            ".sgm", functools.partial(_mostly, made=sgml, seeds=[SGML.encode()]), _sgml
        ),
        "nips (tar.gz)": Target(".tar.gz", _archive("nips"), nips.to_documents),
        "20news (tar.gz)": Target(".tar.gz", _archive("20news"), functools.partial(_news20, table)),
        "20news dates (tsv.gz)": Target(".tsv.gz", text(_dates, DATES, fz.gzipped), news20.read_dates),
        "original 20news (tar.gz)": Target(
            ".tar.gz", _archive("20news"), _posts
        ),
        "original nips (zip)": Target(".zip", _zip, _whole_zip),
        "original arxiv (tsv.xz)": Target(".xz", text(_arxiv, _arxiv_seed(), fz.xzed), _originals),
        "arxiv (tsv.xz)": Target(
            ".xz", text(_arxiv, _arxiv_seed(), fz.xzed), _abstracts
        ),
        "lung (csv.gz)": Target(".csv.gz", text(_lung, LUNG, fz.gzipped), biclustering.parse_expression),
        "images (tar.gz of PNG)": Target(
            ".tar.gz", lambda rnd: fz.gzipped(_images(rnd)), lambda path: reconstruction.read_images([path])
        ),
        "members (tar.gz)": Target(".tar.gz", _archive("20news"), lambda path: list(checks.tar_members(path))),
        "scipydocs (Python)": Target(
            ".py", lambda rnd: fz.encoded(fz.tokens(rnd, PYTHON)), lambda path: list(scipydocs.docstrings("n.x", path))
        ),
    }  # fmt: skip


# --- tables, networks, trees, plans --------------------------------------------------------------


def _damaged_table(rnd, seed):
    """Tables whose digests are mostly made to fit."""
    lines = [line.split("\t")[:-1] for line in seed.decode().splitlines()]
    cells = dict(zip(lines[0], lines[-1], strict=True))
    made = fz.table(rnd, lines[0], "\t", lambda rnd, name: cells.get(name, fz.word(rnd)))
    if rnd.random() < 0.1:
        return _mostly(rnd, lambda rnd: fz.encoded(made), [seed])
    bare = "\n".join(map("\t".join, lines)) + "\n"
    return fz.sealed_table(_mostly(rnd, lambda rnd: fz.encoded(made), [bare.encode()]))


def _study(world, name, path):
    """Put a table into a copy of the study's folder, and gather the study."""
    run = path.parent / "run"
    run.mkdir(exist_ok=True)
    for held in ("auc.tsv", "summary.tsv", "regret.tsv", "emerging.tsv"):
        (run / held).write_bytes(
            (path if held == name else world / "dual_averaging" / held).read_bytes()
        )
    plan = [{**load_plan(world / "plan.json")[0], "folder": str(run)}]
    study.summarise(plan, path.parent / "tables")
    emergingfiles.gather(plan, path.parent / "tables/emerging.tsv", [run / "emerging.tsv"])
    hindsight.gather_regret(plan, path.parent / "tables/regret.tsv", runs=["dual-averaging"])


def _shown(world, name, path):
    """Put a table among the finished ones, and make the main table of them."""
    from odl.report import studypage

    folder = path.parent / "shown"
    folder.mkdir(exist_ok=True)
    for held in study.STUDY_COLUMNS:
        (folder / f"{held}.tsv").write_bytes(
            (path if held == name else world / f"tables/{held}.tsv").read_bytes()
        )
    studypage.main_table(folder)


def _plan(world, rnd):
    plan = load_plan(world / "plan.json")
    if rnd.random() < 0.5:
        plan[0].pop(rnd.choice(PLAN_KEYS))
    held = plan if rnd.random() < 0.9 else fz.value(rnd)
    return fz.encoded(
        fz.json_text(rnd, held if rnd.random() < 0.1 else fz.sealed_map({"plan": held}))
    )


def _planned(path):
    study.summarise(path, path.parent / "planned")


TREES = [
    "-1",
    "0",
    "1",
    "2",
    "9" * 5000,
    "999999999",
    ",",
    " ",
    "\n",
    "#x",
    "-",
    "x",
    "parents ",
    "binary",
    "3 x ",
    "10,2",
]


def _trees(rnd, seeds):
    if rnd.random() < 0.2:
        return rnd.choice(seeds)
    return _mostly(rnd, lambda rnd: fz.encoded(fz.tokens(rnd, TREES, 9)), seeds)


def _tree_text(path):
    trees.parse(path.read_bytes().decode("utf-8", "replace"), 3)


def _places(node, path=()):
    if isinstance(node, dict):
        for key, inner in node.items():
            yield (*path, key)
            yield from _places(inner, (*path, key))


def _config(rnd):
    held = json.loads(json.dumps(DEFAULT))
    for _ in range(rnd.choice((1, 1, 2))):
        *way, last = rnd.choice(list(_places(held)))
        inside = functools.reduce(lambda node, key: node[key], way, held)
        change = rnd.randrange(4)
        if change == 0:
            inside[rnd.choice((fz.word(rnd), 3, None))] = fz.value(rnd)
        elif change == 1:
            del inside[last]
        else:
            inside[last] = fz.value(rnd) if change == 2 else [rnd.choice(fz.NUMBERS), 3]
    text = yaml.safe_dump(held, allow_unicode=True)
    return fz.mutated(rnd, [fz.encoded(text)]) if rnd.random() < 0.4 else fz.encoded(text)


def _checked(path):
    """Check a configuration as the workflow does; what Snakemake's own parser refuses is not ours."""
    try:
        given = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError, OverflowError):
        return
    if isinstance(given, dict):
        held = {key: inner for key, inner in given.items() if str(key) not in "abcdefghijklmn"}
        consistency.check_config(merge(held, DEFAULT), SCHEMA)


def _map(path):
    import argparse

    try:
        parse_map(path.read_bytes().decode("utf-8", "replace"))
    except argparse.ArgumentTypeError as error:
        assert "\n" not in str(error) and len(str(error)) < 2000, "a long message"


SHA = hashlib.sha256(b"x").hexdigest()


def _registry(rnd):
    def good(rnd, name):
        values = {
            "corpus": "tdt2",
            "folder": "tdt2",
            "file": "a.mat",
            "route": "mirror",
            "sha256": SHA,
        }
        return values.get(name, "")

    return fz.encoded(fz.table(rnd, download.REGISTRY_COLUMNS, ",", good))


def _fetched(path):
    download.files_of("tdt2", path)
    (path.parent / "tdt2").mkdir()
    (path.parent / "tdt2/a.mat").write_bytes(b"x")
    download.download(
        "tdt2/a.mat",
        path.with_suffix(".mat"),
        path,
        mirror=str(path.parent),
        progress=None,
        retries=0,
    )


def texts(world):
    run, found = world / "dual_averaging", {}
    for name in ("auc.tsv", "summary.tsv", "regret.tsv", "emerging.tsv"):
        make = functools.partial(_damaged_table, seed=(run / name).read_bytes())
        found[f"{name} of a run"] = Target(".tsv", make, functools.partial(_study, world, name))
    for name in ("summary", "published", "novel"):
        make = functools.partial(_damaged_table, seed=(world / f"tables/{name}.tsv").read_bytes())
        found[f"tables/{name}.tsv"] = Target(".tsv", make, functools.partial(_shown, world, name))
    registry = (
        ",".join(download.REGISTRY_COLUMNS) + f"\ntdt2,tdt2,a.mat,,{SHA},mirror,yes,x,y\n"
    ).encode()
    return found | {
        "plan.json": Target(".json", functools.partial(_plan, world), _planned),
        "tree setting": Target(
            ".txt",
            functools.partial(_trees, seeds=[b"binary", b"2", b"3 x 1", b"parents -1,0,0"]),
            _tree_text,
        ),
        "configuration (YAML)": Target(".yaml", _config, _checked),
        "JSON argument": Target(".json", lambda rnd: fz.encoded(fz.json_text(rnd)), _map),
        "registry (CSV)": Target(
            ".csv", functools.partial(_mostly, made=_registry, seeds=[registry]), _fetched
        ),
    }


# --- HDF5 ----------------------------------------------------------------------------------------


def _features(world, path):
    batch = features.read(path)
    batch.weighed(tf="log", min_df=1, vocabulary="fixed")[:]
    features.follow(documents.read(world / "b2.h5", "batch"), batch)
    baselines.score(features.read(world / "f2.h5"), [batch])
    novelty.score(learners.make("dual_averaging"), _state(world), batch.weighed(norm="l1")[:])


@functools.cache
def _state(world):
    held = checkpoints.read_checkpoint(world / "dual_averaging/2.h5")
    return learners.State(held.dictionary, held.arrays, held.updates)


def _indexed(path):
    documents.read(path)
    stream = Order(batches=Batches(documents=6, initial=8))
    batching.index(
        path, path.with_suffix(".tsv"), path.with_suffix(".order"), seed=0, stream=stream
    )
    batchfile.write(path, np.array([3, 1]), path.with_suffix(".batch"), 0)


def _checkpoint(world, algorithm, path):
    """Read a checkpoint and go on from it, as an update does."""
    from odl.jobs import runs, update

    run = runs.parse(run_of(algorithm))
    out = [path.with_suffix(f".{name}") for name in ("state", "scores", "timings")]
    update.update(world / "f2.h5", *out, run=run, before=runs.Before(path))


def _network_file(world, path):
    (path.parent / "net.agents").mkdir(exist_ok=True)
    for agent in "01":
        (path.parent / f"net.agents/{agent}.h5").write_bytes(
            (world / f"net.agents/{agent}.h5").read_bytes()
        )
    agentfiles.read_whole(path.rename(path.with_name("net.h5")))


def _agent_file(world, path):
    """An agent's file that the network's file is made to fit, where its digest is one that a writer can have given."""
    (path.parent / "net.agents").mkdir(exist_ok=True)
    (path.parent / "net.agents/0.h5").write_bytes(path.read_bytes())
    (path.parent / "net.agents/1.h5").write_bytes((world / "net.agents/1.h5").read_bytes())
    held = agentfiles.read_network(world / "net.h5")
    digest = storage.digest_of(path, "agent")
    digest = digest if re.fullmatch("[0-9a-f]{64}", digest) else held.digests[0]
    agentfiles.write_network(
        path.parent / "net.h5", held._replace(digests=[digest, held.digests[1]])
    )
    agentfiles.read_whole(path.parent / "net.h5")


def _scored(path):
    averages.evaluate([path], min_novel=1, min_known=1, bootstrap=10)
    batch = read_scores(path)
    for row, _ in batch.top:
        assert batch.ids[row] is not None


def _emerging(world, path):
    found, batch = (
        emergingfiles.read_emerging(path),
        read_scores(world / "dual_averaging/scores/1.h5"),
    )
    emergingfiles.check_pair(found, batch)
    emergingfiles.describe(found, batch)


def _detector(path):
    found = detector.NoveltyDetector.load(path)
    found.score_samples(np.eye(found.n_features_in_)[:2] if found.n_features_in_ < 100 else [[1.0]])


def _ordered(world, path):
    for t in (0, 2):
        batchfile.cut(world / "documents.h5", path, path.with_suffix(".made"), t)


def _advanced(path):
    features.advance(path.with_suffix(".made"), path)


def hdf5_files(world):
    made = world / "detector.h5"
    if not made.exists():
        detector.NoveltyDetector(n_atoms=2).fit(np.eye(4)).save(made)

    def target(names, read):
        seeds = [(world / name).read_bytes() for name in names]
        return Target(".h5", functools.partial(fz.mutated, seeds=seeds), read)

    found = {
        "documents.h5": target(["documents.h5"], _indexed),
        "order.h5": target(["order.h5"], functools.partial(_ordered, world)),
        "batches": target(["b0.h5"], _advanced),
        "features": target(["f1.h5", "f2.h5"], functools.partial(_features, world)),
        "scores": target(["dual_averaging/scores/1.h5"], _scored),
        "baselines.h5": target(["baselines.h5"], _scored),
        "emerging.h5": target(["emerging.h5"], functools.partial(_emerging, world)),
        "detector.h5": target(["detector.h5"], _detector),
        "network of agents": target(["net.h5"], functools.partial(_network_file, world)),
        "agent": target(["net.agents/0.h5"], functools.partial(_agent_file, world)),
    }
    for algorithm in ALGORITHMS:
        read = functools.partial(_checkpoint, world, algorithm)
        found[f"checkpoint, {algorithm}"] = target([f"{algorithm}/1.h5"], read)
    return found


def targets(world):
    """Return name -> Target of every reader; `world` is a folder that `fuzz_world.build` made."""
    return own_documents(world) | corpus_files(world) | texts(world) | hdf5_files(world)
