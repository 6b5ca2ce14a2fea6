"""Benchmarks: aggro compared with the memory bound and with other libraries.

``python -m benchmarks`` runs everything on one thread; see ``--help``.
"""

import os

# Set before importing NumPy: all contenders run on one thread.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
