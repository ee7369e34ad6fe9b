"""Every reader on small generated sources, with and without defects."""

import gzip
import hashlib
import importlib
import io
import json
import lzma
import sys
import tarfile
import textwrap
import zipfile

import numpy as np
import pytest

from odl import corpora
from odl.corpora import arxiv_cs, news20, nips, reuters21578, scipydocs, sib200
from odl.errors import ConfigError, DataError
from odl.files.documents import NO_TIME


def when(text):
    """Return the milliseconds since 1970 of an ISO time, by NumPy."""
    return int(np.datetime64(text, "ms").astype(np.int64))


def words(documents, row):
    """Return {term: count} of one document."""
    counts = documents.counts
    span = slice(counts.indptr[row], counts.indptr[row + 1])
    return {
        documents.vocabulary[column]: int(count)
        for column, count in zip(counts.indices[span], counts.data[span], strict=True)
    }


def pack(path, members):
    """Write a tar.gz with files of the given contents, a folder and a link."""
    with tarfile.open(path, "w:gz") as archive:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


# Registry of readers


def test_readers_are_found_by_name():
    for name, module in corpora.readers().items():
        assert callable(module.read) and name == module.READER


@pytest.mark.slow
def test_readers_import_no_heavy_package():
    code = "import sys, odl.corpora as c; c.readers(); print(*sys.modules)"
    import subprocess

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "odl.corpora.tdt2" in loaded
    assert {"sklearn", "pandas", "pyarrow"}.isdisjoint(loaded)


def test_misspelt_reader_names_the_nearest():
    with pytest.raises(
        ConfigError, match=r"'reuters-21578' is unknown \(nearest: 'reuters21578'\)"
    ):
        corpora.read("reuters-21578")


@pytest.mark.parametrize("options", [["tokens"], [], "tokens", "", 3, 0, [("tokens", {})]])
def test_options_that_are_no_mapping_are_refused(options):
    with pytest.raises(ConfigError, match=r"documents is .*; expected a map"):
        corpora.read("documents", [], options)


@pytest.mark.parametrize("name", list(corpora.readers()))
def test_misspelt_option_is_refused(name):
    with pytest.raises(ConfigError, match=r"tokenz' is not a key of the configuration"):
        corpora.read(name, [], {"tokenz": {}})


FILES = {name: len(module.FILES or ()) for name, module in corpora.readers().items()}
FETCHED = [name for name in corpora.readers() if FILES[name]]


@pytest.mark.parametrize("name", FETCHED)
def test_wrong_number_of_sources_and_missing_file(name, tmp_path):
    with pytest.raises(DataError, match="0 source files"):
        corpora.read(name, [])
    sources = [tmp_path / "absent"] * FILES[name]
    with pytest.raises(DataError, match="absent is not a file"):
        corpora.read(name, sources)


