"""Commands in the odl.yaml of a folder. They run without a shell, and only after `odl trust` on this machine."""

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
    *(".py", ".pyc", ".sh", ".bash", ".zsh", ".fish", ".awk"),
    *(".pl", ".rb", ".js", ".mjs", ".lua", ".php", ".r", ".R", ".jar"),
)


def words_of(said, where):
    """Return the words of a command; an empty list for None.

    Parameters
    ----------
    said : str or None
        Value of the key.
    where : str
        Key and file, for the message.

    Raises
    ------
    ConfigError
        If the value is not a command.
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
    """Return the commands in the odl.yaml of a folder, as key to list of words."""
    said, path = project.read(folder), os.path.join(folder, project.FILE)
    options = said.get("options")
    vectors = options.get("vectors") if isinstance(options, dict) else None
    commands = {project.NOTIFY: said.get(project.NOTIFY)}
    commands[VECTORS_COMMAND] = vectors.get("command") if isinstance(vectors, dict) else None
    return {
        key: words_of(text, f"{key} in {path}")
        for key, text in commands.items()
        if text is not None
    }


def trust(folder):
    """Record that the commands of a folder may run on this machine; return their words.

    Raises
    ------
    ConfigError
        If the folder has no command.
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
    """Return whether this command of this folder was trusted on this machine (`odl trust`).

    Files in the folder that the command runs must be unchanged since then.
    """
    known = _trusted().get(os.path.realpath(folder), [])
    return _digest(folder, words) in (
        [known] if isinstance(known, str) else known
    )  # str: files of odl 0.3 and before


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
    """Return the digest of a command and of the files in the folder that it may run."""
    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape"))
    for path in sorted(_files_of(os.fspath(folder), words)):
        with open(path, "rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(
            f"\0{os.path.relpath(path, folder)}\0{content}".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()


def _files_of(folder, words):
    """Return the files in a folder that a command may run, and the Python files that these may import.

    The command may run its first word, the first file among its words, and each word that is a
    program or script. Words inside a quoted word (``sh -c "./tell.sh"``), values of options, and
    modules (``python -m tell``) count too.
    """
    parts = [
        part for word in words for part in (word, *re.split(r"[\s=,;:|&()<>\"']+", word)) if part
    ]
    home, found = os.path.realpath(folder), set()
    for part in dict.fromkeys(parts):
        module = part.replace(".", os.sep)
        for name in (
            part,
            f"{module}.py",
            os.path.join(module, "__main__.py"),
            os.path.join(part, "__main__.py"),
        ):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (part == words[0] or not found or _is_code(path)):
                found.add(path)
    for place in {os.path.dirname(path) for path in found if path.endswith(".py")}:
        if os.path.commonpath([home, os.path.realpath(place)]) == home:
            imported = glob.iglob(os.path.join(glob.escape(place), "**", "*.py"), recursive=True)
            found |= {*filter(os.path.isfile, imported)}
    return {path for path in found if os.path.commonpath([home, os.path.abspath(path)]) == home}


def _is_code(path):
    """Return whether a file is a program or a script: executable, with a known ending, or starting with ``#!``."""
    with open(path, "rb") as file:
        begins = file.read(2) == b"#!"
    return begins or os.access(path, os.X_OK) or path.endswith(CODE_ENDINGS)


def run(folder, words, text, limit):
    """Run a command once; return (standard output, error), where the error is "" on success.

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
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        try:
            process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=complained,
                start_new_session=True,
            )
        except OSError as error:
            return b"", f"cannot be started ({error.strerror})"
        try:
            process.communicate(text, limit)
        except subprocess.TimeoutExpired:
            return b"", f"took more than {limit:.0f} s"
        finally:
            with contextlib.suppress(
                ProcessLookupError
            ):  # the whole group: also processes that it started
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed, last = (_all(file) for file in (said, complained))
        if not process.returncode:
            return printed, ""
        last = (
            (last.strip() or printed[-2000:].strip()).decode("utf-8", "replace").rpartition("\n")[2]
        )
        return printed, f"ended with {process.returncode}" + (f": {last[:200]}" if last else "")


def _all(file):
    file.seek(0)
    return file.read()
