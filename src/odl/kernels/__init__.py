"""Compiled kernels, one submodule per C++ file; docs/extending.md says how to add one."""

from pathlib import Path

from odl.errors import ConfigError
from odl.kernels.build import build_if_edited

build_if_edited(Path(__file__).parents[3])

try:
    from odl.kernels._kernels import (
        adapt_then_combine,
        agent_descent,
        atom_clusters,
        block_descent,
        dictionary_step,
        edge_following,
        fixed_point,
        inverted_lists,
        known_pieces,
        lars_path,
        simplex_projection,
        tree_codes,
        tree_norm,
        ward_merging,
    )
except ModuleNotFoundError as error:
    defect = "the compiled kernels of odl (odl.kernels._kernels) are missing"
    raise ConfigError(
        defect,
        "an installation, which builds them",
        "type pip install . in the folder of the sources",
    ) from error

__all__ = [
    "adapt_then_combine",
    "agent_descent",
    "atom_clusters",
    "block_descent",
    "dictionary_step",
    "edge_following",
    "fixed_point",
    "inverted_lists",
    "known_pieces",
    "lars_path",
    "simplex_projection",
    "tree_codes",
    "tree_norm",
    "ward_merging",
]
