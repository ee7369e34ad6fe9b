"""Feed malformed files to every reader of odl, each example with bounds of memory and time, and print a table.

    python tests/helpers/fuzz.py                         every reader, 400 examples each
    python tests/helpers/fuzz.py --examples 5000 --seconds 60 --only MAT
    python tests/helpers/fuzz.py --only "documents (CSV)" --example 17        one example again, with its traceback

An example is made from the name of the reader and its number alone. Readers run in processes of
their own: a crash of a library or an example beyond its time ends the process, is counted, and the
next example goes on. Exit status 1 if anything but a refusal or an acceptance was seen.
"""

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

os.environ["ARROW_DEFAULT_MEMORY_POOL"] = (
    "system"  # pyarrow's own, for strings of pandas, reserves as much as MEMORY
)
MEMORY = 1 << 30  # bytes an example may take beside what is loaded
SECONDS = 10  # CPU seconds of an example
SILENCE = 300  # wall-clock seconds after which a process without a word is ended
LONGEST = 2000  # characters of a message
HEADER = (
    "reader",
    "examples",
    "refused",
    "accepted",
    "tracebacks",
    "crashes",
    "too slow",
    "slowest s",
    "peak MB",
)


def judge(target, path):
    """Read a file; return "refused", "accepted" or what went wrong."""
    from odl.errors import OdlError

    try:
        target.read(path)
    except OdlError as error:
        text = str(error)
        if "\n" in text or len(text) > LONGEST or not text.isprintable():
            return f"the message is no short printable line: {type(error).__name__} {text[:80]!r}"
        return "refused"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)
        inside = next((frame for frame in reversed(place) if "/odl/" in frame.filename), place[-1])
        return f"{type(error).__name__} {str(error)[:90]!r} in {Path(inside.filename).name}:{inside.lineno}"
    return "accepted"


def write(target, chance, folder):
    """Write a file that is made of chance into a fresh folder and return its path."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path = folder / f"x{target.suffix}"
    path.write_bytes(target.make(chance))
    return path


def chance_of(name, number):
    """Return what an example is made of."""
    return random.Random(f"{name} {number}")


def _work(target, examples, folder, pipe):
    """Judge examples one after another and write a line about each."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, inside compiled code too
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    with os.fdopen(pipe, "w") as lines:
        for number, made_of in examples:
            print(json.dumps({"start": number}), file=lines, flush=True)
            try:
                path = write(target, made_of, folder)
            except Exception as error:
                found = {"found": f"the maker failed: {error!r}", "s": 0.0, "mb": 0.0}
                print(json.dumps(found), file=lines, flush=True)
                continue
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            begin = time.process_time()
            found = judge(target, path)
            spent = time.process_time() - begin
            signal.setitimer(signal.ITIMER_PROF, 0)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(json.dumps({"found": found, "s": spent, "mb": memory}), file=lines, flush=True)


def _process(target, examples, folder):
    """Yield (number, outcome, seconds, MB) from one process, until it is done or dead."""
    source, sink = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(source)
        try:
            _work(target, examples, folder, sink)
        finally:
            os._exit(0)
    os.close(sink)
    number = None
    with os.fdopen(source) as lines:
        signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
        signal.alarm(SILENCE)
        for line in lines:
            signal.alarm(SILENCE)
            with contextlib.suppress(ValueError):
                held = json.loads(line)
                if "start" in held:
                    number = held["start"]
                else:
                    yield number, held["found"], held["s"], held["mb"]
                    number = None
    status = os.waitpid(child, 0)[1]
    signal.alarm(0)
    if number is not None:
        killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        slow = killed in (signal.SIGPROF, signal.SIGKILL)
        yield number, "too slow" if slow else f"crash by signal {killed}", float(SECONDS), 0.0


def run(name, target, examples, seconds, folder, chance=chance_of):
    """Judge the examples of one reader; return its row and what went wrong: text -> numbers of examples."""
    counts, wrong, next_one, slowest, peak, spent = Counter(), {}, 0, 0.0, 0.0, 0.0
    while next_one < examples and spent < seconds:
        todo = ((number, chance(name, number)) for number in range(next_one, examples))
        for number, found, time_s, memory in _process(target, todo, folder):
            next_one, slowest, peak, spent = (
                number + 1,
                max(slowest, time_s),
                max(peak, memory),
                spent + time_s,
            )
            kind = found if found in ("refused", "accepted", "too slow") else found.split()[0]
            kind = kind if kind in ("refused", "accepted", "too slow", "crash") else "traceback"
            counts[kind] += 1
            if kind not in ("refused", "accepted"):
                wrong.setdefault(found, []).append(number)
            if spent >= seconds:
                break
    kinds = ("refused", "accepted", "traceback", "crash", "too slow")
    row = (
        name,
        sum(counts.values()),
        *(counts[kind] for kind in kinds),
        f"{slowest:.2f}",
        f"{peak:.0f}",
    )
    return row, wrong


def _again(name, target, number, folder):
    path = write(target, chance_of(name, number), folder)
    print(path)
    target.read(path)
    print("accepted")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--examples", type=int, default=400, help="of each reader")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="CPU seconds of each reader at most"
    )
    parser.add_argument("--only", default="", help="readers whose name has this text")
    parser.add_argument("--example", type=int, help="one example again, in this process")
    parser.add_argument(
        "--world", type=Path, help="folder of the valid files, to be made or used again"
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    import fuzz_targets
    import fuzz_world

    with tempfile.TemporaryDirectory() as made:
        world = args.world or Path(made) / "world"
        if not (world / "net.h5").exists():
            fuzz_world.build(world)
        chosen = {
            name: held for name, held in fuzz_targets.targets(world).items() if args.only in name
        }
        if args.example is not None:
            for name, target in chosen.items():
                _again(name, target, args.example, Path(made) / "example")
            return 0
        print("| " + " | ".join(HEADER) + " |\n|" + " --- |" * len(HEADER))
        total, failures = Counter(), {}
        for name, target in chosen.items():
            row, wrong = run(name, target, args.examples, args.seconds, Path(made) / "example")
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
            total.update(dict(zip(HEADER[1:7], row[1:7], strict=True)))
            failures |= {f"{name}: {text}": numbers for text, numbers in wrong.items()}
        print("| all | " + " | ".join(str(total[column]) for column in HEADER[1:7]) + " | | |")
    for text, numbers in failures.items():
        print(f"{text}; {len(numbers)} examples: {', '.join(map(str, numbers[:5]))}")
    cpu = sum(
        resource.getrusage(who)[0] for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(f"{cpu:.0f} CPU s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
