"""A case: how it is composed, what must hold, how a failure is told."""

import traceback
import warnings
from dataclasses import dataclass, replace

import numpy as np

from qa.stress import inputs, settings
from qa.stress.faces import face_of
from qa.stress.requirements import REQUIREMENTS
from qa.stress.runs import Difference
from qa.stress.troubles import troubles_for
from qa.stress.twins import asks_the_impossible, is_too_large


@dataclass
class Case:
    """A learner, its data, and what happens on the way: (row, trouble, seed) each."""

    seed: int
    setting: settings.Setting
    data: inputs.Data
    plan: list

    def __str__(self):
        lines = [f"seed {self.seed}", str(self.setting), str(self.data)]
        steps = [f"  up to row {stop}: {name}" for stop, name, _ in self.plan]
        return "\n".join([*lines, "on the way:", *steps])


def compose(seed):
    """Return the case of a seed, always the same."""
    rng = np.random.default_rng(seed)
    setting = settings.compose(rng)
    data = inputs.draw(rng, setting)
    return Case(seed, setting, data, _plan(rng, setting, data))


def _plan(rng, setting, data):
    """Cut the rows into calls, with a trouble each."""
    names = troubles_for(setting)
    stops = np.unique(rng.integers(1, len(data.X) + 1, rng.integers(0, 8)))
    if setting.batch_size > 1 and not setting.is_stream:  # a mini-batch ends with its call
        seen = np.cumsum(data.present)
        stops = [stop for stop in stops if seen[stop - 1] % setting.batch_size == 0]
    stops = sorted({*map(int, stops), len(data.X)})
    return [(stop, names[rng.integers(len(names))], int(rng.integers(2**31))) for stop in stops]


# -- what must hold --------------------------------------------------------------------------


def check(case):
    """Raise a Difference, or what a learner raised, if something does not hold."""
    face = face_of(case.setting, case.data)
    plain = face.setting.make()
    try:
        face.learn(plain, 0, len(case.data.X))
        face.finish(plain)
    except ValueError as error:
        if case.data.tame and not asks_the_impossible(case):
            raise
        if not is_too_large(error):
            raise Difference(f"huge rows were refused with the words: {error}") from error
        return
    for requirement in REQUIREMENTS:
        requirement(case, face, plain)


# -- failures --------------------------------------------------------------------------------


def failure(case):
    """Return what is wrong with a case, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            check(case)
        except Difference as error:
            return str(error)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            return f"{type(error).__name__}: {error}\n  at {place.filename}:{place.lineno}"
    return None


def simplified(case, failure=failure):
    """Return the case without the troubles that its failure does not need."""
    for step in list(case.plan):
        stop, name, seed = step
        if name != "a cut":
            plan = [(stop, "a cut", seed) if each is step else each for each in case.plan]
            if failure(fewer := replace(case, plan=plan)):
                case = fewer
    for step in list(case.plan)[:-1]:
        plan = [each for each in case.plan if each is not step]
        if step[1] == "a cut" and failure(fewer := replace(case, plan=plan)):
            case = fewer
    return case
