"""What other methods (`odl.papers.rivals`) give on a stream: quality, memory and time of each."""

import time

from odl.papers import rivals


def follow(held, name):
    """Run one rival over a stream.

    Parameters
    ----------
    held : odl.papers.qualitystream.Stream
    name : str
        One of `odl.papers.rivals.RIVALS`.

    Returns
    -------
    scores : dict of int to ndarray
        Of the timesteps that are evaluated.
    alike : dict of int to csr_array
        What documents of these are compared by, for their context; empty where it is their words.
    stored : int
        Numbers held at the end.
    ms : float
        CPU milliseconds a document, to score it and to learn it; the first batch, which is learned only, left out.
    """
    rival, scores, alike, spent = rivals.RIVALS[name](held.seed), {}, {}, {"score": 0.0, "learn": 0.0}
    documents = dict(spent)
    for t, batch in enumerate(held.batches):
        if t in held.listed and hasattr(rival, "rows"):
            alike[t] = rival.rows(batch)
        for phase in ("score", "learn") if t in held.listed else ("learn",):
            begin = time.process_time()
            if phase == "score":
                scores[t] = rival.score(batch)
            else:
                rival.learn(batch)
            if t:
                spent[phase] += time.process_time() - begin
                documents[phase] += batch.counts.shape[0]
    return scores, alike, rival.stored, sum(1000.0 * spent[phase] / max(documents[phase], 1) for phase in spent)


def rows(held, names, judged):
    """Return a row for each rival, plain and in the contexts of the batch.

    Parameters
    ----------
    held : odl.papers.qualitystream.Stream
    names : list of str
    judged : callable
        Name, scores of timesteps and what their documents are compared by -> names to scores in context.
    """
    found = []
    for name in names:
        scores, alike, stored, ms = follow(held, name)
        kept = rivals.RIVALS[name].NEEDS == "counts"  # vectors are more to go by than the runs have
        for kind, runs in (("plain", {name: scores}), ("context", judged(name, scores, alike))):
            if kept and runs:
                held.judge(kind, runs)
            found += [{"run": run, "entries": stored, "ms": ms, "average": held.average(runs[run])} for run in runs]
    return found
