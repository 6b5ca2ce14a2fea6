"""Valid and invalid requests generated from the OpenAPI description: no 500, no hang, no growth.

``python tests/serve/fuzz.py --cases 10000``. Status, content type and shape of each answer
must be in the description.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

import httpx
import hypothesis
import schemathesis
from forked_server import Zygote, kill
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
CLASSES, FEATURES = 100, 500  # of the model when memory is measured first
GROWTH = 8.0  # MiB: the allocator's, and the history of the page
WEIGHT = 8  # requests to a call with a body for each one to another call


def fuzz(cases, folder, model="StreamClassifier"):
    """Send at least this many requests; return how many, and the growth of memory in MiB."""
    zygote = Zygote()
    try:
        size = {"params": {"max_features": FEATURES}, "limits": {"classes": CLASSES}}
        pid, port = zygote.start(model=model, data=str(folder), **size)
        try:
            address = f"http://127.0.0.1:{port}"
            schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
            calls = [r.ok() for r in schema.exclude(path="/events").get_all_operations()]
            fill(address)
            send_all(calls, cases // 10, seed=0)  # what a server needs once it works
            before = memory(pid)
            return send_all(calls, cases, seed=1), memory(pid) - before
        finally:
            kill(pid)
    finally:
        zygote.close()


def fill(address):
    """Learn the maximum number of classes and features, then copy the model as snapshots do."""
    updates = [
        {"features": {f"n{k}-{j}": 1.0 for j in range(FEATURES // CLASSES)}, "label": f"class {k}"}
        for k in range(CLASSES)
    ]
    with httpx.Client(base_url=address, timeout=20) as client:
        client.post("/learn", json=updates).raise_for_status()
        client.post("/model/snapshot").raise_for_status()
        client.get("/model/file").raise_for_status()
        facts = client.get("/model").json()
    assert len(facts["classes"]) == CLASSES and facts["features"] == FEATURES


def send_all(calls, cases, seed):
    """Send at least this many requests, most of them to calls that have a body."""
    shares = {call.label: WEIGHT if call.body else 1 for call in calls}
    unit, count = cases / sum(shares.values()) / 2, 0
    while count < cases:  # a call without parameters makes one request, whatever it is asked for
        for call in calls:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                count += run(call, mode, max(1, round(shares[call.label] * unit)), seed)
        seed, unit = seed + 1, max(unit / 4, 1)
    return count


def run(call, mode, examples, seed):
    """Send the requests of one call."""
    count = 0

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
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
    print(f"{count:,} cases in {time.monotonic() - start:.0f} s, {growth:.1f} MiB more memory")
    assert growth < GROWTH, growth


if __name__ == "__main__":
    main()