@pytest.mark.parametrize("name", FETCHED)
@pytest.mark.parametrize(
    "content", [b"", b"<html>not found</html>", b"\x1f\x8b\x08\x00garbage", b"\x00" * 1000]
)
def test_foreign_content_is_one_sentence(name, content, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(DataError, match="file") as caught:
        corpora.read(name, [path] * FILES[name])
    assert "\n" not in str(caught.value)


# scipydocs

LONG = " ".join(f"word{chr(97 + number)}" for number in range(12))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Create an installed package that raises an error when it is imported."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(files):
        for name, text in files.items():
            path = tmp_path / "pretend" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        importlib.invalidate_caches()
        return {"packages": ["pretend"], "min_words": 10}

    return write


def test_docstrings_are_documents_without_importing(package):
    options = package(
        {
            "__init__.py": f'"""Package {LONG}."""\nraise ImportError("must not be imported")\n',
            "sub/__init__.py": "",
            "sub/_inner.py": f'''
                """Too short."""
                class Thing:
                    """Thing {LONG}."""
                    def method(self):
                        """Method {LONG}."""
                        def local():
                            """Local {LONG}."""
                    async def wait(self):
                        """Wait {LONG}."""
                try:
                    def early():
                        """First {LONG}."""
                except ImportError:
                    def early():
                        """Second {LONG}."""
            ''',
            "sub/broken.py": 'def f(:\n    """x"""\n',
            "tests/test_it.py": f'"""Test {LONG}."""',
            "externals/other.py": f'"""External {LONG}."""',
            "_core/_add_newdocs.py": f"""
                add_newdoc('pretend._core', 'ufunc', '''
                    Universal {LONG}.
                    ''')
                add_newdoc('pretend._core', 'ufunc', ('reduce', '''Reduce {LONG}.'''))
                add_newdoc('elsewhere', 'ufunc', '''Elsewhere {LONG}.''')
                add_newdoc(name, 'ufunc', '''Computed {LONG}.''')
            """,
            "special/_add_newdocs.py": f'add_newdoc("gamma", """Gamma {LONG}.""")\n',
        }
    )
    documents = corpora.read("scipydocs", [], options)
    assert "pretend" not in sys.modules
    assert dict(zip(documents.ids, documents.topics, strict=True)) == {
        "pretend": ("pretend",),
        "pretend._core.ufunc": ("pretend.core",),
        "pretend._core.ufunc.reduce": ("pretend.core",),
        "pretend.special.gamma": ("pretend.special",),
        "pretend.sub._inner.Thing": ("pretend.sub",),
        "pretend.sub._inner.Thing.method": ("pretend.sub",),
        "pretend.sub._inner.Thing.wait": ("pretend.sub",),
        "pretend.sub._inner.early": ("pretend.sub",),
        "pretend.sub._inner.early#2": ("pretend.sub",),
    }
    assert documents.ids == sorted(documents.ids)
    assert (documents.times == NO_TIME).all()
    assert documents.titles[1].startswith("pretend._core.ufunc: Universal worda")
    row = documents.ids.index("pretend.sub._inner.early#2")
    assert words(documents, row)["second"] == 1 and "first" not in words(documents, row)


def test_equal_docstrings_are_kept_once_the_first_id(package):
    options = package(
        {
            "b.py": f'"""Same {LONG}."""',
            "a.py": f'"""Same {LONG}."""',
            "c.py": f'"""Same  {LONG}."""',
        }
    )
    assert corpora.read("scipydocs", [], options).ids == ["pretend.a", "pretend.c"]


def test_short_docstrings_are_left_out(package):
    options = package(
        {"a.py": f'"""{" ".join(["w"] * 9)}"""', "b.py": f'"""{" ".join(["w"] * 10)}"""'}
    )
    assert corpora.read(
        "scipydocs", [], options | {"tokens": {"pattern": r"\w", "stop_words": None}}
    ).ids == ["pretend.b"]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"packages": ["no_such_package"]}, DataError, "'no_such_package' is not installed"),
        ({"packages": ["csv"]}, DataError, "'csv' is not installed as a folder"),
        ({"packages": ["scipy.stats"]}, ConfigError, "names such as 'scipy'"),
        ({"packages": "scipy"}, ConfigError, "a list, not empty"),
        ({"packages": ["json"], "min_words": 10**6}, DataError, "no docstring of 1000000 words"),
        ({"min_words": 0}, ConfigError, "an integer at least 1"),
    ],
)
def test_wrong_packages_are_refused(options, error, said):
    with pytest.raises(error, match=said):
        corpora.read("scipydocs", [], options)


def test_packages_may_be_named_by_distribution():
    (name, folder), *others = scipydocs.package_folders("scikit-learn").items()
    assert name == "sklearn" and others == []
    assert scipydocs.package_folders("sklearn") == {"sklearn": folder}


def test_topics_are_subpackages():
    assert scipydocs.topic_of("scipy.optimize._lbfgsb_py") == "scipy.optimize"
    assert scipydocs.topic_of("numpy._core.fromnumeric") == "numpy.core"
    assert scipydocs.topic_of("pandas.core.groupby.generic") == "pandas.groupby"
    assert scipydocs.topic_of("numpy.__config__") == "numpy.config"
    assert scipydocs.topic_of("numpy") == "numpy"


# reuters21578


def sgml(newid, date, text, topics=(), kind=""):
    inner = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" OLDID="1" NEWID="{newid}">\n<DATE>{date}</DATE>\n'
        f"<TOPICS>{inner}</TOPICS>\n<PLACES><D>usa</D></PLACES>\n"
        f"<UNKNOWN> \n&#5;&#5;f0704&#31;reute\n</UNKNOWN>\n<TEXT{kind}>&#2;\n{text}\n&#3;</TEXT>\n</REUTERS>\n"
    )


