"""
A race: nothing to tune
=======================

``AutoClassifier`` learns a grid of values of C side by side, in several metrics and scales. Every
model predicts each example before it learns it, and the one with the best recent record answers.
``plot_candidates`` shows the race, ``selection_report`` what won and by how much.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from aggro import AutoClassifier

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
model = AutoClassifier()
model.partial_fit(X[order], y[order])

# %%
# One pass over 1797 digits, raw features. Each line is a kind of model, each point a value of C;
# the black circle leads.

model.plot_candidates()
plt.show()

# %%
# When the race has done its work, ``keep_best`` keeps the leader alone: a plain model to save.

print(len(model.candidates_), "candidates,", f"{model.n_mistakes_ / len(y):.1%} mistakes")
print(model.selection_report())
model.keep_best()
print(f"C={model.C_:.3g}")
