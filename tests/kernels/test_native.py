"""Kernels compiled ahead of time give the bytes of the compiled ones, and nothing stale is ever loaded."""

import ast
import ctypes
import functools
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from places import ROOT

from odl import learners
from odl.config import sources
from odl.errors import ConfigError, StorageError
from odl.kernels import marshalling, native

CODE = """
import hashlib, sys
import numpy as np
from scipy import sparse
from odl import learners
from odl.prox import projections as prox
from odl.coding import exact
from odl.text.tokens import count_words

rng = np.random.default_rng(0)
P = sparse.random_array((60, 90), density=0.2, rng=rng, format="csr")
P.data /= np.repeat(np.asarray(P.sum(axis=1)), np.diff(P.indptr))
A = prox.project_columns(sparse.random_array((90, 20), density=0.3, rng=rng, format="csc") * 3)
X, objective = exact.codes(P, A, 0.1)
digest = hashlib.sha256()
for part in (A.data, X.data, X.indices, objective):
    digest.update(part.tobytes())
for algorithm, options in (
    ("adaptive", {"terms": 20}), ("levels", {"terms": 20, "memory": 900}),
    ("batch_l2", {}), ("flat", {}), ("hierarchical", {"group_norm": "linf"}),
    ("diffusion", {"task": "nmf_huber", "solver": "diffusion", "network": "ring", "iterations": 40}), ("diffusion", {}),
    ("diffusion", {"solver": "fixed_point", "network": "ring"}),
):
    learner = learners.make(algorithm, **options)
    state = learner.start(P, 10, rng)
    codes = learner.score(state, P).codes
    state = learner.learn(state, P, codes, [P])
    state = learner.learn(state, P[:1], learner.score(state, P[:1]).codes, [P])
    digest.update(state.dictionary.data.tobytes() + codes.data.tobytes())
for tokens in ({}, {"tokeniser": "words"}):
    counts, vocabulary = count_words(["Crude-oil, crude oil!", "原油と株価、ÉTÉ été. log4j"], tokens)
    digest.update(counts.toarray().tobytes() + " ".join(vocabulary).encode())
print(digest.hexdigest(), "numba" in sys.modules)
"""


GROWTH = """
import resource, sys
import numpy as np
from odl.learners import likeness

spans, terms = np.array([[0, 60]] * 8), np.arange(60, dtype=np.uint32)
index = likeness.Index(likeness.Columns(spans, terms, *np.ones((2, 60))), 60)
which, peaks = np.arange(8), []
for _ in range(2):
    for _ in range(3000):
        rows = index.columns[:3], likeness.NO_COLUMNS[:3]
        index.renew(which, (which, which, np.ones(8)), rows, (60, 0.6), (60, 8))
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print((peaks[1] - peaks[0]) // (1024 if sys.platform == "darwin" else 1), "numba" in sys.modules)
"""


@functools.cache
def by_numba():
    """Return the digest of the results without libraries, and whether numba was loaded."""
    return run(ODL_NATIVE="0")


def run(code=CODE, **settings):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **settings}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(not shutil.which(os.environ.get("CC", "cc")), reason="no C compiler to link a library with")
def test_libraries_give_the_same_bytes_without_numba():
    from odl.jobs import compile as ahead

    assert all(ahead.build(name) for name in marshalling.names())
    found, used = run()
    assert used == "False"
    assert by_numba() == [found, "True"]


@pytest.mark.skipif(not shutil.which(os.environ.get("CC", "cc")), reason="no C compiler to link a library with")
def test_what_kernels_sort_with_is_freed():
    from odl.jobs import compile as ahead

    assert ahead.build("inverted_lists")
    grown, used = run(GROWTH)  # in KiB, where each of 24,000 lists of parts has 1.6
    assert int(grown) < 10000 and used == "False"