def normal(title, body):
    return f"<TITLE>{title}</TITLE>\n<DATELINE> LIMA, Feb 26 - </DATELINE><BODY>{body}\n Reuter\n&#3;</BODY>"


REUTERS = [
    sgml(
        1,
        "26-FEB-1987 15:01:01.79",
        normal("COCOA &lt;X> REVIEW", "Showers &amp; rain"),
        ("cocoa", "grain"),
    ),
    sgml(
        2,
        " 2-MAR-1987 03:04:05.06&#9;&#9;&#9;RM",
        "FED REPORT\n <DATELINE> Reserves</DATELINE>&#127;644",
        kind=' TYPE="UNPROC"',
    ),
    sgml(
        3,
        "3-APR-1987  01:02:03.4",
        "****<TITLE>STOCK SPLIT\n</TITLE>Blah blah blah.",
        kind=' TYPE="BRIEF"',
    ),
    sgml(4, "31-MAR-1987 605:12:19.12", normal("Café", "late"), ("earn",)),
    sgml(5, "5-APR-1987 07:08:09.99    # date added as guesswork ", normal("", "")),
]


def reuters_archive(path, elements=REUTERS, split=3, folder="any/"):
    """Write an archive with two SGML files in reverse order and another file."""
    first = ("<!DOCTYPE lewis>\n" + "".join(elements[:split])).encode("latin-1")
    second = "".join(elements[split:]).encode("latin-1")
    members = {
        f"{folder}reut2-001.sgm": second,
        f"{folder}README.txt": b"<REUTERS",
        f"{folder}reut2-000.sgm": first,
    }
    return pack(path, members), hashlib.md5(first).hexdigest()


@pytest.mark.parametrize("folder", ["", "./", "reuters/"])
def test_reuters_with_its_defects(tmp_path, monkeypatch, folder):
    path, md5 = reuters_archive(tmp_path / "r.tar.gz", folder=folder)
    monkeypatch.setattr(reuters21578, "FIRST_FILE_MD5", md5)
    monkeypatch.setattr(reuters21578, "N_DOCUMENTS", 5)
    documents = corpora.read("reuters21578", [path])
    assert documents.ids == ["1", "2", "3", "4", "5"]
    assert documents.topics == [("cocoa", "grain"), (), (), ("earn",), ()]
    assert documents.times.tolist() == [
        when("1987-02-26T15:01:01.790"),
        when("1987-03-02T03:04:05.060"),
        when("1987-04-03T01:02:03.400"),
        when("1987-03-31T05:12:19.120"),
        when("1987-04-05T07:08:09.990"),
    ]
    assert documents.titles == ["COCOA <X> REVIEW", "FED REPORT", "STOCK SPLIT", "Café", ""]
    assert words(documents, 0) == {"cocoa": 1, "review": 1, "showers": 1, "rain": 1, "reuter": 1}
    assert words(documents, 1) == {"fed": 1, "report": 1, "reserves": 1}
    assert words(documents, 2) == {"stock": 1, "split": 1}
    assert {"blah", "lima", "dateline"}.isdisjoint(documents.vocabulary)
    assert corpora.read("reuters21578", [path], {"labelled": True}).ids == ["1", "4"]


def test_reuters_refuses_edited_and_incomplete_archives(tmp_path, monkeypatch):
    path, md5 = reuters_archive(tmp_path / "r.tar.gz")
    with pytest.raises(
        DataError,
        match=f"md5 {md5}; expected the original with md5 f31a85bdfafd5cf663f325c728360b46",
    ):
        corpora.read("reuters21578", [path])
    with pytest.raises(DataError, match="contains no reut2"):
        corpora.read("reuters21578", [pack(tmp_path / "e.tar.gz", {"a": b"b"})])
    for elements, said in (
        (REUTERS, "number of documents; expected 21578"),
        ([REUTERS[0], REUTERS[1], REUTERS[1]], "NEWIDs"),
        ([REUTERS[0].replace("FEB", "MAY")], "no date for document 1"),
    ):
        path, md5 = reuters_archive(tmp_path / "r.tar.gz", elements)
        monkeypatch.setattr(reuters21578, "FIRST_FILE_MD5", md5)
        if said == "NEWIDs":
            monkeypatch.setattr(reuters21578, "N_DOCUMENTS", 3)
        with pytest.raises(DataError, match=said):
            corpora.read("reuters21578", [path])


