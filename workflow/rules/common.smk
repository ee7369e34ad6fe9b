# What all rules share: the checked configuration, the paths, the sources a result depends on.
import csv
import json
import re
from pathlib import Path
from types import SimpleNamespace

import odl.config as study

try:
    study.check(
        config, study.load_schema(workflow.source_path("../schemas/config.schema.json"))
    )
    with open("data/corpora.csv", newline="", encoding="utf-8") as table:
        REGISTRY = list(csv.DictReader(table))
    os.environ.update(ODL_MIRROR=study.mirror_of(config))
    CORPUS_FILES = {
        name: study.sources_of(config, name, REGISTRY, "data")
        for name in study.corpora_of(config)
    }
except study.ConfigError as error:
    sys.exit(f"odl: {error}")

ROOT = f"{config['results']}/{config['study']}"
STREAM = ROOT + "/{corpus}/seed{seed}"
RUN = STREAM + "/{run}/k{k}"
RUN_NAME = r"[a-z0-9][a-z0-9-]*(\.[a-z0-9-]+)*"
RANKED = "|".join(re.escape(name) for name in config["ranks"])  # runs over MPI
ALONE = f"(?!({RANKED})/){RUN_NAME}" if RANKED else RUN_NAME


wildcard_constraints:
    t=r"\d+",
    k=r"\d+",
    seed=r"\d+",
    corpus=r"[a-z0-9-]+",
    run=RUN_NAME,
    experiment=r"[a-z0-9][a-z0-9-]*",


# Package files whose edit makes a result stale; Snakemake does not see imports. A test holds this equal to them.
BASE = ["errors", "storage", "documents"]
L1 = [
    *["native", "kernels", "prox", "coding/__init__", "coding/exact", "coding/admm"],
    "learners/l1",
]
L2 = [*L1[:-1], "coding/lars", "coding/lars_kernels"]
SQUARED = [
    *["native", "kernels", "prox", "coding/__init__", "coding/exact", "coding/admm"],
    *["trees", "treekernels", "treeprox", "coding/fista", "hierarchy", "treestart"],
    "learners/squared",
]
# Files of each algorithm beside those of all updates: its kernels are compiled and its chains rerun for them.
LEARNERS = {
    "dual_averaging": [*L1, "learners/dual_averaging"],
    "projected_gradient": [*L1, "learners/projected_gradient"],
    "online_admm": [*L1, "learners/online_admm"],
    "batch": [*L1, "fitkernels", "fitting", "learners/growth", "learners/batch"],
    "batch_l2": [*L2, "l2_dictionary", "learners/growth", "learners/batch_l2"],
    "flat": [*SQUARED, "learners/flat"],
    "hierarchical": [*SQUARED, "learners/hierarchical"],
    "diffusion": [
        *["native", "kernels", "prox", "distributed/__init__", "distributed/models"],
        *["distributed/networks", "distributed/kernels", "distributed/inference"],
        *["distributed/coding", "learners/diffusion"],
    ],
    "adaptive": ["native", "clusters", "learners/adaptive"],
}
HISTORY = ["batch", "batch_l2"]  # algorithms that learn from all the batches so far
# Experiments: the algorithms whose kernels they use, and their files beside those of all experiments.
WRITTEN = [
    *["documents", "features", "baselines", "metrics", "scored", "tables"],
    *["page", "plots", "corpora/__init__", "corpora/checks"],
]
DISTRIBUTED = [*WRITTEN, "learners/__init__", "learners/base", *LEARNERS["diffusion"]]
TREED = [
    *[name for name in LEARNERS["hierarchical"] if name != "trees"],
    *["documents", "learners/__init__", "learners/base", "features", "baselines"],
    *["metrics", "scored", "tables", "page", "corpora/__init__", "corpora/checks"],
    "experiments/common",
]
EXPERIMENTS = {
    "biclustering": {
        "kernels": ["diffusion"],
        "code": [
            *[*DISTRIBUTED, "corpora/lung", "experiments/biclustering"],
            *["experiments/biclusterplots", "experiments/grouping"],
        ],
    },
    "convergence": {
        "kernels": ["diffusion"],
        "code": [
            *[*DISTRIBUTED, "stream", "corpora/matlab", "corpora/tdt2"],
            *["experiments/convergence", "experiments/convergenceplots"],
        ],
    },
    "denoising": {
        "kernels": ["diffusion"],
        "code": [
            *[*DISTRIBUTED, "experiments/denoising", "experiments/denoiseplots"],
            "experiments/patches",
        ],
    },
    "quality": {
        "kernels": ["adaptive"],
        "code": [
            *["documents", "features", "baselines", "metrics", "scored", "tables"],
            *["stream", "alerts", "novelty", "learners/__init__", "learners/base"],
            *LEARNERS["adaptive"],
            *["experiments/qualitystudy", "experiments/quality"],
        ],
    },
    "quality_overview": {
        "kernels": [],
        "code": [
            *["documents", "features", "baselines", "metrics", "scored", "tables"],
            *["page", "plots", "experiments/qualitypage", "experiments/qualityplots"],
            "experiments/quality_overview",
        ],
    },
    "classification": {
        "kernels": ["hierarchical"],
        "code": [
            *[*TREED, "corpora/news20", "corpora/text", "plots"],
            *["experiments/classplots", "experiments/classification"],
        ],
    },
    "inpainting": {
        "kernels": ["hierarchical"],
        "code": [
            *[*TREED, "plots", "experiments/patches", "experiments/patchplots"],
            "experiments/inpainting",
        ],
    },
    "topic_tree": {
        "kernels": ["hierarchical"],
        "code": [*TREED, "corpora/nips", "topictree", "experiments/topic_tree"],
    },
}
FITTED = [
    *["native", "kernels", "prox", "coding/__init__", "coding/exact", "coding/admm"],
    *["fitkernels", "fitting", "learners/__init__", "learners/base", "topics"],
]
TABLED = [*BASE, "features", "baselines", "metrics", "scored", "tables"]
SHOWN = [*TABLED, "spread", "study", "selection"]
SOURCES = {
    "read": [*BASE, "corpora/__init__", "corpora/checks"],
    "index": [*BASE, "stream"],
    "batch": [*BASE, "rows", "stream", "batchfile"],
    "features": [*BASE, "rows", "features", "featurerows"],
    "update": [
        *[*BASE, "rows", "features", "featurerows", "metrics", "scores", "checkpoints"],
        *["agentfiles", "novelty", "gather", "timestep"],
        *["learners/__init__", "learners/base"],
    ],
    "baselines": [*BASE, "features", "baselines"],
    "evaluate": TABLED,
    "topics": [
        *[*BASE, "features", "baselines", "scored", "novelty", *FITTED],
        *["agreement", "emerging", "topicstep"],
    ],
    "emerging": [*TABLED, "agreement", "emerging"],
    "plan": ["errors", "storage", "trees", "config", "spread", "study"],
    "tables": [*TABLED, "spread", "study"],
    "regrets": [*TABLED, "spread", "study", "regrets"],
    "regret": [
        *[
            *TABLED,
            "trees",
            "config",
            "rows",
            "checkpoints",
            "learners/__init__",
            "learners/base",
        ],
        *[*LEARNERS["online_admm"], "fitkernels", "fitting", "regret"],
    ],
    "figures": [
        *SHOWN,
        "plots",
        "streamplots",
        "costplots",
        "regretplots",
        "regrets",
        "figures",
    ],
    "experiment": ["errors", "storage", "trees", "config", "experiments/__init__"],
    "page": [
        *[*SHOWN, "config", "experiments/__init__"],
        *["agreement", "emerging", "trees", "topictree", "page", "sections", "report"],
    ],
}
SOURCES["score"] = [*SOURCES["update"], "shards"]
SOURCES["ranks"] = [
    *[*SOURCES["update"], "rankstep", "distributed/ranks", "distributed/rank_kernels"],
    *LEARNERS["diffusion"][:-1],
]
PACKAGE = os.path.relpath(Path(study.__file__).parent)


