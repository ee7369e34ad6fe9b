"""Split text without spaces: into pairs or triples of characters, or by another package."""

import logging
import re
import tempfile
from functools import cache

from odl.errors import ConfigError
from odl.text import scripts

# Matches the start of a text in a script whose words have more letters than those of Chinese or
# Japanese.
LETTERED = re.compile(f"[{scripts.THAI}{scripts.LAO}{scripts.KHMER}{scripts.BURMESE}]").match


def pairs(run):
    """Return the overlapping pairs of characters of a run; triples for scripts of `LETTERED`."""
    size = 3 if LETTERED(run) else 2
    return [run[start : start + size] for start in range(max(len(run) - size, 0) + 1)]


def _jieba():
    """Return the segmenter of jieba."""
    import jieba

    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    with tempfile.TemporaryDirectory() as folder:  # its default cache may be of another version
        tokenizer.tmp_dir = folder
        tokenizer.initialize()
    return tokenizer.lcut


def _janome():
    """Return the segmenter of Janome."""
    from janome.tokenizer import Tokenizer

    return Tokenizer(wakati=True).tokenize


def _pythainlp():
    """Return the dictionary-based segmenter of PyThaiNLP."""
    from pythainlp.tokenize import word_tokenize

    return word_tokenize


SEGMENTERS = {
    "jieba": (_jieba, scripts.HAN),
    "janome": (_janome, scripts.HAN + scripts.KANA),
    "pythainlp": (_pythainlp, scripts.THAI),
}


@cache
def segmenter(name):
    """Return the function that splits a run of text without spaces into words.

    Parameters
    ----------
    name : str or None
        One of `SEGMENTERS`; it splits runs entirely in its script. Other runs, and all runs with
        None, are split by `pairs`.

    Raises
    ------
    ConfigError
        If the package is not installed.
    """
    if name is None:
        return pairs
    load, script = SEGMENTERS[name]
    try:
        segment = load()
    except (ImportError, OSError) as error:
        fault = f"tokens.segment is {name!r}, which cannot be loaded ({error})"
        todo = f"pip install 'online-dictionary-learning[{name}]', or remove the option `segment`"
        raise ConfigError(fault, f"the extra {name}", todo) from error
    in_script = re.compile(f"[{script}]+").fullmatch
    return lambda run: segment(run) if in_script(run) else pairs(run)
