"""Configuration of the whole test suite."""

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

# A process started in the background ignores Ctrl-C and passes this on to its children.
# The tests of interrupts need the default handler.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Support modules that tests of several folders import.
sys.path += [str(Path(__file__).parent / folder) for folder in ("core", "estimators")]
