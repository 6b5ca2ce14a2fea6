"""Requests made up from the OpenAPI description, right and wrong ones: no 500, no hang, no growth.

``python tests/serve/fuzz.py --cases 10000``. Every answer must be one that the description knows:
its status, its content type and its shape.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import schemathesis
from crash import Zygote, kill
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
SLOWEST = 5.0  # seconds for one answer


def fuzz(cases, folder, model="PA-I"):
    """Send about this many requests; return how many, and the growth of memory in MiB."""
    zygote = Zygote()
    try:
        pid, port = zygote.start(model=model, data=str(folder), params={"max_features": 2000})
        try:
            schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{port}/openapi.json")
            calls = [r.ok() for r in schema.exclude(path="/events").get_all_operations()]
            send_all(calls, cases // 10)  # what a server needs once it works
            before = memory(pid)
            return send_all(calls, cases), memory(pid) - before
        finally:
            kill(pid)
    finally:
        zygote.close()


def send_all(calls, cases):
    """Send about this many requests, most of them to calls that have a body."""
    shares = {call.label: 8 if call.body else 1 for call in calls}
    unit = cases / sum(shares.values()) / 2
    return sum(
        run(call, mode, max(1, round(shares[call.label] * unit)))
        for call in calls
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    )


def run(call, mode, examples):
    """Send the requests of one call."""
    count = 0

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=call.as_strategy(generation_mode=mode))
    def send(case):
        nonlocal count
        count += 1
        begin = time.monotonic()
        case.call_and_validate(checks=CHECKS, timeout=20)
        assert time.monotonic() - begin < SLOWEST, case

    try:
        send()
    except Exception as error:
        if type(error).__name__ != "Unsatisfiable":  # a call without parameters has no wrong ones
            raise
    return count


def memory(pid):
    """Return the memory of a process in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000)
    cases = parser.parse_args().cases
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        count, growth = fuzz(cases, Path(folder))
    print(f"{count:,} cases in {time.monotonic() - start:.0f} s, {growth:.0f} MiB more memory")


if __name__ == "__main__":
    main()
