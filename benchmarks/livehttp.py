"""Load and latency of `odl watch --http`: one document a request, over connections that stay open.

    python benchmarks/livehttp.py [--seconds 60] [--rate 200] [--documents 10000]
    [--connections 16] [--first]

A folder with 6,000 documents of 100 words is run in a temporary folder, and watched by a separate
process. First all connections send as fast as answers come. Then documents are sent at a fixed
rate, whether answers come or not: a latency is counted from the moment at which a document was due.
Weeks end meanwhile, so that periods are learned at the same time. Ten times a second another
connection asks for /health, which costs almost nothing and so measures the delay of the machine,
and another thread writes a kilobyte and waits for the disk. With `--first` (Linux, root) this
process and the watch have real-time priority, and the processes that learn do not, as if nobody
else used the cores.
"""

import argparse
import asyncio
import contextlib
import gc
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime, timedelta

import psutil
from live import documents, prepare

BETWEEN = 20  # seconds from the end of a week to that of the next


async def ask(connection, method, path, body=b""):
    """Send a request; return the body of its answer."""
    reader, writer = connection
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    said = await reader.readuntil(b"\r\n\r\n")
    text = await reader.readexactly(int(re.search(rb"(?i)content-length: (\d+)", said)[1]))
    if not said.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"{method} {path}: {said.splitlines()[0].decode()} {text.decode()}")
    return text


@contextlib.asynccontextmanager
async def connections(port, count):
    """Open connections that stay open; yield them in a queue."""
    free = asyncio.Queue()
    for _ in range(count):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    try:
        yield free
    finally:
        while not free.empty():
            free.get_nowait()[1].close()


async def load(port, lines, count):
    """Return documents per second if each connection sends a document after each answer."""
    remaining = iter(lines)

    async def send(free):
        connection = await free.get()
        for line in remaining:
            await ask(connection, "POST", "/documents", line)
        free.put_nowait(connection)

    async with connections(port, count) as free:
        began = time.perf_counter()
        await asyncio.gather(*(send(free) for _ in range(count)))
        return len(lines) / (time.perf_counter() - began)


async def cpu(port):
    """Return the CPU seconds of the watch so far."""
    connection = await asyncio.open_connection("127.0.0.1", port)
    text = await ask(connection, "GET", "/metrics")
    connection[1].close()
    return float(re.search(rb"(?m)^process_cpu_seconds_total (\S+)", text)[1])


def step_back():
    """Remove the real-time priority of the processes that the watch has started."""
    for process in psutil.Process().children(recursive=True):
        if "run" in process.cmdline():
            os.sched_setscheduler(process.pid, os.SCHED_OTHER, os.sched_param(0))


async def latency(port, lines, count, rate):
    """Send documents at a fixed rate.

    Returns
    -------
    times : list of (moment, latency in seconds) of the documents
    spans : list of [begin, end] in which periods were learned
    health : list of latencies of /health, in seconds
    """
    times, spans, health, done = [], [], [], asyncio.Event()

    async def send(free, due, line):
        connection = await free.get()
        await ask(connection, "POST", "/documents", line)
        free.put_nowait(connection)
        times.append((due, time.perf_counter() - due))

    async def look():
        connection, learning = await asyncio.open_connection("127.0.0.1", port), False
        while not done.is_set() or learning:
            before, learning = (
                learning,
                b"odl_learning 1.0" in await ask(connection, "GET", "/metrics"),
            )
            if learning and not before:
                step_back()
                spans.append([time.perf_counter() - 0.1, 0.0])
            if before:
                spans[-1][1] = time.perf_counter()
            began = time.perf_counter()
            await ask(connection, "GET", "/health")
            health.append(time.perf_counter() - began)
            await asyncio.sleep(0.1)

    async with connections(port, count) as free:
        looking, began, sent = asyncio.create_task(look()), time.perf_counter() + 0.5, []
        for number, line in enumerate(lines):
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            sent.append(asyncio.create_task(send(free, due, line)))
        await asyncio.gather(*sent)
        done.set()
        await looking
    return times, spans, health


def disk(seconds, ended):
    """Append the seconds to write a kilobyte and wait for the disk, until `ended` is set."""
    with open("beside", "wb") as file:
        while not ended.wait(0.1):
            file.write(b"x" * 1024)
            began = time.perf_counter()
            file.flush()
            os.fsync(file.fileno())
            seconds.append(time.perf_counter() - began)


def described(seconds):
    """Return percentiles of times, in milliseconds."""
    parts = statistics.quantiles(seconds, n=100)
    return (
        f"50 % {1e3 * parts[49]:.1f} ms, 99 % {1e3 * parts[98]:.1f} ms, "
        f"most {1e3 * max(seconds):.1f} ms"
    )


@contextlib.contextmanager
def watched():
    """Run `odl watch news --http`; yield its port."""
    command = [sys.executable, "-m", "odl", "watch", "news", "--http", "127.0.0.1:0"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        yield int(re.search(r"port (\d+)", process.stderr.readline())[1])
        process.send_signal(signal.SIGTERM)
        print(process.communicate(timeout=600)[1].strip())
    finally:
        process.kill()


def main():
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument(
        "--first", action="store_true", help="real-time priority for this process and the watch"
    )
    args = parser.parse_args()
    count, a_week = args.seconds * args.rate, BETWEEN * args.rate
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        prepare()
        if args.first:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        first = datetime(2026, 2, 9)
        many = [line.encode() for line in documents(args.documents, first, "b", args.documents)]
        some = [
            line.encode() for line in documents(count, first + timedelta(days=7), "c", a_week / 7)
        ]
        seconds, ended = [], threading.Event()
        gc.disable()  # so that pauses of this process are not measured
        with watched() as port:
            print(f"load average {os.getloadavg()[0]:.1f}")
            before = asyncio.run(cpu(port))
            speed, after = asyncio.run(load(port, many, args.connections)), asyncio.run(cpu(port))
            each = 1e6 * (after - before) / len(many)
            print(f"{speed:.0f} documents a second, {each:.0f} CPU microseconds a document")
            beside = threading.Thread(target=disk, args=(seconds, ended))
            beside.start()
            times, spans, health = asyncio.run(latency(port, some, args.connections, args.rate))
            each = 1e6 * (asyncio.run(cpu(port)) - after) / len(some)
            ended.set()
            beside.join()
        closing = [took for due, took in times if any(low <= due <= high for low, high in spans)]
        print(f"fsync beside: {described(seconds)}")
        print(f"/health beside: {described(health)}")
        print(
            f"{len(times)} documents at {args.rate} a second: "
            f"{described([took for _, took in times])}"
        )
        print(f"{each:.0f} CPU microseconds of the watch for each of them")
        if len(closing) > 1:
            learnt = sum(high - low for low, high in spans)
            print(
                f"{len(closing)} of them in {len(spans)} periods that closed, {learnt:.1f} s: "
                f"{described(closing)}"
            )
        print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
