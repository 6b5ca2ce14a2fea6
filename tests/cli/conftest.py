"""Fixtures of the command line's tests."""

import pytest


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """A folder of the test's own, to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
