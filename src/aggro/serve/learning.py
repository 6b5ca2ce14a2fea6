"""Learning: the updates in the order of the journal, on the event loop.

The event loop owns the model, so a prediction never runs during an update. Updates are learned in
short slices, so that predictions do not wait for a long group.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

from aggro.persistence.record import Record
from aggro.serve.adapters import Adapter, as_label
from aggro.serve.messages import RequestError
from aggro.serve.monitoring import Evaluation, Stats
from aggro.serve.snapshots import Notes, resolve
from aggro.serve.writer import Outcome, Rejection, Row

SLICE = 0.001  # seconds of learning before other callbacks run
REMEMBERED = 10_000  # rejections; more than can wait at the same time
log = logging.getLogger("aggro.serve")
MODEL_ERRORS = (ValueError, TypeError, MemoryError)
T = TypeVar("T")


def call_model(method: Callable[[Any], T], x: Any) -> T:
    """Return what a method of the model returns for an example; raise RequestError if it fails."""
    try:
        return method(x)
    except MODEL_ERRORS as error:
        raise RequestError(422, str(error)) from error


def _labels_in(label: Any) -> frozenset[Any]:
    return label if isinstance(label, frozenset) else frozenset([label])


class Served(msgspec.Struct):
    """The answer that is stored with a prediction."""

    prediction: Any
    confidence: float | None
    version: int


class Learning:
    """A model that learns the rows of the journal, and the outcome of each."""

    def __init__(
        self,
        adapter: Adapter,
        input_type: Any,
        evaluation: Evaluation,
        version: int,
        checksum: int,
        max_classes: int,
    ) -> None:
        self.adapter, self.evaluation, self.max_classes = adapter, evaluation, max_classes
        self._classes = set(adapter.classes())  # learned ones; 1, 1.0 and true are the same
        self.version, self.checksum = version, checksum  # of the last row of the journal
        self.stats = Stats()
        self.on_rejection: Callable[[Rejection], None] = lambda rejection: None
        self.read = msgspec.msgpack.Decoder(input_type).decode
        self.after_turn: Callable[[], None] = lambda: None
        self._rows: deque[Row | Callable[[], None]] = deque()
        self._rejected: dict[int, str] = {}  # the latest ones, until the journal contains them
        self._working = False

    @property
    def behind(self) -> int:
        """Number of rows and answers that wait."""
        return len(self._rows)

    def learn(self, row: Row) -> None:
        """Learn the next row of the journal; a rejected one is counted and changes nothing else.

        A replay rejects what was rejected before, even for want of memory that is there now.
        """
        if row.rejected is not None:
            self.version, self.checksum = row.seq, row.checksum
            self._reject(row.seq, row.rejected)
            return
        x = self.read(row.features) if row.x is None else row.x
        label = as_label(msgspec.json.decode(row.label))
        output, confidence = self._before(x, row)
        reason = self._learn(row, x, label)
        self.version, self.checksum = row.seq, row.checksum
        if reason is not None:
            self._reject(row.seq, reason)
            return
        self.stats.counts["learned"] += 1
        self.evaluation.add(as_label(output), confidence, label, row.label.decode())
        if row.delay is not None:
            self.evaluation.delays.append(row.delay)

    def _learn(self, row: Row, x: Any, label: Any) -> str | None:
        """Learn an example; return why it was rejected, or None."""
        reason = self.check_class(label)
        if reason is not None:
            return reason
        try:
            self.adapter.learn(x, label, row.weight)
        except MODEL_ERRORS as error:
            return str(error) or "The example needs more memory than there is."
        except Exception:  # a rejected call leaves the model unchanged
            log.exception("example %d is rejected", row.seq)
            return "The model cannot learn this example."
        if not self.adapter.regression and row.weight > 0:
            self._classes |= _labels_in(label)
        return None

    def check_class(self, label: Any) -> str | None:
        """Return an error if the label would be one class too many, or None.

        Only learned classes count. Several requests may bring the last class at the same time, so
        this is checked when a request arrives and again when its turn comes.
        """
        if self.adapter.regression:
            return None
        new = _labels_in(label) - self._classes
        if not new or len(self._classes) + len(new) <= self.max_classes:
            return None
        return f"There are {self.max_classes:,} classes already."

    def _reject(self, seq: int, reason: str) -> None:
        self.stats.counts["rejected"] += 1
        self._rejected[seq] = reason
        if len(self._rejected) > REMEMBERED:
            del self._rejected[next(iter(self._rejected))]
        self.on_rejection(Rejection(seq, reason))

    def _before(self, x: Any, row: Row) -> tuple[Any, float | None]:
        """Return the served prediction and confidence, or the current prediction."""
        if row.served is not None:
            served = msgspec.json.decode(row.served, type=Served)
            return served.prediction, served.confidence
        try:
            return self.adapter.predict_value(x), None
        except MODEL_ERRORS:
            return None, None

    def rejection_of(self, seq: int) -> str | None:
        """Return why the model rejected a recent row; None if it was learned."""
        return self._rejected.get(seq)

    # -- in turns -------------------------------------------------------------------------------

    def take(self, outcomes: list[Outcome], answer: asyncio.Future[list[Outcome]]) -> None:
        """Queue the rows among the outcomes; set them as the answer when they are learned."""
        self._rows.extend([each for each in outcomes if isinstance(each, Row)])
        self._rows.append(partial(resolve, answer, outcomes))
        if not self._working:  # otherwise a slice is already scheduled
            self._working = True
            asyncio.get_running_loop().call_soon(self._work)

    def _work(self) -> None:
        until = time.perf_counter() + SLICE
        try:
            while self._rows and time.perf_counter() < until:
                each = self._rows.popleft()
                if isinstance(each, Row):
                    self.learn(each)
                else:
                    each()
        finally:
            self._working = bool(self._rows)
            if self._working:
                asyncio.get_running_loop().call_soon(self._work)
        self.after_turn()

    def freeze(self, recorded: int = 0) -> tuple[Callable[[], Record], int, Notes]:
        """Return a copy of the model, its last row, and the notes of a snapshot.

        The journal contains the rejections up to ``recorded``.
        """
        rejected = {seq: reason for seq, reason in self._rejected.items() if seq > recorded}
        notes = Notes(self.checksum, copy.deepcopy(self.evaluation.totals), rejected)
        return self.adapter.freeze(), self.version, notes
