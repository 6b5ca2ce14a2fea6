"""Data sets by name, from a local folder, the cache, or their public address.

>>> from aggro import datasets
>>> "a9a" in datasets.names()
True
>>> datasets.describe("electricity").order
'time'

``load(name)`` searches the folder in the environment variable ``AGGRO_DATA``, then the user's
cache, and downloads last. Every file is checked by its sha256. A new set needs one row per file in
``sets.tsv``.
"""

from aggro.datasets.files import DataError, Source, cache_folder, describe, names
from aggro.datasets.read import Dataset, load, load_texts

__all__ = [
    "DataError",
    "Dataset",
    "Source",
    "cache_folder",
    "describe",
    "load",
    "load_texts",
    "names",
]
