"""Text to term counts: the tokens that scikit-learn's `CountVectorizer` finds."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from scipy import sparse

from odl.corpora.checks import check_options
from odl.corpora.counting import PATTERN, Tally
from odl.corpora.stopwords import ENGLISH, LANGUAGES
from odl.errors import ConfigError

TOKENS = {"lowercase": True, "pattern": PATTERN, "stop_words": "english"}

TOKENS_SCHEMA = {"$ref": "#/$defs/tokens"}  # of workflow/schemas/base.json


def token_options(tokens: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the tokenising options with their defaults, checked.

    Parameters
    ----------
    tokens : dict, optional
        ``lowercase`` (bool), ``pattern`` (regular expression of one token), ``stop_words``
        (``"english"`` or another language of `odl.corpora.stopwords`, null or a list of words).

    Raises
    ------
    ConfigError
        If a key is unknown or a value cannot be used.

    Examples
    --------
    >>> from odl.corpora.text import token_options
    >>> token_options({"stop_words": ["the"]})["lowercase"]
    True
    """
    tokens = {} if tokens is None else tokens
    if not isinstance(tokens, dict):
        raise ConfigError(f"tokens is {tokens!r}", "a mapping of " + ", ".join(TOKENS), "correct it")
    check_options("tokens", tokens, TOKENS)
    merged = {**TOKENS, **tokens}
    if not isinstance(merged["lowercase"], bool):
        raise ConfigError(f"tokens.lowercase is {merged['lowercase']!r}", "true or false", "correct it")
    try:
        groups = re.compile(merged["pattern"]).groups
    except (re.error, TypeError) as error:
        raise ConfigError(
            f"tokens.pattern {merged['pattern']!r} does not compile ({error})", "a regular expression", "correct it"
        ) from error
    if groups > 1:
        raise ConfigError(f"tokens.pattern has {groups} groups", "at most one", "write (?:...) for the others")
    stop = merged["stop_words"]
    if stop not in (None, "english", *LANGUAGES) if stop is None or isinstance(stop, str) else not _words(stop):
        expected = f"'english', {', '.join(map(repr, LANGUAGES))}, null or a list of words"
        raise ConfigError(f"tokens.stop_words is {stop!r}", expected, "correct it")
    return merged


def _words(value):
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def tally(tokens=None):
    """Return the `odl.corpora.counting.Tally` of tokenising options."""
    tokens = token_options(tokens)
    stop = tokens["stop_words"]
    words = ENGLISH.split() if stop == "english" else LANGUAGES[stop] if isinstance(stop, str) else stop or ()
    return Tally({**tokens, "stop_words": frozenset(words)})


def analyser(tokens: Mapping[str, Any] | None = None) -> Callable[[str], list[str]]:
    """Return the function that splits a text into its list of tokens (check these by `check_words`).

    Examples
    --------
    >>> from odl.corpora.text import analyser
    >>> analyser({"stop_words": "english"})("The tanker left the harbour")
    ['tanker', 'left', 'harbour']
    """
    return tally(tokens).words


def check_words(vocabulary, tokens):
    """Return the vocabulary, refusing words that are empty or hold white space."""
    bad = next((word for word in vocabulary if word.split() != [word]), None)
    if bad is not None:
        raise ConfigError(
            f"tokens.pattern {tokens['pattern']!r} finds {bad!r}", "tokens without white space", "correct it"
        )
    return vocabulary


def count_words(texts: Iterable[str], tokens: Mapping[str, Any] | None = None) -> tuple[sparse.csr_array, list[str]]:
    """Count the terms of each text.

    Parameters
    ----------
    texts : iterable of str
        May be a generator: each text is read once and not kept.
    tokens : dict, optional
        See `token_options`.

    Returns
    -------
    counts : csr_array of int32, shape (n_texts, n_terms)
    vocabulary : list of str
        Sorted.

    Examples
    --------
    >>> from odl.corpora.text import count_words
    >>> counts, vocabulary = count_words(["crude oil", "oil and oil"])
    >>> vocabulary, counts.toarray()
    (['crude', 'oil'], array([[1, 1],
           [0, 2]], dtype=int32))
    """
    tokens = token_options(tokens)
    counted = tally(tokens)
    for text in texts:
        counted.add(counted.of(text))
    counts, vocabulary = counted.matrix()
    counts.sort_indices()
    return counts, check_words(vocabulary, tokens)
