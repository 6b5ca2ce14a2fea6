"""The compiled core of aggro."""

from collections.abc import Mapping, Sequence
import enum
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray


level: str = 'baseline'

def machine_memory() -> float:
    """The memory of the machine in bytes; infinity where it cannot be told."""

class Task(enum.Enum):
    margin = 0

    tube = 1

    top = 2

    predicted = 3

    support = 4

class Metric(enum.Enum):
    euclidean = 0

    diagonal = 1

    adagrad = 2

    full = 3

class Scale(enum.Enum):
    none = 0

    online = 1

    standard = 2

class Predictor(enum.Enum):
    last = 0

    average = 1

    either = 2

    reservoir = 3

class Vote(enum.Enum):
    each = 0

    argmax = 1

    all = 2

class Doubt(enum.Enum):
    none = 0

    variance = 1

    deviation = 2

class Rule:
    """The penalty of a violated constraint, as numbers."""

    def __init__(self, *, lo: float = 0.0, cap: float = float('inf'), ridge: float = 0.0, margin: float = 1.0, epsilon: float = 0.0, kappa: float = 1.0, ahead: float = 0.0, phi: float = 0.0, doubt: Doubt = Doubt.none, weigh_kappa: bool = False) -> None: ...

class Group:
    """Outputs of one problem, and the rule they learn by."""

    def __init__(self, *, first: int, count: int, task: Task, positive: int, rule: Rule, gamma: float = 0.0, always: bool = False) -> None: ...

class Shape:
    """The shape of a model."""

    def __init__(self, *, features: int, outputs: int, intercept: bool, intercept_scale: float = 1.0, metric: Metric, predictor: Predictor, sums: int = 0, total: bool = False, queue: int = 1, reservoir: int = 0, vote: Vote = Vote.each, models: int = 1, scale: Scale = Scale.none, spreads: int = 0, forgetting: float = 0.0, one_class: bool = False, mergeable: bool = False) -> None: ...

