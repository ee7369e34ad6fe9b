"""How long a chain of timesteps may be that Snakemake walks from its end: by recursion, two calls for each."""

import sys

STACK = 64 << 20  # bytes; Linux lets that of the main thread grow as far as the limit of the moment
CALLS, FEW = 100_000, 13_000  # that it holds, and that the usual 8 MiB hold


def deepen():
    """Let Snakemake's recursion be as deep as a chain of 50,000 timesteps; 6,000 where the stack may not grow.

    Where a chain is asked for from its beginning, as a study's are, there is no such depth.
    """
    deep = False
    if sys.platform == "linux":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
        deep = soft == resource.RLIM_INFINITY or soft >= STACK
        if not deep and (hard == resource.RLIM_INFINITY or hard >= STACK):
            resource.setrlimit(resource.RLIMIT_STACK, (STACK, hard))
            deep = True
    sys.setrecursionlimit(CALLS if deep else FEW)
