"""Fault injection: random settings, inputs and faults, compared with control models and NumPy.

``python -m qa.stress --minutes 60 --jobs 2`` searches for a model that differs from a control model
without faults, or from the NumPy reference; ``python -m qa.stress --seed 12345`` repeats one case.
A case is of one of these kinds:

    one_pass.py       rows in calls of ``partial_fit`` or ``learn_one``
    passes.py         ``fit`` in several passes, ``warm_start``, and ``partial_fit`` afterwards
    texts.py          text estimators: several passes, then a stream
    selections.py     what model selection has to be good at: weights, outliers, steady streams
    files.py          truncated files of every format and compression
    restores.py       the server's data folder: crashes, backups, restores

They share:

    cases.py          composing a case, finding and simplifying a failure
    settings.py       an estimator and its parameters
    inputs.py         rows, targets and weights, and the ways to store them
    adapters.py       one interface to estimators, stream learners and text estimators
    runs.py           a model that learns step by step, and its copies
    faults.py         what may happen between two calls, or during one
    rejections.py     calls that must raise and leave the model as it was
    model_state.py    everything that a model holds, compared bit for bit
    references.py     the same learner in plain NumPy
    rounding.py       where rounding may decide, and by how much
    requirements.py   what must hold for the models of a case
    search.py         many cases, in worker processes
"""

import sys
from pathlib import Path

# the axes, problems and reference learners are those of the tests
sys.path.append(str(Path(__file__).parents[2] / "tests"))
