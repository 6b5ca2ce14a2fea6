"""No acknowledged update is lost or learned twice after kills, power cuts and faults.

A few of each; ``make crash`` does a thousand.
"""

import shutil
import sys

import pytest
from crash import run_backups, run_kills, run_power, run_steps
from faults import FAULTS, NEED_POWER_CUT, NEED_STEPS
from forked_server import Lost

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks and preloads, as Linux does")
compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="the shim is compiled: needs g++")


def test_a_killed_server_loses_nothing(tmp_path):
    result = run_kills(20, "test", tmp_path)
    assert result["acknowledged"] > 100


@compiler
def test_a_power_cut_loses_no_acknowledged_update(tmp_path):
    result = run_power(12, "test", tmp_path)
    assert result["acknowledged"] > 50


def test_a_backup_made_under_load_can_be_restored(tmp_path):
    result = run_backups(5, "test", tmp_path)
    assert result["acknowledged"] > 100


def test_a_kill_at_any_line_of_a_snapshot_loses_nothing(tmp_path):
    result = run_steps(40, "test", tmp_path)
    assert result["times"] > 5


@compiler
@pytest.mark.parametrize("fault", FAULTS)
def test_crash_tests_detect(fault, tmp_path):
    run = run_power if fault in NEED_POWER_CUT else run_kills
    with pytest.raises(Lost):
        if fault in NEED_STEPS:
            run_steps(5, "fault", tmp_path, fault)
        else:
            run(60, "fault", tmp_path, fault)
