"""Downloads against a real HTTP server on loopback, and the registry."""

import contextlib
import gzip
import hashlib
import http.server
import re
import threading
import time
from pathlib import Path

import pytest

from odl.corpora import download, nips, readers
from odl.errors import DownloadError

CONTENT = bytes(range(256)) * 4096  # 1 MiB
PACKED = gzip.compress(CONTENT, mtime=0)
COMMITTED = "data/corpora.csv"


class Server:
    """HTTP server on loopback that calls one function for each request."""

    def __init__(self):
        self.requests, self.behaviours = [], []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append((self.path, dict(self.headers)))
                position = min(len(outer.requests), len(outer.behaviours)) - 1
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    outer.behaviours[position](self)
                self.close_connection = True

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("ODL_MIRROR", raising=False)
    running = Server()
    yield running
    running.close()


def send(content=CONTENT, length=None, stop=None, chunks=1, pause=0.0):
    """Send the content in chunks, up to byte `stop`."""

    def behave(handler):
        handler.send_response(200)
        if length is not False:
            handler.send_header("Content-Length", str(length or len(content)))
        handler.end_headers()
        body = content[:stop]
        size = -(-len(body) // chunks)
        for position in range(0, len(body), max(size, 1)):
            handler.wfile.write(body[position : position + size])
            handler.wfile.flush()
            time.sleep(pause)

    return behave


def status(code):
    return lambda handler: handler.send_error(code)


def sha(content):
    return hashlib.sha256(content).hexdigest()


def registry(url="", sums=None, file="f.bin", route="download"):
    sums = sha(CONTENT) if sums is None else sums
    row = dict.fromkeys(download.REGISTRY_COLUMNS, "")
    return [
        {
            **row,
            "corpus": "nips",
            "folder": "d",
            "file": file,
            "url": url,
            "sha256": sums,
            "route": route,
        }
    ]


def fetch(tmp_path, rows, lines=None, **options):
    """Download to tmp_path/out/f and return its bytes; after a failure, assert that no file exists."""
    output = tmp_path / "out" / "f"
    options = {"wait": 0.01, "timeout": 5.0, "retries": 3, **options}
    note = (lambda line: None) if lines is None else lines.append
    try:
        download.download(f"d/{rows[0]['file']}", output, rows, progress=note, **options)
    except DownloadError:
        assert list(output.parent.iterdir()) == []
        raise
    assert list(output.parent.iterdir()) == [output]
    return output.read_bytes()


def test_good_file(server, tmp_path):
    server.behaviours = [send()]
    lines = []
    assert fetch(tmp_path, registry(server.url + "/f.bin"), lines) == CONTENT
    assert len(server.requests) == 1
    assert "1048576 bytes" in lines[-1]


def test_right_file_is_not_fetched_again(server, tmp_path):
    server.behaviours = [send(), status(500)]
    rows = registry(server.url + "/f.bin")
    fetch(tmp_path, rows)
    assert fetch(tmp_path, rows) == CONTENT
    assert len(server.requests) == 1


def test_wrong_file_at_the_output_is_replaced(server, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "f").write_bytes(b"half")
    server.behaviours = [send()]
    assert fetch(tmp_path, registry(server.url + "/f.bin")) == CONTENT


def test_corrupted_file_is_refused(server, tmp_path):
    server.behaviours = [send(b"x" + CONTENT[1:])]
    with pytest.raises(DownloadError, match="another file, with sha256") as caught:
        fetch(tmp_path, registry(server.url + "/f.bin"))
    assert "ODL_MIRROR" in str(caught.value)
    assert "out/f" in str(caught.value)


@pytest.mark.parametrize("length", [None, False])
def test_truncated_file_is_refused(server, tmp_path, length):
    """With Content-Length, the transfer is repeated; without it, the checksum differs."""
    server.behaviours = [send(stop=1000, length=length)]
    seen = (
        "ended after 1000 of 1048576 bytes, after 4 attempts"
        if length is None
        else "another file, with sha256"
    )
    with pytest.raises(DownloadError, match=seen):
        fetch(tmp_path, registry(server.url + "/f.bin"))
    assert len(server.requests) == (4 if length is None else 1)


def test_missing_file_is_not_tried_again(server, tmp_path):
    server.behaviours = [status(404)]
    with pytest.raises(DownloadError, match="HTTP 404"):
        fetch(tmp_path, registry(server.url + "/f.bin"))
    assert len(server.requests) == 1


def test_busy_server_is_tried_again_with_growing_pauses(server, tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr(download.time, "sleep", lambda seconds: pauses.append(seconds))
    server.behaviours = [status(503), status(500), status(429), send()]
    assert fetch(tmp_path, registry(server.url + "/f.bin"), wait=2.0) == CONTENT
    assert [pause for pause in pauses if pause >= 1] == [2.0, 4.0, 8.0]


def test_transfer_that_dies_begins_again(server, tmp_path):
    server.behaviours = [send(stop=300_000), send(stop=500_000), send()]
    assert fetch(tmp_path, registry(server.url + "/f.bin")) == CONTENT
    assert len(server.requests) == 3


@pytest.mark.slow
def test_slow_server_is_waited_for(server, tmp_path):
    """Each chunk arrives before the timeout, the last one after it."""
    server.behaviours = [send(chunks=8, pause=0.3)]
    begun = time.monotonic()
    assert fetch(tmp_path, registry(server.url + "/f.bin"), timeout=2.0) == CONTENT
    assert time.monotonic() - begun > 2.0
    assert len(server.requests) == 1


def test_stalled_server_is_left(server, tmp_path):
    stall = threading.Event()

    def stalled(handler):
        send(stop=1000)(handler)
        stall.wait(60)

    server.behaviours = [stalled]
    begun = time.monotonic()
    with pytest.raises(DownloadError, match="no answer in time, after 2 attempts"):
        fetch(tmp_path, registry(server.url + "/f.bin"), timeout=0.2, retries=1)
    assert time.monotonic() - begun < 30
    stall.set()


def test_progress_is_shown_but_rarely(server, tmp_path, monkeypatch):
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(download.time, "monotonic", lambda: next(clock))
    server.behaviours = [send(chunks=16, pause=0.02)]
    lines = []
    fetch(tmp_path, registry(server.url + "/f.bin"), lines)
    reports = [line for line in lines if re.search(r"\d+ of 1048576 bytes$", line)]
    assert 1 <= len(reports) <= 8


def test_nothing_listens(tmp_path, server):
    server.close()
    with pytest.raises(DownloadError, match="refused, after 2 attempts"):
        fetch(tmp_path, registry(server.url + "/f.bin"), retries=1)


def place(folder, content=CONTENT, file="f.bin"):
    (folder / "d").mkdir(parents=True)
    (folder / "d" / file).write_bytes(content)
    return folder


@pytest.mark.parametrize("form", ["path", "file address"])
def test_mirror_folder(server, tmp_path, form):
    mirror = place(tmp_path / "a mirror")
    mirror = str(mirror) if form == "path" else mirror.as_uri()
    assert fetch(tmp_path, registry(server.url + "/f.bin"), mirror=mirror) == CONTENT
    assert server.requests == []


@pytest.mark.parametrize("through", ["argument", "environment"])
def test_mirror_address(server, tmp_path, monkeypatch, through):
    server.behaviours = [send()]
    mirror = server.url + "/base/"
    if through == "environment":
        monkeypatch.setenv("ODL_MIRROR", mirror)
    assert fetch(tmp_path, registry(), mirror=mirror if through == "argument" else None) == CONTENT
    assert [path for path, _ in server.requests] == ["/base/d/f.bin"]


@pytest.mark.parametrize("fault", ["missing", "wrong"])
def test_mirror_without_the_right_file_falls_back(server, tmp_path, fault):
    mirror = place(
        tmp_path / "m", b"something else", "other.bin" if fault == "missing" else "f.bin"
    )
    server.behaviours = [send()]
    lines = []
    assert fetch(tmp_path, registry(server.url + "/f.bin"), lines, mirror=str(mirror)) == CONTENT
    said = "No such file" if fault == "missing" else "another file, with sha256"
    assert any(said in line and str(mirror) in line for line in lines)


def test_every_source_is_named_when_all_fail(server, tmp_path):
    server.behaviours = [status(404)]
    rows = registry(f"{server.url}/one {server.url}/two")
    with pytest.raises(DownloadError) as caught:
        fetch(tmp_path, rows, mirror=str(tmp_path / "absent"))
    message = str(caught.value)
    for part in (
        str(tmp_path / "absent"),
        f"{server.url}/one: HTTP 404",
        f"{server.url}/two: HTTP 404",
    ):
        assert part in message
    assert "\n" not in message


def test_unknown_sum_is_accepted_from_the_canonical_address_only(server, tmp_path):
    rows = registry(server.url + "/f.tar.gz", f"{'0' * 64} unknown", "f.tar.gz")
    mirror = place(tmp_path / "m", PACKED, "f.tar.gz")
    server.behaviours = [status(404)]
    with pytest.raises(DownloadError, match="another file, with sha256"):
        fetch(tmp_path, rows, mirror=str(mirror))
    server.behaviours = [send(PACKED)]
    assert fetch(tmp_path, rows) == PACKED


@pytest.mark.parametrize(
    "content", [b"<html>moved</html>", PACKED[:-9], PACKED[:2000] + b"?" + PACKED[2001:]]
)
def test_unknown_sum_needs_a_whole_archive(server, tmp_path, content):
    server.behaviours = [send(content), send(PACKED)]
    lines, one = [], server.url + "/f.tar.gz"
    assert fetch(tmp_path, registry(f"{one} {one}", "unknown", "f.tar.gz"), lines) == PACKED
    assert any("an incomplete gzip file" in line for line in lines)


def test_file_that_is_only_on_mirrors(server, tmp_path):
    with pytest.raises(DownloadError, match="it comes from http://x/page") as caught:
        fetch(tmp_path, registry("http://x/page", route="mirror"))
    assert "ODL_MIRROR" in str(caught.value)


def test_file_is_built_of_its_originals(server, tmp_path, monkeypatch):
    def join(paths, output):
        Path(output).write_bytes(b"+".join(Path(path).read_bytes() for path in paths))

    monkeypatch.setitem(nips.ORIGINALS, "f.bin", join)
    rows = registry(server.url + "/{one,two}.txt", route="build")
    server.behaviours = [send(b"1"), send(b"2")]
    assert fetch(tmp_path, rows) == b"1+2"
    assert [path for path, _ in server.requests] == ["/one.txt", "/two.txt"]
    mirror = place(tmp_path / "m")
    (tmp_path / "out" / "f").unlink()
    assert fetch(tmp_path, rows, mirror=str(mirror)) == CONTENT
    (tmp_path / "out" / "f").unlink()
    server.behaviours = [status(404)]
    with pytest.raises(
        DownloadError, match=r"built from its originals: original http\S+one\.txt: HTTP 404"
    ):
        fetch(tmp_path, rows)


def test_wrong_originals_are_refused(server, tmp_path, monkeypatch):
    import io
    import zipfile

    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x/nips.vocab", "word " * 1000)
    content = memory.getvalue()
    monkeypatch.setitem(nips.ORIGINALS, "f.bin", nips.archive)
    rows = registry(server.url + "/n.zip", route="build")
    server.behaviours = [send(content)]
    with pytest.raises(DownloadError, match=r"lacks nips\.corpus"):
        fetch(tmp_path, rows)
    server.behaviours = [send(content[:60] + b"?" + content[61:])]
    with pytest.raises(DownloadError, match="zip"):
        fetch(tmp_path, rows)
    server.behaviours = [send(content[:-10])]
    with pytest.raises(DownloadError, match="zip"):
        fetch(tmp_path, rows)


@pytest.mark.parametrize("address", ["ftp://127.0.0.1/x", "data:,x", "gopher://x"])
def test_other_schemes_are_refused(server, tmp_path, address):
    with pytest.raises(DownloadError):
        fetch(tmp_path, registry(address))
    if "://" in address:
        with pytest.raises(DownloadError, match="is not supported"):
            fetch(tmp_path, registry(), mirror=address)


@pytest.mark.parametrize("address", ["http://[bad", "https://[::1/x", "file://[bad/x"])
def test_malformed_mirror_is_refused(tmp_path, monkeypatch, address):
    monkeypatch.setenv("ODL_MIRROR", address)
    (tmp_path / "out").mkdir()
    with pytest.raises(DownloadError) as caught:
        fetch(tmp_path, registry())
    assert f"{address}/" in str(caught.value)


def test_redirect_to_another_scheme_is_refused(server, tmp_path):
    def redirect(handler):
        handler.send_response(302)
        handler.send_header("Location", f"file://{__file__}")
        handler.end_headers()

    server.behaviours = [redirect]
    with pytest.raises(DownloadError):
        fetch(tmp_path, registry(server.url + "/f.bin"))


def test_redirect_is_followed(server, tmp_path):
    def redirect(handler):
        handler.send_response(302)
        handler.send_header("Location", "/there")
        handler.end_headers()

    server.behaviours = [redirect, send()]
    assert fetch(tmp_path, registry(server.url + "/f.bin")) == CONTENT
    assert server.requests[-1][0] == "/there"


def test_unknown_file_is_named(tmp_path):
    with pytest.raises(
        DownloadError, match=r"d/x is not in the registry; expected one of d/f\.bin"
    ):
        download.download("d/x", tmp_path / "x", registry())


def test_committed_registry(request):
    rows = download.load_registry(request.config.rootpath / COMMITTED)
    assert len({(row["folder"], row["file"]) for row in rows}) == len(rows)
    for row in rows:
        sums = row["sha256"].split()
        assert sums and all(
            value == download.UNKNOWN_SUM or re.fullmatch("[0-9a-f]{64}", value) for value in sums
        )
        assert row["route"] in ("download", "build", "mirror")
        assert row["tried"] in ("yes", "no")
        assert all(url.startswith(("https://", "http://")) for url in row["url"].split())
        assert row["url"] and row["licence"] and row["citation"]
    files = [row["file"] for row in download.files_of("20news", rows)]
    assert files == ["20news-bydate.tar.gz", "20news-bydate-dates.tsv.gz"]


def test_every_build_has_a_builder(request):
    builders = {
        f"{name}/{file}"
        for name, module in readers().items()
        for file in getattr(module, "ORIGINALS", ())
    }
    rows = download.load_registry(request.config.rootpath / COMMITTED)
    assert {f"{row['corpus']}/{row['file']}" for row in rows if row["route"] == "build"} == builders


def test_the_registry_has_the_files_of_every_reader(request):
    rows = download.load_registry(request.config.rootpath / COMMITTED)
    for name, module in readers().items():
        assert [row["file"] for row in download.files_of(name, rows)] == list(module.FILES or ()), (
            name
        )


@pytest.mark.parametrize("text", [None, "name,url\n", "\x00\n"])
def test_damaged_registry_is_refused(tmp_path, text):
    path = tmp_path / "corpora.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DownloadError, match=r"corpora\.csv"):
        download.load_registry(path)
