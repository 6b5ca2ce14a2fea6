"""How fast aggro is: against the floor that memory sets, and against its peers.

``python -m benchmarks`` runs everything on one thread; see ``--help``.
"""

import os

# Before NumPy is imported: floors and peers are to run on one thread, as aggro does.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
