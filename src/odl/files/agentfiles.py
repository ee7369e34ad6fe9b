"""Checkpoints of a dictionary that is distributed over MPI ranks.

Each agent has a file ``{t}.agents/{agent}.h5`` with its atoms and its codes for the batch, which
only the rank of this agent writes and reads. The network's file ``{t}.h5`` contains the scores, a
summary of the dual variables and the digests of the agents' files. It is written last, so that the
checkpoint is complete if this file exists and its digests match.
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

KIND = "network"  # attribute `kind` of the network's file; other checkpoints have "checkpoint"


class NetworkCheckpoint(NamedTuple):
    """Content of the network's file of a distributed checkpoint.

    Attributes
    ----------
    t, updates, n_atoms : int
    chain : dict
    score : ndarray
        Novelty score of each document.
    dual : dict of str to ndarray
        Arrays over the documents: ``value`` (g = -sum_k J_k) and ``iterations``.
    digests : list of str
        Digests of the agents' files.
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
    previous: str = checkpoints.NO_DIGEST
    digest: str = ""
    features: str = checkpoints.NO_DIGEST
    terms: np.ndarray | None = None


def folder(state):
    """Return the folder of the agents' files, next to the network's file."""
    return f"{os.path.splitext(os.fspath(state))[0]}.agents"


def agent_path(state, agent):
    """Return the path of one agent's file."""
    return os.path.join(folder(state), f"{agent}.h5")


def write_agent(state, agent, checkpoint):
    """Write the file of one agent, and return the digest of its content.

    Parameters
    ----------
    state : path-like
        The network's file.
    agent : int
    checkpoint : Checkpoint
        With the atoms and codes of this agent only.
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
        If the network's file contains another digest for this agent.
    """
    path = agent_path(state, agent)
    with storage.reading(path, "agent") as file:
        digest = str(file.attrs["digest"])
        if digest != network.digests[agent]:
            raise CheckpointError(
                f"{path} was not written together with {os.fspath(state)}",
                "the agent's file of the same timestep and run",
                f"delete {os.fspath(state)} and run the same command again",
            )
        return checkpoints.load(file, "dictionary"), checkpoints.load(file, "codes"), digest


def write_network(path, network):
    """Write the network's file; return its digest."""
    with storage.writing(
        path, KIND, n_atoms=network.n_atoms, **checkpoints.attributes_of(network)
    ) as file:
        storage.write_array(file, "score", network.score)
        if network.terms is not None:
            storage.write_array(file, "terms", network.terms)
        group = file.create_group("dual")
        for name in sorted(network.dual):
            storage.write_array(group, name, network.dual[name])
        digests_of_agents = np.frombuffer(bytes.fromhex("".join(network.digests)), dtype=np.uint8)
        storage.write_array(file, "digests", digests_of_agents.reshape(-1, 32))
        return digests.seal(file)


def read_network(path, chain=None, t=None):
    """Read the network's file; raise the errors of `odl.files.checkpoints.read_checkpoint`."""
    path = os.fspath(path)
    with storage.reading(path, KIND) as file:
        network = NetworkCheckpoint(
            **checkpoints.read_attributes(file),
            n_atoms=int(file.attrs["n_atoms"]),
            score=storage.read_array(file, "score"),
            dual={name: storage.read_array(file["dual"], name) for name in file["dual"]},
            digests=[
                row.tobytes().hex() for row in storage.read_array(file, "digests", "u", ndim=2)
            ],
        )
    checkpoints.check_chain(path, network, chain, t)
    return network


def of_network(path):
    """Return whether a file is the network's file of a distributed checkpoint."""
    return storage.kind_of(path) == KIND


def read_whole(path, chain=None, t=None, **options):
    """Read a checkpoint, distributed or not, with the atoms of all agents.

    Parameters
    ----------
    path, chain, t
        As in `odl.files.checkpoints.read_checkpoint`.
    **options
        Other parameters of `read_checkpoint`, which are ignored for a distributed checkpoint.

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
    atoms, codes_of_agents, _ = zip(*parts, strict=True)
    codes = scipy.sparse.csr_array(scipy.sparse.hstack(codes_of_agents, format="csr"))
    uncoded = np.diff(codes.indptr) == 0
    names = ("t", "chain", "updates", "previous", "digest", "features", "terms")
    return Checkpoint(
        **{name: getattr(network, name) for name in names},
        dictionary=scipy.sparse.csc_array(scipy.sparse.hstack(atoms, format="csc")),
        arrays={},
        codes=codes,
        uncoded=float(np.mean(uncoded)) if len(uncoded) else 0.0,
    )


def prune(path, stays):
    """Delete the checkpoints in a chain, except those that `stays` selects.

    A deleted checkpoint can be computed again from the last retained one before it.

    Parameters
    ----------
    path : path-like
        The last checkpoint ``{t}.h5``. All checkpoints of the chain are in its folder.
    stays : callable
        ``stays(t, last)`` returns whether the checkpoint of timestep t is retained.
    """
    chain_folder, last_name = os.path.split(os.path.abspath(path))
    last = _timestep(last_name)
    for name in os.listdir(chain_folder) if last is not None else ():
        t = _timestep(name)
        if t is not None and not stays(t, last):
            checkpoint_path = os.path.join(chain_folder, name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(checkpoint_path)
            shutil.rmtree(folder(checkpoint_path), ignore_errors=True)


def _timestep(name):
    """Return the timestep t of a file named ``{t}.h5``, None for other names."""
    stem, suffix = os.path.splitext(name)
    return int(stem) if suffix == ".h5" and stem.isdecimal() else None
