"""Whether what is loaded as code may have been written by somebody else: owners and modes of folders and files."""

import os
import stat

from odl.errors import ConfigError


def check(path):
    """Refuse a file or folder of compiled kernels that others may write; what is not there nobody has written.

    Trusted are this user, root and whoever owns odl's own code. A folder that others may write passes where they can
    only add to it (the sticky bit): its files are then looked at by themselves. Systems without owners pass.

    Raises
    ------
    ConfigError
    """
    try:
        found = os.stat(path)
    except OSError:
        return
    if not hasattr(os, "geteuid"):
        return
    shared = found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and not _private(found))
    shared = shared and not (stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX)
    if shared or found.st_uid not in {os.geteuid(), 0, os.stat(__file__).st_uid}:
        given = f"others may write {path}, where compiled kernels are loaded from"
        expected = "a folder that you own and nobody else may write"
        raise ConfigError(given, expected, f"say chmod -R go-w {path}, or set NUMBA_CACHE_DIR to another folder")


def _private(found):
    """Tell whether a group is its owner's alone: of the same name and without other members."""
    import grp
    import pwd

    try:
        group, owner = grp.getgrgid(found.st_gid), pwd.getpwuid(found.st_uid)
    except KeyError:
        return False
    return group.gr_name == owner.pw_name and not set(group.gr_mem) - {owner.pw_name}
