"""The operations of the server, independent of HTTP: predict, learn, label, explain."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

from aggro.serve import calls, messages
from aggro.serve.adapters import Adapter, adapter_for, as_label
from aggro.serve.config import Limits, Retention
from aggro.serve.folder import lock
from aggro.serve.journal import Journal
from aggro.serve.learning import Learning, Served, call_model
from aggro.serve.messages import RequestError
from aggro.serve.monitoring import Evaluation, Totals
from aggro.serve.snapshots import Notes, Snapshot, Snapshots, SnapshotScheduler, resolve
from aggro.serve.writer import (
    DelayedLabel,
    Duplicate,
    Entry,
    Example,
    Found,
    Ids,
    Lookup,
    Outcome,
    Prediction,
    Rejected,
    Row,
    Writer,
)

SHARE = 0.5  # of the queue for predictions, so that updates are not rejected first
SLICE = 0.002  # seconds of a batch before other requests run
EXPLAINED = 200_000  # features × classes of an explanation: some hundredths of a second
encode = msgspec.json.Encoder().encode
pack = msgspec.msgpack.Encoder().encode  # half the size of JSON, in a quarter of the time

Written = Callable[[list[Outcome], asyncio.Future[list[Outcome]]], None]


class Service:
    """One model in one folder: the folder's model, or a new one."""

    def __init__(
        self, folder: Path, model: Any, origin: str | None, limits: Limits, retention: Retention
    ) -> None:
        self.limits, self.retention, self.folder = limits, retention, folder
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as undo:
            self._lock = undo.enter_context(lock(folder))
            self.journal = undo.enter_context(contextlib.closing(Journal(folder, retention)))
            self._start(model, origin)
            undo.pop_all()

    def _start(self, model: Any, origin: str | None) -> None:
        """Load or create the model and replay the journal."""
        limits, retention = self.limits, self.retention
        self.snapshots = Snapshots(self.folder)
        self.snapshots.remove_unfinished()
        begin = self._begin(model, origin)
        adapter, notes, saved = adapter_for(begin.model), begin.notes, begin.seq
        evaluation = Evaluation(adapter.regression, notes.totals)
        self.learning = Learning(
            adapter, adapter.input_type(limits), evaluation, saved, notes.checksum, limits.classes
        )
        self.replayed = self._replay(begin)
        self.journal.accept()
        self.writer = Writer(self.journal, limits.waiting)
        self.stopping, self.ids = False, Ids()
        self.scheduler = SnapshotScheduler(
            self.snapshots, self.learning, self.writer, retention, saved
        )
        self.learning.after_turn = self.scheduler.save_if_due

    def _begin(self, model: Any, origin: str | None) -> Snapshot:
        """Return the newest snapshot; write the first one if there is none."""
        known = self.journal.fact("origin")
        if origin is not None and known not in (None, origin):
            raise ValueError(
                f"{self.folder} belongs to a model that began as {known}, not as {origin}. Give "
                "the same model or none, or another folder."
            )
        found = self.snapshots.newest(self.journal)
        if found is not None:
            return found
        if origin is None:
            raise ValueError(f"{self.folder} holds no model yet: give a model file or a variant.")
        if getattr(model, "random_state", 0) is None:  # a replay needs the same random numbers
            model.random_state = secrets.randbelow(2**31)
        adapter = adapter_for(model)  # raises before anything is written
        self.journal.set_fact("origin", origin)
        notes = Notes(self.journal.checksum, Totals(), {})
        self.snapshots.write(adapter.freeze(), 0, notes)
        return Snapshot(0, model, notes)

    def _replay(self, begin: Snapshot) -> int:
        """Learn the examples after the snapshot; return their number."""
        rejections: list[Entry] = [*begin.notes.rejections()]
        self.learning.on_rejection = rejections.append
        count = 0
        for row in self.journal.rows_after(begin.seq):
            self.learning.learn(row)
            count += 1
        if rejections:
            self.journal.write(rejections)
        self.learning.on_rejection = lambda rejection: self.writer.submit([rejection])
        return count

    # -- predictions ----------------------------------------------------------------------------

    def predict_one(self, asked: Any) -> calls.Answer:
        """Predict, and store the example for its label unless the queue is too long."""
        stored = self._keeps(1)
        answer, entry = self._predict(asked, stored, time.time())
        self._count([entry] if stored else [], 1)
        return answer

    async def predict(self, asked: list[Any]) -> bytes:
        """Predict a batch; return the JSON of its answers."""
        stored, now = self._keeps(len(asked)), time.time()
        answers: list[bytes] = []
        entries: list[Entry] = []
        async for one in in_slices(asked):
            answer, entry = self._predict(one, stored, now)
            answers.append(encode(answer))  # encoding is slower than scoring
            if stored:
                entries.append(entry)
        self._count(entries, len(asked))
        return b"[%b]" % b",".join(answers)

    async def infer(self, xs: list[Any]) -> list[Any]:
        """Predict examples; store nothing."""
        predict = self.learning.adapter.predict_value
        values = [call_model(predict, x) async for x in in_slices(xs)]
        self.learning.stats.counts["predictions"] += len(values)
        return values

    def _keeps(self, count: int) -> bool:
        return self.retention.predictions > 0 and self.writer.fits(count, SHARE)

    def _predict(self, one: Any, stored: bool, now: float) -> tuple[calls.Answer, Prediction]:
        learning = self.learning
        x = getattr(one, learning.adapter.field)
        output, version = call_model(learning.adapter.predict, x), learning.version
        id, new = one.id or self.ids.new(), one.id is None
        served = encode(Served(output.prediction, output.confidence, version))
        entry = Prediction(id, now, pack(x), served, new)
        return calls.answer_of(id, output, version, stored), entry

    def _count(self, entries: list[Entry], asked: int) -> None:
        counts = self.learning.stats.counts
        counts["predictions"] += asked
        if entries:
            self.writer.submit(entries)
        else:
            counts["not_stored"] += asked

    # -- updates --------------------------------------------------------------------------------

    def example_record(self, one: Any) -> Example:
        """Return the record of an example with its label."""
        x = getattr(one, self.learning.adapter.field)
        id, label, new = one.id or self.ids.new(), self._label(one.label), one.id is None
        return Example(id, label, one.weight, pack(x), new, x)

    def label_record(self, one: Any) -> DelayedLabel:
        """Return the record of a prediction's label."""
        return DelayedLabel(one.id, self._label(one.label), one.weight)

    def _label(self, label: Any) -> bytes:
        """Return the label in JSON; raise RequestError if it is one class too many."""
        if self.learning.adapter.regression:
            return encode(float(label))
        too_many = self.learning.check_class(as_label(label))
        if too_many is not None:
            raise RequestError(422, too_many)
        return encode(sorted(set(label), key=encode) if isinstance(label, list) else label)

    async def update(self, entries: list[Entry]) -> list[calls.Receipt]:
        """Learn records; return their receipts when they are on disk and in the model."""
        outcomes = await self._written(entries, self.learning.take)
        return [self._receipt(outcome) for outcome in outcomes]

    def _written(self, entries: list[Entry], then: Written) -> asyncio.Future[list[Outcome]]:
        """Write entries unless the queue is full; call ``then`` with the outcomes and a future."""
        if self.stopping:
            raise RequestError(503, messages.STOPPING, retry_after=1)
        if not self.writer.fits(len(entries)):
            raise RequestError(429, messages.BUSY, retry_after=1)
        answer: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()

        def done(outcomes: list[Outcome], error: Exception | None) -> None:
            if error is None:
                then(outcomes, answer)
            else:
                resolve(answer, RequestError(503, messages.NO_DISK, retry_after=1))

        self.writer.submit(entries, done)
        return answer

    def _receipt(self, outcome: Outcome) -> calls.Receipt:
        counts, version = self.learning.stats.counts, self.version
        if isinstance(outcome, Rejected):
            counts["unknown" if outcome.status == 404 else "conflicts"] += 1
            error = messages.REJECTED[outcome.status]
            return calls.Receipt(outcome.id, outcome.status, version, error=error)
        assert isinstance(outcome, (Row, Duplicate))
        duplicate = isinstance(outcome, Duplicate)
        counts["duplicates"] += duplicate
        rejected = outcome.rejected or self.learning.rejection_of(outcome.seq)
        return calls.Receipt(outcome.id, 422 if rejected else 200, version, duplicate, rejected)

    @property
    def version(self) -> int:
        """The sequence number of the last example in the model."""
        return self.learning.version

    # -- explanations ---------------------------------------------------------------------------

    async def explain(self, id: str) -> calls.Explanation:
        """Explain what the current model predicts for a stored prediction."""
        (found,) = await self._written(
            [Lookup(id)], lambda outcomes, answer: resolve(answer, outcomes)
        )
        if not isinstance(found, Found):
            raise RequestError(404, messages.REJECTED[404])
        adapter = self.learning.adapter
        x = self.learning.read(found.features)
        if adapter.work_of_explaining(x) > EXPLAINED:
            raise RequestError(
                422,
                f"An explanation has at most {EXPLAINED:,} features times classes, or 79 columns "
                "with non-linear features.",
            )
        decomposition = call_model(adapter.explain, x)
        served = found.served and msgspec.json.decode(found.served, type=Served)
        parts = sorted(decomposition.contributions, key=lambda part: -abs(part[2]))
        return calls.Explanation(
            id=id,
            label=decomposition.label,
            score=decomposition.score,
            intercept=decomposition.intercept,
            contributions=[calls.Part(*part) for part in parts[: calls.MOST_PARTS]],
            version=self.version,
            served=served.prediction if served else None,
            served_version=served.version if served else None,
        )

    # -- the end --------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Learn all accepted updates, write a snapshot, close the journal."""
        self.stopping = True
        while self.writer.waiting or self.learning.behind:
            await asyncio.sleep(0.005)
        with contextlib.suppress(RequestError):  # the journal contains all updates
            await self.scheduler.save()
        await self.writer.stop()
        self.journal.close()
        self._lock.close()

    # -- what is shown --------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return facts about the model."""
        adapter = self.learning.adapter
        return {
            "model": type(adapter.model).__name__,
            "input": adapter.field,
            "task": _task(adapter),
            **adapter.facts(),
            "classes": adapter.classes(),
            "examples": self.learning.evaluation.totals.examples,
            "version": self.version,
            "snapshot": self.scheduler.saved,
        }

    def disk(self) -> dict[str, int]:
        """Return the size of the queue and of the files."""
        size = 0
        for path in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # renamed or removed meanwhile
                size += path.stat().st_size
        return {
            "pending": self.journal.pending,
            "waiting": self.writer.waiting,
            "bytes": size,
        }


def _task(adapter: Adapter) -> str:
    if adapter.regression:
        return "regression"
    return "multilabel" if adapter.several else "classification"


async def in_slices(items: list[Any]) -> AsyncIterator[Any]:
    """Yield items; let other requests run after each slice of time."""
    until = time.perf_counter() + SLICE
    for item in items:
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE
        yield item
