"""
Agents on a graph
=================

Each of sixteen agents owns a few atoms and shows them to nobody. To code a document together they
exchange dual variables with their neighbours. Diffusion with a constant step ends near the optimum
of the whole dictionary, the nearer the smaller its step and the denser the network; consensus ADMM
reaches the optimum on a ring too, for twenty gradient steps an exchange.
"""

import numpy as np
from matplotlib import pyplot as plt

from odl.distributed import inference, models, networks
from odl.papers.experiments.convergence import consensus_admm

# %%
# A document that mixes three of 48 atoms; every agent has three of these and sees the document.

rng = np.random.default_rng(0)
W = np.abs(rng.standard_normal((40, 48))) * (rng.random((40, 48)) < 0.3)
W /= np.linalg.norm(W, axis=0)
x = W[:, [3, 20, 41]] @ [0.6, 0.5, 0.4]
x /= np.linalg.norm(x)
blocks = np.split(W, 16, axis=1)
model = models.task("nmf", gamma=0.05, delta=1.0)

# %% The optimum: one agent that has all atoms. Then three networks; an agent of the ring hears two
# others, one of the grid two to four.

alone = inference.share_all(model, networks.network("fully_connected", 1), [W])
optimum = inference.diffuse(alone, x, iterations=20_000, tolerance=1e-12).nu[0]
largest = model.largest_step([np.linalg.norm(block, 2) ** 2 for block in blocks], 16)


def distances(method, share, **settings):
    """Return the agents' mean distance from the optimum, over its norm, per exchange."""
    found = []

    def record(iteration, nu):
        found.append(np.linalg.norm(nu - optimum, axis=1).mean() / np.linalg.norm(optimum))

    method(share, x, record=record, **settings)
    return found


# %%
# Solid: 0.9 of the largest stable step. Dashed: a tenth of that. Where everyone hears everyone with
# equal weight, all agents hold the same variable, and diffusion ends on the optimum itself.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for name, shape in {"ring": {"degree": 2}, "grid": {}, "fully_connected": {}}.items():
    share = inference.share_all(model, networks.network(name, 16, **shape), blocks)
    for part, style in ((0.9, "-"), (0.09, "--")):
        far = distances(
            inference.diffuse, share, step=part * largest, iterations=2000, tolerance=0.0
        )
        (line,) = left.loglog(
            range(1, 2001), far, style, color=left.lines[-1].get_color() if part < 0.9 else None
        )
        print(f"{name}, {part} of the largest step: {far[-1]:.1e} from the optimum")
    far = distances(consensus_admm, share, iterations=500)
    right.loglog(range(1, 501), far, color=line.get_color(), label=name.replace("_", " "))
left.set(
    xlabel="exchanges",
    ylabel="relative distance from the optimum",
    title="Diffusion",
    ylim=(1e-8, 10),
)
right.set(xlabel="exchanges", ylabel="relative distance from the optimum", title="Consensus ADMM")
right.legend(frameon=False)
fig.tight_layout()