class Rows:
    """Rows to learn from or to score, read in place."""

    @overload
    def __init__(self, x: Annotated[NDArray, dict(order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def __init__(self, data: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], features: int) -> None: ...

    @property
    def count(self) -> int: ...

    @property
    def features(self) -> int: ...

    @property
    def sparse(self) -> bool: ...

    def inspect(self) -> None:
        """
        Check the indices of all rows once, so that passes need not check them again.
        """

    def square(self, row: int, scale: Scale = Scale.none) -> float:
        """
        Squared norm of a row, as it will be once it is scaled, if it is the first one.
        """

def permutation(count: int, seed: int) -> NDArray[numpy.int64]:
    """The numbers below count, in a random order."""

class Model32:
    """A linear model: weights, metric, centre and counters."""

    def __init__(self, shape: Shape, groups: Sequence[Group], own_sum: Sequence[int]) -> None: ...

    def learn(self, rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, batch_size: int = 1, undo: bool = True, threads: int = 1, reference: Rows | None = None, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')] | None = None) -> None:
        """
        Learn the rows, in order. A bad row raises and leaves the model as it was. margins, rows x 2 x outputs, is filled with the scores of each row, and of the reference row, before it is learned.
        """

    def score(self, rows: Rows, threads: int = 1) -> NDArray[numpy.float32]:
        """
        Scores of the predictor, one row per example and one column per output.
        """

    def ensemble_score(self, rows: Rows, threads: int = 1) -> NDArray[numpy.float64]:
        """The part of these models in the ensemble prediction of each row."""

    def ensemble_coefficients(self) -> NDArray[numpy.float64]:
        """
        Their part in the weights of the ensemble prediction, and in its intercept, the last number.
        """

    def grow(self, features: int) -> None:
        """Make room for more features, with weight zero."""

    def forget(self, feature: int) -> None:
        """Reset a feature to one that was never seen."""

    def fold(self) -> None:
        """Write all weights out in full, so that the mixture is the identity."""

    def state(self) -> dict:
        """All arrays of the state by name."""

    def layout(self) -> dict[str, str]:
        """
        What each array of the state belongs to: lane, slot, feature, output, mixture, group, matrix, model or shared.
        """

    def load_state(self, state: dict) -> None:
        """
        Restore what state() returned; an array that does not fit raises and changes nothing.
        """

    def continue_models(self, source: Model32, models: Sequence[int]) -> None:
        """Continue model models[i] of another core in model i."""

    def add_classes(self, source: Model32, position: Sequence[int], change: Sequence[float]) -> None:
        """
        Go on where another core is, with more classes: position[c] is the new number of the class c, and change turns the outputs of a model into the new ones, row by row.
        """

    def set_weights(self, weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None:
        """
        Predict with these weights, features x outputs, and intercepts; None leaves them as they are. Averages, queue and reservoir begin again.
        """

    def weights_view(self) -> NDArray[numpy.float32]:
        """The last weights in place, features x outputs."""

    def weights(self) -> NDArray[numpy.float32]:
        """The weights that predict, features x outputs."""

    def bias(self) -> NDArray[numpy.float64]:
        """The intercepts that predict."""

    def set_groups(self, groups: Sequence[Group]) -> None:
        """Change the rules; the weights stay."""

    def freeze_means(self, frozen: bool) -> None: ...

    def seed(self, seed: int) -> None: ...

    def average_from(self, examples: int) -> None: ...

    def set_memory(self, memory: float) -> None:
        """What an example leaves of the recent records before it."""

    @property
    def features(self) -> int: ...

    @property
    def columns(self) -> int: ...

    @property
    def keeps_total(self) -> bool: ...

    @property
    def examples(self) -> int: ...

    @property
    def averaged(self) -> int: ...

    @property
    def group_counts(self) -> list[tuple[int, int, float]]:
        """Mistakes, updates and loss of each group."""

    @property
    def memory(self) -> float: ...

    @property
    def unit(self) -> list[float]:
        """
        What is known of the unit of C: rows, their log squares, answers, their logs, steps.
        """

    def set_unit(self, steps: float) -> None:
        """Note where the grid of C was put."""

    @property
    def records(self) -> list[tuple[float, float, float, float]]:
        """
        Mistakes, recent mistakes, recent loss and recent examples of each model; the recent ones count in examples of equal weight.
        """

    @property
    def distances(self) -> list[float]:
        """Sum of the absolute errors of each model, in regression."""

    @property
    def by_mean(self) -> list[bool]:
        """Whether the mean of its weights predicts, for each model."""

    @property
    def chosen(self) -> int:
        """The model with the best recent record."""

    @property
    def ensemble_weights(self) -> list[float]:
        """
        How often each score, of the mean and of the last weights of each model, counts in the joint answer: zeros where one answers.
        """

    @property
    def chosen_unit(self) -> float:
        """The unit of the score of the chosen model in the ensemble prediction."""

    @property
    def forms_ensemble(self) -> bool:
        """Whether the models form an ensemble."""

    @property
    def chosen_record(self) -> tuple[float, float]:
        """
        Mistakes and error of whichever model was the chosen one at its time, or of the joint answer.
        """

    @property
    def drift_record(self) -> tuple[float, float, float, float]:
        """
        Sums over the rows that were evaluated before they were learned: of weights, of squared weights, and of the bounded losses of the chosen model and their squares, each times the weight.
        """

class Before32:
    """The state of models before a batch, as far as it can change them."""

    def restore(self) -> None:
        """Restore them, including their rules."""

    def check(self) -> None:
        """Raise if a number that the batch changed overflows."""

@overload
def begin_transaction(models: Sequence[Model32], rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, undo: bool = True) -> Before32: ...

@overload
def begin_transaction(models: Sequence[Model64], rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, undo: bool = True) -> Before64:
    """
    Keep the state that a batch learned in several calls can change, to check it and, unless undo is false, to restore it. The cost depends on the rows, not on the model.
    """

@overload
def set_ensemble_weights(models: Sequence[Model32], predict: bool) -> None: ...

@overload
def set_ensemble_weights(models: Sequence[Model64], predict: bool) -> None:
    """
    Give each score its part in the joint answer, by how wrong its margins were, or none.
    """

@overload
def learn_together(models: Sequence[Model32], rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, batch_size: int = 1, undo: bool = True, threads: int = 1, reference: Rows | None = None, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')] | None = None, recorded: int = 0, check: bool = True) -> None: ...

@overload
def learn_together(models: Sequence[Model64], rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, batch_size: int = 1, undo: bool = True, threads: int = 1, reference: Rows | None = None, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')] | None = None, recorded: int = 0, check: bool = True) -> None:
    """
    Learn the rows in every model, each as if it were alone. A bad row raises and leaves all as they were; after an interrupt all have learned the same rows. margins are those of the model number `recorded`. Unless check is false, a model that overflows raises as well.
    """

class Model64:
    """A linear model: weights, metric, centre and counters."""

    def __init__(self, shape: Shape, groups: Sequence[Group], own_sum: Sequence[int]) -> None: ...

    def learn(self, rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, batch_size: int = 1, undo: bool = True, threads: int = 1, reference: Rows | None = None, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')] | None = None) -> None:
        """
        Learn the rows, in order. A bad row raises and leaves the model as it was. margins, rows x 2 x outputs, is filled with the scores of each row, and of the reference row, before it is learned.
        """

    def score(self, rows: Rows, threads: int = 1) -> NDArray[numpy.float64]:
        """
        Scores of the predictor, one row per example and one column per output.
        """

    def ensemble_score(self, rows: Rows, threads: int = 1) -> NDArray[numpy.float64]:
        """The part of these models in the ensemble prediction of each row."""

    def ensemble_coefficients(self) -> NDArray[numpy.float64]:
        """
        Their part in the weights of the ensemble prediction, and in its intercept, the last number.
        """

    def grow(self, features: int) -> None:
        """Make room for more features, with weight zero."""

    def forget(self, feature: int) -> None:
        """Reset a feature to one that was never seen."""

    def fold(self) -> None:
        """Write all weights out in full, so that the mixture is the identity."""

    def state(self) -> dict:
        """All arrays of the state by name."""

    def layout(self) -> dict[str, str]:
        """
        What each array of the state belongs to: lane, slot, feature, output, mixture, group, matrix, model or shared.
        """

    def load_state(self, state: dict) -> None:
        """
        Restore what state() returned; an array that does not fit raises and changes nothing.
        """

    def continue_models(self, source: Model64, models: Sequence[int]) -> None:
        """Continue model models[i] of another core in model i."""

    def add_classes(self, source: Model64, position: Sequence[int], change: Sequence[float]) -> None:
        """
        Go on where another core is, with more classes: position[c] is the new number of the class c, and change turns the outputs of a model into the new ones, row by row.
        """

    def set_weights(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None:
        """
        Predict with these weights, features x outputs, and intercepts; None leaves them as they are. Averages, queue and reservoir begin again.
        """

    def weights_view(self) -> NDArray[numpy.float64]:
        """The last weights in place, features x outputs."""

    def weights(self) -> NDArray[numpy.float64]:
        """The weights that predict, features x outputs."""

    def bias(self) -> NDArray[numpy.float64]:
        """The intercepts that predict."""

    def set_groups(self, groups: Sequence[Group]) -> None:
        """Change the rules; the weights stay."""

    def freeze_means(self, frozen: bool) -> None: ...

    def seed(self, seed: int) -> None: ...

    def average_from(self, examples: int) -> None: ...

    def set_memory(self, memory: float) -> None:
        """What an example leaves of the recent records before it."""

    @property
    def features(self) -> int: ...

    @property
    def columns(self) -> int: ...

    @property
    def keeps_total(self) -> bool: ...

    @property
    def examples(self) -> int: ...

    @property
    def averaged(self) -> int: ...

    @property
    def group_counts(self) -> list[tuple[int, int, float]]:
        """Mistakes, updates and loss of each group."""

    @property
    def memory(self) -> float: ...

    @property
    def unit(self) -> list[float]:
        """
        What is known of the unit of C: rows, their log squares, answers, their logs, steps.
        """

    def set_unit(self, steps: float) -> None:
        """Note where the grid of C was put."""

    @property
    def records(self) -> list[tuple[float, float, float, float]]:
        """
        Mistakes, recent mistakes, recent loss and recent examples of each model; the recent ones count in examples of equal weight.
        """

    @property
    def distances(self) -> list[float]:
        """Sum of the absolute errors of each model, in regression."""

    @property
    def by_mean(self) -> list[bool]:
        """Whether the mean of its weights predicts, for each model."""

    @property
    def chosen(self) -> int:
        """The model with the best recent record."""

    @property
    def ensemble_weights(self) -> list[float]:
        """
        How often each score, of the mean and of the last weights of each model, counts in the joint answer: zeros where one answers.
        """

    @property
    def chosen_unit(self) -> float:
        """The unit of the score of the chosen model in the ensemble prediction."""

    @property
    def forms_ensemble(self) -> bool:
        """Whether the models form an ensemble."""

    @property
    def chosen_record(self) -> tuple[float, float]:
        """
        Mistakes and error of whichever model was the chosen one at its time, or of the joint answer.
        """

    @property
    def drift_record(self) -> tuple[float, float, float, float]:
        """
        Sums over the rows that were evaluated before they were learned: of weights, of squared weights, and of the bounded losses of the chosen model and their squares, each times the weight.
        """

class Before64:
    """The state of models before a batch, as far as it can change them."""

    def restore(self) -> None:
        """Restore them, including their rules."""

    def check(self) -> None:
        """Raise if a number that the batch changed overflows."""

class Kernel(enum.Enum):
    linear = 0

    poly = 1

    rbf = 2

    sigmoid = 3

    external = 4

class Forget(enum.Enum):
    simple = 0

    nearest = 1

    projection = 2

    oldest = 3

class KernelShape:
    """What kind of kernel model to make."""

    def __init__(self, *, features: int, outputs: int, kernel: Kernel, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0, intercept: bool = True, average: bool = False, vote: Vote = Vote.each, budget: int = 0, forget: Forget = Forget.simple) -> None: ...

class KernelModel:
    """Support vectors, their coefficients and the history."""

    def __init__(self, shape: KernelShape, groups: Sequence[Group], sparse: bool) -> None: ...

    def learn(self, rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, batch_size: int = 1, first_id: int = 0, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None = None) -> None:
        """
        Learn the rows, in order. A bad row raises and leaves the model as it was. margins, rows x outputs, is filled with the scores of each row before it is learned.
        """

    def learn_values(self, with_support: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], within: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], batch_size: int = 1, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None = None) -> None:
        """Learn a block of examples from kernel values computed outside."""

    def score(self, rows: Rows) -> NDArray[numpy.float64]:
        """Scores, one row per example and one column per output."""

    def expansion(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
        """
        Which example each support vector was, and the coefficients that predict.
        """

    def coef(self) -> NDArray[numpy.float64]:
        """The coefficients that predict, support vectors x outputs."""

    def ids(self) -> NDArray[numpy.int64]:
        """Which example each support vector was."""

    def add_classes(self, source: KernelModel, change: Sequence[float], first: bool) -> None:
        """
        Continue another model with more classes: change, new x old, turns its outputs into the new ones; first says that its only class is the first of all.
        """

    def state(self) -> dict:
        """All arrays of the state by name."""

    def load_state(self, state: dict) -> None:
        """Put back what state() gave."""

    def set_groups(self, groups: Sequence[Group]) -> None:
        """Change the rules; what was learned stays."""

    def freeze(self, frozen: bool) -> None:
        """Tell whether the rows that come were learned before, or are new."""

    def support(self) -> dict:
        """
        The support vectors: `support`, or `data`, `indices` and `indptr`; nothing if they are kept outside.
        """

    @property
    def features(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def examples(self) -> int: ...

    @property
    def history(self) -> tuple[int, int, float]:
        """
        Mistakes in new rows, updates and loss, each example predicted before it was learned.
        """

def solve_batch(group: Group, gram: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> object:
    """
    The exact step of a mini-batch: coefficients, or None if a hard batch contradicts itself.
    """

class Knowledge:
    """All that a stream has learned, to go back to."""

class Door:
    """Keeps other threads out of a stream for several calls."""

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...

class Stream:
    """A model that learns dicts one at a time."""

    def __init__(self, regression: bool, batch_size: int, max_features: int, hashed: bool) -> None: ...

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """
        Learn from the features x and the answer y; w counts the example w times: it multiplies C.
        """

    def _learn(self, x: Any, y: Any, w: float) -> None: ...

    @property
    def _records_margins(self) -> bool: ...

    @_records_margins.setter
    def _records_margins(self, arg: bool, /) -> None: ...

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """
        Predict the answer for the features x. Features never learned count as zero.
        """

    def flush(self) -> None:
        """Learn the examples that wait for their mini-batch to be full."""

    def _margins(self, x: Any) -> tuple[list[Any], list[float]]: ...

    def _contributions(self, x: dict[Any, Any]) -> Any: ...

    def _rebuild(self, classes: list[Any], shape: Shape, groups: list[Group], own_sum: list[int], average_from: int, memory: float, arrays: dict[str, Any]) -> None: ...

    def _select_models(self, classes: list[Any], selection: Any) -> None: ...

    @property
    def _selection(self) -> object: ...

    @_selection.setter
    def _selection(self, arg: object, /) -> None: ...

    def _renumber_classes(self, classes: list[Any], position: Sequence[int]) -> None: ...

    def _add_first_class(self, label: Any) -> None: ...

    def _add_classes(self, classes: list[Any], position: Sequence[int], change: Sequence[float], shape: Shape, groups: list[Group], own_sum: list[int], average_from: int, memory: float) -> None: ...

    def _resume(self, names: list[Any], arrays: dict[str, Any]) -> None: ...

    def _dump(self, with_model: bool = True) -> tuple[list[Any], list[Any], dict[str, Any]]: ...

    def _names(self) -> list[Any]: ...

    @property
    def _ignored(self) -> list[int]: ...

    def _classes(self) -> list[Any]: ...

    def _progress(self) -> tuple[float, float, float]: ...

    def _weights(self) -> tuple[Any, Any]: ...

    @property
    def _lock(self) -> Door:
        """Keeps other threads out for several calls: with stream._lock: ..."""

    def _remember(self) -> Knowledge: ...

    def _recall(self, knowledge: Knowledge) -> None: ...

    @property
    def _slots(self) -> int: ...

    @property
    def _taken(self) -> int: ...

    @property
    def examples(self) -> int:
        """Number of examples learned from."""

def give_signatures(stream: type) -> None:
    """
    Make the signatures of learn_one and predict_one readable by inspect.signature.
    """

class TextParser:
    """Reads blocks of text lines into sparse rows."""

    @staticmethod
    def svmlight(float32: bool, names: bool, several: bool, skip_bad: bool, first_index: int, n_features: int, widest: int) -> TextParser: ...

    @staticmethod
    def vw(float32: bool, names: bool, several: bool, skip_bad: bool, bits: int, need_labels: bool = False) -> TextParser: ...

    def set_first_index(self, first_index: int, n_features: int, widest: int) -> None: ...

    def feed(self, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], final: bool, most_rows: int) -> int:
        """
        Parse whole lines until the data, the rows or the patience end; returns the bytes used.
        """

    def take(self) -> dict:
        """Hand over the rows read so far."""

    def problems(self) -> list:
        """
        The first bad lines: (line, column or 0, the word, what is wrong with it).
        """

    @property
    def rows(self) -> int: ...

    @property
    def line(self) -> int: ...

    @line.setter
    def line(self, arg: int, /) -> None: ...

    @property
    def bad(self) -> int: ...

    @property
    def stopped(self) -> bool: ...

class CsvParser:
    """Reads blocks of a table in text into columns."""

    def __init__(self, delimiter: str, places: Sequence[int], skip_bad: bool, longest: int) -> None:
        """
        Fields of a record go to the column that `places` gives them, or nowhere if negative.
        """

    def feed(self, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], final: bool, most_rows: int) -> int:
        """
        Parse whole lines until the data, the rows or the patience end; returns the bytes used.
        """

    def take(self) -> tuple:
        """Hand over the rows read so far."""

    def problems(self) -> list:
        """
        The first bad lines: (line, column or 0, the word, what is wrong with it).
        """

    @property
    def rows(self) -> int: ...

    @property
    def line(self) -> int: ...

    @line.setter
    def line(self, arg: int, /) -> None: ...

    @property
    def bad(self) -> int: ...

    @property
    def stopped(self) -> bool: ...

def parse_float(text: bytes) -> object:
    """One decimal number as the parsers read it; None when it is none."""

def checksum(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
    """A checksum of bytes, against damage."""

def hash_name(name: str, seed: int = 0) -> int:
    """Vowpal Wabbit's hash of a name: digits are their own number."""

@overload
def hash_strings(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], prefix: str, bits: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

@overload
def hash_strings(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], prefix: str, bits: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """Hash prefix + string for every string of an Arrow column."""

@overload
def read_values(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple: ...

@overload
def read_values(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    The number in every string of an Arrow column, NaN where there is none; and its kind: 0 text, 1 number, 2 whole number, 3 true or false, 4 missing.
    """

@overload
def hash_words(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], prefix: str, bits: int) -> tuple: ...

@overload
def hash_words(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], prefix: str, bits: int) -> tuple:
    """Count hashed prefix + word for every string of an Arrow column."""

def set_characters(kinds: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
    """Set the properties of all characters (see aggro.text.alphabet)."""

@overload
def check_texts(documents: list) -> None:
    """
    Raise unless all are strings, or bytes of UTF-8; the message names one.
    """

@overload
def check_texts(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def murmur3(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """The hash of every string of an Arrow column, with a sign."""

class Words:
    """Documents to sparse rows of hashed words."""

    def __init__(self, how: dict) -> None:
        """Every option by name; aggro.text.options checks them."""

    @overload
    def rows(self, documents: list, learn: bool = False, threads: int = 1, single: bool = False, prepare: object | None = None) -> list:
        """
        indptr, indices, values by term frequency and by idf, for each range of n-grams.
        """

    @overload
    def rows(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], learn: bool = False, threads: int = 1, single: bool = False) -> list: ...

    @overload
    def rows(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], learn: bool = False, threads: int = 1, single: bool = False) -> list: ...

    def features(self, document: object, prepare: object | None = None) -> list:
        """
        Words and n-grams of a document as they come; columns of negative sign as ~column.
        """

    def find(self, which: int, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
        """The feature of each column in a range; -1 if it has none."""

    def begin(self) -> None:
        """
        Begin a transaction: what is learned from here on can be undone by restore().
        """

    def keep(self) -> None: ...

    def restore(self) -> None: ...

    def prune(self) -> None:
        """Forget the names used least, where there are too many."""

    @property
    def sizes(self) -> list[int]: ...

    def state(self) -> dict:
        """The state as arrays by name."""

    def load_state(self, state: dict, most_names: int = 0) -> None:
        """
        Restore a state of state(); if something does not fit, nothing is changed.
        """

def take_rows(rows: Rows, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Rows:
    """
    Some of the rows, in an order: in place where they are dense neighbours, else copied.
    """

class FeatureMap:
    """Non-linear features of numeric columns."""

    def __init__(self, sizes: Sequence[tuple[int, int]], seed: int) -> None:
        """Numbers of Fourier features and of grids, for each layout."""

    @property
    def sizes(self) -> list[tuple[int, int]]: ...

    @property
    def columns(self) -> int: ...

    @property
    def rows(self) -> int: ...

    def features(self, layout: int) -> int:
        """Number of features of a layout."""

    def map(self, rows: Rows, layouts: Sequence[int], learn: bool = False, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, single: bool = False) -> list:
        """
        The features of rows in some layouts, each a matrix, or the data, indices, indptr and width of a sparse one. With learn, each row counts first, unless its weight is zero.
        """

    def grow(self, columns: int) -> None:
        """Make room for this number of columns; new ones were zero so far."""

    def copy(self) -> FeatureMap:
        """An independent copy; it costs little."""

    def only(self, layout: int) -> FeatureMap:
        """A copy with one of the layouts."""

    def __getstate__(self) -> tuple[list[tuple[int, int]], int, dict]: ...

    def __setstate__(self, arg: tuple[Sequence[tuple[int, int]], int, dict], /) -> None: ...

    def state(self) -> dict:
        """All that was learned, as arrays by name."""

    def load_state(self, state: dict) -> None:
        """
        Put back what state() gave; if something does not fit, nothing is changed.
        """

def scaled_log_loss(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> float:
    """
    The mean log loss of scores, multiplied by the one factor that makes it smallest.
    """
