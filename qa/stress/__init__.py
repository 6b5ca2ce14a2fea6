"""Random troubles: composed settings, inputs, cuts, copies, refusals, interrupts and threads.

``python -m qa.stress --minutes 60 --jobs 2`` looks for a model that differs from one that never had
the trouble, or from its twin in plain NumPy; ``python -m qa.stress --seed 12345`` repeats one case.

    settings.py       which learner, with which parameters
    inputs.py         rows, answers and weights, and the ways to store them
    faces.py          one way to talk to estimators and to stream learners
    anatomy.py        all that a model knows, to be compared to the last bit
    runs.py           a model on its way through the rows, and its copies
    refusals.py       what is refused, and must leave the model as it was
    troubles.py       all that may happen between two calls, or during one
    twins.py          the same learner in plain NumPy
    requirements.py   what must hold
    check.py          a case: how it is composed, how a failure is told
    search.py         many cases, in processes of their own
"""

import sys
from pathlib import Path

# the axes, problems and twins are those of the tests
sys.path.append(str(Path(__file__).parents[2] / "tests"))
