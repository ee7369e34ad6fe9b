"""Options that texts and times ask for: stop words, cleaners, and how the stream is cut into batches."""

import re
from collections import Counter
from statistics import median

import numpy as np

from odl.config.sections import Alerts
from odl.errors import ConfigError, DataError
from odl.files.documents import NO_TIME
from odl.learners.vectors import weight_of
from odl.stream import batching, boilerplate, pieces
from odl.text import encoder, stopwords
from odl.text.cleaning import CHAINED, CLEANERS
from odl.text.counts import left
from odl.text.shingles import Splitter, split
from odl.text.tokens import count_words

WORD = re.compile(r"[^\W\d_]{2,}")
HANGUL, KOREAN = re.compile("[\uac00-\ud7a3]"), 0.05  # share of the letters, from which on Korean is cut into pairs
LONG = 5000  # characters of a text that its language is told by
LEAST = {  # share of the documents that a cleaner takes something out of, from which on it is needed
    "headers": 0.05,
    "encoded": 0.001,
    "html": 0.05,
    "quotes": 0.05,
    "signatures": 0.02,
    "trailers": 0.02,
    CHAINED: 0.05,
}
FEWEST = 5  # words
MAX_SHARE = 0.5  # of the documents, from which on a word is a stop word
MIDDLE = 7  # least documents of the median period, else a longer one is taken
BATCHES = 40  # of a stream without times
BRIEF = 16  # distinct words of a text, up to which vectors count half or more (docs/method.md#meaning-beside-words)
ENCODER, COST = "wordllama", "about .1 ms and 3 kB a document, 320 kB a checkpoint"
MORE = "add more; a file of text is one document, unless --kind log makes each line one"
FIRST = 100  # documents that a dictionary starts from, where there are enough


def stop_words_of(texts, name=None):
    """Return the option ``stop_words`` and ``features`` for the languages of texts, or the one named, and why."""
    if name is not None:
        if name not in ("none", *stopwords.LANGUAGES):
            expected = f"one of none, {', '.join(stopwords.LANGUAGES)}"
            raise ConfigError(f"--stop-words is {name!r}", expected, "correct it")
        return None if name == "none" else name, {}, "as you say"
    counts, vocabulary = count_words((text[:LONG] for text in texts), {"tokeniser": "words", "stop_words": None})
    stop_words = stopwords.StopWords(vocabulary, np.bincount(counts.indices, minlength=len(vocabulary)))
    mix = stopwords.mix(counts, stop_words, alone=True)
    listed, why = mix.keys() & stopwords.LISTS.keys(), "not known (--stop-words names one)"
    if any(mix):
        names = sorted(mix, key=lambda name: (not name, -mix[name]))
        why = ", ".join(f"{stopwords.shown(name, 'not known')} ({mix[name] / len(texts):.0%})" for name in names)
        why += "; stop words of a document's language have no weight" if listed else ", without a list of stop words"
    why += f"; words in more than {MAX_SHARE:.0%} of the documents have no weight"
    return None, {"languages": True, "max_share": MAX_SHARE}, why


def _count(texts, tokens):
    """Return counts and words of texts without the stop words of each one's language, and whether most are English."""
    counts, words = count_words(texts, tokens)
    if tokens["stop_words"]:
        return counts, words, tokens["stop_words"] == "english"
    stop_words = stopwords.StopWords(words, np.bincount(counts.indices, minlength=len(words)))
    english = 2 * stop_words.languages(counts).count("english") > len(texts)
    return left(counts, stop_words.is_content(counts)), words, english


def tokens_of(texts, stop_words):
    """Return the option ``tokens``: words of every script, Korean in pairs of syllables where the texts hold some."""
    tokens = {"tokeniser": "words", "stop_words": stop_words}
    letters = "".join(word for text in texts for word in WORD.findall(text[:LONG]))
    return tokens | ({"hangul": "pairs"} if len(HANGUL.findall(letters)) > KOREAN * len(letters) else {})


def meaning_of(texts, tokens, asked):
    """Return the options ``vectors`` and features for vectors beside words where they are asked for, and why.

    Where they are not, English texts of so few distinct words that vectors would count half or more have a line about
    them.

    Raises
    ------
    ConfigError
        If they are asked for, and their encoder cannot be loaded.
    """
    counts, _, english = _count(texts, tokens)
    length = np.median(np.diff(counts.indptr)) if len(texts) else 0
    if asked:
        encoder.encoder_of(ENCODER)
        weight = f"with a weight of {weight_of([length]):.2f} for about {length:.0f} distinct words a text"
        return {"vectors": ENCODER}, {"meaning": None}, f"vectors of {ENCODER} beside words, {weight}; {COST}"
    if not 0 < length <= BRIEF or not english:
        return {}, {}, ""
    offer = f"none; texts have about {length:.0f} distinct words; with texts this short, vectors would help"
    return {}, {}, f"{offer}: odl init --meaning, with the extra meaning; {COST}"


