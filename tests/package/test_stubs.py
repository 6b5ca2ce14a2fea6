"""The type stubs of the compiled core are up to date."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import aggro
from aggro import _core


def without_level(text):
    return [line for line in text.splitlines() if not line.startswith("level:")]


def test_stubs_are_up_to_date(tmp_path):
    module, fresh = f"aggro._core_{_core.level}", tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-P", "-m", module, "-o", str(fresh)]
    subprocess.run(command, check=True, capture_output=True)
    kept = Path(importlib.util.find_spec("aggro").origin).with_name("_core.pyi")
    assert without_level(fresh.read_text()) == without_level(kept.read_text()), "run make stubs"


def test_public_names_exist():
    for name in aggro.__all__:
        assert getattr(aggro, name) is not None
