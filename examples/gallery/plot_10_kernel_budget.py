"""
A kernel with a budget
======================

A kernel model stores examples, and their number grows with the stream. A ``budget`` bounds it:
when it is full, one stored example is removed and its weight is projected onto the others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from aggro import KernelPassiveAggressiveClassifier

X, y = make_moons(1500, noise=0.22, random_state=0)
fresh, labels = make_moons(3000, noise=0.22, random_state=1)
across, up = np.linspace(-1.8, 2.8, 120), np.linspace(-1.3, 1.8, 100)
grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)

# %%
# One pass over 1500 examples. Black circles are the support vectors.

figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), sharey=True, layout="constrained")
for axes, budget, strategy in zip(
    panels, (None, 30, 30), ("simple", "simple", "projection"), strict=True
):
    model = KernelPassiveAggressiveClassifier(
        C=0.5, gamma=3.0, budget=budget, budget_strategy=strategy
    ).partial_fit(X, y)
    scores = model.decision_function(grid).reshape(100, 120)
    axes.contourf(
        across, up, scores, levels=np.linspace(-2, 2, 9), cmap="RdBu_r", extend="both", alpha=0.5
    )
    axes.contour(across, up, scores, levels=[0], colors="black", linewidths=1.5)
    for label, colour, marker in ((0, "#0072B2", "o"), (1, "#D55E00", "^")):
        axes.plot(*X[y == label][:300].T, marker, color=colour, ms=2)
    kept = X[model.support_] if hasattr(model, "support_") else model.support_vectors_
    axes.plot(*kept.T, "o", mec="black", mfc="none", ms=7, mew=1)
    name = "no budget" if budget is None else f'budget={budget}, "{strategy}"'
    axes.set(title=f"{name}\n{len(kept)} remembered, {model.score(fresh, labels):.1%} right")
plt.show()
