"""The compiled core of aggro."""

from collections.abc import Mapping, Sequence
import enum
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray


level: str = 'baseline'

def machine_memory() -> float:
    """Return the memory of the machine in bytes; infinity if unknown."""

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

class Uncertainty(enum.Enum):
    none = 0

    variance = 1

    deviation = 2

class Rule:
    """The penalty of a violated constraint, as numbers."""

    def __init__(self, *, lo: float = 0.0, cap: float = float('inf'), ridge: float = 0.0, margin: float = 1.0, epsilon: float = 0.0, kappa: float = 1.0, ahead: float = 0.0, phi: float = 0.0, uncertainty: Uncertainty = Uncertainty.none, weigh_kappa: bool = False) -> None: ...

class Group:
    """Outputs of one optimisation problem, and their update rule."""

    def __init__(self, *, first: int, count: int, task: Task, positive: int, rule: Rule, gamma: float = 0.0, always: bool = False) -> None: ...

class Shape:
    """The shape of a model."""

    def __init__(self, *, features: int, outputs: int, intercept: bool, intercept_scale: float = 1.0, metric: Metric, predictor: Predictor, sums: int = 0, total: bool = False, queue: int = 1, reservoir: int = 0, vote: Vote = Vote.each, models: int = 1, scale: Scale = Scale.none, spreads: int = 0, forgetting: float = 0.0, one_class: bool = False, mergeable: bool = False, squared_errors: bool = False) -> None: ...

