"""Readers of data files, in batches of bounded memory.

>>> from aggro import files
>>> files.hash_names(["price"], bits=10).shape
(1,)
"""

from aggro.files.batch import Batch
from aggro.files.errors import BadLine, ReadingError
from aggro.files.hashing import hash_names
from aggro.files.reader import Reader, read
from aggro.files.svmlight import load_svmlight

__all__ = ["BadLine", "Batch", "Reader", "ReadingError", "hash_names", "load_svmlight", "read"]
