"""Read data files of any size in batches of bounded memory.

>>> import aggro
>>> aggro.io.hash_names(["price"], bits=10).shape
(1,)
"""

from aggro.io.batch import Batch
from aggro.io.options import BadLine, ReadingError
from aggro.io.reader import Reader, read
from aggro.io.strings import hash_names
from aggro.io.svmlight import load_svmlight

__all__ = ["BadLine", "Batch", "Reader", "ReadingError", "hash_names", "load_svmlight", "read"]
