"""Words never seen before: how often a quiet period has one beyond chance, what enters, what a bound on terms costs.

    ODL_MIRROR=... python benchmarks/unseen.py [--streams posts arxiv-cs reuters] [--seeds 0 1] [--documents 250]
                                               [--periods 60] [--terms 20000 5000] [--output FILE]

Streams are shuffled and planted as by quiet.py, each document an item. Of the periods after 300 documents are counted
those of a quiet stream that have a word beyond chance (`odl.alerts.unseen`), and planted ones that have one in as many
items as entered, of those whose word no earlier plant had. For each bound (`features.max_terms`) stands how many words
of quiet periods are told as never seen, the share of them that an earlier document had, and the share missed of those
told without a bound. About a minute of one CPU for a row.
"""

import argparse

import numpy as np
import quiet

from odl.alerts import unseen
from odl.config.sections import Alerts
from odl.stream import features

SETTINGS = Alerts(unseen=3)


def told(batches, max_terms=0):
    """Return the unseen words of every period, None for those of the warm-up."""
    past, data, periods = unseen.SeenWords(), None, []
    for batch in batches:
        data = features.follow(batch, data, max_terms=max_terms)
        items = unseen.ItemWords(
            data.counts[:], data.frequencies, data.n_before, data.vocabulary, data.ids, data.titles, data.times,
            [""] * len(data.ids), lambda rows: [],
        )  # fmt: skip
        waits = data.n_before - len(batches[0].ids) < SETTINGS.warm_up
        if data.t:
            found, past = unseen.judge(past, items, SETTINGS, waits)
        elif max_terms:
            past = past.meeting(data.vocabulary)[1]
        periods.append(None if waits else found)
    return periods


def false_share(told_words, batches):
    """Return the words that are told by period, and the share of them that an earlier document had."""
    seen, told_ever, false = set(), set(), 0
    for t, (words, batch) in enumerate(zip(told_words, batches, strict=True)):
        own = {word for one in words or () for word in one.words}
        told_ever |= {(t, word) for word in own}
        false += len(own & seen)
        occurs = np.unique(batch.counts.indices)
        seen |= {batch.vocabulary[at] for at in occurs.tolist()}
    return told_ever, false / max(len(told_ever), 1)


def row_of(name, seed, size, options):
    """Return what one shuffled stream gives."""
    documents, rng = quiet.stream(name)[0], np.random.default_rng(seed)
    order = rng.permutation(len(documents.ids))
    calm = [documents.select(part) for part in quiet.quiet(order, size, options.periods)]
    still = [period for period in told(calm) if period is not None]
    row = {"quiet": len(still), "speak": sum(any(one.beyond for one in period) for period in still)}
    row["words told"] = sum(map(len, still)) / max(len(still), 1)
    parts, entering = quiet.planted(documents.counts, order, size, options.periods, rng)
    periods = told([documents.select(part) for part in parts])
    for k in quiet.SIZES:
        plants = [
            any(one.beyond and one.items >= k for one in periods[t] or ())
            for t, rows in entering.items()
            if len(rows) == k and any(one.items >= k for one in periods[t] or ())  # else an earlier plant had its word
        ]
        row[f"found of {k}"] = quiet.share(plants)
    whole, _ = false_share(told(calm), calm)
    for bound in options.terms:
        words, share = false_share(told(calm, bound), calm)
        missed = len(whole - words) / max(len(whole), 1)
        row |= {f"told, {bound} terms": len(words), f"false, {bound} terms": share, f"missed, {bound} terms": missed}
    return row


def main():
    """Measure streams and write the table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--terms", nargs="+", type=int, default=[20000, 5000])
    quiet.measure(words, row_of, "unseen.tsv")


if __name__ == "__main__":
    main()
