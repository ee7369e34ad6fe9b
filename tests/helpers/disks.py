"""Disks that fail on purpose: full, read-only, without file locks. Each skips with a reason where it cannot be made."""

import contextlib
import ctypes
import os
import platform
import struct
import subprocess

import pytest

NUMBERS = {"x86_64": 73, "aarch64": 32}  # of the system call flock


def mount(*words):
    done = subprocess.run(["mount", *words], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mount {' '.join(words)} is not possible here: {done.stderr.strip()}")


@contextlib.contextmanager
def small_disk(folder, size):
    """Mount an empty disk of `size` bytes on a new folder."""
    if os.geteuid():
        pytest.skip("mounting a small disk needs root")
    folder.mkdir(parents=True, exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def resize(folder, size):
    mount("-o", f"remount,rw,size={size}", str(folder))


def make_read_only(folder):
    mount("-o", "remount,ro", str(folder))


def fill(folder, free):
    """Write a file that leaves about `free` bytes, in whole pages."""
    held = os.statvfs(folder)
    with open(folder / "filler", "wb") as file:
        file.write(bytes(held.f_bavail * held.f_frsize - free))


def without_locks():
    """Make flock fail in this process and its children, as a network disk without locks does: a filter of the kernel.

    Call it in a child only; there is no way back.
    """
    call, failed = NUMBERS[platform.machine()], 0x00050000 | 37  # SECCOMP_RET_ERRNO | ENOLCK
    program = b"".join(
        struct.pack("HBBI", *step)
        for step in (
            (0x20, 0, 0, 0),  # load the number of the call
            (0x15, 0, 1, call),  # if it is flock go on, else skip one
            (0x06, 0, 0, failed),
            (0x06, 0, 0, 0x7FFF0000),  # allow
        )
    )
    held = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.create_string_buffer(header)):
        raise OSError(ctypes.get_errno(), "no filter of system calls")
