"""Settings of the whole suite."""

import signal
import sys
import threading
from pathlib import Path

from hypothesis import HealthCheck, settings

settings.register_profile(
    "aggro",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("aggro")

# A suite that was started in the background inherits that Ctrl-C is ignored. The tests of
# interrupts, and the processes they start, need it to count.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Modules of one folder that tests of another share.
sys.path += [str(Path(__file__).parent / folder) for folder in ("core", "estimators")]
