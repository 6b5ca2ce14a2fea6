"""
A sweep against a grid search
=============================

``aggro.sweep`` learns all settings side by side in one pass, and evaluates each on examples before
learning them. ``GridSearchCV`` learns each setting on five folds. Both find nearly the same
C here; the difference is the time.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

import aggro

X, y = load_digits(return_X_y=True)
noise = np.random.default_rng(0).normal(scale=0.2, size=(4 * len(y), X.shape[1]))
X, y = np.tile(X / 16, (4, 1)) + noise, np.tile(y, 4)
C = np.geomspace(1e-4, 10, 16)

# %%
# The sweep: 16 values of C, one pass.

start = time.perf_counter()
result = aggro.sweep(X, y, C=list(C))
sweep_time = time.perf_counter() - start

# %%
# The grid search: the same estimator, five folds.

start = time.perf_counter()
one_pass = aggro.PassiveAggressiveClassifier(max_iter=1, tol=None)
search = GridSearchCV(one_pass, {"C": C}, cv=5).fit(X, y)
search_time = time.perf_counter() - start
print(f"sweep {sweep_time:.2f} s, GridSearchCV {search_time:.2f} s")

# %%
# The curves differ: the sweep counts mistakes during learning, the search those of trained models.
# Both find the same region.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9.5, 4), width_ratios=[3, 1], layout="constrained"
)
errors = np.array([row.error for row in result.rows])
left.plot(C, 100 * errors, "o-", color="#D55E00", lw=2, label="sweep: mistakes on the way")
held_out = 1 - search.cv_results_["mean_test_score"]
left.plot(C, 100 * held_out, "s-", color="#0072B2", lw=2, label="GridSearchCV: held-out error")
for values, colour in ((errors, "#D55E00"), (held_out, "#0072B2")):
    left.axvline(C[np.argmin(values)], color=colour, ls=":", lw=1.5)
left.set(xscale="log", xlabel="C", ylabel="wrong, %", ylim=(0, None))
left.legend(frameon=False)
right.bar(["sweep", "GridSearchCV"], [sweep_time, search_time], color=["#D55E00", "#0072B2"])
right.set(ylabel="seconds")
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
