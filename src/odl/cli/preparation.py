"""Choose settings of `odl init` from texts and times: stop words, cleaners, pieces, batches."""

import re
from collections import Counter
from statistics import median

import numpy as np

from odl.config.sections import Alerts
from odl.errors import ConfigError, DataError
from odl.files.documents import NO_TIME
from odl.learners.vectors import weight_of
from odl.stream import batching, boilerplate, pieces
from odl.stream.weighting import select_words
from odl.text import encoder, stopwords
from odl.text.cleaning import CHAINED, CLEANERS
from odl.text.shingles import Splitter, split
from odl.text.tokens import count_words

LETTERS = re.compile(r"[^\W\d_]{2,}")
HANGUL_SYLLABLE = re.compile("[\uac00-\ud7a3]")
# Share of Hangul among the letters above which Korean words are divided into pairs of syllables.
MIN_HANGUL_SHARE = 0.05
MAX_DETECTED_CHARACTERS = 5000  # characters of a text from which its language is detected
# Cleaner -> smallest share of documents that it changes at which `odl init` enables it.
MIN_CLEANED_SHARES = {
    "headers": 0.05,
    "encoded": 0.001,
    "html": 0.05,
    "quotes": 0.05,
    "signatures": 0.02,
    "trailers": 0.02,
    CHAINED: 0.05,
}
STOP_WORD_SHARE = 0.5  # share of documents above which a word is a stop word
MIN_MEDIAN_PERIOD = 7  # smallest median number of documents in a period
UNDATED_BATCHES = 40  # number of batches in a stream without times
# Largest number of distinct words in a text whose vector has at least half of the weight
# (docs/method.md#meaning-beside-words).
MAX_SHORT_TEXT = 16
ENCODER, ENCODER_COST = "wordllama", "about .1 ms and 3 kB per document, 320 kB per checkpoint"
MORE_DOCUMENTS = (
    "add more; a text file is one document, unless --kind log makes each line a document"
)
FIRST_BATCH = 100  # maximum number of documents in the first batch


def stop_words_of(texts, name=None):
    """Return (option ``stop_words``, section ``features``, reason).

    Parameters
    ----------
    texts : list of str
        Sample of the texts, from which languages are detected.
    name : str, optional
        Language whose stop words are ignored, or "none", if the user chose it.

    Raises
    ------
    ConfigError
        If the name is unknown.
    """
    if name is not None:
        if name not in ("none", *stopwords.LANGUAGES):
            raise ConfigError(
                f"--stop-words is {name!r}",
                f"one of none, {', '.join(stopwords.LANGUAGES)}",
                "correct the name",
            )
        return None if name == "none" else name, {}, "as requested"
    counts, vocabulary = count_words(
        (text[:MAX_DETECTED_CHARACTERS] for text in texts),
        {"tokeniser": "words", "stop_words": None},
    )
    stop_words = stopwords.StopWords(
        vocabulary, np.bincount(counts.indices, minlength=len(vocabulary))
    )
    n_texts = stopwords.mix(counts, stop_words, alone=True)  # language ("": unknown) -> texts
    why = "not known (--stop-words names one)"
    if any(n_texts):
        names = sorted(n_texts, key=lambda name: (not name, -n_texts[name]))
        why = ", ".join(
            f"{stopwords.shown(name, 'not known')} ({n_texts[name] / len(texts):.0%})"
            for name in names
        )
        if n_texts.keys() & stopwords.LISTS.keys():
            why += "; stop words of a document's language have no weight"
        else:
            why += ", without a list of stop words"
    why += f"; words in more than {STOP_WORD_SHARE:.0%} of the documents have no weight"
    return None, {"languages": True, "max_share": STOP_WORD_SHARE}, why


def _count(texts, tokens):
    """Return (counts, words, whether most texts are English) of texts without stop words."""
    counts, words = count_words(texts, tokens)
    if tokens["stop_words"]:
        return counts, words, tokens["stop_words"] == "english"
    stop_words = stopwords.StopWords(words, np.bincount(counts.indices, minlength=len(words)))
    english = 2 * stop_words.languages(counts).count("english") > len(texts)
    return select_words(counts, stop_words.is_content(counts)), words, english


def tokens_of(texts, stop_words):
    """Return the option ``tokens``: words of every script, with pairs of syllables for Korean."""
    tokens = {"tokeniser": "words", "stop_words": stop_words}
    letters = "".join(
        word for text in texts for word in LETTERS.findall(text[:MAX_DETECTED_CHARACTERS])
    )
    if len(HANGUL_SYLLABLE.findall(letters)) > MIN_HANGUL_SHARE * len(letters):
        tokens["hangul"] = "pairs"
    return tokens


def meaning_of(texts, tokens, asked):
    """Return the settings with which texts are compared by vectors as well as by words.

    Parameters
    ----------
    texts : list of str
        Sample of the texts.
    tokens : dict
        Option ``tokens``, by which words are counted.
    asked : bool
        Whether the user asked for vectors (--meaning).

    Returns
    -------
    options, features : dict
        Keys of the sections ``options`` and ``features``; empty if the user did not ask.
    reason : str
        Explanation of the settings. If the user did not ask, a recommendation for short English
        texts, and "" for other texts.

    Raises
    ------
    ConfigError
        If the user asked, and the encoder cannot be loaded.
    """
    counts, _, english = _count(texts, tokens)
    # Median number of distinct words per text; the rows of `counts` are texts.
    length = np.median(np.diff(counts.indptr)) if len(texts) else 0
    if asked:
        encoder.encoder_of(ENCODER)  # raises ConfigError if odl[meaning] is not installed
        why = (
            f"vectors of {ENCODER} next to words, with a weight of {weight_of([length]):.2f} "
            f"for about {length:.0f} distinct words a text; {ENCODER_COST}"
        )
        return {"vectors": ENCODER}, {"meaning": None}, why
    if not 0 < length <= MAX_SHORT_TEXT or not english:
        return {}, {}, ""
    why = (
        f"none. Texts have about {length:.0f} distinct words; vectors help with texts this short: "
        f"install odl[meaning], then run odl init --meaning ({ENCODER_COST})"
    )
    return {}, {}, why


