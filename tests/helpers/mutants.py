"""Mutation run: wrong edits drawn from the syntax tree under a seed, each of which the tests of its module should see.

``python tests/helpers/mutants.py --rooms kernels learners files --sample 40 --seed 7`` applies 40
edits, one at a time, to a copy of the tree, runs the tests of the edited module there with ``-x``
and prints which edits were killed; survivors last. An edit turns a comparison, an operator, a
condition, a constant or a sign, or leaves a statement out. One of C++ is compiled in the copy;
where that fails it is none. The tests of a module are tests/ROOM/test_MODULE.py and the only test
file of its room. After them come the files that import it, the most specific first, else those of
the modules that do, else those of its room that name it. At last come those of what is told of all
settings. Without a seed the hash of the commit is one.

``--record FILE`` stores each outcome when it is known and skips the edits whose outcomes FILE has,
so that a run can be interrupted at any time and continued by the same command; ``--minutes 10``
starts no further edit after ten minutes.

A test that failed is run again without the edit, once in a run: where it fails there too, nothing
was seen, and the line says broken. A test that takes longer than any does, by the time of its
process, has seen the edit: it went round for ever.
"""

import argparse
import ast
import inspect
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from places import ROOT

PACKAGE = ROOT / "src" / "odl"
TOOLS = Path(sys.executable).parent  # cmake and ninja
COPIED = (
    "src",
    "tests",
    "workflow",
    "config",
    "data",
    "docs",
    "profiles",
    "benchmarks",
    "release",
    "paper",
    ".github",
)
STRICT, SHARES = (
    ("kernels", "learners", "files"),
    (0.95, 0.85),
)  # of the edits to be killed: in these rooms, elsewhere
# seconds for one call of the tests on a busy machine: what takes longer is listed, and not as
# killed
PATIENCE = 1800
NOT_TESTED = "not tested"
COLLECTING = "--collect-only"
LONGEST = 90  # CPU seconds of a test
MOST = 6  # test files of a module: those that name it most often
OF_ALL = ("tests/test_structure.py::test_the_schema_is_what_the_code_says",
          "tests/docs/test_docs.py::test_defaults_of_learners_are_those_of_their_classes")  # fmt: skip
TURNED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
    ast.FloorDiv: "*", ast.Mod: "*", ast.Pow: "*", ast.And: "or", ast.Or: "and",
}  # fmt: skip
CPP = (".cpp", ".h")  # modules that are named with their suffix
BUILD = Path("build") / "mutants"  # of the extension module, in a copy
SOUND = Path("build") / "sound"  # the same without an edit
MODULES = "src/odl/kernels/_kernels*.so"
NO_CODE = re.compile(
    rb'//[^\n]*|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'.\'|^#.*$|static_assert[^;]*;|check_place\([^;]*;',
    re.M,
)
TURNED_CPP = {
    b"<": "<=", b"<=": "<", b">": ">=", b">=": ">", b"==": "!=", b"!=": "==", b"+": "-", b"-": "+", b"*": "/",
    b"/": "*", b"%": "*", b"&&": "||", b"||": "&&", b"+=": "-=", b"-=": "+=", b"*=": "/=", b"/=": "*=", b"++": "--",
    b"--": "++",
}  # fmt: skip
OPERATOR_CPP = re.compile(rb" (<=|>=|==|!=|&&|\|\||[-+*/]=|[-<>+*/%]) (?=\S)|(?<=\w|\])(\+\+|--)")
NUMBER_CPP = re.compile(rb"(?<![\w.\"])(\d+\.\d*(?:e-?\d+)?|\d+(?:e-?\d+)?)(?![\w.])")
CONDITION_CPP = re.compile(rb"\b(?:if|while) \(")
CALL_CPP = re.compile(rb"^ +[\w:.]+\([^;{}=]*\);$", re.M)


class Edit(NamedTuple):
    """A piece of a module (name below src/odl; first and last byte) and what it becomes."""

    module: str
    first: int
    last: int
    text: str


def path_of(module, folder=ROOT):
    """Return the path of a module in a copy of the tree."""
    return folder / "src" / "odl" / (module if module.endswith(CPP) else f"{module}.py")


