"""The one place that learns: examples in the order of the journal, on the event loop.

The event loop owns the model. A prediction runs between two lessons, never beside one; lessons
are taken in short slices, so that predictions do not wait for a long group.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from aggro.persistence.record import Record
from aggro.serve.entries import Outcome, Refusal, Row
from aggro.serve.faces import Face, Said
from aggro.serve.pulse import Pulse
from aggro.serve.snapshots import Notes
from aggro.serve.tallies import Tallies

SLICE = 0.001  # seconds of learning before others have their turn
REMEMBERED = 10_000  # refusals; more than can wait at once
log = logging.getLogger("aggro.serve")
REFUSALS = (ValueError, TypeError, MemoryError)


class Served(msgspec.Struct):
    """What was answered, as it is kept with a prediction."""

    prediction: Any
    confidence: float | None
    version: int


class Caller(msgspec.Struct, gc=False):
    """Somebody who waits until some rows are learned."""

    outcomes: list[Outcome]
    answer: Callable[[list[Outcome]], None]


class Learning:
    """A model that learns the rows of the journal, and what became of each."""

    def __init__(
        self,
        face: Face,
        input_type: Any,
        tallies: Tallies,
        version: int,
        checksum: int,
        max_classes: int,
    ) -> None:
        self.face, self.tallies, self.max_classes = face, tallies, max_classes
        self._classes = set(face.classes())  # that were learned; 1, 1.0 and true are one class
        self.version, self.checksum = version, checksum  # of the last row of the journal
        self.pulse = Pulse()
        self.on_refusal: Callable[[Refusal], None] = lambda refusal: None
        self.read = msgspec.msgpack.Decoder(input_type).decode
        self.after_turn: Callable[[], None] = lambda: None
        self._rows: deque[Row | Caller] = deque()
        self._refused: dict[int, str] = {}  # the latest ones, until the journal knows them
        self._working = False

    @property
    def behind(self) -> int:
        """Rows and answers that wait for their turn."""
        return len(self._rows)

    def predict(self, x: Any) -> Said:
        """Say what the model thinks now."""
        return self.face.predict(x)

    def learn(self, row: Row) -> None:
        """Learn the next row of the journal; a rejected one counts, and changes no model.

        A replay rejects what was rejected before, even for want of memory that is there now.
        """
        if row.refused is not None:
            self.version, self.checksum = row.seq, row.checksum
            self._refuse(row.seq, row.refused)
            return
        x = self.read(row.features) if row.x is None else row.x
        label = msgspec.json.decode(row.label)
        said, confidence = self._before(x, row)
        reason = self._learn(row, x, label)
        self.version, self.checksum = row.seq, row.checksum
        if reason is not None:
            self._refuse(row.seq, reason)
            return
        self.pulse.counts["learned"] += 1
        self.tallies.judge(said, confidence, label, row.label.decode())
        if row.delay is not None:
            self.tallies.delays.append(row.delay)

    def _learn(self, row: Row, x: Any, label: Any) -> str | None:
        """Let the model learn an example; return why it was rejected, or None."""
        reason = self.check_class(label)
        if reason is not None:
            return reason
        try:
            self.face.learn(x, label, row.weight)
        except REFUSALS as error:
            return str(error) or "The example needs more memory than there is."
        except Exception:  # a rejected call leaves a model as it was, whatever the reason
            log.exception("example %d is rejected", row.seq)
            return "The model cannot learn this example."
        if not self.face.regression and row.weight > 0:
            self._classes.add(label)
        return None

    def check_class(self, label: Any) -> str | None:
        """Return why a label would be one class too many, or None.

        Only learned classes count. Several requests may bring the last class at the same time, so
        this is checked when a request arrives and again when its turn comes.
        """
        if self.face.regression or label in self._classes or len(self._classes) < self.max_classes:
            return None
        return f"There are {self.max_classes:,} classes already."

    def _refuse(self, seq: int, reason: str) -> None:
        self.pulse.counts["refused"] += 1
        self._refused[seq] = reason
        if len(self._refused) > REMEMBERED:
            del self._refused[next(iter(self._refused))]
        self.on_refusal(Refusal(seq, reason))

    def _before(self, x: Any, row: Row) -> tuple[Any, float | None]:
        """Return what was served, or what the model would say before it learns."""
        if row.served is not None:
            served = msgspec.json.decode(row.served, type=Served)
            return served.prediction, served.confidence
        try:
            return self.face.guess(x), None
        except REFUSALS:
            return None, None

    def refusal_of(self, seq: int) -> str | None:
        """Return why the model refused a row of late; None if it has learned it."""
        return self._refused.get(seq)

    # -- in turns -------------------------------------------------------------------------------

    def take(self, outcomes: list[Outcome], answer: Callable[[list[Outcome]], None]) -> None:
        """Learn the rows among the outcomes when it is their turn; then call ``answer``."""
        self._rows.extend([each for each in outcomes if isinstance(each, Row)])
        self._rows.append(Caller(outcomes, answer))
        if not self._working:  # a group of many callers shares the slices, too
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
                    each.answer(each.outcomes)
        finally:
            self._working = bool(self._rows)
            if self._working:
                asyncio.get_running_loop().call_soon(self._work)
        self.after_turn()

    def freeze(self, recorded: int = 0) -> tuple[Callable[[], Record], int, Notes]:
        """Return a copy of the model, the last row that it holds, and what belongs to it.

        The journal knows the rejected rows up to ``recorded``.
        """
        rejected = {str(seq): why for seq, why in self._refused.items() if seq > recorded}
        notes = Notes(self.checksum, copy.deepcopy(self.tallies.totals), rejected)
        return self.face.freeze(), self.version, notes
