"""
Learning a file out of core
===========================

``aggro.io.read`` yields batches, and ``partial_fit`` learns them: memory use does not
depend on the length of the file. Here a CSV file of 200,000 rows is learned in batches while the
memory of Python and NumPy is measured.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from aggro import PassiveAggressiveClassifier, io

ROWS, COLUMNS = 200_000, 12
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.csv"
rng = np.random.default_rng(0)
true = rng.normal(size=COLUMNS)
with path.open("w") as file:
    file.write("kind," + ",".join(f"f{k}" for k in range(COLUMNS)) + "\n")
    for _ in range(ROWS // 10_000):
        X = rng.normal(size=(10_000, COLUMNS)).round(3)
        kinds = (X @ true + rng.normal(size=10_000) > 0).astype(int)
        np.savetxt(file, np.column_stack([kinds, X]), fmt="%g", delimiter=",")
size = path.stat().st_size / 2**20

# %%
# Each batch is predicted before it is learned.

model = PassiveAggressiveClassifier(C="auto", metric="diagonal")
seen, memory = [0], [0.0]
tracemalloc.start()
for X, y, _ in io.read(path, label="kind", batch_bytes=1 << 18):
    model.partial_fit(X, y, classes=[0, 1])
    seen.append(seen[-1] + len(y))
    memory.append(tracemalloc.get_traced_memory()[1] / 2**20)
    tracemalloc.reset_peak()
tracemalloc.stop()
folder.cleanup()

# %%
# The peak within each batch, against the size of the file and of its rows as an array.

figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
thousands = np.array(seen[1:]) / 1000
axes.plot(thousands, memory[1:], color="#0072B2", lw=2, label="peak while learning")
axes.axhline(size, color="#777777", ls="--", label="the file")
axes.axhline(
    ROWS * (COLUMNS + 1) * 8 / 2**20, color="#D55E00", ls=":", label="all rows as an array"
)
axes.set(xlabel="thousand rows", ylabel="MiB", ylim=(0, None), xlim=(0, None))
axes.set_title(f"{ROWS:,} rows learned, {model.n_mistakes_ / ROWS:.1%} mistakes on the way")
axes.legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 0.7))
axes.spines[["top", "right"]].set_visible(False)
plt.show()