def edits_of(module):
    """Return all edits of a module; annotations, messages and bindings stay as they are."""
    source = path_of(module).read_bytes()
    if module.endswith(CPP):
        return [Edit(module, *found) for found in _turned_cpp(source)]
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def span(node):
        return starts[node.lineno - 1] + node.col_offset, starts[
            node.end_lineno - 1
        ] + node.end_col_offset

    edits = []
    for node in _code(ast.parse(source)):
        for first, last, text in _turned(node, span, source):
            edits.append(Edit(module, first, last, text))
    return edits


def _code(node):
    """Yield the nodes that decide what a program does."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params") or isinstance(
            node, ast.Raise | ast.Assert
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _code(child)


def _turned(node, span, source):
    """Yield (first, last, text) of each edit of a node."""
    if isinstance(node, ast.Compare | ast.BoolOp | ast.BinOp):
        parts = (
            [node.left, *node.comparators]
            if isinstance(node, ast.Compare)
            else getattr(node, "values", None)
        )
        parts = parts or [node.left, node.right]
        kinds = node.ops if isinstance(node, ast.Compare) else [node.op] * (len(parts) - 1)
        texts = any(
            isinstance(part, ast.JoinedStr) or _is(part, str) for part in parts
        )  # "%" and "+" of messages
        for kind, left, right in zip(kinds, parts, parts[1:], strict=False):
            if type(kind) in TURNED and not (texts and isinstance(node, ast.BinOp)):
                between = source[span(left)[1] : span(right)[0]]
                if b"(" not in between and b")" not in between and b"#" not in between:
                    yield span(left)[1], span(right)[0], f" {TURNED[type(kind)]} "
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        first, last = span(node.test)
        yield first, last, f"(not ({source[first:last].decode()}))"
    elif isinstance(node, ast.UnaryOp):
        yield (*span(node), source[slice(*span(node.operand))].decode())
    elif isinstance(node, ast.AugAssign) and type(node.op) in TURNED:
        yield span(node.target)[1], span(node.value)[0], f" {TURNED[type(node.op)]}= "
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield (*span(node), "pass")
    elif _is(node, bool):
        yield (*span(node), str(not node.value))
    elif _is(node, int | float):
        yield (
            *span(node),
            repr(node.value + 1) if isinstance(node.value, int) else repr(2.0 * node.value + 1.0),
        )


def _turned_cpp(source):
    """Yield (first, last, text) of each edit of C++, inside functions other than those that bind them."""
    code = NO_CODE.sub(lambda part: b" " * len(part[0]), source).partition(b"\nvoid bind_")[0]
    inside = [0]  # how many braces are open, but for those of namespaces and structures
    opened = []
    for at, sign in enumerate(code):
        if sign == ord("{"):
            line = code[code.rfind(b"\n", 0, at) + 1 : at]
            opened.append(
                not re.match(rb"\s*(namespace|(template <.*> )?(struct|class|enum)) ?", line)
            )
        elif sign == ord("}") and opened:
            opened.pop()
        inside.append(any(opened))
    for found in OPERATOR_CPP.finditer(code):
        group = 1 if found[1] else 2
        if found[2] and code[found.end() : found.end() + 1] == b")":
            continue  # the step of a loop
        yield (*found.span(group), TURNED_CPP[found[group]])
    for found in NUMBER_CPP.finditer(code):
        if inside[found.start()]:
            whole = found[1].isdigit()
            yield (
                *found.span(1),
                str(int(found[1]) + 1) if whole else repr(2.0 * float(found[1]) + 1.0),
            )
    for found in CONDITION_CPP.finditer(code):
        first, depth = found.end(), 1
        last = first
        while depth:
            depth += {ord("("): 1, ord(")"): -1}.get(code[last], 0)
            last += 1
        if b";" not in code[first:last]:
            yield first, last - 1, f"!({source[first : last - 1].decode()})"
    for found in CALL_CPP.finditer(code):
        if inside[found.start()]:
            yield (*found.span(), ";")
    for word, other in ((rb"\btrue\b", "false"), (rb"\bfalse\b", "true")):
        for found in re.finditer(word, code):
            if inside[found.start()]:
                yield (*found.span(), other)


def _is(node, kinds):
    return isinstance(node, ast.Constant) and isinstance(node.value, kinds)


def modules():
    """Return the names of all modules, by the names under which they, or what they give `odl`, are imported."""
    names = [
        path.relative_to(PACKAGE).with_suffix("").as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
    ]
    known = {f"odl.{name.removesuffix('/__init__').replace('/', '.')}": name for name in names}
    known |= {
        f"odl.kernels.{path.name}": f"kernels/{path.name}"
        for path in (PACKAGE / "kernels").glob("*.h")
    }
    known |= {
        f"odl.kernels.{path.stem}": f"kernels/{path.name}"
        for path in (PACKAGE / "kernels").glob("*.cpp")
    }
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module in known:
            known |= {f"odl.{alias.name}": known[node.module] for alias in node.names}
    return known


def imported(path, known):
    """Return how often each module is named where a file imports it."""
    if path.name.endswith(CPP):
        return Counter(
            f"kernels/{name}" for name in re.findall(r'^#include "(.*)"', path.read_text(), re.M)
        )
    tree, counts, aliases = ast.parse(path.read_text(encoding="utf-8")), Counter(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                one = known.get(f"{node.module}.{alias.name}") or known.get(node.module)
                if one:
                    aliases[alias.asname or alias.name] = one
    counts.update(aliases.values())
    counts.update(
        aliases[node.id]
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in aliases
    )
    return counts


def tests_of(module, by_test, users):
    """Return the test files of a module: of its name and the only one of its room; then those that import it."""
    room = [path for path in by_test if path.parent.name == module.split("/")[0]]
    name = module.removesuffix("/__init__").split("/")[-1].partition(".")[0]
    own = [path for path in room if path.stem == f"test_{name}"] or room[: len(room) == 1]
    others = dict.fromkeys(_importing(module, by_test, users) or _naming(name, room))
    return own, [*(path for path in others if path not in own), *OF_ALL]


def _importing(module, by_test, users):
    """Return the test files that import a module, else those that import a module that does; of C++ both."""
    seen, near, found = {module}, [module], []
    while near and len(found) < MOST:
        counts = Counter({path: sum(named[one] for one in near) for path, named in by_test.items()})
        best = [path for path, count in counts.most_common(MOST) if count and path not in found]
        found += sorted(best, key=lambda path: -counts[path] / by_test[path].total())
        if found and not module.endswith(CPP):
            break
        near = [user for one in near for user in users.get(one, ()) if user not in seen]
        seen.update(near)
    return found[:MOST]


def _naming(name, room):
    """Return the test files of a room that name one of its modules, or any where none does."""
    word = re.compile(rf"\b{name}\b")
    counts = Counter(
        {path: 1 + len(word.findall((ROOT / path).read_text(encoding="utf-8"))) for path in room}
    )
    return [path for path, _ in counts.most_common(MOST)]


def tested(folder, tests, edit):
    """Run tests in a copy of the tree until one fails; return what became of them."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "mutants", *map(str, tests)]
    paths = os.pathsep.join(str(folder / name) for name in ("src", "tests/helpers"))
    variables = {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "ODL_LONGEST": str(LONGEST)}
    variables = {**os.environ, **variables, "ODL_EDITED": "|".join(_functions(edit))}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return "timed out"
    if done.returncode < 0:  # ended by a signal: the edit was seen
        return "failed"
    if (
        done.returncode == 0 and "[100%]" not in done.stdout and COLLECTING not in tests
    ):  # the process of the tests was ended as if all were well
        return "failed"
    # 4: a test is not found in a file that cannot be imported
    return {0: "passed", 1: "failed", 2: "failed", 4: "failed"}.get(
        done.returncode, "broken: " + done.stdout[-300:]
    )


