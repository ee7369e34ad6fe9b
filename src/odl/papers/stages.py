"""Steps of the workflow for emerging topics, regret and experiments (`odl step NAME`)."""

from dataclasses import asdict
from typing import Literal

from odl.cli import Json, step
from odl.errors import ParameterError


@step
def topics(scores, features, *, output, settings: Json = "{}", corpus_features=None):
    """Find the emerging topics of one timestep.

    --settings: JSON with share, atoms, lam, start_terms, rounds, min_support, terms.
    --corpus-features: features of the last timestep, for idf: corpus.
    """
    from odl.config import sections
    from odl.papers import emerging, emergingfiles

    small = sections.SmallDictionary.from_map(settings, "--settings")
    clusters, _ = emerging.find_in_files(scores, features, small, corpus_features)
    emergingfiles.write(output, clusters)


@step
def emerging(
    table, *, files: list = (), scores: list = (), topics: Literal["all", "dominant"] = "all"
):
    """Write the emerging topics of one run into a table.

    --files: outputs of `odl step topics`. --scores: score files in the same order. --topics:
    topics of a document that count, all or the dominant one.
    """
    from odl.files import tables
    from odl.papers import emergingfiles

    if len(files) != len(scores):
        raise ParameterError(
            f"{len(files)} files of emerging topics and {len(scores)} score files",
            "one file of each kind for every timestep",
            "list --files and --scores in the same order",
        )
    rows = emergingfiles.table(list(zip(files, scores, strict=True)), topics)
    tables.write_table(table, rows, emergingfiles.EMERGING_COLUMNS)


@step
def emergings(plan, output, *, tables: list = ()):
    """Write the emerging topics of all runs and seeds into one table.

    --tables: outputs of `odl step emerging`, one for each run and seed.
    """
    from odl.papers import emergingfiles

    emergingfiles.gather(plan, output, tables)


@step
def regret(output, *, checkpoints: list, features: list, options: Json = "{}"):
    """Write the regret of a run against the best fixed dictionary.

    --checkpoints, --features: files of all timesteps, in order. --options: JSON with timesteps,
    tolerance and iterations.
    """
    from odl.config import sections
    from odl.papers import hindsight

    hindsight.write(
        output, checkpoints, features, **asdict(sections.BestFixed.from_map(options, "--options"))
    )


@step
def regrets(plan, output, *, options: Json):
    """Write a table of regret: mean and spread over seeds for each run.

    --options: JSON with runs and sizes.
    """
    from odl.config import sections
    from odl.papers import hindsight

    chosen = sections.Regret.from_map(options, "--options")
    hindsight.gather_regret(plan, output, runs=chosen.runs, sizes=chosen.sizes)


@step
def measure(name, output, *, part: int, settings: Json = "{}", files: list = ()):
    """Compute one part of an experiment, a seed or a split.

    --settings: JSON with settings that differ from the defaults. --files: input files of the
    experiment.
    """
    from odl.papers import experiments

    experiments.measure(name, output, part, settings, files)


@step
def experiment(
    name, folder, *, settings: Json = "{}", files: list = (), study: Json = None, parts: list = ()
):
    """Run an experiment, and write its tables and figures.

    --settings: JSON with settings that differ from the defaults. --files: input files of the
    experiment. --study: JSON with streams, learners and evaluation. --parts: outputs of
    `odl step measure`, if the parts were computed separately.
    """
    from odl.papers import experiments

    experiments.run(name, folder, settings, files, study, parts)
