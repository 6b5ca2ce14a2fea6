"""``python -m benchmarks.serve``: the server under load, compared with Flask and river.

Server and client use loopback, each on a core of its own if there are two. The servers are measured
in turns, and the best turn counts, so that other load affects all of them equally.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.report import machine
from benchmarks.serve_load import Load, measure, post

FEATURES, ROWS, BATCH = 20, 2000, 100
LEARNS = 2000  # durable updates a second, while predictions are timed
SOAK = 250  # predictions a second in the soak, and as many updates
LEARNED = 2.0  # seconds of updates before anything is measured
SAMPLE = 10  # seconds between two measurements of the memory


def make_requests():
    """Return requests of each kind, equal for all servers."""
    rng = np.random.default_rng(0)
    names = [f"feature_{j}" for j in range(FEATURES)]
    xs = [dict(zip(names, row, strict=True)) for row in rng.normal(size=(ROWS, FEATURES)).tolist()]
    asks = [{"features": x} for x in xs]
    updates = [{"features": x, "label": bool(x["feature_0"] > 0)} for x in xs]
    groups = range(0, ROWS, BATCH)

    def bodies(path, rows):
        return [post(path, json.dumps(row).encode()) for row in rows]

    return {
        "predict": bodies("/predict", asks),
        "learn": bodies("/learn", updates),
        "predict 100": bodies("/predict", [asks[i : i + BATCH] for i in groups]),
        "learn 100": bodies("/learn", [updates[i : i + BATCH] for i in groups]),
    }


# -- servers ------------------------------------------------------------------------------------


@contextlib.contextmanager
def process(command, **env):
    """Run a server in a separate process and folder."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        words = [word.format(port=port, folder=folder) for word in command]
        given = {**os.environ, **{k: v.format(folder=folder) for k, v in env.items()}}
        server = subprocess.Popen(
            words, env=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_for(port)
            yield server.pid, port
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=60)


def aggro(*model):
    """``aggro serve``, with the self-tuning model by default."""
    options = ["--port", "{port}", "--data", "{folder}/data"]
    return process([sys.executable, "-m", "aggro.cli", "serve", *model, *options])


def flask(store, server):
    """Run Flask and river, under werkzeug like chantilly, or under gunicorn."""
    commands = {
        "werkzeug": ["flask", "--app", "benchmarks.serve_flask", "run", "--port", "{port}"],
        "gunicorn": ["gunicorn", "-b", "127.0.0.1:{port}", "-k", "gthread", "--threads", "1",
                     "--keep-alive", "60", "benchmarks.serve_flask:app"],
    }  # fmt: skip
    return process([sys.executable, "-m", *commands[server]], STORE=store, FOLDER="{folder}")


def processor_seconds(pid):
    """Return the processor time of a server and its workers, which excludes waiting."""
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    total = 0
    for each in [str(pid), *listed.stdout.split()]:
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def free_port():
    """Return a free port."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def wait_for(port):
    """Wait until a server answers; some listen before they are ready."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as line:
            line.settimeout(10)
            line.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            if line.recv(100):
                return
        time.sleep(0.1)
    raise RuntimeError("the server does not answer")


# -- measurements ----------------------------------------------------------------------------------

OURS = "aggro serve"
SERVERS = {
    OURS: aggro,
    "aggro serve PA-I": lambda: aggro("PA-I"),
    "Flask + river, werkzeug, shelf": lambda: flask("shelve", "werkzeug"),
    "Flask + river, gunicorn, shelf": lambda: flask("shelve", "gunicorn"),
    "Flask + river, gunicorn, synced": lambda: flask("sqlite", "gunicorn"),
}
KINDS = {  # examples per request, and connections
    "predict": (1, 16),
    "learn": (1, 64),
    "predict 100": (BATCH, 4),
    "learn 100": (BATCH, 8),
}


def throughput(seconds, turns):
    """Return examples per second and latencies of each kind for each server."""
    requests, rows = make_requests(), {}
    for _ in range(turns):
        for name, start in SERVERS.items():
            with start() as (pid, port):
                measure([Load(port, requests["learn"], 64)], LEARNED)
                for kind, (size, connections) in KINDS.items():
                    if size > 1 and not name.startswith(OURS):
                        continue  # one example per request only
                    measure([Load(port, requests[kind], connections)], 0.5)
                    before = processor_seconds(pid)
                    (seen,) = measure([Load(port, requests[kind], connections)], seconds)
                    spent = processor_seconds(pid) - before
                    row = {
                        "server": name,
                        "kind": kind,
                        "per_second": seen.rate * size,
                        "microseconds": 1e6 * spent / len(seen.latencies) / size,
                        "p50": seen.percentile(0.5),
                        "p99": seen.percentile(0.99),
                        "failed": seen.failed,
                    }
                    best = rows.get((name, kind), row)
                    rows[name, kind] = max(best, row, key=lambda each: each["per_second"])
    return list(rows.values())


