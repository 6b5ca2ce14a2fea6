"""Models in files: safe to load, exact to continue.

>>> import aggro, pathlib, tempfile
>>> model = aggro.PassiveAggressiveClassifier().partial_fit([[0.0], [1.0]], [0, 1])
>>> with tempfile.TemporaryDirectory() as folder:
...     aggro.save(model, pathlib.Path(folder, "a.aggro"))
...     aggro.load(pathlib.Path(folder, "a.aggro")).predict([[1.0]])
array([1])
"""

from aggro.models.errors import ModelFileError
from aggro.models.store import load, save

__all__ = ["ModelFileError", "load", "save"]
