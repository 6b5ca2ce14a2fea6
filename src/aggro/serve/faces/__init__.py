"""What the server asks of a model, for each kind of model: dict streams, arrays, texts.

A face reads the features of a request, predicts, learns and explains. All else in the server is
the same for every model. A new kind of model is a class here and a row of ``FACES``.
"""

from __future__ import annotations

from typing import Any

from aggro.persistence.record import CLASSIFIERS, KERNELS, REGRESSORS
from aggro.serve.faces.arrays import ArrayFace
from aggro.serve.faces.base import Face, Said, Why, text_of
from aggro.serve.faces.streams import StreamFace
from aggro.serve.faces.texts import TextFace

__all__ = [
    "FACES",
    "ArrayFace",
    "Face",
    "Said",
    "StreamFace",
    "TextFace",
    "Why",
    "face_of",
    "text_of",
]

FACES: dict[str, type[Face]] = {
    **dict.fromkeys(("StreamClassifier", "StreamRegressor"), StreamFace),
    **dict.fromkeys((*CLASSIFIERS, *REGRESSORS, *KERNELS), ArrayFace),
    **dict.fromkeys(("TextClassifier", "TextRegressor"), TextFace),
}


def face_of(model: Any) -> Face:
    """Return the face of a model."""
    name = type(model).__name__
    if name not in FACES:
        raise ValueError(f"A {name} cannot be served; expected one of {', '.join(FACES)}.")
    return FACES[name](model)