def _functions(edit):
    """Return the names of the functions and classes that an edit of Python lies in."""
    if edit.module.endswith(CPP):
        return []
    source = path_of(edit.module).read_bytes()
    line = source.count(b"\n", 0, edit.first) + 1
    return [
        node.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and node.lineno <= line <= node.end_lineno
    ]


def pytest_runtest_logstart():
    """Give each test its time, as a plugin of the tests of an edit."""
    signal.setitimer(signal.ITIMER_PROF, float(os.environ["ODL_LONGEST"]))


def pytest_collection_modifyitems(items):
    """Let those tests of each file go first that name what is edited."""
    named = (
        re.compile(rf"\b({os.environ['ODL_EDITED']})\b")
        if os.environ["ODL_EDITED"]
        else re.compile("")
    )
    files = {path: place for place, path in enumerate(dict.fromkeys(item.path for item in items))}
    items.sort(
        key=lambda item: (
            files[item.path],
            not named.search(inspect.getsource(item.cls or item.function)),
        )
    )


def judged(edit, tests, copies):
    """Apply an edit to a free copy of the tree, run its tests, take it back; return (outcome, seconds)."""
    folder, start = copies.get(), time.monotonic()
    path, compiled = path_of(edit.module, folder), edit.module.endswith(CPP)
    try:
        if compiled and not (folder / SOUND).exists():
            built(folder, configure=True)
            store_build(folder)
        whole, times = path.read_bytes(), path.stat()
        outcome = "no edit: not compiled"
        try:
            path.write_bytes(whole[: edit.first] + edit.text.encode() + whole[edit.last :])
            if not compiled or built(folder):
                shutil.rmtree(folder / ".pytest_cache", ignore_errors=True)
                outcomes = (tested(folder, part, edit) for part in tests if part)
                outcome = next((each for each in outcomes if each != "passed"), "passed")
        finally:
            path.write_bytes(whole)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            if compiled:
                restore_build(folder)
        if outcome == "failed" and not _sound(
            folder, edit, [test for part in tests for test in part]
        ):
            outcome = "broken: fails without the edit"
    finally:
        copies.put(folder)
    outcome = {"passed": "survived", "failed": "killed"}.get(outcome, outcome)
    return outcome, time.monotonic() - start


