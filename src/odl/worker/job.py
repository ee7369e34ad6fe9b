"""What a child of the worker does: become the process that its client would have been, and run the command."""

import array
import atexit
import contextlib
import os
import socket
import sys
import tempfile
import traceback

from odl.worker import client

# Of other variables than these, libraries that are imported may have taken note: a job that has others runs by itself.
FREE = {b"_", b"PWD", b"OLDPWD", b"SHLVL", b"TMPDIR", b"TMP", b"TEMP", b"TEMPDIR"}
PATIENCE = 60  # seconds for the request to arrive


def begin(connection, environment):
    """Read a request and take over its streams, folder and environment.

    Parameters
    ----------
    connection : socket.socket
    environment : dict
        Bytes to bytes, of the worker.

    Returns
    -------
    list of str or None
        The words of the command; None where it is for another package or environment.
    """
    connection.settimeout(PATIENCE)
    message, streams = _read(connection)
    identity, folder, mask, number, *rest = message.split(b"\0")
    words = [os.fsdecode(word) for word in rest[: int(number)]]
    variables = dict(entry.split(b"=", 1) for entry in rest[int(number) :])
    if identity != client.identity() or _bound(variables) != _bound(environment):
        return None
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.umask(int(mask))
    os.environb.clear()
    os.environb.update(variables)
    tempfile.tempdir = None
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=stream.isatty() or stream is sys.stderr)
    sys.argv = ["odl", *words]
    connection.sendall(client.BEGUN + os.getpid().to_bytes(4, sys.byteorder))
    return words


def _read(connection):
    """Read a request as `odl.worker.client` sends it: its length, its fields, and three descriptors."""
    size = array.array("i").itemsize
    message, ancillary, _, _ = connection.recvmsg(1 << 16, socket.CMSG_SPACE(3 * size))
    streams = array.array("i")
    for _, _, sent in ancillary:
        streams.frombytes(sent)
    length = int.from_bytes(message[:8], sys.byteorder)
    while len(message) < 8 + length:
        more = connection.recv(1 << 16)
        if not more:
            raise EOFError("the client ended")
        message += more
    return message[8:], streams


def _bound(variables):
    return {key: value for key, value in variables.items() if key not in FREE and not key.startswith(b"ODL_")}


def run(main, words):
    """Run a command and everything that has to be done at the end of a process; return the exit status."""
    try:
        status = main(words)
    except SystemExit as end:
        status = end.code
        if status is not None and not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    except KeyboardInterrupt:
        status = 130
    except BaseException:
        with contextlib.suppress(OSError):
            traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = status or 120  # as Python's own end
    return (status or 0) & 255
