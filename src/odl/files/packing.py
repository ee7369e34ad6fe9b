"""Files compressed by gzip, bzip2 or xz: their names, and a reader of their content."""

import io
import os

BUFFER_BYTES = 1 << 17
# First bytes of a file -> module that decompresses it
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\0": "lzma"}
ENDINGS = (".gz", ".bz2", ".xz")  # in lower case


def is_packed(path):
    """Return whether a file name has the ending of a compressed file."""
    return os.fspath(path).lower().endswith(ENDINGS)


def unpacked_name(name):
    """Return a file name without the ending of a compressed file."""
    return os.path.splitext(name)[0] if is_packed(name) else name


def opened(path):
    """Open a file for reading bytes; decompress it if it begins like gzip, bzip2 or xz."""
    file = open(path, "rb")  # noqa: SIM115
    head = file.peek(8)[:8]
    module = next((module for magic, module in MAGIC.items() if head.startswith(magic)), None)
    if module is None:
        return file
    from importlib import import_module

    return io.BufferedReader(_Unpacked(import_module(module).open(file), file), BUFFER_BYTES)


class _Unpacked(io.RawIOBase):
    """A decompressed file; closing it also closes the compressed one."""

    def __init__(self, unpacked, file):
        self.unpacked, self.file = unpacked, file

    def readable(self):
        return True

    def readinto(self, buffer):
        data = (
            self.unpacked.read1(len(buffer))
            if hasattr(self.unpacked, "read1")
            else self.unpacked.read(len(buffer))
        )
        buffer[: len(data)] = data
        return len(data)

    def close(self):
        if not self.closed:
            self.unpacked.close()
            self.file.close()
        super().close()
