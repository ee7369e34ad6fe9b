# Resources of cluster jobs: what a submission asks for, which jobs go into one, and what a second attempt may do.
# Nothing here changes a result or runs a job again. Locally, resources count only if limited.
import argparse
import hashlib
import shutil
import subprocess

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


def bundle(name):
    """Group of jobs that may be submitted together; none where nothing is submitted, or `block` is 0.

    Snakemake checks groups in a time that grows with the square of the jobs, wherever they run.
    """
    return lambda wildcards: (
        None if workflow.local_exec or not config["block"] else name
    )


def block(name):
    """Group of a job of a chain: those of `block` timesteps in a row are submitted as one."""
    return lambda wildcards: bundle(name)(wildcards) and (
        f"{name}-{int(wildcards.t) // config['block']}"
    )


def remember_attempts():
    """In a submitted job: keep how its commands end; refuse a second attempt that more memory would not help.

    Snakemake counts failures only; it does not ask for their cause before it submits a job again.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--mode", default="default")
    parser.add_argument("--attempt", type=int, default=1)
    parser.add_argument("--target-jobs", nargs="*", default=[])
    submitted, _ = parser.parse_known_args(sys.argv[1:])
    if submitted.mode == "default":
        return
    jobs = hashlib.sha256("\n".join(sorted(submitted.target_jobs)).encode())
    folder = os.path.abspath(f"{ROOT}/logs/attempts/{jobs.hexdigest()[:16]}")
    if os.path.dirname(os.environ.get("ODL_ATTEMPTS", "")) == os.path.dirname(folder):
        return  # a step of a submission that has been asked already, with some of its jobs
    if submitted.attempt == 1:
        shutil.rmtree(folder, ignore_errors=True)
    elif subprocess.run([sys.executable, "-m", "odl", "attempt", folder]).returncode:
        sys.exit(1)
    os.environ.update(ODL_ATTEMPTS=folder)


remember_attempts()
