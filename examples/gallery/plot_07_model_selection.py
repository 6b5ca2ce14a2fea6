"""
Model selection while learning
==============================

``AutoClassifier`` learns a grid of values of C side by side, in several metrics and scales. Every
model predicts each example before it learns it, and the one with the best recent record predicts.
``plot_candidates`` draws the candidates, ``selection_report`` lists them with their errors.
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
# the black circle is the best candidate.

model.plot_candidates()
plt.show()

# %%
# ``keep_best`` ends the selection: the model then contains only the best candidate.

print(len(model.candidates_), "candidates,", f"{model.n_mistakes_ / len(y):.1%} mistakes")
print(model.selection_report())
model.keep_best()
print(f"C={model.C_:.3g}")
