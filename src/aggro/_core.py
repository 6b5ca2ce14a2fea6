"""The compiled core, in the best version this machine can run.

``AGGRO_LEVEL`` (``baseline``, ``avx2`` or ``avx512``; ``sanitized`` and ``tsan`` where they were
built) overrides the choice.
"""

import os
from importlib import import_module

from aggro import _cpu

_level = os.environ.get("AGGRO_LEVEL") or _cpu.best_level()
try:
    _chosen = import_module(f"aggro._core_{_level}")
except ModuleNotFoundError:  # a build for one level only, or another architecture
    _chosen = import_module("aggro._core_baseline")

globals().update({name: value for name, value in vars(_chosen).items() if name[0] != "_"})
