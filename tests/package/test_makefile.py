"""The test lists of the Makefile."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_sanitized_tests_exist():
    done = subprocess.run(
        ["make", "-n", "sanitize"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    named = set(re.findall(r"tests/\S+\.py", done.stdout))
    assert len(named) > 20
    assert {path for path in named if not (ROOT / path).exists()} == set()
