"""A server in a thread, and raw requests to it."""

import contextlib
import json
import socket
import threading
import time
from pathlib import Path

import httpx

from aggro.serve.config import Limits, Plan, Retention
from aggro.serve.server import run

DEMO = Path(__file__).parents[2] / "examples/serve/demo.py"


class Running:
    """A running server: its address, its service, and a client."""

    def __init__(self, address, server):
        self.address, self.server = address, server
        self.service = server.application.service
        self.port = int(address.rpartition(":")[2])
        self.http = httpx.Client(base_url=address, timeout=20)

    def post(self, path, body, **options):
        return self.http.post(path, json=body, **options)

    def learn(self, features, label, **more):
        return self.post("/learn", {"features": features, "label": label, **more})

    def raw(self, data, wait=5.0):
        """Send bytes; return everything until the server disconnects or is silent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as line:
            line.sendall(data)
            answer = b""
            with contextlib.suppress(TimeoutError, ConnectionError):
                while part := line.recv(65536):
                    answer += part
                    if b"\r\n\r\n" in answer and _is_whole(answer):
                        break
            return answer

    def alive(self):
        return self.http.get("/health").json() == {"live": True}


def _is_whole(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(body) >= int(line.split(b":")[1])
    return False


@contextlib.contextmanager
def running(folder, model="PA-I", *, limits=None, retention=None, params=None, **options):
    """Run a server in a thread; stop it as SIGTERM does."""
    found, failed, ready = [], [], threading.Event()

    def report(address, server):
        found.append(Running(address, server))
        ready.set()

    def serve():
        try:
            run(plan, report)
        except BaseException as error:
            failed.append(error)
            ready.set()

    plan = Plan(
        model=None if model is None else str(model),
        data=folder,
        port=0,
        params=params or {},
        limits=Limits(**(limits or {})),
        retention=Retention(**(retention or {})),
        **options,
    )
    thread = threading.Thread(target=serve)
    thread.start()
    assert ready.wait(30)
    if failed:
        thread.join()
        raise failed[0]
    while not found[0].server.started and thread.is_alive():  # stop() has no effect before
        time.sleep(0.005)
    try:
        yield found[0]
    finally:
        found[0].http.close()
        found[0].server.stop()
        thread.join(30)
        assert not thread.is_alive()
    if failed:
        raise failed[0]


def request(method, path, body=b"", **headers):
    """Return a request as bytes."""
    given = {"host": "127.0.0.1", "content-length": str(len(body)), **headers}
    if body:
        given.setdefault("content-type", "application/json")
    lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in given.items()), "", ""]
    return "\r\n".join(lines).encode() + body


def status_of(answer):
    """Return the status of an answer in bytes; None if there was none."""
    return int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1.1 ") else None


def problem(answer):
    """Return the message of an error."""
    return json.loads(answer.content)["error"]["message"]
