"""Phrases by several rules: made ones put into real texts whose words are shuffled, so that all others are chance.

    ODL_MIRROR=... python benchmarks/phrases.py [--runs]

Of posts, with each of three seeds, 60 periods of 250 texts: words in any order, but for six phrases of new, rare and
frequent words in 3 to 25 of the texts, whose words stand alone there as well. Printed: the share of the made phrases
that a rule joins, and of pairs side by side by chance in a text of the topic, none of them stop words or one.

`--runs` has sentences of SIB-200 in scripts without spaces, 200 a period. Printed: the share of the runs of the
heaviest words that begin and end where a segmenter (the extras `jieba`, `janome`, `pythainlp`) has the ends of words.
"""

import os
import random
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import newsposts
import numpy as np
import words as measured

from odl import corpora
from odl.alerts import phrasing
from odl.alerts.phrasing import TOGETHER, association
from odl.text import stopwords, tokens
from odl.text.words import segmenter

PERIODS, TEXTS, LONGEST, N_POSTS = 60, 250, 300, 4000
FREQUENT = {"new": (0, 0), "rare": (4, 10), "often": (20, 50)}
MADE = (("new", "new"), ("new", "rare"), ("new", "often"), ("rare", "rare"), ("rare", "often"), ("often", "new"))
RULES = {
    "half of the rarest": lambda both, one, other, n: 2 * both >= min(one, other),
    "half of the commonest": lambda both, one, other, n: 2 * both >= max(one, other),
    "mutual information .5": lambda both, one, other, n: association(both, one, other, n) * (both + 1) / both >= 0.5,
    "the same, discounted": lambda both, one, other, n: association(both, one, other, n) >= TOGETHER,
}


def period(texts, draw):
    """Yield (kind, texts with both, with one, with the other) of pairs side by side in a period."""
    texts = [[word for word in text.lower().split() if word.isalpha()][:LONGEST] for text in draw.sample(texts, TEXTS)]
    held = Counter(word for text in texts for word in {*text})
    for text in texts:
        draw.shuffle(text)
    words = {kind: sorted(w for w, n in held.items() if low <= n <= high and w not in STOP)
             for kind, (low, high) in FREQUENT.items()}  # fmt: skip
    made = [tuple(draw.choice(words[kind]) if words[kind] else f"{kind}{number}{at}" for at, kind in enumerate(kinds))
            for number, kinds in enumerate(MADE)]  # fmt: skip
    topic = draw.sample(texts, draw.choice((3, 6, 12, 25)))
    for text in topic:
        for pair in made:
            if draw.random() < 0.7:
                at = draw.randrange(len(text) + 1)
                text[at:at] = pair
            for word in pair:
                if draw.random() < 0.3:
                    text.insert(draw.randrange(len(text) + 1), word)
    held = Counter(word for text in texts for word in {*text})
    both = Counter(pair for text in texts for pair in {*pairwise(text)})
    for pair in (pair for pair in made if both[pair]):
        yield "made", both[pair], *map(held.get, pair)
    for pair in {pair for text in topic[:5] for pair in pairwise(text)} - {*made}:
        if (stops := len(STOP & {*pair})) < 2 and pair[0] != pair[1]:
            yield ("with a stop word" if stops else "chance"), both[pair], *map(held.get, pair)


STOP = stopwords.LISTS["english"]
SEGMENTED = {"chinese": "jieba", "japanese": "janome", "thai": "pythainlp"}


def runs(texts):
    """Yield (text, run) of the runs without spaces that stand for the five heaviest shared words of each text."""
    counts, vocabulary = tokens.count_words(texts, {"tokeniser": "words", "stop_words": None})
    period, held = phrasing.PeriodTexts.from_counts(texts, counts, vocabulary), np.bincount(counts.indices)
    for row, text in enumerate(texts):
        own = [at for at in counts.indices[slice(*counts.indptr[row : row + 2])] if 2 <= held[at] <= len(texts) / 2]
        weights = {vocabulary[at]: np.log(len(texts) / held[at]) for at in sorted(own, key=lambda at: held[at])}
        first = {*[*weights][:5]}
        for run, inside in phrasing.phrases([text], weights, period=period):
            if first & {*inside} and phrasing.is_unspaced(run) and run in text:
                yield text, run


def on_ends(text, run, segment):
    """Tell whether a run begins and ends, at one of its places, where words do."""
    for part in phrasing.UNSPACED_RUN.findall(text):
        ends = {*np.cumsum([0, *map(len, segment(part))]).tolist()}
        if any({at, at + len(run)} <= ends for at in range(len(part)) if part.startswith(run, at)):
            return True
    return False


def judge_runs():
    """Print the share of runs whose ends are those of words, by language."""
    study, files = measured.sib200()
    for language, package in SEGMENTED.items():
        texts = corpora.read("sib200", files, study["corpora"][language]["options"]).titles
        found = [one for first in range(0, 1000, 200) for one in runs(texts[first : first + 200])]
        shares = np.mean([(on_ends(*one, segmenter(package)), len(one[1])) for one in found], axis=0)
        print(
            f"{language}: {len(found):,} runs, {shares[0]:.3f} on the ends of words, {shares[1]:.1f} characters a run"
        )


def main():
    """Print a table."""
    if "--runs" in sys.argv[1:]:
        return judge_runs()
    posts = [post.text for post in newsposts.read(Path(os.environ["ODL_MIRROR"]))[:N_POSTS]]
    for seed in (0, 1, 2):
        draw, counts = random.Random(seed), Counter()
        for _ in range(PERIODS):
            for kind, *numbers in period(posts, draw):
                counts[kind] += 1
                counts.update((rule, kind) for rule, joins in RULES.items() if joins(*numbers, TEXTS))
        kinds = ("made", "chance", "with a stop word")
        heads = " | ".join(f"{kind} ({counts[kind]:,})" for kind in kinds)
        print(f"\n| seed {seed} | {heads} |\n| --- | --- | --- | --- |")
        for rule in RULES:
            print(f"| {rule} | {' | '.join(f'{counts[rule, kind] / counts[kind]:.3f}' for kind in kinds)} |")


if __name__ == "__main__":
    sys.exit(main())
