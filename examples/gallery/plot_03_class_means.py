"""
Class means: less dependence on the order
=========================================

One pass depends on the order of the examples. A pull towards the class means (``class_mean``,
PAm) reduces this dependence: here the same 200 examples are learned in 25 random orders.
"""

import matplotlib.pyplot as plt
import numpy as np

from aggro import PassiveAggressiveClassifier

rng = np.random.default_rng(3)
y = rng.integers(0, 2, 200)
X = rng.normal(size=(200, 2)) + np.column_stack([2.4 * y - 1.2, 1.6 * y - 0.8])
across = np.linspace(-5, 5, 2)

figure, panels = plt.subplots(1, 3, figsize=(10, 3.8), sharey=True, layout="constrained")
for axes, pull, colour in zip(
    panels, (0.0, 0.1, 1.0), ("#0072B2", "#009E73", "#D55E00"), strict=True
):
    errors = []
    for seed in range(25):
        order = np.random.default_rng(seed).permutation(200)
        model = PassiveAggressiveClassifier(class_mean=pull, average=False).partial_fit(
            X[order], y[order]
        )
        (w1, w2), b = model.coef_[0], model.intercept_[0]
        axes.plot(across, -(w1 * across + b) / w2, color=colour, lw=1, alpha=0.6)
        errors.append(100 * np.mean(model.predict(X) != y))
    for label, shade, marker in ((0, "#777777", "o"), (1, "#E69F00", "^")):
        axes.plot(*X[y == label].T, marker, color=shade, ms=4, alpha=0.6)
        axes.plot(*X[y == label].mean(axis=0), "*", color="black", ms=13)
    spread = f"{np.mean(errors):.1f} ± {np.std(errors):.1f} % wrong"
    axes.set(title=f"class_mean={pull}\n{spread}", xlim=(-4.5, 4.5), ylim=(-4, 4))
plt.show()

# %%
# The stars are the class means. The pull changes three numbers instead of every weight.
