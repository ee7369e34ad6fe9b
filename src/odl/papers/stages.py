"""Steps of the papers' studies: emerging topics, regret, experiments (`odl step NAME`)."""

from dataclasses import asdict
from typing import Literal

from odl.cli import Json, step
from odl.errors import ParameterError


@step
def topics(scores, features, *, output, settings: Json = "{}", corpus_features=None):
    """Group the emerging topics of one timestep.

    --settings: JSON of share, atoms, lam, start_terms, rounds, min_support, terms. --corpus-features: last ones of the
    stream, for idf: corpus.
    """
    from odl.config import sections
    from odl.papers import emerging, emergingfiles

    small = sections.SmallDictionary.from_map(settings, "--settings")
    clusters, _ = emerging.of_timestep(scores, features, small, corpus_features)
    emergingfiles.write(output, clusters)


@step
def emerging(table, *, files: list = (), scores: list = (), topics: Literal["all", "dominant"] = "all"):
    """Write the table of the emerging topics of one run.

    --files: what `odl step topics` wrote. --scores: in the same order. --topics: which of a document count.
    """
    from odl.files import tables
    from odl.papers import emergingfiles

    if len(files) != len(scores):
        defect = f"{len(files)} files of emerging topics and {len(scores)} score files"
        raise ParameterError(defect, "one of each for every timestep", "name them in the same order")
    rows = emergingfiles.table(list(zip(files, scores, strict=True)), topics)
    tables.write_table(table, rows, emergingfiles.COLUMNS)


@step
def emergings(plan, output, *, tables: list = ()):
    """Gather the emerging topics of runs over seeds.

    --tables: what `odl step emerging` wrote of each run.
    """
    from odl.papers import emergingfiles

    emergingfiles.gather(plan, output, tables)


@step
def regret(output, *, checkpoints: list, features: list, options: Json = "{}"):
    """Write the loss of a run against the best dictionary in hindsight.

    --checkpoints and --features are of all timesteps, in order. --options: JSON of timesteps, tolerance, iterations.
    """
    from odl.config import sections
    from odl.papers import hindsight

    hindsight.write(output, checkpoints, features, **asdict(sections.BestFixed.from_map(options, "--options")))


@step
def regrets(plan, output, *, options: Json):
    """Gather the regret of runs over seeds.

    --options: JSON of runs, sizes.
    """
    from odl.config import sections
    from odl.papers import hindsight

    of = sections.Regret.from_map(options, "--options")
    hindsight.gather_regret(plan, output, runs=of.runs, sizes=of.sizes)


@step
def measure(name, output, *, part: int, settings: Json = "{}", files: list = ()):
    """Measure one part of an experiment, a seed or split.

    --settings: JSON of what differs from the defaults. --files: its data.
    """
    from odl.papers import experiments

    experiments.measure(name, output, part, settings, files)


@step
def experiment(name, folder, *, settings: Json = "{}", files: list = (), study: Json = None, parts: list = ()):
    """Run an experiment beside the streams: tables and figures.

    --settings: JSON of what differs from the defaults. --files: its data. --study: JSON of its streams, learners and
    evaluation. --parts: what `odl step measure` wrote of each, if not to be measured.
    """
    from odl.papers import experiments

    experiments.run(name, folder, settings, files, study, parts)