def together(seconds):
    """Return the latency of predictions while durable updates arrive at a steady rate."""
    requests = make_requests()
    with aggro() as (_, port):
        learns = Load(port, requests["learn"], 64, rate=LEARNS)
        predicts = Load(port, requests["predict"], 8, rate=500)
        measure([Load(port, requests["learn"], 8)], 0.5)
        learned, predicted = measure([learns, predicts], seconds)
    return {
        "learns_per_second": learned.rate,
        "learn_p99": learned.percentile(0.99),
        "predicts_per_second": predicted.rate,
        "p50": predicted.percentile(0.5),
        "p99": predicted.percentile(0.99),
        "failed": learned.failed + predicted.failed,
    }


def soak(seconds):
    """Return the memory of the server during a moderate load, in MiB."""
    requests, memory, failed = make_requests(), [], 0
    with aggro() as (pid, port):
        for _ in range(max(4, round(seconds / SAMPLE))):
            loads = [Load(port, requests[kind], 4, rate=SOAK) for kind in ("predict", "learn")]
            failed += sum(seen.failed for seen in measure(loads, SAMPLE))
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            memory.append(round(pages * resource.getpagesize() / 2**20, 2))
            print(f"{len(memory) * SAMPLE} s: {memory[-1]} MiB", file=sys.stderr, flush=True)
        share = processor_seconds(pid) / (len(memory) * SAMPLE)
    return {"mebibytes": memory, "failed": failed, "share": share}


def main():
    """Measure, print, save."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each load")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--soak", type=float, default=60.0, help="seconds of the soak")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--docs", metavar="FILE", help="put the table into a page")
    parser.add_argument("--only", choices=("load", "soak"), help="the default is both")
    args = parser.parse_args()
    found, texts = {"machine": machine()}, {}
    if args.only != "soak":
        found["throughput"] = throughput(args.seconds, args.turns)
        found["together"] = together(4 * args.seconds)
        texts["load"] = table(found["throughput"], found["together"], args.seconds, args.turns)
    if args.only != "load":
        found["soak"] = soak(args.soak)
        texts["soak"] = curve(**found["soak"])
    print(*texts.values(), sep="\n")
    if shutil.which("vw") is None:
        print("Vowpal Wabbit's daemon is left out: there is no program vw (its wheel has none).")
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=1) + "\n")
    if args.docs:
        write_docs(texts, Path(args.docs))


def table(rows, both, seconds, turns):
    """Return the results under load as Markdown."""
    ours = {row["kind"]: row for row in rows if row["server"] == OURS}
    head = "| server | call | examples/s | p50 ms | p99 ms | CPU µs | aggro: × examples/s | × CPU |"
    lines = [head, "|---|---|--:|--:|--:|--:|--:|--:|"]
    for row in rows:
        cells = [row["server"], row["kind"], f"{row['per_second']:,.0f}", f"{row['p50']:.2f}"]
        cells += [f"{row['p99']:.2f}", f"{row['microseconds']:.0f}", *_ratios(row, ours)]
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        f"Measured on {time.strftime('%Y-%m-%d')}: best of {turns} runs of {seconds:g} s each.",
        "",
        f"While {both['learns_per_second']:,.0f} durable updates per second arrive one by one "
        f"(p99 {both['learn_p99']:.1f} ms), {both['predicts_per_second']:,.0f} predictions "
        f"per second take {both['p50']:.2f} ms (p50) and {both['p99']:.2f} ms (p99).",
    ]
    return "\n".join(lines)


def curve(mebibytes, failed, share):
    """Return the memory over time as a paragraph."""
    quarters, asked = np.array_split(mebibytes, 4), 2 * SOAK * SAMPLE * len(mebibytes)
    means = ", ".join(f"{np.mean(each):.1f}" for each in quarters)
    rest = mebibytes[len(quarters[0]) :]  # its caches are full after the first quarter
    hours = SAMPLE * np.arange(len(rest)) / 3600
    slope = np.polyfit(hours, rest, 1)[0]
    return (
        f"Memory over {len(mebibytes) * SAMPLE / 60:.0f} minutes of {SOAK} predictions and {SOAK} "
        f"updates per second ({share:.0%} of a core, {failed} of {asked:,} failed), mean of each "
        f"quarter in MiB: "
        f"{means}. After the first quarter it changes by {slope:+.1f} MiB per hour."
    )


def _ratios(row, ours):
    """Return the ratios of rate and CPU time of aggro serve: one by one, in batches of 100."""
    if row["server"].startswith(OURS):
        return ["", ""]
    mine = [ours[row["kind"]], ours[f"{row['kind']} 100"]]
    more = [f"{each['per_second'] / row['per_second']:.1f}" for each in mine]
    less = [f"{row['microseconds'] / each['microseconds']:.1f}" for each in mine]
    return [f"{more[0]}, in hundreds {more[1]}", f"{less[0]}, in hundreds {less[1]}"]


def write_docs(texts, page):
    """Put each text between its marks."""
    whole = page.read_text(encoding="utf-8")
    for name, text in texts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = whole.split(begin)
        whole = before + begin + text + "\n" + end + rest.split(end)[1]
    page.write_text(whole, encoding="utf-8")


if __name__ == "__main__":
    main()
