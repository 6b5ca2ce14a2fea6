"""Predictors: last weights, their mean, a sample of them, or an ensemble of candidates."""

import numpy as np

from .rules import Array


class Uniform:
    """SplitMix64: uniform numbers in (0, 1]."""

    def __init__(self, seed: int = 0) -> None:
        self.state = seed

    def draw(self) -> float:
        """Return the next number."""
        mask = 2**64 - 1
        z = self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return (((z ^ (z >> 31)) >> 11) + 1) * 2.0**-53


class Average:
    """The mean of the weights after each round, starting with example number ``start``."""

    def __init__(self, start: int, weights: Array) -> None:
        self.start, self.seen = start, 0
        self.total, self.rounds = np.zeros_like(weights), 0.0

    def update(self, weights: Array, examples: int, new: bool = True) -> None:
        """Add the weights after a round of examples, which are new or repeated."""
        self.seen += examples
        if self.seen >= self.start:
            weight = self.weight(examples, new)
            self.total = self.total + weight * weights
            self.rounds += weight

    def weight(self, examples: int, new: bool) -> float:
        """Return the weight of a round of examples."""
        return float(examples)

    def weights(self, last: Array) -> Array:
        """Return the mean, or the last weights until averaging has begun."""
        return np.asarray(self.total / self.rounds) if self.rounds else last


class LateAverage(Average):
    """The mean in which the round after n new examples has the weight n³.

    Shamir and Zhang (2013) call it polynomial decay. Passes over known rows do not make n grow.
    """

    MOST = 2**20
    fresh = 0

    def weight(self, examples: int, new: bool) -> float:
        """Return the sum of the cubes."""
        total = 0.0
        for _ in range(examples):
            self.fresh += new
            total += float(min(self.fresh, self.MOST)) ** 3
        return total


def discount_of(memory: float, recent: float, regression: bool) -> float:
    """Return the factor of recent errors for the next example, after ``recent`` examples.

    The first errors of a regression are large until the size of the targets is learned. After 32
    examples the factor is therefore at most 1 - 1/n at the n-th, as if errors weighed n.
    """
    if not regression or memory == 1.0 or recent <= 32.0:
        return memory
    return min(memory, 1.0 - 0.5 / recent)


class PredictorSelection:
    """Two predictors, the mean and the last weights, evaluated before each example is learned.

    The last weights predict if they have made significantly fewer mistakes lately; in regression,
    if their errors were smaller; and for the first ``FEW`` examples. Errors count by the
    weights of their examples: in units of sum w^2 / sum w, weighted mistakes vary by chance like
    counts of mistakes.
    """

    FEW = 10

    def __init__(self, memory: float, regression: bool = False) -> None:
        self.memory, self.regression = memory, regression
        self.n_evaluated, self.recent = 0, 0.0
        self.mistakes, self.distance = np.zeros(2), np.zeros(2)
        self.weight, self.squares = 0.0, 0.0

    def update(self, mistakes: Array, distance: Array, weight: float = 1.0) -> None:
        """Add the errors of the mean and of the last weights on an example."""
        kept = discount_of(self.memory, self.recent, self.regression)
        self.n_evaluated, self.recent = self.n_evaluated + 1, kept * self.recent + 1.0
        self.mistakes = kept * self.mistakes + weight * mistakes
        self.distance = kept * self.distance + weight * distance
        self.weight = kept * self.weight + weight
        self.squares = kept * self.squares + weight**2

    @property
    def mean_predicts(self) -> bool:
        """Whether the mean predicts."""
        if self.n_evaluated < self.FEW:
            return False
        ahead = self.mistakes[0] - self.mistakes[1]
        if ahead == 0:
            return bool(self.distance[1] >= self.distance[0])
        return bool(ahead <= np.sqrt(self.squares / self.weight * self.mistakes.sum()))


def errors_of(
    task: str,
    rows: Array,
    predictors: list[list[Array]],
    targets: list[Array],
    criterion: str = "absolute",
) -> list[tuple[Array, Array]]:
    """Return, for each row, the mistakes and the error in regression of each predictor.

    A predictor is a list of weights, one array for each group of outputs.
    """
    scores = [[rows @ weights.T for weights in predictor] for predictor in predictors]
    found = []
    for i in range(len(rows)):
        answers = [target[i] for target in targets]
        errors = [
            prediction_error(task, [each[i] for each in predictor], answers, criterion)
            for predictor in scores
        ]
        wrong, off = zip(*errors, strict=True)
        found.append((np.array(wrong, float), np.array(off)))
    return found


