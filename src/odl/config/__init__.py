"""The configuration of a study: checked against a closed schema, and what follows from it.

Standard library only: this is the one part of the package that the workflow itself imports (with the errors, trees
and tables that it imports).
"""

from odl.config.chains import (
    OF_EXPERIMENTS,
    alerts_of,
    atoms_of,
    contents_of,
    corpora_of,
    emerging_of,
    experiment_of,
    lengths,
    mirror_of,
    order_seed,
    packages_of,
    plan,
    read_index,
    refuse_names,
    regret_of,
    run_of,
    shard_of,
    shares_of,
    sources_of,
    study_of,
    whole_experiment_of,
)
from odl.config.consistency import check_config, check_each_once
from odl.config.schema import check_map, load_schema
from odl.config.sections import Alerts, BestFixed, EvaluatedStream, Order, Planned, SmallDictionary, fill
from odl.config.setting import merge
from odl.errors import ConfigError, OdlError


def drop_timers():
    """Do nothing: for the Snakefiles that `odl init` of odl 0.2 wrote, which call it at their end."""
