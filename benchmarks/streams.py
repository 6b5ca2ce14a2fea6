"""Streams of dicts, compared with river and a plain Python loop."""

from __future__ import annotations

from benchmarks.peers import peer
from benchmarks.work import Rival, Work


def works(effort):
    """Yield the stream of ``benchmarks.stream``."""
    if peer("river") is None:
        return
    from river.linear_model import PAClassifier

    from aggro.stream.learners import StreamClassifier
    from benchmarks.stream import learns, make_stream, predicts, sums

    # Names from JSON or from split texts are equal but new objects in every dict.
    for names, shared in (("new name objects", False), ("the same ones", True)):
        xs, ys = make_stream(shared_names=shared)
        ours, theirs = StreamClassifier("PA-I", C=0.01), PAClassifier(C=0.01)
        for name, run, most, other in (
            ("learn_one", learns(ours, xs, ys), 0.9, learns(theirs, xs, ys)),
            ("predict_one", predicts(ours, xs), 0.7, predicts(theirs, xs)),
        ):
            yield Work(
                f"{name}, 20 features, {names}",
                len(xs),
                run,
                floor=sums(xs),
                floor_name="sum in Python",
                at_most=most,
                peers={"river": Rival(other, 25)},
            )
