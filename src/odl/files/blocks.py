"""HDF5 files in which each block of bytes has a digest, verified before HDF5 reads the block.

HDF5 can loop forever on a damaged file. A file consists of a head of `HEAD_BYTES` bytes (HDF5's
user block), the data, and one sha256 per block of data. The head contains the length of the data,
and a sha256 of this length and all digests.
"""

import hashlib
import io
import os
import struct

from odl.errors import StorageError, changed

HEAD_BYTES = 512
MARK = b"odl: HDF5 from byte 512\n"
BLOCK_BYTES = 1 << 16
DIGEST_BYTES = 32  # number of bytes of a sha256
# Content of the head after MARK: length of the data (8 bytes), sha256 of this length and the
# digests.
_HEAD = struct.Struct(f"<Q{DIGEST_BYTES}s")


def close(path):
    """Write the head of a file, and append the digests of its blocks."""
    with open(path, "r+b") as file:
        file.seek(HEAD_BYTES)
        digests = b"".join(
            hashlib.sha256(block).digest() for block in iter(lambda: file.read(BLOCK_BYTES), b"")
        )
        length = file.tell() - HEAD_BYTES
        file.write(digests)
        file.seek(0)
        file.write((MARK + _head_of(length, digests)).ljust(HEAD_BYTES, b"\0"))


def _head_of(length, digests):
    """Return the content of the head after MARK."""
    return _HEAD.pack(length, hashlib.sha256(b"%d " % length + digests).digest())


def damaged(path, reason, expected="an intact file"):
    """Return the StorageError for a damaged file; `reason` is a text or an exception."""
    todo = f"delete {path} and run the same command again"
    if not os.fspath(path).endswith(".h5"):  # the user may have named a file of another program
        todo = "name a file that odl wrote"
    return StorageError(f"{path} is damaged ({' '.join(str(reason).split())})", expected, todo)


class Verified(io.RawIOBase):
    """A file for reading that verifies each block before it is first read.

    Parameters
    ----------
    path : path-like
        File that was finished by `close`.

    Raises
    ------
    StorageError
        If the head is missing or the length is wrong. `readinto` and `verify` raise it for a
        changed block.
    """

    descriptor = None  # until the file is open

    def __init__(self, path):
        super().__init__()
        self.path, self.position = os.fspath(path), 0
        self.descriptor = os.open(path, os.O_RDONLY)
        head = os.pread(self.descriptor, len(MARK) + _HEAD.size, 0)
        if not head.startswith(MARK):
            self.close()
            raise damaged(path, "it has no digests of this version of odl")
        is_complete_head = len(head) == len(MARK) + _HEAD.size
        self.length = _HEAD.unpack(head[len(MARK) :])[0] if is_complete_head else 0
        n_blocks, end = -(-self.length // BLOCK_BYTES), HEAD_BYTES + self.length
        is_complete = os.fstat(self.descriptor).st_size == end + n_blocks * DIGEST_BYTES
        digests = os.pread(self.descriptor, n_blocks * DIGEST_BYTES, end) if is_complete else b""
        if not is_complete or head != MARK + _head_of(self.length, digests):
            raise changed(path)
        self.digests = [
            digests[first : first + DIGEST_BYTES] for first in range(0, len(digests), DIGEST_BYTES)
        ]
        self.verified = bytearray(n_blocks)  # 1 for each verified block

    def __repr__(self):  # h5py uses this as the name of the file, and drops non-ASCII characters
        return self.path.encode("unicode_escape").decode("ascii")

    def close(self):
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
        super().close()

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=os.SEEK_SET):
        self.position = offset + (0, self.position, HEAD_BYTES + self.length)[whence]
        return self.position

    def readinto(self, buffer):
        view = memoryview(buffer).cast("B")[: max(0, HEAD_BYTES + self.length - self.position)]
        self.verify(self.position, self.position + len(view))
        n_read = os.preadv(self.descriptor, [view], self.position)
        self.position += n_read
        return n_read

    def verify(self, first=HEAD_BYTES, last=None):
        """Verify the blocks that contain the bytes first:last of the file, by default all."""
        last = HEAD_BYTES + self.length if last is None else last
        first_block = max(0, first - HEAD_BYTES) // BLOCK_BYTES
        end_block = min(-(-(last - HEAD_BYTES) // BLOCK_BYTES), len(self.verified))
        for number in range(first_block, end_block):
            if self.verified[number]:
                continue
            begin = number * BLOCK_BYTES
            size = min(BLOCK_BYTES, self.length - begin)
            block = os.pread(self.descriptor, size, HEAD_BYTES + begin)
            if hashlib.sha256(block).digest() != self.digests[number]:
                begin += HEAD_BYTES
                raise changed(self.path, f"bytes {begin} to {begin + len(block)}")
            self.verified[number] = 1


def path_of(item):
    """Return the path of the HDF5 file that contains an open group or array."""
    return item.file.filename.encode("ascii").decode("unicode_escape")
