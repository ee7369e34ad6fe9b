"""What other methods (`odl.evaluation.rivals`) give on a stream: quality, memory and time of each."""

import time

from odl.evaluation import rivals


def follow(held, name):
    """Run one rival over a stream.

    Parameters
    ----------
    held : odl.experiments.qualitystudy.Stream
    name : str
        One of `odl.evaluation.rivals.RIVALS`.

    Returns
    -------
    scores : dict of int to ndarray
        Of the timesteps that are evaluated.
    stored : int
        Numbers held at the end.
    ms : float
        CPU milliseconds a document, to score it and to learn it; the first batch, which is learned only, left out.
    """
    rival, scores, spent = rivals.RIVALS[name](held.seed), {}, {"score": 0.0, "learn": 0.0}
    documents = dict(spent)
    for t, batch in enumerate(held.batches):
        for phase in ("score", "learn") if t in held.listed else ("learn",):
            begin = time.process_time()
            if phase == "score":
                scores[t] = rival.score(batch)
            else:
                rival.learn(batch)
            if t:
                spent[phase] += time.process_time() - begin
                documents[phase] += batch.counts.shape[0]
    return scores, rival.stored, sum(1000.0 * spent[phase] / max(documents[phase], 1) for phase in spent)


def rows(held, names, judged):
    """Return a row for each rival, plain and in the context of the batch.

    Parameters
    ----------
    held : odl.experiments.qualitystudy.Stream
    names : list of str
    judged : callable
        Scores of timesteps -> the same in context.
    """
    found = []
    for name in names:
        scores, stored, ms = follow(held, name)
        for run, values in ((name, scores), (f"{name}-context", judged(scores))):
            found.append({"run": run, "entries": stored, "ms": ms, "average": held.average(values)})
    return found
