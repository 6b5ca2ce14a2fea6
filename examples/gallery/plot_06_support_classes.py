"""
Support classes: all wrong classes at once
==========================================

With several classes, the usual step moves the true class and the best wrong one. It can leave
other wrong classes above the margin. The step with support classes (``multiclass="support"``,
SPA) satisfies all margins: it reduces the violating scores to one level and raises the true score
by the sum of the reductions.
"""

import matplotlib.pyplot as plt
import numpy as np

from aggro import PassiveAggressiveClassifier

CLASSES = ["true", "a", "b", "c", "d", "e"]
x = np.array([[1.0]])
start = np.array([[0.3], [1.5], [1.25], [0.9], [-0.1], [-1.0]])


def scores_after(multiclass):
    """Let one hard step follow from the same weights, and return the scores."""
    model = PassiveAggressiveClassifier(
        loss="hard", multiclass=multiclass, fit_intercept=False, average=False
    )
    model.partial_fit(x, [0], classes=range(6))
    model.coef_ = start
    return model.partial_fit(x, [0]).decision_function(x)[0]


# %%
# Hatched: the reductions of wrong classes, and the increase of the true one.

figure, panels = plt.subplots(1, 3, figsize=(10.5, 4), sharey=True, layout="constrained")
titles = ("before: a, b, c and d\nreach above the line", 'multiclass="top":\nb and c still do',
          'multiclass="support":\nnone does')  # fmt: skip
for axes, title, scores in zip(
    panels, titles, (start[:, 0], scores_after("top"), scores_after("support")), strict=True
):
    axes.bar(CLASSES, scores, color=["#D55E00"] + ["#0072B2"] * 5, width=0.7)
    change = scores - start[:, 0]
    axes.bar(CLASSES, change, bottom=start[:, 0], width=0.7, fill=False, hatch="///", lw=0.8)
    axes.axhline(scores[0] - 1, color="black", ls="--", lw=1.2)
    axes.axhline(0, color="black", lw=0.8)
    axes.set(title=title, ylim=(-1.3, 2.5))
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("score of the example")
figure.supxlabel("dashed: one below the score of the true class")
plt.show()
