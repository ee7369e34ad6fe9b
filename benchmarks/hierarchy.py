"""The part `tree`: tree prox and hierarchical codes, also by spams-bin if it is installed."""

import os
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from measure import Row, child, cpu, say, within
from scipy import sparse

from odl import learners, novelty, trees
from odl.coding import fista
from odl.kernels import tree_norm
from odl.papers import reconstruction
from odl.prox import treeprox

PEER = "ODL_SPAMS_PYTHON"  # environment variable: a Python that has spams-bin
PROX = {"l2": within(0.05), "linf": within(0.2)}
LAM, PROX_LAM = 0.01, 1.0
PATCH_LAM, PATCH_GAP = 2.0**-6, 0.01  # lam and tolerance of inpainting
# Numbers of iterations of spams that are tried; the first accurate result counts
ITERATIONS = (5, 10, 20, 50, 100, 200, 500)


def prox(output, U, tree, lam, norm):
    """Write the prox of the rows of U to `output`, so that allocating memory is not timed."""
    np.copyto(output, U)
    tree_norm.prox_rows(
        output, treeprox.layout(tree)[1], np.full(len(U), lam), norm == "linf", False
    )
    return output


def tree(material):
    """Time the prox of 10,000 vectors of 401 atoms, and the codes of a batch of 1000."""
    rng, quick = np.random.default_rng(0), material.size.rounds is not None
    shape = trees.balanced((3, 2)) if quick else trees.balanced((10, 3, 12))
    shape = trees.Tree(preorder_parents(shape))
    U = rng.normal(size=(50 if quick else 10_000, shape.n_nodes))
    atoms = 7 if quick else 63
    nodes = trees.Tree(preorder_parents(trees.binary(atoms)))
    P, D = batch_and_dictionary(material, atoms, nodes)
    rows, proxes, codes = [], {}, {}
    for norm, limit in PROX.items():
        proxes[norm] = timed(
            partial(prox, U.copy(), U, shape, PROX_LAM, norm), material.size.repeats
        )
        what = f"{norm}: prox of {len(U)} vectors of {shape.n_nodes} atoms"
        rows.append(Row("tree", what, 1000 * proxes[norm][0], "CPU ms", limit))
    for norm in PROX:
        codes[norm] = timed(
            lambda norm=norm: fista.codes(P, D, LAM, nodes, norm=norm, tolerance=1e-4),
            material.size.repeats,
        )
        best = optimum(P, D, nodes, norm)
        excess = float(((total(codes[norm][1]) - best) / best).max())
        what = (
            f"{material.name}, {norm}: codes of {P.shape[0]} documents, {P.shape[1]} terms, "
            f"{atoms} atoms"
        )
        rows.append(Row("tree", what, codes[norm][0], "CPU s", within(2)))
        rows.append(
            Row(
                "tree",
                f"{what}: worst excess over the optimum",
                excess,
                "of the objective",
                "<= 1e-4",
            )
        )
    rows += patch_rows(shape, 20 if quick else 500, material.size.repeats)
    return [*rows, *peer(material, U, shape, P, D, nodes, proxes, codes)]


def patch_rows(shape, count, repeats):
    """Return rows for codes of patches by ADMM and by FISTA.

    ADMM is the default for fewer pixels than atoms.
    """
    drawn = reconstruction.draw(
        reconstruction.read_images([]), 8, count + shape.n_nodes, np.random.default_rng(0)
    )
    P, D, rows = drawn[:count], drawn[count:].T.copy(), []
    for name, tree_of_atoms in (("tree, linf", shape), ("flat", None)):
        options = {
            "norm": "linf",
            "nonnegative": False,
            "tolerance": PATCH_GAP,
            "iterations": 100_000,
        }
        code = partial(fista.codes, D=D, lam=PATCH_LAM, tree=tree_of_atoms, **options)
        dense, admm = timed(partial(code, P), repeats)
        as_documents, by_fista = timed(partial(code, sparse.csr_array(P)), repeats)
        what = f"{name}: codes of {count} patches of 64 pixels, {shape.n_nodes} atoms, lam 2^-6"
        apart = float(np.abs(total(admm) / total(by_fista) - 1.0).max())
        steps = (
            f"{np.median(admm.iterations):g} steps of ADMM, "
            f"{np.median(by_fista.iterations):g} of FISTA"
        )
        rows += [
            Row("tree", f"{what}, a patch", 1e6 * dense / count, "CPU us"),
            Row("tree", f"{what}: faster than by FISTA ({steps})", as_documents / dense, "times"),
            Row(
                "tree",
                f"{what}: objectives differ by at most",
                apart,
                "of the objective",
                f"<= {PATCH_GAP:g}",
            ),
        ]
    return rows


