"""What predicts: the last weights, their mean over the rounds, or a sample of survivors."""

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
    """The mean of the weights after each round, from the example on that ``start`` counts."""

    def __init__(self, start: int, weights: Array) -> None:
        self.start, self.seen = start, 0
        self.total, self.rounds = np.zeros_like(weights), 0.0

    def follow(self, weights: Array, examples: int, new: bool = True) -> None:
        """Count the weights after a round of so many examples, which are new or seen again."""
        self.seen += examples
        if self.seen >= self.start:
            weight = self.weight(examples, new)
            self.total = self.total + weight * weights
            self.rounds += weight

    def weight(self, examples: int, new: bool) -> float:
        """Return how much the weights after a round of examples count."""
        return float(examples)

    def weights(self, last: Array) -> Array:
        """Return the mean, or the last weights until averaging has begun."""
        return np.asarray(self.total / self.rounds) if self.rounds else last


class LateAverage(Average):
    """The mean in which the round after n new examples weighs n³: early weights know little.

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


class Contest:
    """Two predictors, the mean and the last weights, evaluated before each example is learned.

    The last weights predict where they have made fewer mistakes lately than chance explains; in
    regression, where they were closer to the targets; and for the first ``FEW`` examples. Errors
    count by the weights of their examples: in units of sum w^2 / sum w, weighted mistakes vary by
    chance like counts of mistakes.
    """

    FEW = 10

    def __init__(self, memory: float) -> None:
        self.memory, self.n_judged = memory, 0
        self.mistakes, self.distance = np.zeros(2), np.zeros(2)
        self.weight, self.squares = 0.0, 0.0

    def judge(self, mistakes: Array, distance: Array, weight: float = 1.0) -> None:
        """Count how wrong the mean and the last weights were about an example."""
        self.n_judged += 1
        self.mistakes = self.memory * self.mistakes + weight * mistakes
        self.distance = self.memory * self.distance + weight * distance
        self.weight = self.memory * self.weight + weight
        self.squares = self.memory * self.squares + weight**2

    @property
    def mean_predicts(self) -> bool:
        """Whether it is the mean that predicts."""
        if self.n_judged < self.FEW:
            return False
        ahead = self.mistakes[0] - self.mistakes[1]
        if ahead == 0:
            return bool(self.distance[1] >= self.distance[0])
        return bool(ahead <= np.sqrt(self.squares / self.weight * self.mistakes.sum()))


def judged(
    task: str, rows: Array, rivals: list[list[Array]], targets: list[Array]
) -> list[tuple[Array, Array]]:
    """Return, for each row, how wrong each rival is: its mistakes, and its distance.

    A rival is a list of weights, one array for each group of outputs.
    """
    scores = [[rows @ weights.T for weights in rival] for rival in rivals]
    found = []
    for i in range(len(rows)):
        answers = [target[i] for target in targets]
        errors = [whole_error(task, [each[i] for each in rival], answers) for rival in scores]
        wrong, off = zip(*errors, strict=True)
        found.append((np.array(wrong, float), np.array(off)))
    return found


def whole_error(task: str, scores: list[Array], answers: list[float]) -> tuple[bool, float]:
    """Tell whether a whole prediction is wrong, and how far it is from the targets.

    There is an array of scores and an answer for each group of outputs.
    """
    if task == "regression":
        return False, sum(abs(y - s[0]) for s, y in zip(scores, answers, strict=True))
    if task == "multiclass" and len(scores) == 1:
        return int(np.argmax(scores[0])) != int(answers[0]), 0.0
    signs = [float(s[0]) for s in scores]
    if task == "multiclass":
        return int(np.argmax(signs)) != int(np.argmax(answers)), 0.0
    return any((s > 0) != (y > 0) for s, y in zip(signs, answers, strict=True)), 0.0


class Reservoir:
    """A sample of classifiers; their chance grows with the examples they survived.

    The keys log(u) / survived are those of Efraimidis and Spirakis: the largest stay.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.members: list[tuple[float, Array]] = []

    def offer(self, weights: Array, survived: int, random: Uniform) -> None:
        """Let a classifier in that is about to change, if it survived anything."""
        if survived <= 0:
            return
        self.members.append((float(np.log(random.draw())) / survived, weights))
        self.members = sorted(self.members, key=lambda member: -member[0])[: self.size]

    def weights(self, last: Array) -> Array:
        """Return the mean of the sample, or the last weights while there is none."""
        if not self.members:
            return last
        return np.asarray(np.mean([weights for _, weights in self.members], axis=0))
