"""The default configuration with its schema, and a file laid over it."""

import copy

import yaml
from places import ROOT

from odl.config.schema import load_schema
from odl.config.sections import fill
from odl.config.setting import merge

SCHEMA = load_schema(ROOT / "workflow" / "schemas" / "config.schema.json")
DEFAULT = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
fill(DEFAULT)


def merged(path):
    """Lay a study's file over the default, as Snakemake does: maps deep, lists replaced."""
    return merge(yaml.safe_load(path.read_text()), copy.deepcopy(DEFAULT))
