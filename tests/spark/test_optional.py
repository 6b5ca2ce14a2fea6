"""Spark is optional."""

import subprocess
import sys

CODE = """
import sys
sys.modules["pyspark"] = None
try:
    import aggro.spark
except ModuleNotFoundError as error:
    print(error)
"""


def test_without_spark_the_extra_is_named():
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "aggro.spark needs Spark: pip install 'aggro[spark]'"