def pieces_of(texts, tokens, cleaners, n_documents):
    """Return the option ``features`` for pieces of words that texts ask for, once cleaned, and why."""
    for name in cleaners:
        texts = [CLEANERS[name](text) for text in texts] if name in CLEANERS else texts
    share = pieces.weight(*_count(texts, tokens)[:2], n_documents)
    why = f"weigh {share:g} beside words: many words are new, and share letters with others as a rule"
    return ({"pieces": share}, why) if share else ({}, "")


def cleaners_of(texts):
    """Return the cleaners that take something out of enough texts: name -> share of the texts, each after the last."""
    shares = {}
    for name, clean in CLEANERS.items():
        cleaned = [clean(text) for text in texts]
        share = sum(map(str.__ne__, cleaned, texts)) / max(len(texts), 1)
        if share >= LEAST[name]:
            shares[name], texts = share, cleaned
    if (share := repeating(texts)) >= LEAST[CHAINED]:
        shares[CHAINED] = share
    return shares


def sentence(shares):
    """Return in words what cleaners leave out, "" of none."""
    why = ", ".join(f"{name} (in {share:.1%} of the documents)" for name, share in shares.items())
    return f"left out: {why}" if why else ""


def repeating(texts):
    """Return the share of texts that hold what `odl.stream.boilerplate` would take out, were they one timestep."""
    splitter = Splitter()
    for text in texts:
        keys = split(text)[1]
        splitter.add(keys, {key: {} for key in keys})
    listed, nothing = splitter.passages(np.zeros(0, dtype=np.int32), 0), boilerplate.added([])
    own = boilerplate.tally(listed.starts, listed.keys, listed.sizes, nothing)
    gone = boilerplate.repeated(own, nothing)[np.searchsorted(own.keys, listed.keys)]
    touched = np.repeat(np.arange(len(texts)), np.diff(listed.starts))[gone]
    return len(np.unique(touched)) / max(len(texts), 1)


def batches_of(times, period=None):
    """Return the batches of a configuration, and a sentence on them.

    Parameters
    ----------
    times : list of int
        Milliseconds of all documents; any of them `NO_TIME` where they have none.
    period : str, optional
        One of `odl.stream.batching.PERIODS`, if it is to be that one.

    Returns
    -------
    (dict, str)

    Raises
    ------
    DataError
        If there are fewer than two documents.
    """
    n = len(times)
    if n < 2:
        raise DataError(f"{n} document", "at least two: one to start from and one to score", MORE)
    initial = min(FIRST, max(1, n // 5))
    dated = n and NO_TIME not in times
    for name in (period,) if period else batching.PERIODS if dated else ():
        keys = batching.periods_of(np.sort(times), name) if dated else []
        rest = [len(rows) for rows in batching.cut(range(n), keys, initial)[1:]] if dated else []
        if rest and (period or median(Counter(keys).values()) >= MIDDLE):
            first, middle = n - sum(rest), median(Counter(keys).values())
            why = "as you say" if period else f"the shortest period that usually has {MIDDLE} documents"
            said = f"by {name}, {why} (median {middle:.0f}): each {name} is compared with those before it; "
            said += f"the first batch has {first} documents, then {len(rest)} {name}{'s' * (len(rest) > 1)}; "
            said += alerts_begin(rest)
            return {"by": "period", "period": name, "initial": initial}, said
    if period:
        raise DataError(f"batches by {period}", "documents of several such periods, all with times", "say another")
    size = min(500, max(MIDDLE, (n - initial) // BATCHES))
    said = f"of {size} document{'s' * (size > 1)}; the first has {initial}"
    said += "" if dated else ", since there are no times"
    said += f"; {alerts_begin([min(size, n - at) for at in range(initial, n, size)])}"
    return {"by": "documents", "documents": size, "initial": initial}, said


def alerts_begin(sizes):
    """Say from which batch on there are alerts: the first that has `Alerts.warm_up` scored documents before it.

    Parameters
    ----------
    sizes : list of int
        Documents of the batches after the first.
    """
    before = 0
    for number, size in enumerate(sizes, start=1):
        if before >= Alerts.warm_up:
            return f"the first {number} periods are unproven, without alerts"
        before += size
    return (
        f"too few for alerts, which need {Alerts.warm_up} documents scored before; the most novel documents and the "
        "strongest words are shown as unproven"
    )