def test_truncated_archive_is_refused(tmp_path, rng):
    noise = rng.integers(0, 256, 50_000, dtype=np.uint8).tobytes()
    path = pack(tmp_path / "r.tar.gz", {"reut2-000.sgm": noise, "reut2-001.sgm": noise})
    whole = path.read_bytes()
    for length in (1, 20, 1000, len(whole) // 2, len(whole) - 20):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"r\.tar\.gz cannot be read"):
            corpora.read("reuters21578", [path])


# 20news

POST = "From: a@b\r\nSubject: Re: Big\n  Question\nLines: 2\n\nbob wrote:\n> quoted thing\nAnswer caf\xe9\r\n"


def news(tmp_path, dates):
    members = {
        "20news-bydate-test/sci.med/20": POST.encode("latin-1"),
        "20news-bydate-train/sci.med/58983": b"no header here",
        "20news-bydate-train/alt.atheism/9": b"Subject:\n\nbody",
        "20news-bydate-train/alt.atheism/10": b"",
        "20news-bydate-train/README": b"not a post",
    }
    archive, table = pack(tmp_path / "n.tar.gz", members), tmp_path / "dates.tsv.gz"
    header = "split\tnewsgroup\tid\tdate_utc\tdate_header\tmessage_id"
    table.write_bytes(gzip.compress("\n".join([header, *dates, ""]).encode()))
    return archive, table


DATES = [
    'test\tsci.med\t20\t1993-04-20T14:03:53Z\tx\t<"odd>',
    "train\tsci.med\t58983\t\t19 Apr 93 16:15:19 +3000\t<y>",
    "train\talt.atheism\t9\t1993-01-01T00:00:00Z\tx\t<z>",
    "train\talt.atheism\t10\t1992-06-26T00:00:01Z\tx\t<z>",
]
NEWS = {"number of documents": 4, "number of training posts": 3, "number of newsgroups": 2}


@pytest.fixture
def few_posts(monkeypatch):
    monkeypatch.setattr(news20, "KNOWN_CONTENT", NEWS)


@pytest.mark.usefixtures("few_posts")
def test_newsgroups(tmp_path):
    documents = corpora.read("20news", news(tmp_path, DATES))
    assert documents.ids == ["alt.atheism/9", "alt.atheism/10", "sci.med/58983", "sci.med/20"]
    assert documents.topics == [("alt.atheism",), ("alt.atheism",), ("sci.med",), ("sci.med",)]
    assert documents.times.tolist() == [
        when("1993-01-01"),
        when("1992-06-26T00:00:01"),
        when("1993-04-19T13:15:19"),
        when("1993-04-20T14:03:53"),
    ]
    assert documents.titles == ["", "", "", "Re: Big Question"]
    expected = ["big", "question", "bob", "wrote", "quoted", "thing", "answer", "caf\u00e9"]
    assert words(documents, 3) == dict.fromkeys(expected, 1)
    assert words(documents, 0) == {"body": 1}
    unquoted = corpora.read("20news", news(tmp_path, DATES), {"quotes": False})
    assert words(unquoted, 3) == {"big": 1, "question": 1, "answer": 1, "caf\u00e9": 1}
    subjects = corpora.read("20news", news(tmp_path, DATES), {"part": "subject"})
    assert words(subjects, 3) == {"big": 1, "question": 1} and words(subjects, 0) == {}
    assert subjects.ids == documents.ids and subjects.topics == documents.topics


def test_newsgroups_refuses_missing_posts_and_dates(tmp_path):
    with pytest.raises(DataError, match=r"no date for alt\.atheism/10"):
        corpora.read("20news", news(tmp_path, DATES[:-1]))
    with pytest.raises(DataError, match="4 as its number of documents; expected 18846"):
        corpora.read("20news", news(tmp_path, DATES))
    with pytest.raises(DataError, match=r"dates\.tsv\.gz cannot be read"):
        corpora.read("20news", news(tmp_path, [*DATES, "train\tx\t1\tyesterday\t\t"]))
    with pytest.raises(ConfigError, match="true or false"):
        corpora.read("20news", [], {"quotes": "no"})
    with pytest.raises(ConfigError, match="one of post, subject"):
        corpora.read("20news", [], {"part": "title"})


# arxiv-cs

PAPERS = [
    ["cs/1", "1989-12-31", "cs.CC", "cs.CC", "Nested \u201csat", "Clauses of $x^2$"],
    ["1812.1", "2018-12-31", "cs.SY", "math.OC,cs.SY,cs.AI", 'Control "loops', "Stability"],
]


def arxiv_table(path, rows, header="arxiv_id created primary_cat categories title abstract"):
    lines = ["\t".join(row) for row in [header.split(), *rows]]
    path.write_bytes(lzma.compress("".join(line + "\n" for line in lines).encode()))
    return str(path)


def test_arxiv(tmp_path):
    path = arxiv_table(tmp_path / "a.tsv.xz", PAPERS)
    documents = corpora.read("arxiv-cs", [path], {"limit": 2})
    assert documents.ids == ["cs/1", "1812.1"]
    assert documents.topics == [("cs.CC",), ("cs.SY", "math.OC", "cs.AI")]
    assert documents.times.tolist() == [when("1989-12-31"), when("2018-12-31")]
    assert words(documents, 0) == {"nested": 1, "sat": 1, "clauses": 1}
    assert corpora.read("arxiv-cs", [path], {"limit": 2, "topics": "primary"}).topics[1] == (
        "cs.SY",
    )
    assert len(corpora.read("arxiv-cs", [path], {"limit": 1})) == 1
    titles = corpora.read("arxiv-cs", [path], {"limit": 2, "fields": ["title"]})
    assert words(titles, 0) == {"nested": 1, "sat": 1} and titles.titles == documents.titles
    assert words(corpora.read("arxiv-cs", [path], {"limit": 2, "fields": ["abstract"]}), 0) == {
        "clauses": 1
    }
    path = arxiv_table(
        tmp_path / "b.tsv.xz", [[str(number), *PAPERS[0][1:]] for number in range(7)]
    )
    assert corpora.read("arxiv-cs", [path], {"limit": 7, "every": 3}).ids == ["0", "3", "6"]


def test_arxiv_refuses_other_tables(tmp_path):
    path = tmp_path / "a.tsv.xz"
    with pytest.raises(DataError, match="2 as its number of documents; expected 105392"):
        corpora.read("arxiv-cs", [arxiv_table(path, PAPERS)])
    with pytest.raises(DataError, match="has the columns id, created"):
        corpora.read("arxiv-cs", [arxiv_table(path, PAPERS, "id created")])
    with pytest.raises(DataError, match="line 3 has 5 fields; expected 6"):
        corpora.read("arxiv-cs", [arxiv_table(path, [PAPERS[0], PAPERS[1][:5]])])
    with pytest.raises(DataError, match="days of creation"):
        corpora.read("arxiv-cs", [arxiv_table(path, [["x", "soon", "a", "a", "word", "word"]])])
    arxiv_table(path, PAPERS * 500)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match="cannot be read"):
        corpora.read("arxiv-cs", [path])
    wrong = ({"fields": ["text"]}, {"fields": []}, {"every": 0})
    for options in ({"topics": "first"}, {"limit": 0}, {"limit": "ten"}, *wrong):
        with pytest.raises(ConfigError):
            corpora.read("arxiv-cs", [path], options)


