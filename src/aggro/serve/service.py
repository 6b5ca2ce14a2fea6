"""The verbs of the server: predict, learn, label, explain, snapshot. No HTTP here."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from aggro.serve import calls, errors
from aggro.serve.entries import (
    Again,
    Conflict,
    Entry,
    Found,
    Lesson,
    Outcome,
    Prediction,
    Question,
    Refusal,
    Row,
    Truth,
    Unknown,
)
from aggro.serve.errors import Refused
from aggro.serve.faces import face_of
from aggro.serve.ids import Ids
from aggro.serve.journal import Journal
from aggro.serve.learning import REFUSALS, Learning, Served
from aggro.serve.limits import Keeping, Limits
from aggro.serve.lock import lock
from aggro.serve.saver import Saver, settle
from aggro.serve.snapshots import Notes, Snapshot, Snapshots
from aggro.serve.tallies import Tallies, Totals
from aggro.serve.writer import Done, Writer

SHARE = 0.5  # of the queue that predictions may fill: lessons always have room
SLICE = 0.002  # seconds of a batch before others have their turn
EXPLAINED = 200_000  # features times classes of an explanation: some hundredths of a second
encode = msgspec.json.Encoder().encode
pack = msgspec.msgpack.Encoder().encode  # of features: half the size and a fourth of the time

Tell = Callable[[list[calls.Receipt] | Refused], None]


class Service:
    """One model in one folder: it continues there, or begins with the model that is given."""

    def __init__(
        self, folder: Path, model: Any, origin: str | None, limits: Limits, keeping: Keeping
    ) -> None:
        self.limits, self.keeping, self.folder = limits, keeping, folder
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as undo:
            self._lock = undo.enter_context(lock(folder))
            self.journal = undo.enter_context(contextlib.closing(Journal(folder, keeping)))
            self._go_on(model, origin)
            undo.pop_all()

    def _go_on(self, model: Any, origin: str | None) -> None:
        """Begin where the folder ends."""
        limits, keeping = self.limits, self.keeping
        self.snapshots = Snapshots(self.folder)
        self.snapshots.remove_unfinished()
        begin = self._begin(model, origin)
        face, notes, saved = face_of(begin.model), begin.notes, begin.seq
        tallies = Tallies(face.regression, notes.totals)
        self.learning = Learning(
            face, face.input_type(limits), tallies, saved, notes.checksum, limits.classes
        )
        self.replayed = self._replay(begin)
        self.journal.accept()
        self.writer = Writer(self.journal, limits.waiting)
        self.stopping, self.ids = False, Ids()
        self.saver = Saver(self.snapshots, self.learning, self.writer, keeping, saved)
        self.learning.after_turn = self.saver.save_if_due

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
        if getattr(model, "random_state", 0) is None:  # a replay must draw the same numbers
            model.random_state = secrets.randbelow(2**31)
        face = face_of(model)  # refuses what cannot be served before anything is written
        self.journal.set_fact("origin", origin)
        notes = Notes(self.journal.checksum, Totals(), {})
        self.snapshots.write(face.freeze(), 0, notes)
        return Snapshot(0, model, notes)

    def _replay(self, begin: Snapshot) -> int:
        """Learn what the snapshot does not hold; return how many examples that were."""
        rejected = begin.notes.rejected.items()
        refusals: list[Entry] = [Refusal(int(seq), why) for seq, why in rejected]
        self.learning.on_refusal = refusals.append
        count = 0
        for row in self.journal.rows_after(begin.seq):
            self.learning.learn(row)
            count += 1
        if refusals:
            self.journal.write(refusals)
        self.learning.on_refusal = self._note
        return count

    def _note(self, refusal: Refusal) -> None:
        self.writer.give([refusal])

    # -- predictions ----------------------------------------------------------------------------

    def predict_one(self, asked: Any) -> calls.Answer:
        """Predict, and keep the example for its truth if the journal has room."""
        kept = self._keeps(1)
        answer, entry = self._predict(asked, kept, time.time())
        self._count([entry] if kept else [], 1)
        return answer

    async def predict(self, asked: list[Any]) -> bytes:
        """Predict a batch; return the JSON of its answers."""
        kept, now = self._keeps(len(asked)), time.time()
        answers: list[bytes] = []
        entries: list[Entry] = []
        async for one in in_slices(asked):
            answer, entry = self._predict(one, kept, now)
            answers.append(encode(answer))  # here: many classes take longer to encode than to score
            if kept:
                entries.append(entry)
        self._count(entries, len(asked))
        return b"[%b]" % b",".join(answers)

    def _keeps(self, count: int) -> bool:
        return self.keeping.predictions > 0 and self.writer.has_room(count, SHARE)

    def _predict(self, one: Any, kept: bool, now: float) -> tuple[calls.Answer, Prediction]:
        learning = self.learning
        x = getattr(one, learning.face.field)
        said, version = learning.predict(x), learning.version
        id, new = one.id or self.ids.new(), one.id is None
        served = encode(Served(said.prediction, said.confidence, version))
        entry = Prediction(id, now, pack(x), served, new)
        return calls.answer_of(id, said, version, kept), entry

    def _count(self, entries: list[Entry], asked: int) -> None:
        counts = self.learning.pulse.counts
        counts["predictions"] += asked
        if entries:
            self.writer.give(entries)
        else:
            counts["not_kept"] += asked

    # -- lessons --------------------------------------------------------------------------------

    def lesson(self, one: Any) -> Lesson:
        """Return an example with its truth, as the journal takes it."""
        x = getattr(one, self.learning.face.field)
        id, label, new = one.id or self.ids.new(), self._label(one.label), one.id is None
        return Lesson(id, label, one.weight, pack(x), new, x)

    def truth(self, one: Any) -> Truth:
        """Return the truth of a prediction, as the journal takes it."""
        return Truth(one.id, self._label(one.label), one.weight)

    def _label(self, label: Any) -> bytes:
        """Return a label as the journal holds it; one class too many is rejected."""
        if self.learning.face.regression:
            return encode(float(label))
        too_many = self.learning.check_class(label)
        if too_many is not None:
            raise Refused(422, too_many)
        return encode(label)

    def teach(self, entries: list[Any], answer: Tell) -> None:
        """Learn lessons or truths; they are on the disk and in the model when ``answer`` is called.

        It gets a receipt for each, or one refusal of all.
        """
        self._write(entries, partial(self._written, answer))

    def _write(self, entries: list[Any], done: Done) -> None:
        """Write entries for a caller who waits, if there is room."""
        if self.stopping:
            raise Refused(503, errors.STOPPING, retry_after=1)
        if not self.writer.has_room(len(entries)):
            raise Refused(429, errors.BUSY, retry_after=1)
        self.writer.give(entries, done)

    def _written(self, answer: Tell, outcomes: list[Outcome], error: Exception | None) -> None:
        if error is None:
            self.learning.take(outcomes, partial(self._learned, answer))
        else:
            answer(Refused(503, errors.NO_DISK, retry_after=1))

    def _learned(self, answer: Tell, outcomes: list[Outcome]) -> None:
        answer([self._receipt(outcome) for outcome in outcomes])

    def _receipt(self, outcome: Outcome) -> calls.Receipt:
        counts, version = self.learning.pulse.counts, self.version
        if isinstance(outcome, Unknown):
            counts["unknown"] += 1
            return calls.Receipt(outcome.id, 404, version, error=errors.UNKNOWN)
        if isinstance(outcome, Conflict):
            counts["conflicts"] += 1
            return calls.Receipt(outcome.id, 409, version, error=errors.CONFLICT)
        assert isinstance(outcome, (Row, Again))
        refused, again = self.learning.refusal_of(outcome.seq), isinstance(outcome, Again)
        if isinstance(outcome, Again):
            counts["again"] += 1
            refused = outcome.refused or refused
        return calls.Receipt(outcome.id, 422 if refused else 200, version, again, refused)

    @property
    def version(self) -> int:
        """The sequence number of the last example in the model."""
        return self.learning.version

    # -- explanations ---------------------------------------------------------------------------

    async def explain(self, id: str) -> calls.Explanation:
        """Say why the model, as it is now, would answer as it does to a kept prediction."""
        found = await self._find(id)
        if not isinstance(found, Found):
            raise Refused(404, errors.UNKNOWN)
        face = self.learning.face
        x = self.learning.read(found.features)
        if len(x) * max(1, len(face.classes())) > EXPLAINED:
            raise Refused(422, "The example has too many features, for so many classes.")
        try:
            why = face.explain(x)
        except REFUSALS as error:
            raise Refused(422, str(error)) from error
        served = found.served and msgspec.json.decode(found.served, type=Served)
        parts = sorted(why.contributions, key=lambda part: -abs(part[2]))
        return calls.Explanation(
            id=id,
            label=why.label,
            score=why.score,
            intercept=why.intercept,
            contributions=[calls.Part(*part) for part in parts[: calls.SHOWN]],
            version=self.version,
            served=served.prediction if served else None,
            served_version=served.version if served else None,
        )

    async def _find(self, id: str) -> Outcome:
        """Ask the journal for the features of an id."""
        asked: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()

        def done(outcomes: list[Outcome], error: Exception | None) -> None:
            settle(asked, outcomes if error is None else Refused(503, errors.NO_DISK, 1))

        self._write([Question(id)], done)
        (found,) = await asked
        return found

    # -- the end --------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Learn all that was accepted, write a snapshot, close the journal."""
        self.stopping = True
        while self.writer.waiting or self.learning.behind:
            await asyncio.sleep(0.005)
        with contextlib.suppress(Refused):  # a failed snapshot costs nothing: the journal has all
            await self.saver.save()
        await self.writer.stop()
        self.journal.close()
        self._lock.close()

    # -- what is shown --------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return what the model is."""
        face = self.learning.face
        return {
            "model": type(face.model).__name__,
            "input": face.field,
            "task": "regression" if face.regression else "classification",
            **face.facts(),
            "classes": face.classes(),
            "examples": self.learning.tallies.totals.examples,
            "version": self.version,
            "snapshot": self.saver.saved,
        }

    def disk(self) -> dict[str, int]:
        """Return what is kept, and the bytes that it takes."""
        size = 0
        for path in self.folder.iterdir():
            with contextlib.suppress(FileNotFoundError):  # renamed or removed meanwhile
                size += path.stat().st_size
        return {
            "pending": self.journal.pending,
            "waiting": self.writer.waiting,
            "bytes": size,
            "commits": self.writer.commits,
        }


async def in_slices(items: list[Any]) -> AsyncIterator[Any]:
    """Yield items; after each slice of time, let other requests have their turn."""
    until = time.perf_counter() + SLICE
    for item in items:
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE
        yield item
