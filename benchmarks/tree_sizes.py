"""CPU time of the prox of a tree by the number of its atoms and by its depth.

    python benchmarks/tree_sizes.py

Proposition 2 of ICML 2010 states the complexity. Every tree gets vectors with two million entries
in total. Trees are complete binary trees, then chains of 1024 atoms below a root.
"""

import numpy as np
from hierarchy import prox
from measure import cpu

from odl import trees

ENTRIES, REPEATS = 2_000_000, 4
LEVELS, CHAINS = (6, 9, 12, 15), (2, 8, 32, 128)


def chains(length, atoms=1024):
    """Return a tree with chains of `length` atoms below its root."""
    parents = [trees.ROOT]
    for _ in range(atoms // length):
        parents += [0, *range(len(parents), len(parents) + length - 1)]
    return trees.Tree(tuple(parents))


def nanoseconds(tree, norm, rng):
    """Return the minimum CPU nanoseconds of the prox per entry of vectors."""
    U = rng.normal(size=(max(ENTRIES // tree.n_nodes, 1), tree.n_nodes))
    output = np.empty_like(U)
    times = [cpu(lambda: prox(output, U, tree, 1.0, norm))[0] for _ in range(REPEATS)]
    return 1e9 * min(times) / U.size


def main():
    """Print a line for each tree and norm."""
    rng = np.random.default_rng(0)
    shapes = [(f"binary, {2**n - 1} atoms, depth {n}", trees.binary(2**n - 1)) for n in LEVELS]
    shapes += [(f"chains, 1025 atoms, depth {n + 1}", chains(n)) for n in CHAINS]
    print("tree\tl2: CPU ns an atom\tlinf")
    for name, tree in shapes:
        print(
            name,
            *(f"{nanoseconds(tree, norm, rng):.1f}" for norm in ("l2", "linf")),
            sep="\t",
            flush=True,
        )


if __name__ == "__main__":
    main()
