"""Checkpoints of a dictionary whose agents live on several ranks: one file an agent, and one of the network.

``{t}.agents/{agent}.h5`` holds an agent's atoms and its codes of the batch and is written and read by its owner
alone. ``{t}.h5`` holds what all may know: the scores, a summary of the dual variables, and the digests of the agents'
files, which it is written after: where it exists and its digests fit, the checkpoint is whole.
"""

import contextlib
import os
import shutil
from typing import NamedTuple

import numpy as np
import scipy

from odl.errors import CheckpointError
from odl.files import checkpoints, digests, storage
from odl.files.checkpoints import Checkpoint

KIND = "network"  # of {t}.h5; one that a single process writes is of kind "checkpoint"


class NetworkCheckpoint(NamedTuple):
    """What the file of the network holds.

    Attributes
    ----------
    t, updates, n_atoms : int
    chain : dict
    score : ndarray
        Novelty score of each document.
    dual : dict of str to ndarray
        For each document: value (g = -sum_k J_k), iterations.
    digests : list of str
        Of the agents' files.
    previous, digest, features : str
    terms : ndarray of int64, or None
        As in `odl.files.checkpoints.Checkpoint`.
    """

    t: int
    chain: dict
    updates: int
    n_atoms: int
    score: np.ndarray
    dual: dict
    digests: list
    previous: str = checkpoints.FIRST
    digest: str = ""
    features: str = checkpoints.FIRST
    terms: np.ndarray | None = None


def folder(state):
    """Return the folder of the agents' files beside the file of the network."""
    return f"{os.path.splitext(os.fspath(state))[0]}.agents"


def agent_path(state, agent):
    """Return the path of one agent's file."""
    return os.path.join(folder(state), f"{agent}.h5")


def write_agent(state, agent, checkpoint):
    """Write one agent's file; return its digest.

    Parameters
    ----------
    state : path-like
        File of the network.
    agent : int
    checkpoint : Checkpoint
        Its dictionary and codes are those of the agent alone.
    """
    with storage.writing(
        agent_path(state, agent), "agent", agent=agent, **checkpoints.attributes_of(checkpoint)
    ) as file:
        checkpoints.store(file, "dictionary", checkpoint.dictionary)
        checkpoints.store(file, "codes", checkpoint.codes)
        return digests.seal(file)


def read_agent(state, agent, network):
    """Return (atoms, codes, digest) of one agent.

    Raises
    ------
    CheckpointError
        If the file is not the one that the network's file was written for.
    """
    path = agent_path(state, agent)
    with storage.reading(path, "agent") as file:
        digest = str(file.attrs["digest"])
        if digest != network.digests[agent]:
            fault = f"{path} is not the file that {os.fspath(state)} was written with"
            todo = f"delete {os.fspath(state)} and run the same command again"
            raise CheckpointError(fault, "the agent's file of the same timestep and run", todo)
        return checkpoints.load(file, "dictionary"), checkpoints.load(file, "codes"), digest


def write_network(path, network):
    """Write the file of the network; return its digest."""
    with storage.writing(path, KIND, n_atoms=network.n_atoms, **checkpoints.attributes_of(network)) as file:
        storage.write_array(file, "score", network.score)
        if network.terms is not None:
            storage.write_array(file, "terms", network.terms)
        group = file.create_group("dual")
        for name in sorted(network.dual):
            storage.write_array(group, name, network.dual[name])
        of_agents = np.frombuffer(bytes.fromhex("".join(network.digests)), dtype=np.uint8).reshape(-1, 32)
        storage.write_array(file, "digests", of_agents)
        return digests.seal(file)


def read_network(path, chain=None, t=None):
    """Read the file of the network, refused as `odl.files.checkpoints.read_checkpoint` refuses."""
    path = os.fspath(path)
    with storage.reading(path, KIND) as file:
        network = NetworkCheckpoint(
            **checkpoints.read_place(file),
            n_atoms=int(file.attrs["n_atoms"]),
            score=storage.read_array(file, "score"),
            dual={name: storage.read_array(file["dual"], name) for name in storage.names_in(file, "dual")},
            digests=[row.tobytes().hex() for row in storage.read_array(file, "digests", "u", ndim=2)],
        )
    checkpoints.check_chain(path, network, chain, t)
    return network


def of_network(path):
    """Tell whether a checkpoint is in one file an agent."""
    return storage.kind_of(path) == KIND


def read_whole(path, chain=None, t=None, **options):
    """Read a checkpoint of either kind as a whole, for one process: the agents' atoms side by side.

    Parameters
    ----------
    path, chain, t
        As in `odl.files.checkpoints.read_checkpoint`.
    **options
        Its other parameters, for a checkpoint of one process.

    Returns
    -------
    Checkpoint

    Raises
    ------
    StorageError, CheckpointError
        As `odl.files.checkpoints.read_checkpoint`.
    """
    if not of_network(path):
        return checkpoints.read_checkpoint(path, chain, t, **options)
    network = read_network(path, chain, t)
    parts = [read_agent(path, agent, network) for agent in range(len(network.digests))]
    codes = scipy.sparse.csr_array(scipy.sparse.hstack([part[1] for part in parts], format="csr"))
    silent = np.diff(codes.indptr) == 0
    place = ("t", "chain", "updates", "previous", "digest", "features", "terms")
    return Checkpoint(
        **{name: getattr(network, name) for name in place},
        dictionary=scipy.sparse.csc_array(scipy.sparse.hstack([part[0] for part in parts], format="csc")),
        arrays={},
        codes=codes,
        uncoded=float(np.mean(silent)) if len(silent) else 0.0,
    )


def prune(path, stays):
    """Delete the checkpoints of a chain but those that stay; they can be made again from the one kept before them.

    Parameters
    ----------
    path : path-like
        The last checkpoint, named ``{t}.h5`` in a folder of its chain, as the others are.
    stays : callable
        Called with a timestep and the last one.
    """
    place, name = os.path.split(os.path.abspath(path))
    last = _timestep(name)
    for name in os.listdir(place) if last is not None else ():
        t = _timestep(name)
        if t is not None and not stays(t, last):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(place, name))
            shutil.rmtree(folder(os.path.join(place, name)), ignore_errors=True)


def _timestep(name):
    """Return the t of ``{t}.h5``."""
    stem, suffix = os.path.splitext(name)
    return int(stem) if suffix == ".h5" and stem.isdecimal() else None
