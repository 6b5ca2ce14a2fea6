"""
Probabilities that mean what they say
=====================================

A margin is not a probability. With ``probability=True`` the margins that examples got before they
were learned are kept, and a map from margins to probabilities is fitted to them. The model learned is
the same, bit for bit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from aggro import PassiveAggressiveClassifier

X, y = make_classification(
    20_000, n_features=20, n_informative=6, flip_y=0.1, class_sep=1.0, random_state=0
)
model = PassiveAggressiveClassifier(C=1.0, probability=True).partial_fit(X[:10_000], y[:10_000])
calibrated = model.predict_proba(X[10_000:])[:, 1]
raw = 1 / (1 + np.exp(-model.decision_function(X[10_000:])))
told, edges = y[10_000:], np.linspace(0, 1, 13)

# %%
# Left: how often class 1 was right, by the probability it was given. Right: how often each
# probability was given.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.3), layout="constrained")
left.plot([0, 1], [0, 1], "--", color="#777777", lw=1, label="honest")
for name, share, colour, marker in (
    ("sigmoid of the margin", raw, "#0072B2", "o"),
    ("probability=True", calibrated, "#D55E00", "s"),
):
    bins = np.digitize(share, edges[1:-1])
    filled = [k for k in range(12) if np.sum(bins == k) >= 30]
    mean = [share[bins == k].mean() for k in filled]
    seen = [told[bins == k].mean() for k in filled]
    loss = -np.mean(np.log(np.where(told == 1, share, 1 - share)))
    left.plot(mean, seen, marker + "-", color=colour, lw=2, label=f"{name}, log loss {loss:.3f}")
    right.hist(share, edges, color=colour, histtype="step", lw=2, label=name)
left.set(xlabel="probability given to class 1", ylabel="how often it was class 1", aspect="equal")
right.set(xlabel="probability given to class 1", ylabel="examples")
left.legend(frameon=False, fontsize=9)
plt.show()