@pytest.mark.skipif(not shutil.which(os.environ.get("CC", "cc")), reason="no C compiler to link a library with")
class TestShipped:
    """A wheel with libraries compiles nothing, and gives the bytes of one without."""

    @pytest.fixture
    def installed(self, tmp_path):
        """The package as such a wheel installs it, and settings under which nothing could be compiled or found."""
        from odl.jobs import compile as ahead

        package = tmp_path / "site" / "odl"
        shutil.copytree(ROOT / "src" / "odl", package, ignore=shutil.ignore_patterns("__pycache__"))
        libraries, cache = package / "kernels" / "libraries", tmp_path / "cache"
        for folder in (libraries, cache):
            folder.mkdir()
        for name in marshalling.names():
            path = ahead.build(name)
            shutil.copy(path, libraries)
            shutil.copy(native.beside(path), libraries)
        return {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(cache), "CC": str(tmp_path / "missing")}

    def test_the_first_call_compiles_nothing(self, installed):
        found, used = run(**installed)
        assert [found, used] == [by_numba()[0], "False"]
        code = "import sys; sys.modules['numba'] = None; from odl.cli import main; main()"  # to import it fails
        words = [sys.executable, "-c", code, "step", "compile", *learners.LEARNERS, "topics"]
        done = subprocess.run(words, env={**os.environ, **installed}, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert os.listdir(installed["NUMBA_CACHE_DIR"]) == []

    def test_without_numba_one_sentence_says_what_to_install(self, installed):
        shutil.rmtree(f"{installed['PYTHONPATH']}/odl/kernels/libraries")
        code = "import sys; sys.modules['numba'] = None; from odl.cli import main; sys.exit(main())"
        words = [sys.executable, "-c", code, "step", "compile", "levels"]
        done = subprocess.run(words, env={**os.environ, **installed}, capture_output=True, text=True)
        assert done.returncode == 1 and "Traceback" not in done.stderr
        assert done.stderr.splitlines()[-1].endswith(
            "no compiled library here, and numba, which compiles them, is not installed; expected one of the two; "
            "pip install 'online-dictionary-learning[compile]'."
        )

    def test_one_that_does_not_load_or_is_of_other_sources_is_made_again(self, installed):
        libraries = f"{installed['PYTHONPATH']}/odl/kernels/libraries"
        other = Path(libraries, os.path.basename(native.library("simplex_projection")))
        other.write_bytes(b"of another machine")
        Path(native.beside(other)).write_text(native.digest_of(other))
        with open(f"{installed['PYTHONPATH']}/odl/kernels/tree_norm.py", "a") as file:
            file.write("# edited")
        code = "from odl.kernels import marshalling as m, native; print(*(n for n in m.names() if not native.ready(n)))"
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **installed}, capture_output=True, text=True
        )
        assert done.stdout.split() == ["simplex_projection", "tree_codes", "tree_norm"]
        words = [sys.executable, "-m", "odl", "step", "compile", "projected_gradient"]  # which has no tree
        done = subprocess.run(words, env={**os.environ, **installed, "CC": "cc"}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        made = [name for name in os.listdir(installed["NUMBA_CACHE_DIR"]) if name.endswith(".so")]
        assert [name.partition("-")[0] for name in made] == ["simplex_projection"]


def replace(path, content):
    """Write another file of this name: a library that this process has loaded must not change under it."""
    other = path.with_suffix(".other")
    other.write_bytes(content)
    os.replace(other, path)


@pytest.mark.skipif(not shutil.which(os.environ.get("CC", "cc")), reason="no C compiler to link a library with")
class TestDamaged:
    """A library is loaded as it was made, or not at all."""

    @pytest.fixture
    def path(self, tmp_path, monkeypatch):
        """A library and its digest in a folder of their own, which is the cache."""
        from odl.jobs import compile as ahead

        made = ahead.build("simplex_projection")
        for file in (made, native.beside(made)):
            shutil.copy(file, tmp_path)
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
        return Path(native.library("simplex_projection"))

    def test_every_flipped_bit_is_refused(self, path, rng):
        assert native.loaded("simplex_projection") is not None
        native._open.cache_clear()
        for file in [path] * 150 + [Path(native.beside(path))] * 50:
            whole = file.read_bytes()
            bit = int(rng.integers(8 * len(whole)))
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            replace(file, flipped)
            with pytest.raises(StorageError, match=r"\.so was changed after it was written; .*; delete .*\.so and run"):
                native.loaded("simplex_projection")
            replace(file, whole)
        assert native.loaded("simplex_projection") is not None
        native._open.cache_clear()

    def test_it_is_named_ends_what_needs_it_and_is_made_again(self, path):
        from odl.jobs import compile as ahead

        replace(path, path.read_bytes() + b"\0")
        n_libraries, wrong = native.verify()
        assert [str(path) in sentence for sentence in wrong] == [True] and n_libraries >= 1
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        function = next(iter(marshalling.declared("simplex_projection")))
        code = f"from odl.kernels import native; native.Kernels('simplex_projection').{function}"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.returncode and "was changed after it was written" in done.stderr.splitlines()[-1]
        said = []
        assert ahead.build_all(["simplex_projection"], said.append) == []
        assert said[0] == f"{path} was changed after it was written: it is made again" and native.sound(path)
        assert native.verify()[1] == []

    def test_without_its_digest_it_is_not_there(self, path):
        os.unlink(native.beside(path))
        assert native.loaded("simplex_projection") is None and not native.ready("simplex_projection")

    def test_a_folder_or_library_that_others_may_write_is_refused(self, path, tmp_path):
        def refused(cache):
            native._cache.cache_clear()
            native._open.cache_clear()
            with pytest.raises(ConfigError, match=f"others may write {cache}, where .*; say chmod -R go-w {cache}, or"):
                native.loaded("simplex_projection")

        tmp_path.chmod(0o777)
        refused(tmp_path)
        tmp_path.chmod(0o1777)
        native._cache.cache_clear()
        assert native.loaded("simplex_projection") is not None
        path.chmod(0o666)
        refused(path)
        path.chmod(0o644)
        if os.geteuid() == 0:
            for place in (path, tmp_path):
                os.chown(place, 12345, 0)
                refused(place)
                os.chown(place, 0, 0)
            os.chown(tmp_path, 0, 12345)
            tmp_path.chmod(0o775)
            refused(tmp_path)
            os.chown(tmp_path, 0, 0)  # the group of its owner alone
        native._cache.cache_clear()
        native._open.cache_clear()
        tmp_path.chmod(0o700)
        assert native.loaded("simplex_projection") is not None


TWO_FILES = {
    "__init__": "",
    "inner": "from odl.kernels.compiled import kernel\nSTEP = 1.0\n\n@kernel\ndef moved(x):\n    return x + STEP\n",
    "outer": """
from odl.kernels.compiled import kernel
from odl.kernels.inner import moved

@kernel
def twice(x):
    return moved(moved(x))
""",
}


class TestStale:
    """What is kept of a kernel belongs to one state of all files of kernels that it reaches."""

    @pytest.fixture
    def package(self, tmp_path, monkeypatch):
        """A package of the same name with two files of kernels, which imports what holds for all of them."""
        monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
        folder = tmp_path / "odl" / "kernels"
        folder.mkdir(parents=True)
        (tmp_path / "odl" / "__init__.py").touch()
        for name in ("compiled.py", "marshalling.py", "runtime.c"):
            shutil.copy2(ROOT / "src" / "odl" / "kernels" / name, folder)
        for name, text in TWO_FILES.items():
            (folder / f"{name}.py").write_text(text)
        return folder

    @staticmethod
    def twice(folder):
        """Return what the outer kernel makes of 1, and how often it was compiled for that."""
        code = (
            "from odl.kernels.outer import twice; value = twice(1.0);"
            "print(value, sum(twice.stats.cache_misses.values()))"
        )
        environment = {**os.environ, "PYTHONPATH": str(folder.parents[1])}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    def test_a_copy_finds_what_was_compiled_and_an_edited_callee_in_another_file_does_not(self, package, tmp_path):
        assert self.twice(package) == ["3.0", "1"]
        shutil.copytree(tmp_path / "odl", tmp_path / "copy" / "odl")
        copy = tmp_path / "copy" / "odl" / "kernels"
        assert self.twice(copy) == ["3.0", "0"]
        (copy / "inner.py").write_text(TWO_FILES["inner"].replace("1.0", "2.0"))
        assert self.twice(copy) == ["5.0", "1"]

    def test_a_library_is_named_by_the_files_that_it_reaches(self, tmp_path, monkeypatch):
        def name(changed=None):
            for cached in (marshalling._read, marshalling.digest):
                cached.cache_clear()
            monkeypatch.setattr(marshalling, "source", lambda name: edited if name == changed else original(name))
            return native.library("edge_following")

        original, edited = marshalling.source, tmp_path / "edited.py"
        for other in ("edge_following", "edge_prices", "screening", "compiled"):
            with open(original(other)) as file:
                edited.write_text(file.read() + "# edited")
            assert name(other) != name(), other
        assert name("lars_path") == name(), "an edit elsewhere leaves it"
        for cached in (marshalling._read, marshalling.digest):
            cached.cache_clear()

    @pytest.mark.parametrize(
        "path", sorted((ROOT / "src" / "odl" / "kernels").glob("*.py")), ids=lambda path: path.stem
    )
    def test_no_import_between_files_of_kernels_is_missed(self, path):
        inside = {name for name in sources.closure(f"kernels/{path.stem}") if name.startswith("kernels/")}
        inside -= {"kernels/__init__"}
        assert {f"kernels/{name}" for name in marshalling.files(path.stem)} - {"kernels/__init__"} == inside


@pytest.mark.skipif(not shutil.which(os.environ.get("CC", "cc")), reason="no C compiler to link a library with")
def test_arrays_of_another_type_or_layout_are_refused():
    from odl.jobs import compile as ahead

    called = marshalling.bind(ctypes.CDLL(ahead.build("simplex_projection")), "simplex_projection", "project_columns")
    start, values = np.array([0, 2]), np.array([2.0, 1.0])
    called(start, values, np.empty(2), 1e-16)
    assert values.tolist() == [1.0, 0.0]
    for wrong in (values.astype(np.float32), np.zeros(4)[::2], np.zeros((1, 2))):
        with pytest.raises(TypeError, match="project_columns"):
            called(start, wrong, np.empty(2), 1e-16)


class TestDeclared:
    """What is called from outside has a library: a kernel says so where it is written."""

    FOLDER = ROOT / "src" / "odl"

    @classmethod
    @functools.cache
    def outside(cls):
        """Return the path, the code and, by name, the files of kernels that it calls, of all files outside kernels."""
        found = []
        for path in sorted(cls.FOLDER.rglob("*.py")):
            if path.parent.name != "kernels" and "kernels" in (text := path.read_text()):
                tree = ast.parse(text)
                named = {
                    node.targets[0].id: node.value.args[0].value
                    for node in tree.body
                    if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("native.Kernels(")
                }
                found.append((path, list(ast.walk(tree)), named))
        return found

    def test_what_is_called_is_declared(self):
        """Also where another module's are called, as in `likeness.kernels.grams`."""
        held = {f"{path.stem}.{name}": file for path, _, named in self.outside() for name, file in named.items()}
        n_calls = 0
        for path, nodes, named in self.outside():
            for node in nodes:
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    file = (named | held).get(ast.unparse(node.func.value))
                    if file:
                        n_calls += 1
                        assert node.func.attr in marshalling.declared(file), (
                            path,
                            node.lineno,
                            f"{file}.{node.func.attr}",
                        )
        assert n_calls > 30

    def test_nothing_else_of_the_kernels_is_imported(self):
        """So that a process with libraries does without numba."""
        light = {"native", "marshalling"}
        for path, nodes, named in self.outside():
            assert set(named.values()) <= set(marshalling.names()), path
            for node in nodes:
                if isinstance(node, ast.ImportFrom) and node.module == "odl.kernels":
                    maker = {"compiled"} if path.name == "compile.py" else set()  # it is for numba alone
                    assert {alias.name for alias in node.names} <= light | maker, path
                assert not (isinstance(node, ast.ImportFrom) and str(node.module).startswith("odl.kernels.")), path

    def test_a_declaration_of_every_form_is_read(self, monkeypatch):
        text = b'@called("d[,] Layout -> (l d[])")\n@kernel\ndef one(D):\n    pass\n\n\n'
        text += b'@called(\n    "l l[] "\n    "Model"\n)\n@allocating\ndef two(n):\n    pass\n\n\n@kernel\ndef no(x):\n'
        monkeypatch.setattr(marshalling, "_read", lambda name: (text, set()))
        found = marshalling.declared.__wrapped__("any")
        assert found["one"] == (("d[,]", marshalling.Layout("l[]", "l[]")), (("l", "d[]"),))
        assert found["two"] == (("l", "l[]", ("d", "d", "d", "?")), ()) and len(found) == 2

    def test_all_that_a_file_of_kernels_declares_is_seen(self):
        for path in (self.FOLDER / "kernels").glob("*.py"):
            n_lines = len(re.findall(r"^@called\(", path.read_text(), re.M))
            assert len(marshalling.declared(path.stem)) == n_lines, path


@pytest.mark.skipif(not shutil.which(os.environ.get("CC", "cc")), reason="no C compiler to link a library with")
class TestPassing:
    """What libraries take and return."""

    @pytest.fixture
    def bound(self):
        from odl.jobs import compile as ahead

        return lambda name, function: marshalling.bind(ctypes.CDLL(ahead.build(name)), name, function)

    def test_a_new_array(self, bound):
        D = np.random.default_rng(0).random((5, 3))
        found = bound("tree_codes", "gram_matrix")(D)
        assert np.allclose(found, D.T @ D, rtol=1e-14) and found.flags.owndata and found.flags.writeable

    def test_a_number(self, bound):
        assert bound("tree_codes", "steepness")(np.diag([2.0, 3.0]), 30) == pytest.approx(3.0)

    def test_an_argument_comes_back_as_itself(self, bound):
        atoms = marshalling.Atoms(np.zeros((2, 3), np.int32), np.zeros((2, 3)), np.zeros(2, np.int64))
        none, model = (np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0)), (0.1, 0.1, 0.0, False)
        same, codes, _ = bound("agent_descent", "code_documents")(none, atoms, 3, model, 0.1, 1, 0.1, 0.0)
        assert all(one is other for one, other in zip(same, atoms, strict=True)) and codes.shape == (0, 2)

    def test_no_memory(self, bound):
        with pytest.raises(MemoryError, match="gram_matrix"):
            bound("tree_codes", "gram_matrix")(np.zeros((0, 2**33)))

    def test_an_older_c_library_has_what_they_call(self):
        """Of Linux on x86-64; the wheel's tag names its version."""
        from odl.jobs import compile as ahead

        for name in marshalling.names():
            versions = re.findall(rb"\0GLIBC_2\.(\d+)", Path(ahead.build(name)).read_bytes())
            assert max(map(int, versions), default=0) <= 29, name