# nips


def nips_members(**changed):
    files = {
        "nips.corpus": "2 0:3 2:1\n0\n1 1:7\n\n",
        "nips.vocab": "network = 0 = 9 9 \nlearning = 1 = 8 8 \na=b = 2 = 7 7 \n",
        "nips.docs": "First Title\nSecond\nThird\n",
        "nips.docnames": "nips00/0001.txt\nnips01/0002.txt\nnips12/0003.txt\n",
        "nips.labels": "1\n0\n0\n",
        "nips.labels.key": "Theory\nUncategorised\n",
        "nips.vols": "0\n1\n12\n",
    } | {name.replace("_", "."): text for name, text in changed.items()}
    return {f"nips_0-12/{name}": text.encode() for name, text in files.items() if text is not None}


def test_nips(tmp_path):
    documents = nips.to_documents(pack(tmp_path / "n.tar.gz", nips_members()))
    assert documents.ids == ["nips00/0001", "nips01/0002", "nips12/0003"]
    assert documents.vocabulary == ["network", "learning", "a=b"]
    assert documents.counts.toarray().tolist() == [[3, 0, 1], [0, 0, 0], [0, 7, 0]]
    assert documents.topics == [(), ("Theory",), ("Theory",)]
    assert documents.times.tolist() == [when("1987-12-01"), when("1988-12-01"), when("1999-12-01")]
    assert documents.titles == ["First Title", "Second", "Third"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"nips_vols": None}, "lacks nips.vols"),
        ({"nips_corpus": "2 0:3\n0\n0\n"}, "line 1 has another number"),
        ({"nips_corpus": "1 3:1\n0\n0\n"}, "a term that nips.vocab lacks"),
        ({"nips_corpus": "1 0:x\n0\n0\n"}, "cannot be read"),
        ({"nips_labels": "2\n0\n0\n"}, "cannot be read"),
        ({"nips_docs": "First\n"}, "1 titles for 3 documents"),
        ({}, "number of documents; expected 1740"),
    ],
)
def test_nips_refuses_other_files(tmp_path, changed, said):
    with pytest.raises(DataError, match=said):
        corpora.read("nips", [pack(tmp_path / "n.tar.gz", nips_members(**changed))])


