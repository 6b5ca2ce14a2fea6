"""Data sets by name: from your own folder, the cache, or their public address.

>>> from aggro import datasets
>>> "a9a" in datasets.names()
True
>>> datasets.describe("electricity").order
'time'

``load(name)`` searches the folder that the environment variable ``AGGRO_DATA`` names, then in the
user's cache, and downloads last. Every file is checked by its sha256. One row of ``sets.tsv`` per
file is all that a further set needs.
"""

from aggro.datasets.fetch import DataError, cache_folder
from aggro.datasets.read import Dataset, load, load_texts
from aggro.datasets.table import Source, describe, names

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
