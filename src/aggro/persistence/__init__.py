"""Saving and loading models: safe to load, exact to continue.

>>> import pathlib, tempfile
>>> from aggro import PassiveAggressiveClassifier
>>> model = PassiveAggressiveClassifier().partial_fit([[0.0], [1.0]], [0, 1])
>>> with tempfile.TemporaryDirectory() as folder:
...     save(model, pathlib.Path(folder, "a.aggro"))
...     load(pathlib.Path(folder, "a.aggro")).predict([[1.0]])
array([1])
"""

from aggro.persistence.container import ModelFileError
from aggro.persistence.export import to_onnx, to_sklearn
from aggro.persistence.store import load, save

__all__ = ["ModelFileError", "load", "save", "to_onnx", "to_sklearn"]
