"""Start servers by forking from a process that has imported everything.

A line of JSON on stdin starts a server; a line of JSON on stdout reports its process and port, or
the error. Faults (see faults.py) are injected by name, in the child only.
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


def report(**facts):
    os.write(1, (json.dumps({"pid": os.getpid(), **facts}) + "\n").encode())


def child(asked):
    journal.CHECKPOINT = 20  # pages: checkpoint the write-ahead log often
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
    run(plan, lambda address, server: report(port=int(address.rpartition(":")[2])))


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # do not keep zombies
    for line in sys.stdin:
        if os.fork():
            continue
        os.close(0)
        code = 0
        try:
            child(json.loads(line))
        except BaseException as error:
            report(error=f"{type(error).__name__}: {error}")
            code = 1
        os._exit(code)


if __name__ == "__main__":
    main()
