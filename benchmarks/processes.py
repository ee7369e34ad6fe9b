"""Parts that start processes: a job of a learner, a workflow without work, a complete study."""

import csv
import json
import shutil
import tempfile
from pathlib import Path

from inside import LEARNERS, write_checkpoint
from material import FULL, MORE, SEED
from measure import ROOT, Row, child, repeated, say, tool, within

from odl import learners
from odl.files import checkpoints

JOB_LIMITS = {"cpu": within(0.4), "rss": "<= 400"}
# Learners that use all documents so far, by their names in the NIPS 2012 supplement.
BATCH = {"BATCH-IMPL": "batch", "L2-BATCH": "batch_l2"}
BATCH_LIMITS = {"cpu": within(900), "rss": "<= 4000"}  # 15 minutes, 4 GB
NOOP, ARXIV = within(3), within(600)
DONE = "Nothing to be done"


def job(material):
    """Measure `odl step update` as a process: start-up, reading, scoring, learning, writing."""
    size, rows, t = material.size, [], material.full()[-1]
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        (place / "features").mkdir()
        for step in (0, t):
            shutil.copy(material.batches[step].file.filename, place / f"features/{step}.h5")
        for name in LEARNERS:
            atoms = material.promised(name)
            chain = material.chain(name, atoms)
            say(f"job: {name}")
            previous = place / f"{name}.h5"
            write_checkpoint(previous, chain, t - 1)
            what = f"{material.name}, {name}, k = {atoms}, odl step update"
            cost = update(place, place / f"features/{t}.h5", chain.run, previous, size.repeats)
            rows.append(Row("job", f"{what}, timestep {t}", cost.cpu, "CPU s", JOB_LIMITS["cpu"]))
            rows.append(
                Row(
                    "job",
                    f"{what}, timestep {t}, peak memory",
                    cost.rss / 1e6,
                    "MB",
                    JOB_LIMITS["rss"],
                )
            )
            cost = update(place, place / "features/0.h5", chain.run, None, 1)
            rows.append(Row("job", f"{what}, timestep 0 (initialisation)", cost.cpu, "CPU s"))
    return rows


def batch(material):
    """Measure total CPU time and peak memory of the jobs of batch learners on full batches."""
    rows, steps, atoms = [], [0, *material.full()], material.size.atoms[0]
    weighting = material.settings["features"]
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        (place / "features").mkdir()
        sources = [place / f"features/{t}.h5" for t in steps]
        for source, t in zip(sources, steps, strict=True):
            shutil.copy(material.batches[t].file.filename, source)
        for name, algorithm in BATCH.items():
            say(f"batch: {name}")
            run = {
                "corpus": "tdt2",
                "seed": SEED,
                "run": algorithm,
                "atoms": atoms,
                "features": weighting,
            }
            run["learner"] = {"algorithm": algorithm}
            growth = learners.make(algorithm).growth
            costs, previous = [], None
            for t, source in zip(steps, sources, strict=True):
                costs.append(update(place, source, run, previous, 1))
                previous = (place / "out.state").rename(place / f"{name}{t}.h5")
            what = (
                f"{material.name}, {name}, k = {atoms} and {growth} more a timestep, "
                f"timesteps 0 to {steps[-1]}"
            )
            cpu, peak = sum(cost.cpu for cost in costs), max(cost.rss for cost in costs)
            rows.append(Row("batch", what, cpu, "CPU s", BATCH_LIMITS["cpu"]))
            rows.append(Row("batch", f"{what}, of it the last", costs[-1].cpu, "CPU s"))
            rows.append(Row("batch", f"{what}, peak memory", peak / 1e6, "MB", BATCH_LIMITS["rss"]))
    return rows


def update(place, source, run, previous, times):
    """Return the median cost of a job; earlier features are in the folder of `source`."""
    command = [tool("odl"), "step", "update", source, "--run", json.dumps(run)]
    for output in ("state", "scores", "timings"):
        command += [f"--{output}", place / f"out.{output}"]
    command += ["--previous", previous] if previous else []
    return repeated([*command, "--history", source.parent], times)


def noop(material):
    """Measure `snakemake` on the default configuration when all files are up to date."""
    if material.size is FULL:
        if not (ROOT / "results" / "default" / "report.html").exists():
            say("noop: the default study is not there; running it first (minutes)")
        return _noop(ROOT, (), material.size.repeats)
    with tempfile.TemporaryDirectory() as place:
        # The workflow in a new folder, up to its first target
        for name in ("Snakefile", "workflow", "config", "profiles", "data"):
            (Path(place) / name).symlink_to(ROOT / name)
        return _noop(place, ("results/default/scipydocs/documents.h5",), material.size.repeats)


