"""How a run of Snakemake ends."""

import threading


def drop_timers():
    """Cancel the pending timers of Snakemake's scheduler, which would delay the end by up to their timespan.

    The profile asks for one of a minute (``max-jobs-per-timespan``). For ``onsuccess`` and ``onerror``, also of a
    Snakefile that uses the workflow as a module: Snakemake does not call those of a module.
    """
    for timer in threading.enumerate():
        if isinstance(timer, threading.Timer):
            timer.cancel()
