"""CPU seconds of the jobs of one timestep, start-up included, beside what importing their packages takes.

    snakemake --configfile config/config.yaml && python benchmarks/startup.py results/default/scipydocs/seed0

Every job is repeated on the same files, in turn, and its best and median user and system time are printed: on a busy
machine compare rows of one run only.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

import h5py

PARTS = {"python": "pass", "numpy": "import numpy", "scipy.sparse": "import scipy.sparse"}


def jobs(root, k, t, folder):
    """Return the command of each job of timestep t of a finished study, writing to another folder."""
    features = f"{root}/features/{t}.h5"
    found = {
        "features": [
            "features",
            f"{folder}/f.h5",
            f"{root}/batches/{t}.h5",
            "--previous",
            f"{root}/features/{t - 1}.h5",
        ]
    }
    found["baselines"] = ["baselines", f"{folder}/b.h5", features, "--past", f"{root}/features"]
    for run in sorted(os.listdir(root)):
        before, state = f"{root}/{run}/k{k}/{t - 1}.h5", f"{root}/{run}/k{k}/{t}.h5"
        if not os.path.exists(state):
            continue
        with h5py.File(state) as file:
            chain = str(file.attrs["chain"])
        written = ["--state", f"{folder}/s.h5", "--scores", f"{folder}/c.h5", "--timings", f"{folder}/t.tsv"]
        found[f"update {run}"] = ["update", features, *written, "--previous", before, "--run", chain]
        found["topics"] = ["topics", f"{root}/{run}/k{k}/scores/{t}.h5", features, "--output", f"{folder}/e.h5"]
    scores = [f"{root}/{run}/k{k}/scores/{earlier}.h5" for earlier in range(1, t + 1)]
    options = '{"min_novel": 10, "min_known": 10, "topics": "all", "bootstrap": 1000, "seed": 0, "timesteps": []}'
    found["evaluate"] = ["evaluate", f"{folder}/a.tsv", f"{folder}/s.tsv", "--options", options, "--scores", *scores]
    return {name: [sys.executable, "-m", "odl", "step", *words] for name, words in found.items()}


def cpu(command):
    """Run a command; return its user and system seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", help="results/STUDY/CORPUS/seedN of a finished study")
    parser.add_argument("--k", type=int, default=200)
    parser.add_argument("--t", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = {name: [sys.executable, "-c", code] for name, code in PARTS.items()}
        commands |= jobs(args.root, args.k, args.t, folder)
        seconds = {name: [] for name in commands}
        for _ in range(args.repeats):
            for name, command in commands.items():
                seconds[name].append(cpu(command))
    print(f"{'job':28}   best median")
    for name, found in seconds.items():
        print(f"{name:28} {min(found):6.3f} {statistics.median(found):6.3f}")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
