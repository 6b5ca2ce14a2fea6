"""Cases of one pass: rows in calls of ``partial_fit`` or ``learn_one``, with a fault each."""

from dataclasses import dataclass

import numpy as np

from qa.stress import inputs, settings
from qa.stress.adapters import adapter_of
from qa.stress.faults import faults_for
from qa.stress.requirements import ONE_PASS
from qa.stress.rounding import is_too_large, may_be_infeasible
from qa.stress.runs import NOTHING, Difference, Step


@dataclass
class OnePass:
    """A learner, its data, and a plan of steps with faults."""

    seed: int
    setting: settings.Setting
    data: inputs.Data
    plan: list

    adapter = staticmethod(adapter_of)
    given = None  # parameters besides those of the setting
    requirements = ONE_PASS
    several_passes = holds_out = False
    ignores_absent_rows = True

    def __str__(self):
        lines = [f"seed {self.seed}", str(self.setting), str(self.data), "plan:"]
        return "\n".join([*lines, *(f"  {step}" for step in self.plan)])

    @property
    def repeats(self):
        """Return whether a row may be learned twice."""
        return self.data.repeats or self.several_passes

    def learn(self, adapter):
        """Return the control model: all rows in one call."""
        model = adapter.setting.make()
        adapter.learn(model, 0, len(adapter.data.X))
        return adapter.finish(model)

    def train_reference(self, reference, control):
        """Train the NumPy reference on the rows of the control model."""
        reference.learn(np.arange(len(self.data.X)))

    def simpler_plan(self, i):
        """Return the plan without a fault, or without a step that has none."""
        step, others = self.plan[i], (self.plan[:i], self.plan[i + 1 :])
        if step.fault != NOTHING:
            return [*others[0], step._replace(fault=NOTHING), *others[1]]
        if step.action == "partial_fit" and others[1]:
            return [*others[0], *others[1]]
        return None

    def without_absent_rows(self):
        """Return the case with rows of positive weight only."""
        return self

    def check(self):
        """Check all requirements; raise a Difference, or the exception of a learner."""
        adapter = self.adapter(self.setting, self.data)
        try:
            control = self.learn(adapter)
        except ValueError as error:
            if self.data.well_scaled and not may_be_infeasible(self):
                raise
            if not is_too_large(error):
                raise Difference(f"huge rows were rejected with the words: {error}") from error
            return
        for requirement in self.requirements:
            requirement(self, adapter, control)


def compose(seed, rng):
    """Return a case of one pass."""
    setting = settings.compose(rng)
    data = inputs.draw(rng, setting)
    setting = inputs.with_class_weight(rng, setting, data, balanced=False)
    return OnePass(seed, setting, data, draw_steps(rng, setting, data))


def draw_steps(rng, setting, data, start=0):
    """Divide the rows after ``start`` into calls with a fault each."""
    names = faults_for(setting)
    stops = np.unique(rng.integers(start + 1, len(data.X) + 1, rng.integers(0, 8)))
    if setting.batch_size > 1 and not setting.is_stream:  # a mini-batch ends with its call
        seen = np.cumsum(data.present[start:])
        stops = [stop for stop in stops if seen[stop - start - 1] % setting.batch_size == 0]
    stops = sorted({*map(int, stops), len(data.X)})
    return [Step(stop, names[rng.integers(len(names))], int(rng.integers(2**31))) for stop in stops]
