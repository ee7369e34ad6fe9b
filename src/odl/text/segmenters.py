"""Segmenters of other packages, each for a script without spaces: jieba, Janome and PyThaiNLP; else pairs."""

import logging
import re
import tempfile
from functools import cache
from operator import add

from odl.errors import ConfigError
from odl.text import scripts


def pairs(run):
    """Return the overlapping pairs of characters of a run; a single character is itself."""
    return map(add, run, run[1:]) if len(run) > 1 else [run]


def _jieba():
    """Return the segmenter of jieba."""
    import jieba

    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    with tempfile.TemporaryDirectory() as folder:  # what it keeps in the common one may be of another version
        tokenizer.tmp_dir = folder
        tokenizer.initialize()
    return tokenizer.lcut


def _janome():
    """Return the segmenter of Janome."""
    from janome.tokenizer import Tokenizer

    return Tokenizer(wakati=True).tokenize


def _pythainlp():
    """Return the segmenter of PyThaiNLP, by its dictionary."""
    from pythainlp.tokenize import word_tokenize

    return word_tokenize


SEGMENTERS = {
    "jieba": (_jieba, scripts.HAN),
    "janome": (_janome, scripts.HAN + scripts.KANA),
    "pythainlp": (_pythainlp, scripts.THAI),
}


@cache
def segmenter(name):
    """Return the function that cuts a run without spaces into words.

    Parameters
    ----------
    name : str or None
        One of `SEGMENTERS`, for runs that are all in its script; others, and all by None, become pairs.

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
        todo = f"pip install 'online-dictionary-learning[{name}]', or leave segment out"
        raise ConfigError(fault, f"the extra {name}", todo) from error
    in_script = re.compile(f"[{script}]+").fullmatch
    return lambda run: segment(run) if in_script(run) else pairs(run)
