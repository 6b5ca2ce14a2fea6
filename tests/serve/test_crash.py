"""Nothing that was acknowledged is lost, nothing is learned twice: kills, power cuts, faults.

A few of each; ``make crash`` does a thousand.
"""

import shutil
import sys

import pytest
from crash import run_kills, run_power
from faults import FAULTS, NEED_POWER_CUT
from forked_server import Lost

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks and preloads, as Linux does")
compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="the shim is compiled: needs g++")


def test_a_server_that_is_killed_loses_nothing(tmp_path):
    result = run_kills(20, "test", tmp_path)
    assert result["acknowledged"] > 100


@compiler
def test_a_power_cut_loses_nothing_that_was_acknowledged(tmp_path):
    result = run_power(12, "test", tmp_path)
    assert result["acknowledged"] > 50


@compiler
@pytest.mark.parametrize("fault", FAULTS)
def test_the_suite_notices(fault, tmp_path):
    run = run_power if fault in NEED_POWER_CUT else run_kills
    with pytest.raises(Lost):
        run(60, "fault", tmp_path, fault)
