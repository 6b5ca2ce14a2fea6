"""Starts servers by forking: a process that has imported all, so that a start takes no time.

A line of JSON on stdin starts a server; a line of JSON on stdout tells its process and port, or
why it could not start. Faults (see faults.py) are put in by name, in the child alone.
"""

import json
import os
import signal
import sys
from pathlib import Path

import crash_steps
from faults import FAULTS

from aggro.serve import journal
from aggro.serve.config import Limits, Plan, Retention
from aggro.serve.server import run


def tell(**facts):
    os.write(1, (json.dumps({"pid": os.getpid(), **facts}) + "\n").encode())


def child(asked):
    journal.CHECKPOINT = 20  # pages: the log moves to the table all the time
    if asked.get("fault"):
        FAULTS[asked["fault"]]()
    if asked.get("die_at"):
        crash_steps.die_at(*asked["die_at"])
    plan = Plan(
        model=asked["model"],
        data=Path(asked["data"]),
        port=0,
        params=asked.get("params", {}),
        limits=Limits(**asked.get("limits", {})),
        retention=Retention(**asked.get("retention", {})),
    )
    run(plan, lambda address, server: tell(port=int(address.rpartition(":")[2])))


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    for line in sys.stdin:
        if os.fork():
            continue
        os.close(0)
        code = 0
        try:
            child(json.loads(line))
        except BaseException as error:
            tell(error=f"{type(error).__name__}: {error}")
            code = 1
        os._exit(code)


if __name__ == "__main__":
    main()
