"""The compiled core, in the fastest version that this machine supports.

``AGGRO_LEVEL`` (``baseline``, ``avx2`` or ``avx512``; ``sanitized`` and ``tsan`` where they were
built) overrides the choice.
"""

import os
from importlib import import_module
from importlib.util import find_spec

from aggro import _cpu

_level = os.environ.get("AGGRO_LEVEL") or _cpu.best_level()
for _each in (_level, "baseline"):  # builds from source have fewer levels
    if find_spec(f"aggro._core_{_each}"):
        break
else:
    raise ImportError(
        f"this build of aggro holds no core that runs here ({_level} or baseline): "
        "it was built for another machine alone; install aggro again on this one"
    )
_chosen = import_module(f"aggro._core_{_each}")

globals().update({name: value for name, value in vars(_chosen).items() if not name.startswith("_")})
