"""Rows, targets and weights in several storage formats."""

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp
from linear_support import make_problem

# Labels of classes, each list sorted.
LABELS = {
    "numbers": np.arange(4),
    "texts": np.array(["a", "aa", "b", "é"]),
    "objects": np.array(["x", "xylophone", "y", "z"], dtype=object),
    "small integers": np.array([-128, -1, 0, 127], dtype=np.int8),
    "large integers": np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64),
    "negative numbers": np.array([-3.0, -1.0, 0.0, 2.0]),
}


@dataclass
class Data:
    """A stream: rows, targets, weights or None, and its difficulties."""

    X: np.ndarray
    y: np.ndarray
    targets: np.ndarray  # y as numbers: 0..K-1, -1/+1, or values
    classes: np.ndarray | None
    weights: np.ndarray | None
    dtype: np.dtype
    storage: str
    notes: list = field(default_factory=list)
    well_scaled: bool = True  # rounding errors stay small

    def __str__(self):
        rows, columns = self.X.shape
        answers = "numbers" if self.classes is None else f"classes {self.classes.tolist()}"
        parts = [f"{rows} x {columns} {self.dtype}, {self.storage}", answers, *self.notes]
        return "; ".join(parts)

    @property
    def repeats(self):
        """Return whether two rows are equal."""
        return len(np.unique(self.X, axis=0)) < len(self.X)

    @property
    def present(self):
        """Return which rows have positive weight."""
        return np.ones(len(self.X), bool) if self.weights is None else self.weights > 0


def draw(rng, setting, rows=None):
    """Return a stream for a setting, with a given or random number of rows."""
    long = setting.selects and rng.random() < 0.1
    many = (1100, 4500) if setting.maps_features else (3500, 4500)
    n = int(rng.integers(*(many if long else (4, 80))))
    n, d = rows or n, int(rng.integers(1, 12))
    density = rng.choice([0.2, 0.6, 1.0])
    X, targets = make_problem(setting.task, setting.outputs, rng, n, d, density)
    X = X.astype(np.float32).astype(np.float64)  # the same numbers in both precisions
    dtype = np.dtype(["float64", "float64", "float32"][rng.integers(3)])
    storage = list(STORAGES)[rng.integers(len(STORAGES))]
    data = Data(X, targets, targets, None, None, dtype, storage)
    for name, spoil in DIFFICULTIES.items():
        if rng.random() < 0.2:
            spoil(rng, data)
            data.notes.append(name)
    if setting.task == "regression":
        for name, spoil in HEAVY_TAILS.items():
            if rng.random() < 0.15:
                spoil(rng, data)
                data.notes.append(name)
    if long and rng.random() < 0.5:
        _drift(rng, data)
        data.notes.append("drift")
    if setting.is_kernel:  # powers of huge numbers overflow
        data.X = np.where(np.abs(data.X) > 2.0**100, 1.0, data.X)
    _draw_weights(rng, data)
    _name_classes(rng, data, setting)
    encode_targets(data, setting)
    return data


