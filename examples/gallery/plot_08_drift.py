"""
A stream that changes
=====================

The line that separates the classes turns slowly, and jumps in the middle. The steps of a
diagonal metric shrink with time, so it cannot follow; ``forgetting`` keeps them large. A model with
``average=True`` weights the whole past, which is a disadvantage here.
"""

import matplotlib.pyplot as plt
import numpy as np

from aggro import PassiveAggressiveClassifier

COUNT, WINDOW = 20_000, 500
rng = np.random.default_rng(0)
angle = np.linspace(0, np.pi / 2, COUNT) + np.where(np.arange(COUNT) > COUNT / 2, np.pi / 2, 0)
X = rng.normal(size=(COUNT, 10))
y = (X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) + 0.3 * rng.normal(size=COUNT) > 0).astype(
    int
)

MODELS = {
    'metric="diagonal"': {"metric": "diagonal"},
    "… and average=True": {"metric": "diagonal", "average": True},
    "… and forgetting=0.01": {"metric": "diagonal", "forgetting": 0.01},
    "Euclidean, C=0.01": {"C": 0.01},
}

# %%
# Mistakes in a window of 500 examples, each predicted before it is learned.

figure, axes = plt.subplots(figsize=(8.5, 4.5), layout="constrained")
for colour, (name, params) in zip(
    ("#0072B2", "#777777", "#D55E00", "#009E73"), MODELS.items(), strict=True
):
    model, mistakes = PassiveAggressiveClassifier(**{"average": False, **params}), [0]
    for start in range(0, COUNT, WINDOW):
        model.partial_fit(X[start : start + WINDOW], y[start : start + WINDOW], classes=[0, 1])
        mistakes.append(model.n_mistakes_)
    recent = 100 * np.diff(mistakes) / WINDOW
    axes.plot(np.arange(WINDOW, COUNT + 1, WINDOW), recent, color=colour, lw=2, label=name)
axes.axvline(COUNT / 2, color="black", ls=":", lw=1)
axes.text(COUNT / 2, 78, " the line jumps", va="top")
axes.set(xlabel="examples", ylabel="mistakes in the last 500, %", ylim=(0, 80))
axes.legend(frameon=False, loc="upper left")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
