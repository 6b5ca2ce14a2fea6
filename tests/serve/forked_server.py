"""Servers in processes of their own: started quickly, and killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


class Lost(Exception):
    """A guarantee that does not hold."""


class Zygote:
    """Starts servers quickly; with a shim, under it."""

    def __init__(self, shim=None, root="", shadow=""):
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        if shim:
            env |= {"LD_PRELOAD": str(shim), "POWER_ROOT": str(root), "POWER_SHADOW": str(shadow)}
        command = [sys.executable, str(HERE / "zygote.py")]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=env, **pipes)

    def start(self, **asked):
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise Lost(f"the server does not start: {answer['error']}")
        return answer["pid"], answer["port"]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=10)


def kill(pid):
    """Kill -9, and wait until the process is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        for _ in range(2000):
            os.kill(pid, 0)
            time.sleep(0.002)
        raise Lost("the server cannot be killed")