def sources(stage, *more):
    """Files of the package that a stage depends on."""
    return [f"{PACKAGE}/{name}.py" for name in [*SOURCES[stage], *more]]


def index(wildcards):
    """Rows of the batch index; waits for the checkpoint that makes it."""
    seed = study.order_seed(config, wildcards.corpus, wildcards.seed)
    path = checkpoints.index.get(corpus=wildcards.corpus, seed=seed).output.table
    with open(path, newline="") as table:
        return list(csv.DictReader(table, delimiter="\t"))


def row(column):
    """A column of this timestep's row, from the index as it lies there, so that direct targets do not rerun."""

    def value(wildcards):
        path = Path(f"{ROOT}/{wildcards.corpus}/seed{wildcards.seed}/index.tsv")
        rows = []
        if path.exists():
            with path.open(newline="") as table:
                rows = list(csv.DictReader(table, delimiter="\t"))
        if int(wildcards.t) >= len(rows):
            rows = index(wildcards)
        return rows[int(wildcards.t)][column]

    return value


def before(pattern):
    """The same file of the timestep before; none for timestep 0."""
    return lambda wildcards: (
        pattern.format(**{**wildcards, "t": int(wildcards.t) - 1})
        if int(wildcards.t)
        else []
    )


def timesteps(wildcards):
    return range(len(index(wildcards)))


def stream_of(wildcards):
    """Folder of the batches and features of a seed; one folder serves all seeds if nothing is drawn."""
    seed = study.order_seed(config, wildcards.corpus, wildcards.seed)
    return f"{ROOT}/{wildcards.corpus}/seed{seed}"


def refuse_unwritable():
    """End in one sentence where the results cannot be written: Snakemake's own words are pages."""
    folder = Path(ROOT)
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        sys.exit(
            f"odl: {folder} may not be written; expected a folder for results; correct its permissions or set 'results'."
        )
