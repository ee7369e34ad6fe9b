# Resources of cluster jobs: what a submission asks for, and which jobs go into one.
# Nothing here changes a result or runs a job again. Locally, resources count only if limited.

# MB that Python and the libraries of a job take before it reads anything. Minutes that no job is below: a submission
# starts Snakemake twice, which takes minutes of their own on a crowded node or a slow file system.
BASE_MB = 600
BASE_MINUTES = 5


def megabytes(files):
    """MB of input files; one that the same submission has yet to make counts like the largest that is there."""
    sizes = [os.path.getsize(file) / 1e6 for file in files if os.path.isfile(file)]
    return sum(sizes) + (len(files) - len(sizes)) * max(sizes, default=0)


def memory(per_mb, base=BASE_MB, times=lambda wildcards: 1):
    """MB from the size of the input files; twice as many at each further attempt.

    `times` says how many files of that size a job reads, where it finds those of the timesteps before by itself.
    """
    return lambda wildcards, input, attempt: 2 ** (attempt - 1) * int(
        base + per_mb * times(wildcards) * megabytes(input)
    )


def minutes(per_mb, base=BASE_MINUTES, times=lambda wildcards: 1):
    """Minutes from the size of the input files."""
    return lambda wildcards, input: int(
        base + per_mb * times(wildcards) * megabytes(input)
    )


def block(name):
    """Group of a job of a chain: those of `block` timesteps in a row are submitted as one (bundles: profiles/slurm).

    None where nothing is submitted: Snakemake checks groups in a time that grows with the square of the jobs.
    """

    def group(wildcards):
        if workflow.local_exec:
            return None
        return f"{name}-{int(wildcards.t) // config['block']}"

    return group if config["block"] else None
