"""Commands that a folder names: trusted by hand on a machine, run without a shell."""

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

VECTORS = "options.vectors.command"
CODE = (
    ".py",
    ".pyc",
    ".sh",
    ".bash",
    ".zsh",
    ".fish",
    ".pl",
    ".rb",
    ".js",
    ".mjs",
    ".lua",
    ".php",
    ".r",
    ".R",
    ".jar",
    ".awk",
)


def words_of(said, where):
    """Return the words of a command, none of None.

    Raises
    ------
    ConfigError
        If what stands there is no command.
    """
    if said is None:
        return []
    try:
        words = shlex.split(said) if isinstance(said, str) else []
    except ValueError:
        words = []
    if not words:
        expected = "a command in one line, such as ./tell.sh"
        raise ConfigError(f"{where} is {said!r}", expected, "correct it, or leave it out")
    return words


def named(folder):
    """Return the words of the commands that the odl.yaml of a folder names, by key."""
    said, path = project.read(folder), os.path.join(folder, project.FILE)
    options = said.get("options")
    vectors = options.get("vectors") if isinstance(options, dict) else None
    commands = {project.NOTIFY: said.get(project.NOTIFY)}
    commands[VECTORS] = vectors.get("command") if isinstance(vectors, dict) else None
    return {key: words_of(text, f"{key} in {path}") for key, text in commands.items() if text is not None}


def trust(folder):
    """Take note that the commands of a folder may be run on this machine; return their words.

    Raises
    ------
    ConfigError
        If the folder names none.
    """
    commands = [*named(folder).values()]
    if not commands:
        given = f"{os.path.join(folder, project.FILE)} names no command"
        raise ConfigError(given, f"a line such as {project.NOTIFY}: ./tell.sh", "write it first")
    with replacing(_place()) as temporary, open(temporary, "w", encoding="utf-8") as file:
        digests = [_digest(folder, words) for words in commands]
        json.dump({**_trusted(), os.path.realpath(folder): digests}, file, indent=1)
    return commands


def is_trusted(folder, words):
    """Return whether somebody has said `odl trust` of this folder with this command, on this machine.

    Files of the folder that the command names have to hold what they held then.
    """
    known = _trusted().get(os.path.realpath(folder), [])
    return _digest(folder, words) in ([known] if isinstance(known, str) else known)  # version before: of one command


def _place():
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "odl", "trusted.json")


def _trusted():
    with contextlib.suppress(OSError, ValueError):
        with open(_place(), encoding="utf-8") as file:
            entries = json.load(file)
        return entries if isinstance(entries, dict) else {}
    return {}


def _digest(folder, words):
    """Return the digest of a command and of the files of the folder that it names."""
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape"))
    for path in sorted(_files_of(os.fspath(folder), words)):
        with open(path, "rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"\0{os.path.relpath(path, folder)}\0{content}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _files_of(folder, words):
    """Return the files of a folder that a command may run, and the Python files that these may import.

    They are the first word and the first file behind it, and other words that are programs or scripts. Words in a word
    count (``sh -c "./tell.sh"``), and so do values of options and modules (``python -m tell``).
    """
    parts = [part for word in words for part in (word, *re.split(r"[\s=,;:|&()<>\"']+", word)) if part]
    home, found = os.path.realpath(folder), set()
    for part in dict.fromkeys(parts):
        module = part.replace(".", os.sep)
        for name in (part, f"{module}.py", os.path.join(module, "__main__.py"), os.path.join(part, "__main__.py")):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (part == words[0] or not found or _is_code(path)):
                found.add(path)
    beside = {os.path.dirname(path) for path in found if path.endswith(".py")}
    for place in beside:
        if os.path.commonpath([home, os.path.realpath(place)]) == home:
            imported = glob.iglob(os.path.join(glob.escape(place), "**", "*.py"), recursive=True)
            found |= {*filter(os.path.isfile, imported)}
    return {path for path in found if os.path.commonpath([home, os.path.abspath(path)]) == home}


def _is_code(path):
    """Return whether a file is a program or a script, by its permissions, its name or its first bytes."""
    with open(path, "rb") as file:
        begins = file.read(2) == b"#!"
    return begins or os.access(path, os.X_OK) or path.endswith(CODE)


def run(folder, words, text, limit):
    """Run a command once; return what it printed, and what was wrong.

    Parameters
    ----------
    folder : path-like
        That it is run in.
    words : list of str
    text : bytes
        Its standard input.
    limit : float
        Seconds that it may take.
    """
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        try:
            process = subprocess.Popen(
                words, cwd=folder, stdin=subprocess.PIPE, stdout=said, stderr=complained, start_new_session=True
            )
        except OSError as error:
            return b"", f"cannot be started ({error.strerror})"
        try:
            process.communicate(text, limit)
        except subprocess.TimeoutExpired:
            return b"", f"took more than {limit:.0f} s"
        finally:
            with contextlib.suppress(ProcessLookupError):  # what it started, too
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed, last = (_all(file) for file in (said, complained))
        if not process.returncode:
            return printed, ""
        last = (last.strip() or printed[-2000:].strip()).decode("utf-8", "replace").rpartition("\n")[2]
        return printed, f"ended with {process.returncode}" + (f": {last[:200]}" if last else "")


def _all(file):
    file.seek(0)
    return file.read()