def _repeat(rng, data):
    """Repeat an example several times in a row, or much later."""
    for _ in range(max(1, len(data.X) // 8)):
        i, j = rng.integers(len(data.X), size=2)
        j = i + 1 if rng.random() < 0.5 and i + 1 < len(data.X) else j
        data.X[j], data.targets[j] = data.X[i], data.targets[i]


def _contradict(rng, data):
    """Repeat a row with different targets."""
    i, j = rng.integers(len(data.X), size=2)
    data.X[j] = data.X[i]


def _vanish(rng, data):
    data.X[rng.random(len(data.X)) < 0.2] = 0
    if rng.random() < 0.5:
        data.X[0] = 0


def _fix_column(rng, data):
    data.X[:, rng.integers(data.X.shape[1])] = rng.choice([0.0, 1.0, 7.25])


def _exaggerate(rng, data):
    """Scale some rows to very large and very small ones."""
    powers = [-40, 20] if data.dtype == np.float32 else [-200, -40, 40, *([480] * rng.integers(2))]
    for power in powers:
        data.X[rng.integers(len(data.X))] *= 2.0**power
    data.well_scaled = False


def _one_target_first(rng, data):
    """Set the same target in all of the first rows."""
    some = rng.integers(1, max(2, len(data.targets) // 3))
    data.targets[:some] = data.targets[0]


DIFFICULTIES = {
    "repeated rows": _repeat,
    "contradictions": _contradict,
    "zero rows": _vanish,
    "a constant column": _fix_column,
    "huge and tiny rows": _exaggerate,
    "one target at first": _one_target_first,
}


def _outliers(rng, data):
    """Multiply a few targets by a thousand."""
    some = rng.random(len(data.targets)) < rng.choice([0.01, 0.1])
    data.targets[some] *= 1000


def _cauchy_noise(rng, data):
    """Add noise without mean and variance."""
    data.targets += rng.standard_cauchy(data.targets.shape)


def _drift(rng, data):
    """Change the concept near the end."""
    start = int(0.8 * len(data.targets))
    late = data.targets[start:]
    data.targets[start:] = -late if late.dtype.kind == "f" else (late + 1) % (late.max() + 1)


def _jump(rng, data):
    """Make targets tiny at first and huge later."""
    start = rng.integers(1, max(2, len(data.targets) // 3))
    before, after = ((-300, 300), (-30, 30), (0, 300), (0, 2))[rng.integers(4)]
    data.targets[:start] *= 10.0**before
    data.targets[start:] *= 10.0**after
    data.well_scaled = False


HEAVY_TAILS = {"a jump": _jump, "outliers": _outliers, "Cauchy noise": _cauchy_noise}


def _draw_weights(rng, data):
    kind = rng.integers(4)
    if kind == 0:
        return
    count = len(data.X)
    data.weights = rng.choice([0.0, 0.5, 1.0, 3.0], count) if kind > 1 else np.ones(count)
    if kind == 3:
        data.weights[: rng.integers(1, max(2, count // 4))] = 0
    if not data.weights.any():
        data.weights[-1] = 1
    data.notes.append(["", "weights of one", "weights", "weights, none for the first rows"][kind])


def _name_classes(rng, data, setting):
    if setting.classes:
        names = list(LABELS)[rng.integers(len(LABELS))] if rng.random() < 0.4 else "numbers"
        data.classes = LABELS[names][: setting.classes]


def encode_targets(data, setting):
    """Set the targets of the learner: labels, indicators or values."""
    if setting.classes:
        data.y = data.classes[data.targets]
    elif setting.task == "multilabel":
        data.y = (data.targets > 0).astype(np.int64)
    else:
        data.y = data.targets[:, 0] if setting.outputs == 1 else data.targets


def with_class_weight(rng, setting, data, balanced):
    """Return a setting that may weight the classes; ``balanced`` weights depend on the calls."""
    if data.classes is None or not setting.has("class_weight") or rng.random() < 0.7:
        return setting
    weights = dict(
        zip(data.classes.tolist(), rng.choice([0.25, 1.0, 4.0], 4).tolist(), strict=False)
    )
    chosen = "balanced" if balanced and rng.random() < 0.5 else weights
    return replace(setting, params={**setting.params, "class_weight": chosen})


def effective_weights(setting, data):
    """Return the weight of each row times that of its class."""
    weights = np.ones(len(data.X)) if data.weights is None else data.weights
    by_class = setting.params.get("class_weight")
    if by_class is None:
        return weights
    if by_class == "balanced":
        counts = np.bincount(data.targets[weights > 0], minlength=setting.classes)
        return weights * (counts.sum() / setting.classes / np.maximum(counts, 1))[data.targets]
    return weights * np.array([by_class[label] for label in data.y.tolist()])


def _csr(X, indices=np.int32):
    matrix = sp.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(indices), matrix.indptr.astype(indices)
    return matrix


def _rewritten(X, rewrite):
    """Return a CSR matrix with rewritten entries of each row."""
    rows = [rewrite(np.flatnonzero(row), row) for row in X]
    columns = np.concatenate([np.array(r[0], dtype=np.int32) for r in rows])
    values = np.concatenate([np.array(r[1], dtype=X.dtype) for r in rows])
    ends = np.cumsum([0] + [len(r[0]) for r in rows])
    return sp.csr_matrix((values, columns, ends), shape=X.shape)


def _two_entries(at, row):
    return np.concatenate([at, at]), np.concatenate([2 * row[at], -row[at]])


STORAGES = {
    "dense": np.ascontiguousarray,
    "dense, column by column": np.asfortranarray,
    "csr": _csr,
    "csr with long indices": lambda X: _csr(X, np.int64),
    "csr, unsorted": lambda X: _rewritten(X, lambda at, row: (at[::-1], row[at[::-1]])),
    "csr, entries that add up": lambda X: _rewritten(X, _two_entries),
    "csr with explicit zeros": lambda X: _rewritten(X, lambda at, row: (np.arange(len(row)), row)),
}


def as_dict(row, shift=0, zeros=False):
    """Return a row as a dict; a shift gives new names."""
    return {f"f{j + shift}": float(v) for j, v in enumerate(row) if v or zeros}