def prediction_error(
    task: str, scores: list[Array], answers: list[float], criterion: str = "absolute"
) -> tuple[bool, float]:
    """Return whether a prediction is wrong, and its error in regression.

    There is an array of scores and an answer for each group of outputs.
    """
    if task == "regression":
        power = 2 if criterion == "squared" else 1
        return False, sum(abs(y - s[0]) ** power for s, y in zip(scores, answers, strict=True))
    if task == "multiclass" and len(scores) == 1:
        return int(np.argmax(scores[0])) != int(answers[0]), 0.0
    signs = [float(s[0]) for s in scores]
    if task == "multiclass":
        return int(np.argmax(signs)) != int(np.argmax(answers)), 0.0
    return any((s > 0) != (y > 0) for s, y in zip(signs, answers, strict=True)), 0.0


class Reservoir:
    """A weighted random sample of past classifiers.

    The weight of a classifier is the number of examples without an update. The keys
    log(u) / survived are those of Efraimidis and Spirakis; the largest stay.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.members: list[tuple[float, Array]] = []

    def add(self, weights: Array, survived: int, random: Uniform) -> None:
        """Offer a classifier to the sample before it is updated."""
        if survived <= 0:
            return
        self.members.append((float(np.log(random.draw())) / survived, weights))
        self.members = sorted(self.members, key=lambda member: -member[0])[: self.size]

    def weights(self, last: Array) -> Array:
        """Return the mean of the sample, or the last weights while there is none."""
        if not self.members:
            return last
        return np.asarray(np.mean([weights for _, weights in self.members], axis=0))


STRETCHES = np.array([0.5, 1.0, 2.0, 4.0])
RATE = 2.0


class EnsemblePrediction:
    """The losses of several candidates, and the coefficient of each in the ensemble prediction.

    A margin m, divided by its mean size and stretched, gives the second class the probability
    (1 + m / sqrt(1 + m^2)) / 2. The loss of a candidate is the square of the probability that it
    gave to the wrong class, for the best stretch. The prediction is a weighted mean of margins in
    these units. Examples count by their weights; losses, in units of the mean weight
    sum w^2 / sum w.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.reference import EnsemblePrediction
    >>> joint = EnsemblePrediction(candidates=2)
    >>> for _ in range(3):
    ...     joint.update(np.array([1.0, -10.0]), 1.0)
    >>> first, second = joint.coefficients()
    >>> bool(first > 1000 * second > 0)
    True
    """

    def __init__(self, candidates: int, memory: float = 1.0) -> None:
        self.memory, self.weight, self.squares = memory, 0.0, 0.0
        self.sizes, self.losses = np.zeros(candidates), np.zeros((candidates, len(STRETCHES)))

    def units(self) -> Array:
        """Return the mean sizes of the margins; one without examples."""
        sizes = self.sizes / self.weight if self.weight else self.sizes
        return np.where(sizes > 0, sizes, 1.0)

    def update(self, margins: Array, y: float, weight: float = 1.0) -> None:
        """Add the margins that the candidates gave to an example before it was learned."""
        z = (y * margins / self.units())[:, None] * STRETCHES
        wrong = (1.0 - z / np.sqrt(1.0 + z**2)) / 2.0
        self.losses = self.memory * self.losses + weight * wrong**2
        self.sizes = self.memory * self.sizes + weight * np.abs(margins)
        self.weight = self.memory * self.weight + weight
        self.squares = self.memory * self.squares + weight**2

    def coefficients(self) -> Array:
        """Return the coefficient of each candidate's margin in the prediction."""
        best = np.argmin(self.losses, axis=1)
        least = self.losses.min(axis=1) / (self.squares / self.weight if self.weight else 1.0)
        weights = np.exp(RATE * (least.min() - least))
        return np.asarray(weights / weights.sum() / (self.units() / STRETCHES[best]))