# SIB-200


SENTENCES = 'index_id\tcategory\ttext\n11\tsports\tHän pelasi "hyvin"\n2\thealth\tRokote tuli\n'


def test_sentences_of_a_language(tmp_path, monkeypatch):
    for number, part in enumerate(
        (SENTENCES, "index_id\tcategory\ttext\n7\thealth\tRokotteen hinta\n")
    ):
        (tmp_path / f"{number}.tsv").write_text(part, encoding="utf-8")
    parts, packed = [tmp_path / "0.tsv", tmp_path / "1.tsv"], tmp_path / "fin_Latn.tsv.gz"
    with pytest.raises(DataError, match="number of sentences; expected 1004"):
        sib200.sentences(parts, packed)
    monkeypatch.setattr(sib200, "N_SENTENCES", 3)
    sib200.sentences(parts, packed)
    files = [tmp_path / file for file in sib200.FILES]
    for file in files:
        file.write_bytes(packed.read_bytes())
    tokens = {"tokeniser": "words", "stop_words": None}
    documents = corpora.read("sib200", files, {"language": "fin_Latn", "tokens": tokens})
    assert documents.ids == ["2", "7", "11"]
    assert documents.topics == [("health",), ("health",), ("sports",)]
    assert documents.vocabulary == [
        "hinta",
        "hyvin",
        "hän",
        "pelasi",
        "rokote",
        "rokotteen",
        "tuli",
    ]
    assert (documents.times == NO_TIME).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id\tcategory\ttext\n", "has the columns id, category, text"),
        ("index_id\tcategory\ttext\n1\thealth\n", "line 2 has 2 fields; expected 3"),
        (SENTENCES, "has 2 as its number of documents; expected 1004"),
    ],
)
def test_sentences_refuse_other_files(tmp_path, text, said):
    path = tmp_path / "eng_Latn.tsv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(DataError, match=said):
        corpora.read("sib200", [path] * len(sib200.FILES))


# Files made of originals