def preorder_parents(shape):
    """Return the parents of a tree with nodes numbered in preorder, as spams needs them."""
    place = {node: position for position, node in enumerate(shape.preorder)}
    return tuple(
        place[shape.parents[node]] if shape.parents[node] >= 0 else -1 for node in shape.preorder
    )


def batch_and_dictionary(material, atoms, nodes):
    """Return (full batch in the middle of the stream, hierarchical dictionary before it)."""
    say(f"tree: learning {atoms} atoms")
    text = "parents " + ",".join(map(str, nodes.parents))
    rounds = material.size.rounds or 10
    learner = learners.make("hierarchical", tree=text, lam=LAM, rounds=rounds, tolerance=1e-4)
    last = material.full()[len(material.full()) // 2]
    P = [batch.weighed(tf="log", norm="l2")[:] for batch in material.batches[: last + 1]]
    state = learner.start(P[0], atoms, novelty.generator(0, "start"))
    for batch in P[1:-1]:
        state = learner.learn(state, batch, learner.score(state, batch).codes)
    return P[-1], learner.fit_terms(state, P[-1].shape[1]).dictionary.toarray()


def timed(function, repeats):
    """Return (median CPU seconds, result) after one call that is not timed."""
    function()
    results = [cpu(function) for _ in range(repeats)]
    return median(seconds for seconds, _ in results), results[0][1]


def total(codes):
    """Return the objective of each document."""
    return codes.residual + codes.penalty


def optimum(P, D, nodes, norm):
    """Return the optimal objectives, with a certified gap of 1e-9."""
    return total(fista.codes(P, D, LAM, nodes, norm=norm, tolerance=1e-9, iterations=100_000))


def peer(material, U, shape, P, D, nodes, proxes, codes):
    """Return the rows of spams-bin, or a row with the reason why it was not run."""
    interpreter = os.environ.get(PEER)
    if not interpreter:
        return [
            Row("tree", f"beside spams-bin: {PEER} names no interpreter that has it", None, "times")
        ]
    few = P[: min(200, P.shape[0])]
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        given = {
            "U": U,
            "prox_parents": shape.parents,
            "prox_lam": PROX_LAM,
            "P": few.toarray(),
            "D": D,
        }
        given |= {
            "parents": nodes.parents,
            "lam": LAM,
            "iterations": ITERATIONS,
            "repeats": material.size.repeats,
        }
        np.savez(source, **given)
        say("tree: spams")
        child([interpreter, str(Path(__file__).with_name("spams_peer.py")), source, target])
        found = dict(np.load(target))
    rows = []
    for norm in PROX:
        apart = float(np.abs(found[f"prox_{norm}"] - proxes[norm][1]).max())
        ratio = float(found[f"prox_{norm}_s"]) / proxes[norm][0]
        rows.append(Row("tree", f"{norm}: prox faster than spams' proximalTree", ratio, "times"))
        rows.append(
            Row("tree", f"{norm}: prox differs from spams by at most", apart, "", "<= 1e-9")
        )
        rows.append(_codes_row(found, norm, few, P.shape[0], D, nodes, codes[norm][0]))
    return rows


def _codes_row(found, norm, few, documents, D, nodes, ours):
    """Return a row that compares the CPU time of spams with that of the codes of the package.

    The time of spams is that of the smallest number of iterations whose objectives are within 1e-4
    of the optimum.
    """
    best, dense = optimum(few, D, nodes, norm), few.toarray()
    for most in ITERATIONS:
        X = np.maximum(found[f"codes_{norm}_{most}"], 0.0)
        value = 0.5 * ((dense - X @ D.T) ** 2).sum(axis=1) + LAM * treeprox.value_tree(
            X, nodes, norm=norm
        )
        if ((value - best) / best).max() <= 1e-4:
            ratio = (float(found[f"codes_{norm}_{most}_s"]) / few.shape[0]) / (ours / documents)
            what = (
                f"{norm}: codes faster than spams' fistaTree ({most} iterations, "
                f"{few.shape[0]} documents)"
            )
            return Row("tree", f"{what}, a document", ratio, "times")
    worst = float(((value - best) / best).max())
    return Row(
        "tree",
        f"{norm}: spams' fistaTree is {worst:.1e} above the optimum after {most} iterations",
        None,
        "times",
    )