class Rows:
    """A view of rows to learn or to score."""

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
        Return the squared norm of a row after scaling, if it is the first one.
        """

def add_changes(changes: list[object]) -> dict[str, object]:
    """
    Return the sum of changes since the same start, as the fields of a Change.
    """

def shuffle(numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], seed: int) -> None:
    """Put the numbers of an array in random order."""

class Model32:
    """A linear model: weights, metric, centre and counters."""

    def __init__(self, shape: Shape, groups: Sequence[Group], own_sum: Sequence[int]) -> None: ...

    def learn(self, rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, batch_size: int = 1, undo: bool = True, threads: int = 1, reference: Rows | None = None, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')] | None = None) -> None:
        """
        Learn the rows in order. An invalid row raises and leaves the model unchanged. margins, rows x 2 x outputs, is filled with the scores of each row and of the reference row before the row is learned.
        """

    def score(self, rows: Rows, threads: int = 1) -> NDArray[numpy.float32]:
        """
        Return the scores of the predictor, one row per example and one column per output.
        """

    def ensemble_score(self, rows: Rows, threads: int = 1) -> NDArray[numpy.float64]:
        """
        Return the part of these models in the ensemble prediction of each row.
        """

    def ensemble_coefficients(self) -> NDArray[numpy.float64]:
        """
        Return the part of these models in the weights of the ensemble prediction, followed by the intercept.
        """

    def grow(self, features: int) -> None:
        """Add features with weight zero."""

    def forget(self, feature: int) -> None:
        """Reset a feature to its initial state."""

    def fold(self) -> None:
        """
        Write the effective weights to the table and reset the mixture to the identity.
        """

    def copy(self) -> Model32:
        """Return a copy of the model."""

    def change_since(self, start: object) -> dict[str, object]:
        """
        Return what the model has learned since a start, as the fields of a Change.
        """

    def apply_change(self, change: object, prior: float = 0.0, damping: float = 0.0, relaxation: float = 0.0) -> None:
        """Add the changes of all models that continued this one."""

    def state(self) -> dict:
        """Return all arrays of the state by name."""

    def layout(self) -> dict[str, str]:
        """
        Return the kind of each array of the state: column, slot, feature, output, mixture, group, matrix, model or shared.
        """

    def load_state(self, state: dict) -> None:
        """
        Restore what state() returned; an array that does not fit raises and changes nothing.
        """

    def continue_models(self, source: Model32, models: Sequence[int], labels: Sequence[int] = []) -> None:
        """
        Continue model models[i] of another core in model i; with labels, output labels[k] of each model in its output k.
        """

    def continue_features(self, source: Model32, places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Continue another core whose feature j is feature places[j] of this one; -1 leaves it out.
        """

    def add_classes(self, source: Model32, position: Sequence[int], change: Sequence[float]) -> None:
        """
        Continue another core with more classes: position[c] is the new number of class c, and change is the matrix that maps the outputs of a model to the new ones, row by row.
        """

    def set_weights(self, weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None:
        """
        Set the predicting weights, features x outputs, and intercepts; None leaves them unchanged. Averages, queue and reservoir restart.
        """

    def weights_view(self) -> NDArray[numpy.float32]:
        """Return a writable view of the last weights, features x outputs."""

    def weights(self) -> NDArray[numpy.float32]:
        """Return the predicting weights, features x outputs."""

    def bias(self) -> NDArray[numpy.float64]:
        """Return the predicting intercepts."""

    def set_groups(self, groups: Sequence[Group]) -> None:
        """Change the rules; the weights stay."""

    def freeze_means(self, frozen: bool) -> None: ...

    def seed(self, seed: int) -> None: ...

    def average_from(self, examples: int) -> None: ...

    def set_memory(self, memory: float) -> None:
        """Set the discount factor of the recent records per example."""

    def set_unit(self, steps: float) -> None:
        """Set the position of the grid of C."""

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
        Statistics of the unit of C: number of rows, sum of their log squared lengths, number of targets, sum of their logs, steps of the grid.
        """

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
        """For each model, whether the mean of its weights predicts."""

    @property
    def chosen(self) -> int:
        """Number of the model with the best recent record."""

    @property
    def ensemble_weights(self) -> list[float]:
        """
        Coefficient of each score in the ensemble, of the mean and of the last weights of each model; zero if there is no ensemble.
        """

    @property
    def chosen_unit(self) -> float:
        """Unit of the score of the best model in the ensemble prediction."""

    @property
    def forms_ensemble(self) -> bool:
        """Whether the models form an ensemble."""

    @property
    def chosen_record(self) -> tuple[float, float]:
        """
        Mistakes and error of the model with the best record at the time, or of the ensemble.
        """

    @property
    def drift_record(self) -> tuple[float, float, float, float]:
        """
        Sums over the rows evaluated before they were learned: weights, squared weights, and weighted bounded losses of the best model and their squares.
        """

class Before32:
    """A copy of the state that a batch may change in some models."""

    def restore(self) -> None:
        """Restore the models, including their rules."""

    def end(self) -> None:
        """
        Ignore later changes: they have transactions of their own, to restore first.
        """

    def check(self) -> None:
        """Raise if a number that the batch changed overflows."""

@overload
def begin_transaction(models: Sequence[Model32], rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, undo: bool = True) -> Before32: ...

@overload
def begin_transaction(models: Sequence[Model64], rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, undo: bool = True) -> Before64:
    """
    Copy the state that a batch learned in several calls may change, to check it and, unless undo is false, to restore it. The cost depends on the rows, not on the size of the model.
    """

@overload
def set_ensemble_weights(models: Sequence[Model32], predict: bool) -> None: ...

@overload
def set_ensemble_weights(models: Sequence[Model64], predict: bool) -> None:
    """
    Set the weight of each score in the ensemble by the loss of its margins, or to zero without predict.
    """

@overload
def learn_together(models: Sequence[Model32], rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, batch_size: int = 1, undo: bool = True, threads: int = 1, reference: Rows | None = None, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')] | None = None, recorded: int = 0, check: bool = True) -> None: ...

@overload
def learn_together(models: Sequence[Model64], rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, batch_size: int = 1, undo: bool = True, threads: int = 1, reference: Rows | None = None, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')] | None = None, recorded: int = 0, check: bool = True) -> None:
    """
    Learn the rows in all models independently. An invalid row raises and leaves all of them unchanged; after an interrupt all have learned the same rows. margins receives those of model number `recorded`. Unless check is false, a model that overflows raises as well.
    """

class Model64:
    """A linear model: weights, metric, centre and counters."""

    def __init__(self, shape: Shape, groups: Sequence[Group], own_sum: Sequence[int]) -> None: ...

    def learn(self, rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, batch_size: int = 1, undo: bool = True, threads: int = 1, reference: Rows | None = None, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')] | None = None) -> None:
        """
        Learn the rows in order. An invalid row raises and leaves the model unchanged. margins, rows x 2 x outputs, is filled with the scores of each row and of the reference row before the row is learned.
        """

    def score(self, rows: Rows, threads: int = 1) -> NDArray[numpy.float64]:
        """
        Return the scores of the predictor, one row per example and one column per output.
        """

    def ensemble_score(self, rows: Rows, threads: int = 1) -> NDArray[numpy.float64]:
        """
        Return the part of these models in the ensemble prediction of each row.
        """

    def ensemble_coefficients(self) -> NDArray[numpy.float64]:
        """
        Return the part of these models in the weights of the ensemble prediction, followed by the intercept.
        """

    def grow(self, features: int) -> None:
        """Add features with weight zero."""

    def forget(self, feature: int) -> None:
        """Reset a feature to its initial state."""

    def fold(self) -> None:
        """
        Write the effective weights to the table and reset the mixture to the identity.
        """

    def copy(self) -> Model64:
        """Return a copy of the model."""

    def change_since(self, start: object) -> dict[str, object]:
        """
        Return what the model has learned since a start, as the fields of a Change.
        """

    def apply_change(self, change: object, prior: float = 0.0, damping: float = 0.0, relaxation: float = 0.0) -> None:
        """Add the changes of all models that continued this one."""

    def state(self) -> dict:
        """Return all arrays of the state by name."""

    def layout(self) -> dict[str, str]:
        """
        Return the kind of each array of the state: column, slot, feature, output, mixture, group, matrix, model or shared.
        """

    def load_state(self, state: dict) -> None:
        """
        Restore what state() returned; an array that does not fit raises and changes nothing.
        """

    def continue_models(self, source: Model64, models: Sequence[int], labels: Sequence[int] = []) -> None:
        """
        Continue model models[i] of another core in model i; with labels, output labels[k] of each model in its output k.
        """

    def continue_features(self, source: Model64, places: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Continue another core whose feature j is feature places[j] of this one; -1 leaves it out.
        """

    def add_classes(self, source: Model64, position: Sequence[int], change: Sequence[float]) -> None:
        """
        Continue another core with more classes: position[c] is the new number of class c, and change is the matrix that maps the outputs of a model to the new ones, row by row.
        """

    def set_weights(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None:
        """
        Set the predicting weights, features x outputs, and intercepts; None leaves them unchanged. Averages, queue and reservoir restart.
        """

    def weights_view(self) -> NDArray[numpy.float64]:
        """Return a writable view of the last weights, features x outputs."""

    def weights(self) -> NDArray[numpy.float64]:
        """Return the predicting weights, features x outputs."""

    def bias(self) -> NDArray[numpy.float64]:
        """Return the predicting intercepts."""

    def set_groups(self, groups: Sequence[Group]) -> None:
        """Change the rules; the weights stay."""

    def freeze_means(self, frozen: bool) -> None: ...

    def seed(self, seed: int) -> None: ...

    def average_from(self, examples: int) -> None: ...

    def set_memory(self, memory: float) -> None:
        """Set the discount factor of the recent records per example."""

    def set_unit(self, steps: float) -> None:
        """Set the position of the grid of C."""

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
        Statistics of the unit of C: number of rows, sum of their log squared lengths, number of targets, sum of their logs, steps of the grid.
        """

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
        """For each model, whether the mean of its weights predicts."""

    @property
    def chosen(self) -> int:
        """Number of the model with the best recent record."""

    @property
    def ensemble_weights(self) -> list[float]:
        """
        Coefficient of each score in the ensemble, of the mean and of the last weights of each model; zero if there is no ensemble.
        """

    @property
    def chosen_unit(self) -> float:
        """Unit of the score of the best model in the ensemble prediction."""

    @property
    def forms_ensemble(self) -> bool:
        """Whether the models form an ensemble."""

    @property
    def chosen_record(self) -> tuple[float, float]:
        """
        Mistakes and error of the model with the best record at the time, or of the ensemble.
        """

    @property
    def drift_record(self) -> tuple[float, float, float, float]:
        """
        Sums over the rows evaluated before they were learned: weights, squared weights, and weighted bounded losses of the best model and their squares.
        """

class Before64:
    """A copy of the state that a batch may change in some models."""

    def restore(self) -> None:
        """Restore the models, including their rules."""

    def end(self) -> None:
        """
        Ignore later changes: they have transactions of their own, to restore first.
        """

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
    """The options of a kernel model."""

    def __init__(self, *, features: int, outputs: int, kernel: Kernel, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0, intercept: bool = True, average: bool = False, vote: Vote = Vote.each, budget: int = 0, forget: Forget = Forget.simple) -> None: ...

class KernelModel:
    """Support vectors, their coefficients and the history."""

    def __init__(self, shape: KernelShape, groups: Sequence[Group], sparse: bool) -> None: ...

    def learn(self, rows: Rows, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, batch_size: int = 1, first_id: int = 0, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None = None) -> None:
        """
        Learn the rows in order. An invalid row raises and leaves the model unchanged. margins, rows x outputs, is filled with the scores of each row before it is learned.
        """

    def learn_values(self, with_support: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], within: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], batch_size: int = 1, margins: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None = None) -> None:
        """Learn a block of examples from kernel values computed outside."""

    def score(self, rows: Rows) -> NDArray[numpy.float64]:
        """Scores, one row per example and one column per output."""

    def expansion(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
        """
        Return the example index of each support vector and the predicting coefficients.
        """

    def coef(self) -> NDArray[numpy.float64]:
        """Return the predicting coefficients, support vectors x outputs."""

    def ids(self) -> NDArray[numpy.int64]:
        """Return the example index of each support vector."""

    def add_classes(self, source: KernelModel, change: Sequence[float], first: bool) -> None:
        """
        Continue another model with more classes: change, new x old, is the matrix that maps its outputs to the new ones; first says whether its only class is now the first.
        """

    def state(self) -> dict:
        """Return all arrays of the state by name."""

    def load_state(self, state: dict) -> None:
        """Restore what state() returned."""

    def set_groups(self, groups: Sequence[Group]) -> None:
        """Change the rules; the coefficients stay."""

    def freeze(self, frozen: bool) -> None:
        """Set whether the following rows have been learned before."""

    def support(self) -> dict:
        """
        Return the support vectors: `support`, or `data`, `indices` and `indptr`; empty if they are stored outside.
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
        Mistakes in new rows, updates and loss; each example is predicted before it is learned.
        """

def solve_batch(group: Group, gram: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> object:
    """
    Return the coefficients of the exact step of a mini-batch, or None if a hard batch is infeasible.
    """

class StreamState:
    """A copy of the state of a stream, to restore it."""

class StreamLock:
    """A context manager that locks a stream for several calls."""

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...

class Stream:
    """A model that learns dicts, one at a time."""

    def __init__(self, regression: bool, batch_size: int, max_features: int, hashed: bool, zeros: bool) -> None: ...

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """
        Learn from the features x and the target y; w, the weight of the example, multiplies C.
        """

    def _learn(self, x: Any, y: Any, w: float) -> None: ...

    @property
    def _records_margins(self) -> bool: ...

    @_records_margins.setter
    def _records_margins(self, arg: bool, /) -> None: ...

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """
        Predict the target for the features x. Features that were never learned count as zero.
        """

    def flush(self) -> None:
        """Learn the waiting examples of an incomplete mini-batch."""

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

    def _relabel(self, classes: list[Any], from_outputs: Sequence[int]) -> None: ...

    def _widen_labels(self, classes: list[Any], from_outputs: Sequence[int], shape: Shape, groups: list[Group], own_sum: list[int], average_from: int, memory: float) -> None: ...

    @property
    def _several(self) -> bool: ...

    def _resume(self, names: list[Any], arrays: dict[str, Any]) -> None: ...

    def _dump(self, with_model: bool = True) -> tuple[list[Any], list[Any], dict[str, Any]]: ...

    def _names(self) -> list[Any]: ...

    @property
    def _ignored(self) -> list[int]: ...

    def _classes(self) -> list[Any]: ...

    def _progress(self) -> tuple[float, float, float]: ...

    def _weights(self) -> tuple[Any, Any]: ...

    @property
    def _lock(self) -> StreamLock:
        """Lock the stream for several calls: with stream._lock: ..."""

    def _copy_state(self) -> StreamState: ...

    def _restore_state(self, state: StreamState) -> None: ...

    @property
    def _slots(self) -> int: ...

    @property
    def _taken(self) -> int: ...

    @property
    def examples(self) -> int:
        """Number of examples learned from."""

def give_signatures(stream: type) -> None:
    """Make the signatures of public methods readable for inspect.signature."""

class TextParser:
    """Reads blocks of text lines into sparse rows."""

    @staticmethod
    def svmlight(float32: bool, names: bool, several: bool, skip_bad: bool, first_index: int, n_features: int, widest: int) -> TextParser: ...

    @staticmethod
    def vw(float32: bool, names: bool, several: bool, skip_bad: bool, bits: int, need_labels: bool = False) -> TextParser: ...

    def set_first_index(self, first_index: int, n_features: int, widest: int) -> None: ...

    def feed(self, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], final: bool, most_rows: int) -> int:
        """
        Parse complete lines until the end of the data, of the rows or of the tolerated errors; return the number of bytes used.
        """

    def take(self) -> dict:
        """Return the rows parsed so far and start again."""

    def problems(self) -> list:
        """The first invalid lines: (line, column or 0, word, reason)."""

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
        Fields of a record are stored in the column that `places` gives them, or skipped if it is negative.
        """

    def feed(self, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], final: bool, most_rows: int) -> int:
        """
        Parse complete lines until the end of the data, of the rows or of the tolerated errors; return the number of bytes used.
        """

    def take(self) -> tuple:
        """Return the rows parsed so far and start again."""

    def problems(self) -> list:
        """The first invalid lines: (line, column or 0, word, reason)."""

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
    """Parse one decimal number; return None if it is invalid."""

def checksum(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
    """Return a checksum of bytes, against damage."""

def hash_name(name: str, seed: int = 0) -> int:
    """Return Vowpal Wabbit's hash of a name: a number is its own hash."""

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
    Return the number in every string of an Arrow column, NaN if there is none; and its kind: 0 text, 1 number, 2 integer, 3 true or false, 4 missing.
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
    Raise unless all documents are strings, or bytes of UTF-8; the message names the first that is not.
    """

@overload
def check_texts(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def murmur3(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
    """Return the signed hash of every string of an Arrow column."""

class Words:
    """Documents to sparse rows of hashed words."""

    def __init__(self, how: dict) -> None:
        """All options by name; aggro.text.options checks them."""

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
        Return the words and n-grams of a document in order; columns of negative sign as ~column.
        """

    def find(self, which: int, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
        """Return the feature of each column in a range; -1 if it has none."""

    def begin(self) -> None:
        """Begin a transaction, which restore() undoes."""

    def keep(self) -> None: ...

    def restore(self) -> None: ...

    def prune(self) -> None:
        """Remove the least frequent names if there are too many."""

    @property
    def sizes(self) -> list[int]: ...

    def state(self) -> dict:
        """Return the state as arrays by name."""

    def load_state(self, state: dict, most_names: int = 0) -> None:
        """
        Restore what state() returned; if something does not fit, nothing changes.
        """

def take_rows(rows: Rows, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Rows:
    """
    Return some rows in a given order: a view if they are contiguous dense rows, else a copy.
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

    def map(self, rows: Rows, layouts: Sequence[int], learn: bool = False, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, single: bool = False, missing: bool = True, append: bool = False) -> list:
        """
        Return the features of rows in some layouts, each as a matrix, or as data, indices, indptr and width of a sparse one. With learn, rows of positive weight update the statistics first. Without missing, NaN is an error. With append, columns that the map does not have follow the features, scaled to length one in each row.
        """

    def grow(self, columns: int) -> None:
        """Add columns up to this number; their values were zero so far."""

    def copy(self) -> FeatureMap:
        """Return an independent copy, which is cheap."""

    def only(self, layout: int) -> FeatureMap:
        """Return a copy with one of the layouts."""

    def __getstate__(self) -> tuple[list[tuple[int, int]], int, dict]: ...

    def __setstate__(self, arg: tuple[Sequence[tuple[int, int]], int, dict], /) -> None: ...

    def state(self) -> dict:
        """Return the learned statistics as arrays by name."""

    def load_state(self, state: dict) -> None:
        """
        Restore what state() returned; if something does not fit, nothing changes.
        """

def scaled_log_loss(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> float:
    """
    Return the mean log loss of the scores multiplied by the factor that minimises it.
    """