def test_what_a_library_allocated_is_copied_and_released():
    """An array that lies in memory of the caller is none of it, and comes back as itself where it was passed."""
    place, own, released = (ctypes.c_double * 6)(*range(6)), np.arange(4.0), []
    there = ctypes.addressof(place)
    words = iter([there, there, 2, 3, 0, there, 3, 0, own.ctypes.data, 4, 1, -7])
    kinds = ("d[,]", "d[]", "d[]", "?", "l")
    new, copied, same, yes, number = marshalling._unpacked(kinds, words, [own], released.append)
    assert new.tolist() == [[0, 1, 2], [3, 4, 5]] and copied.tolist() == [0, 1, 2] and released == [there]
    assert same is own and (yes, number) == (True, -7)


def test_without_a_compiler_nothing_is_made(tmp_path, monkeypatch):
    from odl.jobs import compile as ahead

    monkeypatch.setenv("CC", str(tmp_path / "missing"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert ahead.build("edge_following") is None
    assert not list(tmp_path.glob("*.so"))


@pytest.mark.skipif(not shutil.which(os.environ.get("CC", "cc")), reason="no C compiler to link a library with")
def test_several_at_a_time_are_made_by_as_many_processes(tmp_path, capfd):
    from odl.jobs import compile as ahead

    names = ["block_descent", "dictionary_step", "simplex_projection"]
    assert ahead.build_all(names, ahead.aloud, tmp_path, at_once=2) == []
    assert {name.partition("-")[0] for name in os.listdir(tmp_path)} == set(names)
    assert len(list(tmp_path.glob("*.so"))) == len(list(tmp_path.glob("*.so.sha256"))) == 3
    lines = capfd.readouterr().out.splitlines()
    assert {f"kernels {name}, library {k} of 3" for k, name in enumerate(names, 1)} <= set(lines)
    assert ahead.build_all(names, ahead.aloud, tmp_path, at_once=2) == []
    assert capfd.readouterr().out == ""


def test_several_at_a_time_without_a_compiler(tmp_path, monkeypatch):
    from odl.jobs import compile as ahead

    monkeypatch.setenv("CC", str(tmp_path / "missing"))
    assert ahead.build_all(["simplex_projection", "ward_merging"], ahead.aloud, tmp_path / "made", at_once=2) == [
        "simplex_projection",
        "ward_merging",
    ]


def test_cc_may_be_empty_or_name_options(tmp_path, monkeypatch):
    from odl.jobs import compile as ahead

    for name in ("cc", "my cc"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    expected = {"": ["cc"], "cc -m64 -g": ["cc", "-m64", "-g"], str(tmp_path / "my cc"): ["my cc"], "gcc -g": []}
    for given, words in expected.items():
        monkeypatch.setenv("CC", given)
        assert ahead._compiler() == [str(tmp_path / word) for word in words[:1]] + words[1:]


LIBRARIES = ["small", "large"]


class TestOneBuild:
    """Two jobs that compile at once make each library once."""

    @pytest.fixture
    def ahead(self, tmp_path, monkeypatch):
        """The module, with two files of kernels that take a moment and note who builds them."""
        from odl.jobs import compile as ahead

        def build(name, folder):
            with open(tmp_path / "built", "a") as file:
                file.write(f"{name}\n")
            time.sleep(0.5)
            (tmp_path / name).touch()
            (tmp_path / f"{name}.sha256").write_text(native.digest_of(tmp_path / name))
            return name

        for name in LIBRARIES:
            (tmp_path / f"{name}.py").touch()
        monkeypatch.setattr(native, "library", lambda name, folder=None: str(tmp_path / name))
        monkeypatch.setattr(marshalling, "source", lambda name: str(tmp_path / f"{name}.py"))
        monkeypatch.setattr(ahead, "build", build)
        return ahead

    def test_side_by_side(self, ahead, tmp_path):
        jobs, said = [], tmp_path / "said"
        for _ in range(2):
            job = os.fork()
            if not job:
                with open(said, "a", buffering=1) as file:
                    failed = ahead.build_all(LIBRARIES, lambda line: file.write(line + "\n"))
                os._exit(len(failed))
            jobs.append(job)
        assert [os.waitpid(job, 0)[1] for job in jobs] == [0, 0]
        assert sorted((tmp_path / "built").read_text().split()) == ["large", "small"]
        lines = said.read_text().splitlines()
        assert len([line for line in lines if line.startswith("kernels ") and ", library " in line]) == 2
        assert any("waiting for the kernels" in line for line in lines)

    def test_one_that_was_killed_leaves_nothing_to_wait_for(self, ahead, tmp_path):
        job = os.fork()
        if not job:
            with ahead.alone("small", print):
                (tmp_path / "held").touch()
                time.sleep(1000)
        while not (tmp_path / "held").exists():
            time.sleep(0.01)
        said = []

        def say(line):
            said.append(line)
            os.kill(job, 9)

        with ahead.alone("small", say):
            assert said == ["waiting for the kernels small, which another job compiles"]
        os.waitpid(job, 0)

    def test_a_disk_without_locks(self, ahead, tmp_path, monkeypatch):
        def refuse(*_):
            raise OSError("no locks here")

        monkeypatch.setattr(ahead.fcntl, "flock", refuse)
        assert ahead.build_all(LIBRARIES, lambda line: None) == []
        assert sorted((tmp_path / "built").read_text().split()) == ["large", "small"]