def pieces_of(texts, tokens, cleaners, n_documents):
    """Return (section ``features`` with the weight of pieces, reason); empty if none is needed.

    Texts are cleaned first.
    """
    for name in cleaners:
        texts = [CLEANERS[name](text) for text in texts] if name in CLEANERS else texts
    share = pieces.weight(*_count(texts, tokens)[:2], n_documents)
    why = f"weight {share:g} relative to words: many words are new forms of other words"
    return ({"pieces": share}, why) if share else ({}, "")


def cleaners_of(texts):
    """Return {name: share of changed texts} of the cleaners that should be used.

    A cleaner is used if it changes at least the share `MIN_CLEANED_SHARES` of the texts. Each
    cleaner is applied to the texts that the previous cleaners have cleaned.
    """
    shares = {}
    for name, clean in CLEANERS.items():
        cleaned = [clean(text) for text in texts]
        share = sum(map(str.__ne__, cleaned, texts)) / max(len(texts), 1)
        if share >= MIN_CLEANED_SHARES[name]:
            shares[name], texts = share, cleaned
    if (share := repeating(texts)) >= MIN_CLEANED_SHARES[CHAINED]:
        shares[CHAINED] = share
    return shares


def sentence(shares):
    """Return a phrase about the cleaners and their shares; "" without a cleaner."""
    why = ", ".join(f"{name} (in {share:.1%} of the documents)" for name, share in shares.items())
    return f"left out: {why}" if why else ""


def repeating(texts):
    """Return the share of texts with repeated passages (`odl.stream.boilerplate`)."""
    splitter = Splitter()
    for text in texts:
        keys = split(text)[1]
        splitter.add(keys, {key: {} for key in keys})
    passages = splitter.passages(np.zeros(0, dtype=np.int32), 0)
    nothing = boilerplate.add_counts([])
    counts = boilerplate.tally(passages.starts, passages.keys, passages.sizes, nothing)
    removed = boilerplate.find_boilerplate(counts, nothing)
    removed = removed[np.searchsorted(counts.keys, passages.keys)]
    changed_rows = np.repeat(np.arange(len(texts)), np.diff(passages.starts))[removed]
    return len(np.unique(changed_rows)) / max(len(texts), 1)


def batches_of(times, period=None):
    """Return (section ``batches``, reason).

    Parameters
    ----------
    times : list of int
        Milliseconds of all documents; `NO_TIME` if a document has no time.
    period : str, optional
        One of `odl.stream.batching.PERIODS`, if the user chose it.

    Raises
    ------
    DataError
        If there are fewer than two documents.
    """
    n = len(times)
    if n < 2:
        raise DataError(
            f"the sources contain {n} document{'s' * (n != 1)}",
            "at least two documents: one to learn from and one to score",
            MORE_DOCUMENTS,
        )
    initial = min(FIRST_BATCH, max(1, n // 5))
    dated = NO_TIME not in times
    names = [period] if period else batching.PERIODS
    for name in names if dated else ():
        keys = batching.periods_of(np.sort(times), name)
        sizes = [len(rows) for rows in batching.cut(range(n), keys, initial)[1:]]
        usual_size = median(Counter(keys).values())
        if sizes and (period or usual_size >= MIN_MEDIAN_PERIOD):
            why = f"the shortest period that usually has {MIN_MEDIAN_PERIOD} documents"
            phrases = [
                f"by {name}, {'as requested' if period else why} (median {usual_size:.0f}): "
                f"each {name} is compared with earlier {name}s",
                f"the first batch has {n - sum(sizes)} documents, "
                f"then {len(sizes)} {name}{'s' * (len(sizes) > 1)}",
                alerts_begin(sizes),
            ]
            return {"by": "period", "period": name, "initial": initial}, "; ".join(phrases)
    if period:
        raise DataError(
            f"the documents cannot be divided into batches by {period}",
            "documents with times in at least two periods",
            "choose another period",
        )
    size = min(500, max(MIN_MEDIAN_PERIOD, (n - initial) // UNDATED_BATCHES))
    why = f"of {size} document{'s' * (size > 1)}; the first has {initial}"
    why += "" if dated else ", since there are no times"
    why += f"; {alerts_begin([min(size, n - first) for first in range(initial, n, size)])}"
    return {"by": "documents", "documents": size, "initial": initial}, why


def alerts_begin(sizes):
    """Return a phrase about the first period that can have alerts.

    At least `Alerts.warm_up` documents must have been scored before it.

    Parameters
    ----------
    sizes : list of int
        Number of documents in each batch after the first.
    """
    before = 0
    for number, size in enumerate(sizes, start=1):
        if before >= Alerts.warm_up:
            return f"the first {number} periods are unproven, without alerts"
        before += size
    return (
        f"too few documents for alerts, which need {Alerts.warm_up} earlier scores; "
        "the most novel documents and the strongest words are shown as unproven"
    )
