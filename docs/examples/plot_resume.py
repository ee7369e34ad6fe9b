"""
Resuming from a file
====================

A stream has no end, but programs have. `save` writes all that a detector has learned to one HDF5
file, where nothing is pickled, and `load` goes on from it. The scores after a stop are those of a
detector that never stopped, bit for bit.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from odl import NoveltyDetector

# %%
# Ten batches of made documents; from the sixth on, some are about words that were rare before.

rng = np.random.default_rng(0)
topics = rng.dirichlet(np.full(300, 0.05), 6)
batches = [rng.poisson(60 * topics[rng.integers(4 if t < 5 else 6, size=80)]) for t in range(10)]

# %% One detector runs through. The other is written to a file after each batch, forgotten, and read
# again.

through, resumed = NoveltyDetector(), NoveltyDetector()
steady, stopped = [], []
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "detector.h5"
    for t, batch in enumerate(batches):
        if t:
            resumed = NoveltyDetector.load(path)
            steady.append(through.score_samples(batch))
            stopped.append(resumed.score_samples(batch))
        through.partial_fit(batch)
        resumed.partial_fit(batch)
        resumed.save(path)
    size = path.stat().st_size
steady, stopped = np.concatenate(steady), np.concatenate(stopped)
print(
    f"{len(steady)} scores, equal bit for bit: {np.array_equal(steady, stopped)}; "
    f"the file has {size / 1024:.0f} KiB"
)

# %%
# Each dot is a document; all lie on the diagonal.

fig, ax = plt.subplots(figsize=(4.8, 4.8))
ax.plot([0, 1], [0, 1], color="tab:grey", linewidth=0.8)
ax.scatter(steady, stopped, s=8)
ax.set(xlabel="score without a stop", ylabel="score after a stop", title="Nine stops, same scores")
ax.set_aspect("equal")
fig.tight_layout()
