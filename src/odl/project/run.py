"""Drives Snakemake in a person's folder, shows how far it is, and ends with what there is to read."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from odl.config import places, project
from odl.errors import ConfigError

PLAIN = ("-n", "--dry-run", "--dryrun", "-h", "--help", "--lint", "--unlock", "--summary", "--dag", "--rulegraph",
         "--list-rules", "--logger", "--report", "--delete-all-output", "--version")  # fmt: skip
REFUSED = "__main__.py: error: "  # what argparse begins with where an option is none of Snakemake's


def run(folder, options):
    """Run the workflow of a folder.

    Parameters
    ----------
    folder : path-like
        Written by `odl.project.init`.
    options : list of str
        Of Snakemake.

    Returns
    -------
    int
        The exit status.
    """
    given = project.read(folder)
    name = given.get("study") or project.name_of(Path(folder).resolve().name)  # as Snakemake has it there
    config = project.expand({**given, "study": name})
    command = [sys.executable, "-m", "snakemake", *options]
    if any(option.split("=")[0] in PLAIN for option in options):
        return subprocess.run(command, cwd=folder).returncode
    if wrong := places.unwritable(Path(folder, str(config.get("results", "results")), config["study"])):
        raise ConfigError(f"{wrong} may not be written", "a folder for results", "correct it, or set 'results'")
    began = time.monotonic()
    with tempfile.TemporaryFile() as heard:
        status, stopped = _wait([*command, "--logger", "odl"], folder, heard)
        heard.seek(0)
        printed = heard.read().decode("utf-8", "replace")
    again = shlex.join(["odl", "run", str(folder), *(["--", *options] if options else [])])
    if stopped:
        print(f"odl run: stopped; what was finished is kept, and `{again}` goes on from there", file=sys.stderr)
        return 130
    if status:
        _explain(printed)
    if status < 0:
        unlock = shlex.join(["odl", "run", str(folder), "--", "--unlock"])
        ended = f"Snakemake was ended by signal {-status}"
        print(f"odl run: {ended}; `{unlock}`, and `{again}` goes on from there", file=sys.stderr)
    if status:
        return status if status > 0 else 128 - status
    for line in dict.fromkeys(line for line in printed.splitlines() if line.startswith("odl ")):
        print(line, file=sys.stderr)
    print(ending(Path(folder), config, time.monotonic() - began))
    return 0


def ending(folder, config, seconds):
    """Return what a run ends with: what is new, and the page to open."""
    from odl.alerts import read, show
    from odl.project.progress import duration
    from odl.stream import losses

    watch = read.alerts_of(folder)
    news = show.as_text(watch, show.since(watch)).replace("odl explain FOLDER", f"odl explain {folder}")
    root = folder / config.get("results", "results") / config["study"]
    report, stream = root / "report.html", root / config["streams"][0]
    cleaned = losses.sentence(stream / "documents.h5", stream / f"seed{config['seeds'][0]}" / "features")
    done = f"done in {duration(seconds)}; open {folder / 'new.html'} (how it was learned: {report})"
    return "\n".join([news, "", *filter(None, [cleaned]), done])


def _wait(command, folder, heard):
    """Run Snakemake, whose words go to `heard` and whose progress to our error stream; (status, was it stopped?)."""
    progress = os.dup(2)
    stopped = False
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=heard,
            stderr=heard,
            env={**os.environ, "ODL_PROGRESS": str(progress), "ODL_FROM": os.getcwd(), "PYTHONUNBUFFERED": "1"},
            pass_fds=(progress,),
        )
    finally:
        os.close(progress)
    try:
        while True:
            try:
                return process.wait(), stopped
            except KeyboardInterrupt:  # Snakemake heard it as well, and ends its jobs
                if stopped:
                    process.kill()
                stopped = True
    finally:
        if process.poll() is None:  # we are ended ourselves
            with contextlib.suppress(OSError):
                process.send_signal(signal.SIGTERM)
            process.wait()


def _explain(printed):
    """Say in a few lines why Snakemake ended badly, where the progress has not said it."""
    lines = [line for line in printed.splitlines() if line.strip() and not line.startswith("Using workflow specific")]
    refused = [line.partition(REFUSED)[2] for line in lines if line.startswith(REFUSED)]
    if refused:
        print(f"odl run: Snakemake says: {refused[-1]}; `snakemake --help` lists its options", file=sys.stderr)
        return
    own = [line for line in lines if line.startswith("odl")]
    for line in own or lines[-8:]:
        print(line, file=sys.stderr)