def _noop(folder, targets, times):
    command = [tool("snakemake"), *targets]
    for _ in range(2):
        if DONE in child(command, folder=folder).printed:
            break
        say("noop: the workflow had work to do and did it")
    cost = repeated(command, times, folder=folder)
    if DONE not in cost.printed:
        raise RuntimeError(
            "snakemake finds something to do every time: a result depends on something that changes"
        )
    what = "snakemake with nothing to do, default configuration"
    return [
        Row("noop", what, cost.cpu, "CPU s", NOOP),
        Row("noop", f"{what}, peak memory", cost.rss / 1e6, "MB"),
    ]


def arxiv(material, limit=None):
    """Run config/arxiv.yaml and `levels` from the archive to the report, two jobs at a time.

    Only the stream by date is used, since topic entry drops documents, and the limit is for all
    abstracts.

    Parameters
    ----------
    material : material.Material
        `material.folder` is the mirror.
    limit : int, optional
        Number of abstracts to read, to try the part; limits are then ignored.
    """
    archive = material.folder and material.folder / "arxiv_cs" / "arxiv_cs_abstracts.tsv.xz"
    if not archive or not archive.exists():
        return [
            Row(
                "arxiv",
                "no arxiv_cs/arxiv_cs_abstracts.tsv.xz in the folder of corpora",
                None,
                "CPU min",
                ARXIV,
            )
        ]
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        change = {"options": {"limit": limit} if limit else {}}
        selection = {
            "streams": ["arxiv-cs-date"],
            "corpora": {"arxiv-cs-date": change},
            "learners": MORE,
        }
        selection["runs"] = ["dual-averaging", "levels"]
        (place / "all.yaml").write_text(json.dumps(selection))
        configs = [
            "--configfile",
            "config/arxiv.yaml",
            place / "all.yaml",
            "--config",
            f"results={place}",
        ]
        command = [tool("snakemake"), "--cores", "2", *configs]
        say(f"arxiv: the whole study into {place} (up to ten minutes)")
        cost = child(command, environment={"ODL_MIRROR": str(material.folder)})
        return _arxiv_rows(place, cost, limit)


def _arxiv_rows(place, cost, limit):
    """Return the rows of a finished study of arXiv."""
    chains = sorted(path.parent for path in place.glob("arxiv/arxiv-cs-date/seed*/*/k*/auc.tsv"))
    with open(chains[0].parents[1] / "index.tsv", newline="") as table:
        streamed = [int(row["documents"]) for row in csv.DictReader(table, delimiter="\t")]
    read = f"{limit} abstracts" if limit else "all abstracts"
    what = f"arXiv, {' and '.join(chain.parent.name for chain in chains)}, {read}"
    rows = [
        Row(
            "arxiv",
            f"{what}: in the stream, in {len(streamed)} batches",
            sum(streamed),
            "documents",
        ),
        Row("arxiv", f"{what}: raw text to report, 2 cores", cost.wall / 60, "min"),
        Row("arxiv", f"{what}: all processes", cost.cpu / 60, "CPU min", "" if limit else ARXIV),
    ]
    for chain in chains:
        rows += _update_rows(
            place, chain, len(streamed), f"arXiv, {chain.parent.name}, {chain.name}, {read}", limit
        )
    return rows


def _update_rows(place, chain, timesteps, what, limit):
    """Return rows of three jobs of a chain, measured again, and of their costs in the study."""
    rows, peaks = [], []
    for t in dict.fromkeys([1, timesteps // 2, timesteps - 1]):
        before = chain / f"{t - 1}.h5"
        source = chain.parents[1] / "features" / f"{t}.h5"
        again = update(place, source, checkpoints.read_checkpoint(before).chain, before, 1)
        bound = JOB_LIMITS["rss"] if not limit else ""
        peaks.append(again.rss)
        rows.append(
            Row("arxiv", f"{what}: update job {t}, peak memory", again.rss / 1e6, "MB", bound)
        )
        rows.append(
            Row("arxiv", f"{what}: update job {t}, as it noted in the study", noted(chain, t), "MB")
        )
        rows.append(Row("arxiv", f"{what}: update job {t}", again.cpu, "CPU s"))
    rows.append(
        Row(
            "arxiv",
            f"{what}: peak memory of the last update job over the first",
            peaks[-1] / peaks[0],
            "times",
        )
    )
    return rows


def noted(chain, t):
    """Return max_rss of a job in MB from its benchmark file; None if unknown."""
    lines = (chain / "benchmarks" / f"{t}.tsv").read_text().splitlines()
    value = dict(zip(lines[0].split("\t"), lines[1].split("\t"), strict=True))["max_rss"]
    try:
        return float(value)
    except ValueError:
        return None