@pytest.mark.usefixtures("few_posts")
def test_newsgroup_dates_are_built(tmp_path, monkeypatch):
    posts = {
        "20_newsgroups/sci.med/20": b"From: a\r\nDate: 20 Apr 1993 10:03:53 EDT\r\nMessage-ID: <a@b>\r\n\r\nDate: no",
        "20_newsgroups/sci.med/58983": b"Date: 19 Apr 93 16:15:19 +3000\nSubject: x\n\n",
        "20_newsgroups/alt.atheism/9": b"Subject: x\ndate: Fri,\n 1 Jan 93\t01:00:00 +0100\n\n",
        "20_newsgroups/alt.atheism/10": b"Date: Friday, 26 Jun 92 00:00:01 GMT\n\n",
        "20_newsgroups/alt.atheism/11": b"Date: whenever\n\n",
    }
    archive, table = pack(tmp_path / "all.tar.gz", posts), tmp_path / "dates.tsv.gz"
    with pytest.raises(DataError, match="number of posts; expected 19997"):
        news20.dates([archive], table)
    monkeypatch.setattr(news20, "N_POSTS", 5)
    news20.dates([archive], table)
    rows = [line.split("\t") for line in gzip.decompress(table.read_bytes()).decode().splitlines()]
    assert [row[1:4] for row in rows[1:]] == [
        ["alt.atheism", "9", "1993-01-01T00:00:00Z"],
        ["alt.atheism", "10", "1992-06-26T00:00:01Z"],
        ["alt.atheism", "11", ""],
        ["sci.med", "20", "1993-04-20T14:03:53Z"],
        ["sci.med", "58983", ""],
    ]
    assert rows[4][4:] == ["20 Apr 1993 10:03:53 EDT", "<a@b>"]
    documents = corpora.read("20news", [news(tmp_path, DATES)[0], table])
    expected = corpora.read("20news", news(tmp_path, DATES))
    assert documents.times.tolist() == expected.times.tolist()


def test_arxiv_abstracts_are_built(tmp_path, monkeypatch):
    """The sources have an index, further columns, quotation marks and a paper that occurs twice."""
    import pandas as pd

    papers = [
        *([number, f"{created} 00:00:00", *rest] for number, created, *rest in PAPERS),
        ["1812.2", "2018-12-31", "math.OC", "math.OC,cs.SY", "Elsewhere", "Other"],
        ["1812.0", "2018-12-31", "cs.SY", "cs.SY,cs.CC", "Two\tin  one", ' "Line"\nbreak '],
    ]
    frame = pd.DataFrame(papers, columns=arxiv_cs.TABLE_COLUMNS).assign(comments='say "no"')[::-1]
    paths = []
    for name in ("cs.CC", "cs.SY"):
        paths.append(tmp_path / f"{name}.tsv.xz")
        frame[frame.categories.str.contains(name)].to_csv(paths[-1], sep="\t")
    with pytest.raises(DataError, match="number of papers; expected 105392"):
        arxiv_cs.abstracts(paths, tmp_path / "b.tsv.xz")
    monkeypatch.setattr(arxiv_cs, "N_DOCUMENTS", 3)
    arxiv_cs.abstracts(paths, tmp_path / "a.tsv.xz")
    lines = lzma.decompress((tmp_path / "a.tsv.xz").read_bytes()).decode().split("\n")
    assert lines[1:] == [
        "\t".join(PAPERS[0]),
        '1812.0\t2018-12-31\tcs.SY\tcs.SY,cs.CC\tTwo in one\t"Line" break',
        "\t".join(PAPERS[1]),
        "",
    ]
    assert len(corpora.read("arxiv-cs", [tmp_path / "a.tsv.xz"])) == 3


def test_nips_archive_is_built(tmp_path):
    members = nips_members()
    with zipfile.ZipFile(tmp_path / "n.zip", "w") as archive:
        for name, data in {**members, "nips_0-12/nips.abstracts": b"text"}.items():
            archive.writestr(name, data)
    for number in (1, 2):
        nips.archive([str(tmp_path / "n.zip")], tmp_path / f"{number}.tar.gz")
    assert (tmp_path / "1.tar.gz").read_bytes() == (tmp_path / "2.tar.gz").read_bytes()
    expected = nips.to_documents(pack(tmp_path / "n.tar.gz", members)).digests()
    assert np.array_equal(nips.to_documents(tmp_path / "1.tar.gz").digests(), expected)


@pytest.mark.slow
def test_options_survive_json():
    """The workflow passes options as JSON."""
    options = json.loads(json.dumps({"packages": ["odl"], "min_words": 40, "tokens": {}}))
    assert all(
        topic[0].startswith("odl") for topic in corpora.read("scipydocs", [], options).topics
    )
