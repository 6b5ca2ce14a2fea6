"""
The family on one noisy set
===========================

Six members of the family learn the same 400 examples once, in twenty random orders. One label in
eight is wrong. A soft rule ends near the same line for any order; the hard rule fits
every wrong label.
"""

import matplotlib.pyplot as plt
import numpy as np

import aggro

rng = np.random.default_rng(4)
y = rng.integers(0, 2, 400)
X = rng.normal(size=(400, 2)) @ [[1.0, 0.3], [0.0, 0.8]] + np.outer(2 * y - 1, [1.1, 0.7])
noisy = np.where(rng.random(400) < 0.125, 1 - y, y)

# %%
# A name of the catalogue makes an estimator. A smaller ``C``, a metric, class means or mini-batches
# shorten the step.

MODELS = {
    "PA": {},
    "PA-I": {"C": 0.05},
    "PAm-1": {"C": 0.05, "class_mean": 1.0},
    "PAM-I": {"C": 0.5},
    "BPAI": {"C": 0.05},
    "AROW": {},
}
COLOURS = ("#777777", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00")
figure, panels = plt.subplots(
    2, 3, figsize=(10, 6.6), sharex=True, sharey=True, layout="constrained"
)
across = np.linspace(-5, 5, 2)
for axes, colour, (name, params) in zip(panels.flat, COLOURS, MODELS.items(), strict=True):
    for label, marker in ((0, "o"), (1, "^")):
        right, wrong = (y == label) & (noisy == label), (y == label) & (noisy != label)
        axes.plot(*X[right].T, marker, color="#bbbbbb" if label else "#666666", ms=3)
        axes.plot(*X[wrong].T, marker, color="#D55E00", ms=3)
    errors = []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(400)
        model = aggro.from_name(name, **params).partial_fit(X[order], noisy[order])
        (w1, w2), b = model.coef_[0], model.intercept_[0]
        axes.plot(across, -(w1 * across + b) / w2, color=colour, lw=1.2, alpha=0.7)
        errors.append(100 * np.mean(model.predict(X) != y))
    summary = f"{np.mean(errors):.1f} ± {np.std(errors):.1f} % wrong"
    axes.set(title=f"{name}: {summary}", xlim=(-4.5, 4.5), ylim=(-4, 4))
plt.show()

# %%
# Orange points have a wrong label. The numbers are errors on correct labels: mean and standard
# deviation over the orders.
