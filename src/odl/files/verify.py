"""Verification of a finished study by digests.

The content of each file must match the digest stored in it, and its inputs must match the digests
in its provenance record. The page of new topics also stores the digests of its feeds. Benchmarks of
Snakemake, logs, figures, the report of a study and files of the user have no digests.
"""

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from odl.errors import DataError, OdlError, changed
from odl.files import agentfiles, blocks, provenance, storage
from odl.files.tables import read_cells, read_json

BENCHMARK_START = b"s\th:m:s\t"  # first bytes of the files of Snakemake's directive `benchmark`
LOGS, PLAN = "logs", "plan.json"
FEED_SUFFIXES = (".atom", ".json")  # extensions of a page's feeds, in the order of their digests


def verify(
    folder: str | os.PathLike,
    inputs_of: Callable[[str, dict], Iterable] | None = None,
    pages: Sequence[Path] = (),
) -> tuple[int, list[str]]:
    """Verify every HDF5 file, table and JSON file below a folder.

    Parameters
    ----------
    folder : path-like
        Folder of a study.
    inputs_of : callable, optional
        ``inputs_of(path, record)`` returns (role, glob pattern, digest) for each input in the
        record of a file.
    pages : sequence of Path, optional
        Pages of new topics, each with its feeds in the same folder.

    Returns
    -------
    n_files : int
        Number of files that were verified.
    wrong : list of str
        A sentence for each file that was changed, or whose inputs were changed after it was
        computed.

    Raises
    ------
    DataError
        If there is nothing to verify.

    Examples
    --------
    >>> import os, tempfile
    >>> from odl.files.tables import write_table
    >>> from odl.files.verify import verify
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "tables", "auc.tsv")
    >>> os.mkdir(os.path.dirname(path))
    >>> write_table(path, [{"t": 1, "auc": 0.5}])
    >>> verify(folder.name)  # every file has what was written
    (1, [])
    >>> with open(path) as file:
    ...     text = file.read()
    >>> with open(path, "w") as file:
    ...     _ = file.write(text.replace("0.5", "0.9"))
    >>> n_files, wrong = verify(folder.name)
    >>> len(wrong)
    1
    """
    paths = sorted(path for path in Path(folder).rglob("*") if _has_digest(path, Path(folder)))
    if not paths:
        raise DataError(
            f"{os.fspath(folder)} contains no file of a study",
            "the folder results/STUDY",
            "name the folder of a study that has been run",
        )
    attributes_of, wrong = {}, []
    for path in paths:
        try:
            if path.suffix == ".h5":
                attributes_of[path] = content(path)
            else:
                read = read_json if path.suffix == ".json" else read_cells
                read(path, _path_to_delete(path, Path(folder)))
        except (OdlError, OSError) as error:
            wrong.append(str(error))
    for path in attributes_of:
        record = provenance.of_attributes(attributes_of[path])
        if inputs_of and record:
            wrong += _check_inputs(path, attributes_of, inputs_of(os.fspath(path), record))
        wrong += _check_agents(path, attributes_of)
    wrong += [text for page in pages for text in _check_page(page)]
    return len(paths) + (1 + len(FEED_SUFFIXES)) * len(pages), wrong


def _check_page(path):
    """Yield a message if a page was changed, and for each feed that is missing or was changed."""
    _, record = provenance.of_page(path.read_text(encoding="utf-8", errors="surrogateescape"))
    if record is None:
        yield str(changed(path))
        return
    for suffix, digest in zip(FEED_SUFFIXES, record["beside"], strict=False):
        feed = path.with_suffix(suffix)
        if not feed.exists() or storage.sha256_of(feed) != digest:
            yield str(changed(feed, delete=path))


def _has_digest(path, folder):
    """Return whether odl writes digests into this kind of file."""
    inner = path.relative_to(folder).parts
    if path.name.startswith(".") or not path.is_file() or inner[0] == LOGS:
        return False
    if path.suffix != ".h5" and len(inner) == 1 and path.name != PLAN:
        return False  # the user added the file
    if path.suffix == ".tsv":
        with open(path, "rb") as file:
            return file.read(len(BENCHMARK_START)) != BENCHMARK_START
    return path.suffix in (".h5", ".json")


def _path_to_delete(path, folder):
    """Return the path that a user must delete so that a file is computed again.

    This is the folder of the experiment for a file of an experiment, else the file itself.
    """
    inner = path.relative_to(folder).parts
    return folder.joinpath(*inner[:2]) if inner[0] == "experiments" and len(inner) > 2 else path


def content(path, arrays=True):
    """Verify the bytes of an HDF5 file, and return its attributes as a dict.

    If `arrays` is false, only the bytes of the attributes are verified. For the network's file of a
    distributed checkpoint, the key ``agents`` with the digests of the agents' files is added.
    """
    if arrays and os.path.isfile(path):
        with blocks.Verified(path) as file:
            file.verify()
    with storage.reading(path, storage.kind_of(path)) as file:
        attributes = dict(file.attrs)
        if attributes["kind"] == agentfiles.KIND:
            rows = storage.read_array(file, "digests", "u", ndim=2)
            attributes["agents"] = [row.tobytes().hex() for row in rows]
        return attributes


def _check_inputs(path, attributes_of, inputs):
    """Yield a message for each input whose digest differs from that in the provenance record.

    Parameters
    ----------
    path : path-like
        File that was computed from the inputs.
    attributes_of : dict
        Path -> attributes of each present file.
    inputs : iterable of (str, str, str)
        Role, path pattern and recorded digest of each input. Inputs that are missing are ignored.
    """
    for role, pattern, digest in inputs:
        present = {
            attributes_of[source]["digest"]: source
            for source in map(Path, glob.glob(pattern))
            if source in attributes_of
        }
        if present and digest not in present:
            todo = f"delete {path}, and run the same command again"
            yield (
                f"{path} was computed from another file ({role}) than {min(present.values())}; "
                f"{todo}."
            )


def _check_agents(path, attributes_of):
    """Yield a message for each agent's file whose digest differs from that in the network's file.

    `path` is the network's file, and `attributes_of` maps paths to attributes of files.
    """
    todo = f"delete {path} and every later checkpoint, and run the study again"
    for agent, digest in enumerate(attributes_of[path].get("agents", ())):
        agent_path = agentfiles.agent_path(path, agent)
        if attributes_of.get(Path(agent_path), {}).get("digest") != digest:
            yield f"{agent_path} was not written together with {path}; {todo}."
