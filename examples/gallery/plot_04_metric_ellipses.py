"""
Metrics as ellipses
===================

A metric determines how far a step moves the weights in each direction. It starts as a circle and
shrinks along the directions of past updates. The NumPy reference in
``aggro.reference`` learns 60 correlated examples, and the ellipse ``v' Σ⁻¹ v = 1`` is drawn after
some of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from aggro.reference import Metric, slack, step_size

rng = np.random.default_rng(0)
y = np.where(rng.random(60) < 0.5, -1.0, 1.0)
shared = rng.normal(size=60)
X = 0.4 * np.column_stack([shared + 0.5 * y, shared - 0.5 * y]) + 0.1 * rng.normal(size=(60, 2))
circle = np.stack([np.cos(t := np.linspace(0, 2 * np.pi, 200)), np.sin(t)])

# %%
# The step in a metric is ``w += τ·y·Σx``. After a step, ``Σ⁻¹`` grows by ``x·x'``.

figure, panels = plt.subplots(1, 3, figsize=(10, 3.9), sharey=True, layout="constrained")
for axes, kind in zip(panels, ("euclidean", "diagonal", "full"), strict=True):
    metric, w, path, updates = Metric(kind, 2), np.zeros(2), [np.zeros(2)], 0
    for x, label in zip(X, y, strict=True):
        direction = metric.times_sigma(x[None])[0]
        tau = step_size(1 - label * (w @ x), x @ direction, slack("hinge", 2.0))
        if tau > 0:
            w, updates = w + tau * label * direction, updates + 1
            metric.grow(x)
            path.append(w)
            if updates in (1, 4, 16):
                values, vectors = np.linalg.eigh(metric.times_sigma(np.eye(2)))
                ellipse = (vectors * np.sqrt(values)) @ circle
                axes.plot(*(w[:, None] + ellipse), color="#0072B2", lw=1.5)
                axes.plot(*w, "o", color="#0072B2", ms=4)
    axes.plot(*np.array(path).T, "-", color="#D55E00", lw=1.2, marker=".", ms=4)
    axes.plot(0, 0, "*", color="black", ms=12)
    right = np.mean(np.sign(X @ w) == y)
    axes.set(title=f'metric="{kind}"\n{updates} updates, {right:.0%} right', xlabel="weight 1")
    axes.set(aspect="equal", xlim=(-1.2, 5.2), ylim=(-5.2, 1.2))
panels[0].set_ylabel("weight 2")
plt.show()

# %%
# Orange: the path of the weights, from the star. Blue: the ellipse after 1, 4 and 16 updates. The
# two features are correlated, so the full metric shortens steps along their sum but not along
# their difference, which separates the classes.
