"""
The margin and the step
=======================

A Passive-Aggressive model stays as it is while an example is on the right side with a margin of
at least 1 (passive). Otherwise it moves just far enough to reach the margin (aggressive). Here
six examples arrive one after another. The solid line separates the classes, the shaded band is
the margin, and the dashed line is the previous model.
"""

import matplotlib.pyplot as plt
import numpy as np

from aggro import PassiveAggressiveClassifier

BLUE, ORANGE = "#0072B2", "#D55E00"
X = np.array([[1.6, 0.8], [-1.2, -0.9], [1.8, 1.6], [0.3, -1.3], [-1.5, 0.7], [0.9, 0.1]])
y = np.array([1, 0, 1, 0, 0, 1])
across = np.linspace(-2.5, 2.5, 2)


def line(w, b, level):
    """Return the heights at which the score equals a level."""
    return (level - b - w[0] * across) / w[1]


# %%
# Each panel shows the model after one more example. The new example is drawn large.

figure, panels = plt.subplots(2, 3, figsize=(9, 6), sharex=True, sharey=True, layout="constrained")
model, before = PassiveAggressiveClassifier(loss="hard", average=False), None
for k, axes in enumerate(panels.flat):
    updates = getattr(model, "n_updates_", 0)
    model.partial_fit(X[k : k + 1], y[k : k + 1], classes=[0, 1])
    w, b = model.coef_[0].copy(), model.intercept_[0]
    if before:
        axes.plot(across, line(*before, 0), "--", color="#777777", lw=1)
    axes.fill_between(across, line(w, b, -1), line(w, b, 1), color="#E69F00", alpha=0.2, lw=0)
    axes.plot(across, line(w, b, 0), color="black")
    for label, colour, marker in ((0, BLUE, "o"), (1, ORANGE, "^")):
        seen = X[: k + 1][y[: k + 1] == label]
        axes.plot(*seen.T, marker, color=colour, ms=6)
        if y[k] == label:
            axes.plot(*X[k], marker, color=colour, ms=14, mec="black")
    did = "aggressive" if model.n_updates_ > updates else "passive"
    axes.set(title=f"example {k + 1}: {did}", xlim=(-2.5, 2.5), ylim=(-2.2, 2.2))
    before = (w, b)
figure.supxlabel("feature 1")
figure.supylabel("feature 2")
plt.show()

# %%
# After its own step, an example lies exactly on the edge of the band: the hard rule
# (``loss="hard"``) makes the margin exactly 1. With ``loss="hinge"`` and a small ``C`` the step is
# shorter.