def built(folder, configure=False):
    """Build the extension module of a copy of the tree; return whether it compiles."""
    if configure:
        import nanobind

        settings = {
            "SKBUILD_STATE": "editable",
            "Python_EXECUTABLE": sys.executable,
            "nanobind_DIR": nanobind.cmake_dir(),
            "CMAKE_MAKE_PROGRAM": TOOLS / "ninja",
        }
        words = [f"-D{name}={value}" for name, value in settings.items()]
        command = [TOOLS / "cmake", "-S", folder, "-B", folder / BUILD, "-G", "Ninja", *words]
        subprocess.run(command, check=True, capture_output=True)
    command = [TOOLS / "cmake", "--build", folder / BUILD, "--target", "_kernels"]
    return subprocess.run(command, capture_output=True).returncode == 0


def store_build(folder):
    """Copy what a build without an edit has made."""
    shutil.copytree(folder / BUILD, folder / SOUND / "build")
    for module in folder.glob(MODULES):
        shutil.copy2(module, folder / SOUND)


def restore_build(folder):
    """Put back what `store_build` copied, with its times, so that nothing is compiled."""
    shutil.rmtree(folder / BUILD)
    shutil.copytree(folder / SOUND / "build", folder / BUILD)
    for module in (folder / SOUND).glob("*.so"):
        target = folder / Path(MODULES).parent / module.name
        target.unlink(missing_ok=True)  # a process may have it open
        shutil.copy2(module, target)


PASSING = set()  # tests that passed without an edit


def _sound(folder, edit, tests):
    """Tell whether those of the tests that just failed in a copy of the tree pass there without the edit."""
    last = folder / ".pytest_cache" / "v" / "cache" / "lastfailed"
    failed = list(json.loads(last.read_text())) if last.exists() else []
    wanted = failed or [*map(str, tests), COLLECTING]
    if not PASSING.issuperset(wanted) and tested(folder, wanted, edit) == "passed":
        PASSING.update(wanted)
    return PASSING.issuperset(wanted)


