"""
Mini-batches against noisy labels
=================================

A single example with a wrong label moves the model the wrong way. A mini-batch (``batch_size``,
BPA) learns several examples together, so that a wrong label has less influence.
"""

import matplotlib.pyplot as plt
import numpy as np

from aggro import PassiveAggressiveClassifier

SIZES, NOISE = (1, 2, 4, 8, 16, 32, 64), (0.0, 0.1, 0.2, 0.3)
true = np.random.default_rng(0).normal(size=20)


def stream(seed, noise, count=2000):
    """Return rows, labels of which some are wrong, and the right ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 20)) / np.sqrt(20)
    y = (X @ true > 0).astype(int)
    return X, np.where(rng.random(count) < noise, 1 - y, y), y


# %%
# One pass over 2000 examples, ten streams for each point, ``C=1``.

figure, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for noise, colour in zip(NOISE, ("#0072B2", "#009E73", "#E69F00", "#D55E00"), strict=True):
    errors = np.empty((10, len(SIZES)))
    for seed in range(10):
        X, noisy, _ = stream(seed, noise)
        fresh, _, clean = stream(1000 + seed, 0.0)
        for k, size in enumerate(SIZES):
            model = PassiveAggressiveClassifier(batch_size=size, average=False).partial_fit(
                X, noisy
            )
            errors[seed, k] = 100 * np.mean(model.predict(fresh) != clean)
    mean, spread = errors.mean(axis=0), errors.std(axis=0)
    axes.plot(SIZES, mean, "o-", color=colour, lw=2, label=f"{noise:.0%} wrong labels")
    axes.fill_between(SIZES, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0)
axes.set(
    xscale="log", xlabel="batch_size", ylabel="wrong on fresh, clean examples, %", ylim=(0, None)
)
axes.set_xticks(SIZES, SIZES)
axes.minorticks_off()
figure.legend(loc="outside lower center", ncols=4, frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The bands are one standard deviation over the streams. Without noise, batches have little
# effect. With noise, large ones make fewer mistakes, and results vary less between streams.
