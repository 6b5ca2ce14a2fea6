"""An HTTP load generator: many connections, and the latency of each response."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from functools import lru_cache

LENGTH = re.compile(rb"content-length: *(\d+)\r\n", re.IGNORECASE)
CLOSE = re.compile(rb"connection: *close\r\n", re.IGNORECASE)


@dataclass
class Measured:
    """Measurements of a load."""

    latencies: list[float] = field(default_factory=list)
    failed: int = 0
    seconds: float = 0.0

    @property
    def rate(self):
        """Responses per second."""
        return len(self.latencies) / self.seconds

    def percentile(self, share):
        """Return a percentile of the latencies in milliseconds."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def post(path, body):
    """Return a request as bytes."""
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


@lru_cache(64)
def read_head(head):
    """Return the length of a response, whether it succeeded, and whether the connection closes."""
    head += b"\r\n"
    return int(LENGTH.search(head)[1]), head[9:12] == b"200", bool(CLOSE.search(head))


class Line(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self, load):
        self.load, self.buffer, self.transport, self.sent = load, b"", None, 0.0

    def connection_made(self, transport):
        """Send the first request."""
        self.transport = transport
        self.load.idle(self)

    def send(self, request, due=None):
        """Send a request; its latency is measured from its scheduled time."""
        self.sent = due or time.perf_counter()
        self.transport.write(request)

    def data_received(self, data):
        """Record a complete answer; data without a request mean that the server disconnects."""
        if not self.sent:
            return
        self.buffer += data
        head, gap, body = self.buffer.partition(b"\r\n\r\n")
        if not gap:
            return
        length, good, last = read_head(head)
        if len(body) < length:
            return
        self.buffer = body[length:]
        self.load.answered(self, good, last)

    def connection_lost(self, error):
        """Connect again: some servers close the connection after each answer or when it is idle."""
        if self.load.going:
            self.load.lost(self)


class Load:
    """Requests for some seconds, one after another or at a steady rate per second."""

    def __init__(self, port, requests, connections, rate=None):
        self.port, self.requests, self.connections = port, requests, connections
        self.rate, self.measured, self.going = rate, Measured(), True
        self.place, self.free, self.due, self.tasks = 0, [], [], set()

    def next_request(self):
        """Return the next request, cyclically."""
        self.place += 1
        return self.requests[self.place % len(self.requests)]

    def idle(self, line):
        """Send the next request of a connection, if one is due."""
        if not self.going:
            return
        if self.rate is None:
            line.send(self.next_request())
        elif self.due:
            line.send(self.next_request(), self.due.pop(0))
        else:
            self.free.append(line)

    def answered(self, line, good, last):
        """Record an answer; open another connection after the last one of this one."""
        self.measured.latencies.append(time.perf_counter() - line.sent)
        line.sent = 0.0
        self.measured.failed += not good
        if last:
            line.transport.close()
        else:
            self.idle(line)

    def lost(self, line):
        """Reopen a closed connection."""
        if line in self.free:
            self.free.remove(line)
        loop = asyncio.get_running_loop()
        connect = loop.create_connection(lambda: Line(self), "127.0.0.1", self.port)
        task = loop.create_task(connect)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def run(self, seconds):
        """Load the server for some seconds."""
        loop = asyncio.get_running_loop()
        for _ in range(self.connections):
            await loop.create_connection(lambda: Line(self), "127.0.0.1", self.port)
        begin = time.perf_counter()
        given = 0
        while (now := time.perf_counter() - begin) < seconds:
            while self.rate is not None and given < now * self.rate:
                self.due.append(begin + given / self.rate)
                given += 1
                if self.free:
                    self.idle(self.free.pop())
            await asyncio.sleep(0.001 if self.rate else 0.05)
        self.going = False
        self.measured.seconds = time.perf_counter() - begin
        return self.measured


def measure(loads, seconds):
    """Run loads side by side; return the measurements of each."""
    import uvloop

    async def main():
        return await asyncio.gather(*(load.run(seconds) for load in loads))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        return loop.run(main())