def copied(folder):
    """Copy what tests need into a new folder, the extension module included."""
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.egg-info"))
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy2(path, folder / path.name)
    return folder


def shown(edit):
    """Return an edit in one line."""
    source, path = path_of(edit.module).read_bytes(), path_of(edit.module).relative_to(PACKAGE)
    line = source.count(b"\n", 0, edit.first) + 1
    begin, end = source.rfind(b"\n", 0, edit.first) + 1, source.find(b"\n", edit.last)
    new = source[begin : edit.first] + edit.text.encode() + source[edit.last : end]
    return f"{path}:{line}: {' '.join(new.decode().split())}"


def drawn(rooms, number, seed):
    """Return edits of modules in rooms (all but the papers' without any), and the test files of each module."""
    known = modules()
    by_test = {
        path.relative_to(ROOT): imported(path, known)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
    }
    users = {}
    for name in {*known.values()}:
        for one in imported(path_of(name), known):
            users.setdefault(one, []).append(name)
    names = [
        name
        for name in known.values()
        if (name.split("/")[0] in rooms if rooms else name.split("/")[0] != "papers")
    ]
    edits = [edit for name in names for edit in edits_of(name)]
    edits = random.Random(seed).sample(edits, min(number, len(edits)))
    return edits, {edit.module: tests_of(edit.module, by_test, users) for edit in edits}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rooms", nargs="*", default=[], metavar="ROOM", help="folders below src/odl; default: all"
    )
    parser.add_argument("--sample", type=int, default=50, help="so many edits")
    parser.add_argument(
        "--seed", type=int, help="default: the first 8 digits of the hash of the commit"
    )
    parser.add_argument(
        "--workers", type=int, default=2, help="copies of the tree, each tested by a process"
    )
    parser.add_argument("--list", action="store_true", help="show the edits and end")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="outcomes; edits in it are not tested again"
    )
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="after which no edit is started"
    )
    args = parser.parse_args()
    seed = int(_commit()[:8], 16) if args.seed is None else args.seed
    edits, tests = drawn(args.rooms, args.sample, seed)
    print(f"{len(edits)} edits, seed {seed}", flush=True)
    lines = [shown(edit) for edit in edits]  # of the sources as they are now
    if args.list:
        print("\n".join(lines))
        return 0
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(args.workers) as pool:
        copies = SimpleQueue()
        for number in range(args.workers):
            copies.put(copied(Path(place) / str(number)))
        known, end = recorded(args.record), time.monotonic() + 60 * args.minutes

        def judge(edit):
            if edit not in known:
                if time.monotonic() > end:
                    return NOT_TESTED, 0
                known[edit] = judged(edit, tests[edit.module], copies)
                record(args.record, edit, known[edit])
            return known[edit]

        counts = report(lines, pool.map(judge, edits))
    wanted = SHARES[not set(args.rooms) or not set(args.rooms) <= set(STRICT)]
    number = len(edits) - counts["no edit: not compiled"] - counts[NOT_TESTED]
    share = counts["killed"] / max(number, 1)
    print(
        f"{counts['killed']} of {number} killed ({share:.0%}), at least {wanted:.0%} wanted; seed {seed}"
    )
    return 0 if share >= wanted and not counts[NOT_TESTED] else 1


def recorded(path):
    """Return the outcomes that a file has: edit -> (outcome, seconds)."""
    lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
    return {Edit(*edit): tuple(outcome) for edit, outcome in map(json.loads, lines)}


def record(path, edit, outcome):
    """Add an outcome to a file."""
    if path:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([edit, outcome]) + "\n")


def _commit():
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def report(lines, judgements):
    """Print a line for each edit as it ends, the others than killed again; return how many had each outcome."""
    counts, others = Counter(), []
    for line, (outcome, seconds) in zip(lines, judgements, strict=True):
        counts[outcome] += 1
        line = f"{outcome:9} {seconds:5.0f} s  {line}"
        others += [line] * (outcome != "killed")
        print(line, flush=True)
    print("\n".join(["not killed:", *others]) if others else "all were killed")
    return counts


if __name__ == "__main__":
    sys.exit(main())
