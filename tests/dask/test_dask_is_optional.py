"""Dask is optional."""

import subprocess
import sys

CODE = """
import sys
sys.modules["distributed"] = None
try:
    import aggro.dask
except ModuleNotFoundError as error:
    print(error)
"""


def test_without_dask_the_extra_is_named():
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "aggro.dask needs Dask: pip install 'aggro[dask]'"
