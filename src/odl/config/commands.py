"""Commands in the odl.yaml of a folder. They run without a shell, once `odl trust` allows them."""

import contextlib
import glob
import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile

from odl.config import project
from odl.errors import ConfigError
from odl.files.atomic import replacing

VECTORS_COMMAND = "options.vectors.command"  # key of odl.yaml
CODE_ENDINGS = (
    ".py", ".pyc", ".sh", ".bash", ".zsh", ".fish", ".awk", ".pl", ".rb", ".js", ".mjs", ".lua",
    ".php", ".r", ".R", ".jar",
)  # fmt: skip


def words_of(command, key):
    """Split a command into words; return an empty list for None.

    Parameters
    ----------
    command : str or None
    key : str
        Key and file of the command, for the message.

    Raises
    ------
    ConfigError
        If the value is not a command.
    """
    if command is None:
        return []
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        words = []
    if not words:
        raise ConfigError(
            f"{key} is {command!r}",
            "a command on one line, such as ./tell.sh",
            "write a command, or remove the key",
        )
    return words


def read_commands(folder):
    """Return {key: words} of the commands in the odl.yaml of a folder."""
    config, path = project.read(folder), os.path.join(folder, project.FILE)
    options = config.get("options")
    vectors = options.get("vectors") if isinstance(options, dict) else None
    commands = {project.NOTIFY: config.get(project.NOTIFY)}
    commands[VECTORS_COMMAND] = vectors.get("command") if isinstance(vectors, dict) else None
    return {
        key: words_of(text, f"{key} in {path}")
        for key, text in commands.items()
        if text is not None
    }


def trust(folder):
    """Record that the commands of a folder may run on this machine; return their lists of words.

    Raises
    ------
    ConfigError
        If the folder has no command.
    """
    commands = [*read_commands(folder).values()]
    if not commands:
        raise ConfigError(
            f"{os.path.join(folder, project.FILE)} names no command",
            f"a line such as {project.NOTIFY}: ./tell.sh",
            "add such a line to it",
        )
    with replacing(_path_of_trusted()) as temporary, open(temporary, "w", encoding="utf-8") as file:
        digests = [_digest(folder, words) for words in commands]
        json.dump({**_read_trusted(), os.path.realpath(folder): digests}, file, indent=1)
    return commands


def is_trusted(folder, words):
    """Return whether `odl trust` allowed this command of this folder on this machine.

    Files in the folder that the command runs must be unchanged since then.
    """
    digests = _read_trusted().get(os.path.realpath(folder), [])
    if isinstance(digests, str):  # odl 0.3 and earlier stored one digest
        digests = [digests]
    return _digest(folder, words) in digests


def _path_of_trusted():
    """Return the path of the user's file of trusted commands."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "odl", "trusted.json")


def _read_trusted():
    """Return {folder: digests of trusted commands}; empty if the file cannot be read."""
    try:
        with open(_path_of_trusted(), encoding="utf-8") as file:
            entries = json.load(file)
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _digest(folder, words):
    """Return a digest of a command and of the files in the folder that the command may run."""
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape"))
    for path in sorted(_files_of(os.fspath(folder), words)):
        with open(path, "rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(
            f"\0{os.path.relpath(path, folder)}\0{content}".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()


def _files_of(folder, words):
    """Return the files in a folder that a command may run, and the Python files they may import.

    The command may run its first word, the first of its words that is a file, and each word that
    is a program or script. Such a word may be part of a quoted word (``sh -c "./tell.sh"``), the
    value of an option (``--hook=./tell.sh``), or the name of a module (``python -m tell``).
    """
    parts = []
    for word in words:
        parts += [word, *filter(None, re.split(r"[\s=,;:|&()<>\"']+", word))]
    real_folder, files = os.path.realpath(folder), set()
    for part in dict.fromkeys(filter(None, parts)):
        module = part.replace(".", os.sep)
        in_module = os.path.join(module, "__main__.py")
        for name in (part, f"{module}.py", in_module, os.path.join(part, "__main__.py")):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (part == words[0] or not files or _is_code(path)):
                files.add(path)

    def is_inside(path):
        return os.path.commonpath([real_folder, path]) == real_folder

    for directory in {os.path.dirname(path) for path in files if path.endswith(".py")}:
        if is_inside(os.path.realpath(directory)):
            pattern = os.path.join(glob.escape(directory), "**", "*.py")
            files |= {*filter(os.path.isfile, glob.iglob(pattern, recursive=True))}
    return {path for path in files if is_inside(os.path.abspath(path))}


def _is_code(path):
    """Return whether a file is executable, has one of `CODE_ENDINGS`, or begins with ``#!``."""
    with open(path, "rb") as file:
        has_interpreter = file.read(2) == b"#!"
    return has_interpreter or os.access(path, os.X_OK) or path.endswith(CODE_ENDINGS)


def run(folder, words, text, limit):
    """Run a command; return (standard output, error message), where "" means success.

    Parameters
    ----------
    folder : path-like
        Working directory.
    words : list of str
    text : bytes
        Standard input.
    limit : float
        Time limit in seconds.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            return b"", f"cannot be started ({error.strerror})"
        try:
            process.communicate(text, limit)
        except subprocess.TimeoutExpired:
            return b"", f"took more than {limit:.0f} s"
        finally:
            # Kill the process group, which includes the processes that the command started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for file in (output, errors):
            file.seek(0)
        printed, complaint = output.read(), errors.read().strip()
        if not process.returncode:
            return printed, ""
        complaint = (complaint or printed[-2000:].strip()).decode("utf-8", "replace")
        last_line = complaint.rpartition("\n")[2][:200]
        return printed, f"ended with {process.returncode}{f': {last_line}' if last_line else ''}"
