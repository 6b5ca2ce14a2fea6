"""A demonstration: delayed labels, and a concept that changes half-way.

``python examples/serve/demo.py`` starts a server in a temporary folder and sends it purchases to
classify as fraud or not, and the label of each some seconds later. After half of the time the
fraudsters change their behaviour: the error rises, drift is reported, and the model adapts.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from typing import Any

from aggro.serve import Client

WORDS = ("books", "garden", "music", "phones", "shoes", "toys", "travel", "wine")
RATE = 150  # purchases a second
DELAY = (1.0, 6.0)  # seconds until the label is known


def purchase(rng: random.Random, changed: bool) -> tuple[dict[str, Any], str]:
    """Return a purchase and its label, before or after the change of the concept."""
    x: dict[str, Any] = {
        "amount": round(math.exp(rng.gauss(3.0, 1.0)) / 40, 3),
        "night": float(rng.random() < 0.35),
        "new_device": float(rng.random() < 0.3),
        "distance": round(rng.expovariate(1.2), 3),
        "shop": rng.choice(WORDS),
    }
    before = 1.2 * x["amount"] + 1.6 * x["night"] + 1.2 * (x["shop"] == "phones") - 1.9
    after = 1.4 * x["distance"] + 1.6 * x["new_device"] - 1.5 * x["night"]
    after += 1.3 * (x["shop"] == "travel") - 1.7
    score = (after if changed else before) + rng.gauss(0, 0.35)
    return x, "fraud" if score > 0 else "fine"


def stream(client: Client, seconds: float, rate: float = RATE, seed: int = 0) -> None:
    """Send purchases for some seconds, and their labels with a delay."""
    rng = random.Random(seed)
    waiting: deque[tuple[float, str, str]] = deque()
    start = time.monotonic()
    sent = 0
    while (now := time.monotonic() - start) < seconds:
        due = int(now * rate) - sent
        if due > 0:
            pairs = [purchase(rng, now > seconds / 2) for _ in range(due)]
            answers = client.predict_many([x for x, _ in pairs])
            for answer, (_, label) in zip(answers, pairs, strict=True):
                waiting.append((now + rng.uniform(*DELAY), answer["id"], label))
            sent += due
        waiting = deque(sorted(waiting))
        known: dict[str, str] = {}
        while waiting and waiting[0][0] <= now:
            _, id, label = waiting.popleft()
            known[id] = label
        if known:
            client.label_many(known)
        client.predict(purchase(rng, now > seconds / 2)[0])
        time.sleep(0.05)


def main() -> None:
    """Start a server, print its address, send the stream."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="of the stream (120)")
    parser.add_argument("--port", type=int, default=8080)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # stop the server, too
    with tempfile.TemporaryDirectory() as folder:
        options = ["--probability", "--data", folder, "--port", str(args.port)]
        command = [sys.executable, "-m", "aggro.cli", "serve", *options]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        try:
            _send(server.stdout.readline(), args.seconds)
        except KeyboardInterrupt:
            print()
        finally:
            server.terminate()
            server.wait(timeout=30)
            server.stdout.close()


def _send(output: str, seconds: float) -> None:
    """Send the stream to the server whose first line of output is given."""
    found = re.match(r"serving (\S+)", output)
    if found is None:
        raise SystemExit(1)  # the server has printed the error
    address = found[1]
    print(f"open {address} in a browser; the concept changes after {seconds / 2:.0f} s", flush=True)
    with Client(address) as client:
        stream(client, seconds)
        facts = client.model()
    print(f"{facts['examples']:,} examples learned, {facts['mistakes']:,} mistakes before each")


if __name__ == "__main__":
    main()
