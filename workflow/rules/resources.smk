# Resources of cluster jobs: memory and time of a submission, and groups of jobs in one submission.
# Nothing here changes a result or runs a job again. Locally, resources count only if limited.

# Memory of a job without inputs, and the shortest time limit: a submission starts Snakemake twice,
# which takes minutes on a crowded node or a slow file system.
BASE_MB = 600
BASE_MINUTES = 5


def megabytes(files):
    """Return the MB of input files; a missing file counts as the largest existing one."""
    sizes = [os.path.getsize(file) / 1e6 for file in files if os.path.isfile(file)]
    return sum(sizes) + (len(files) - len(sizes)) * max(sizes, default=0)


def memory(per_mb, base=BASE_MB, times=lambda wildcards: 1):
    """Return a resource function: MB of memory from the size of inputs, doubled at each attempt.

    `times` returns the number of files of this size that a job reads, including files that are no
    inputs.
    """
    return lambda wildcards, input, attempt: 2 ** (attempt - 1) * int(
        base + per_mb * times(wildcards) * megabytes(input)
    )


def minutes(per_mb, base=BASE_MINUTES, times=lambda wildcards: 1):
    """Return a resource function: time limit in minutes, from the size of the inputs."""
    return lambda wildcards, input: int(
        base + per_mb * times(wildcards) * megabytes(input)
    )


def block(name):
    """Return a function for the group of a job; None for local runs.

    `block` timesteps of a chain are one submission (profiles/slurm). Local runs have no groups, because
    Snakemake's check of groups is quadratic in the number of jobs.
    """

    def group(wildcards):
        if workflow.local_exec:
            return None
        return f"{name}-{int(wildcards.t) // config['block']}"

    return group if config["block"] else None
