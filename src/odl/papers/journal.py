"""What a long measurement has brought so far, on disk, so that one that was interrupted goes on from there."""

import hashlib
import json
import os

UNFINISHED = ".unfinished"  # ends the name of a journal; what comes before is the file that is being made


class Journal:
    """Values that are computed once, also by a process that ended before it had all.

    Each line of the file has a value and its digest, so one that was cut off or damaged is computed again.

    Parameters
    ----------
    path : path-like, optional
        The file; by default nothing outlives the process.
    head : dict
        What the values depend on: a journal with another head is begun anew.
    """

    def __init__(self, path=None, head=None):
        self.path, self.values = path, {}
        if path is None:
            return
        first = _line(head)
        try:
            with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
                if file.readline() == first:
                    self.values = dict(filter(None, map(_read, file)))
        except FileNotFoundError:
            pass
        lines = [first, *(_line([json.loads(key), value]) for key, value in self.values.items())]
        with open(f"{path}.part", "w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
        os.replace(f"{path}.part", path)

    def once(self, key, compute):
        """Return the value of a key, as it was written or else computed now; keys and values are plain, as JSON is."""
        name = json.dumps(key)
        if name not in self.values:
            self.values[name] = compute()
            if self.path is not None:
                with open(self.path, "a", encoding="utf-8", newline="\n") as file:
                    file.write(_line([key, self.values[name]]))
        return self.values[name]

    def end(self):
        """Remove the file: what it was for is done."""
        if self.path is not None:
            os.remove(self.path)


def _line(value):
    text = json.dumps(value)
    return f"{_digest(text)} {text}\n"


def _read(line):
    """Return (key, value) of a line, None if it is not whole."""
    text = line[17:-1]
    if line != f"{_digest(text)} {text}\n":
        return None
    key, value = json.loads(text)
    return json.dumps(key), value


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]
