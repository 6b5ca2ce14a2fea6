"""
A race: nothing to tune
=======================

``C="auto"`` learns a grid of values side by side; ``metric="auto"``, ``scale="auto"`` and
``average="auto"`` race the rest. Every model predicts each example before it learns it, and the
one with the best recent record answers. ``plot_lanes`` shows the race.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from aggro import PassiveAggressiveClassifier

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
model = PassiveAggressiveClassifier(C="auto", metric="auto", scale="auto", average="auto")
model.partial_fit(X[order], y[order])

# %%
# One pass over 1797 digits, raw features. Each line is a kind of model, each point a value of C;
# the black circle leads.

model.plot_lanes()
plt.show()

# %%
# When the race has done its work, ``settle`` keeps the leader alone: a plain model to save.

print(len(model.lanes_), "models raced,", f"{model.n_mistakes_ / len(y):.1%} mistakes on the way")
model.settle()
print(f"C={model.C:.3g}, metric={model.metric!r}, scale={model.scale!r}, average={model.average!r}")
