"""
A text classifier and its words
===============================

The task is to predict the library of a docstring. The texts are installed with this example: the
docstrings of NumPy, SciPy and scikit-learn. Words are the features, and their weights explain
predictions.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from aggro import PassiveAggressiveClassifier

MODULES = {
    "NumPy": ["numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma", "numpy.polynomial"],
    "SciPy": ["scipy.stats", "scipy.signal", "scipy.sparse", "scipy.optimize", "scipy.linalg"],
    "scikit-learn": ["sklearn.linear_model", "sklearn.cluster", "sklearn.metrics", "sklearn.svm"],
}
NAMES = {"numpy", "np", "scipy", "sklearn", "scikit", "learn", "sp", "ndarray"}


def docstrings(modules):
    """Return the sentences of all docstrings of a few modules, without the libraries' names."""
    found = set()
    for name in modules:
        module = importlib.import_module(name)
        for each in sorted(vars(module)):
            thing = getattr(module, each)
            if callable(thing) and not each.startswith("_"):
                for paragraph in (inspect.getdoc(thing) or "").split("\n\n"):
                    if len(paragraph.split()) > 8 and ">>>" not in paragraph:
                        found.add(paragraph)
    return sorted(found)


texts, labels = [], []
for library, modules in MODULES.items():
    paragraphs = docstrings(modules)
    texts += paragraphs
    labels += [library] * len(paragraphs)
order = np.random.default_rng(0).permutation(len(texts))
texts, labels = [texts[k] for k in order], np.array(labels)[order]

# %%
# One pass. Every paragraph is predicted before it is learned, so the error is unbiased.

words = CountVectorizer(
    token_pattern=r"[a-z_]{3,}", stop_words=sorted(NAMES), binary=True, min_df=3
)
X = words.fit_transform(texts).astype(float)
model = PassiveAggressiveClassifier(C=0.1, metric="diagonal").partial_fit(X, labels)
print(f"{len(texts)} paragraphs, {X.shape[1]} words")
print(f"{model.n_mistakes_ / len(texts):.1%} wrong; by guessing the largest library:",
      f"{1 - max(np.unique(labels, return_counts=True)[1]) / len(labels):.1%}")  # fmt: skip

# %%
# The words with the largest weights.

names = words.get_feature_names_out()
figure, panels = plt.subplots(1, 3, figsize=(10, 5.2), layout="constrained")
for axes, library, weights, colour in zip(
    panels, model.classes_, model.coef_, ("#0072B2", "#009E73", "#D55E00"), strict=True
):
    top = np.argsort(weights)[-16:]
    axes.barh(names[top], weights[top], color=colour)
    axes.set(title=library, xlabel="weight")
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
