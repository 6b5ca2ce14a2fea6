"""
Calibrated probabilities
========================

A margin is not a probability. With ``probability=True`` the margins of examples before they
were learned are recorded, and a map from margins to probabilities is fitted to them. The model
itself does not change, bit for bit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from aggro import PassiveAggressiveClassifier

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
X, y = np.tile(X / 16, (8, 1)) + rng.normal(scale=0.35, size=(8 * len(y), 64)), np.tile(y, 8)
order = rng.permutation(len(y))
X, y, half = X[order], y[order], len(y) // 2
model = PassiveAggressiveClassifier(C=0.02, probability=True).partial_fit(X[:half], y[:half])

# %%
# The softmax of the margins is not calibrated.

margins = model.decision_function(X[half:])
softmax = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
calibrated = model.predict_proba(X[half:])
edges = np.linspace(0, 1, 13)

# %%
# Left: accuracy of the most probable digit against its probability; points represent at least 30
# examples. Right: histogram of the probabilities.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.3), layout="constrained")
left.plot([0, 1], [0, 1], "--", color="#777777", lw=1, label="honest")
for name, share, colour, marker in (
    ("softmax of the margins", softmax, "#0072B2", "o"),
    ("probability=True", calibrated, "#D55E00", "s"),
):
    top, hit = share.max(axis=1), share.argmax(axis=1) == y[half:]
    bins = np.digitize(top, edges[1:-1])
    filled = [k for k in range(12) if np.sum(bins == k) >= 30]
    mean, seen = ([each[bins == k].mean() for k in filled] for each in (top, hit))
    loss = -np.mean(np.log(share[np.arange(half), y[half:]]))
    left.plot(mean, seen, marker + "-", color=colour, lw=2, label=f"{name}, log loss {loss:.2f}")
    right.hist(top, edges, color=colour, histtype="step", lw=2)
left.set(xlabel="probability of the most probable digit", ylabel="how often it was right")
left.set(aspect="equal", xlim=(0, 1.02), ylim=(0, 1.02))
right.set(xlabel="probability of the most probable digit", ylabel="examples")
left.legend(frameon=False, fontsize=9, loc="lower right")
plt.show()
