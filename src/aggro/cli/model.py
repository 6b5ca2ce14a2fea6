"""A model of the command line: a public estimator, new, loaded from a file, or resumed."""

from __future__ import annotations

import argparse
import dataclasses
import warnings
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from aggro.cli.options import given, option_of, options
from aggro.cli.reading import TABLE, Reading, source_of
from aggro.estimators import counters
from aggro.estimators.auto import AutoClassifier, AutoRegressor
from aggro.io.batch import RawRows, looks_continuous
from aggro.io.columns import numeric_names
from aggro.io.sources import expand, format_of
from aggro.io.strings import MOST_NAMES
from aggro.labels import chosen
from aggro.learner import Array
from aggro.persistence import ModelFileError, load, save
from aggro.persistence.record import TEXTS
from aggro.selection.candidates import CHOSEN
from aggro.selection.common import progressive_loss
from aggro.selection.search_space import INTERVAL
from aggro.selection.selection import ModelSelection
from aggro.settings import DEFAULTS, Settings
from aggro.text.classifier import TextClassifier
from aggro.text.regressor import TextRegressor
from aggro.variants import ESTIMATORS, LINEAR, PLAIN, SELECTED, SQUARED, Variant, find


class Model:
    """An estimator, the name of its variant, and the state of its passes.

    Parameters
    ----------
    estimator : estimator
        A linear estimator or a text estimator.
    dtype : dtype
        Type of the numbers to learn.
    title : str, optional
        Name of the variant; by default that of the class.
    """

    def __init__(self, estimator: Any, dtype: Any = np.float64, title: str | None = None) -> None:
        self.estimator, self.dtype = estimator, np.dtype(dtype)
        origin = estimator.__dict__.get("_origin", {})
        self.title = str(title or origin.get("variant", self.name))
        self.selected: dict[str, Any] = dict(origin.get("selected", {}))  # by earlier runs
        self.again = False  # whether the rows were learned in an earlier pass
        self.ignores_counters = True  # whether columns that only rise or fall count as zero

    @property
    def name(self) -> str:
        """Name of the estimator."""
        return type(self.estimator).__name__

    @property
    def raw(self) -> bool:
        """Whether the estimator reads texts."""
        return self.name in TEXTS

    @property
    def regression(self) -> bool:
        """Whether the model predicts numbers."""
        kind: str = self.estimator._estimator_kind
        return kind == "regressor"

    @property
    def learner(self) -> Any:
        """The learner of the estimator; None before the first example."""
        return getattr(self.estimator, "_learner", None)

    @property
    def settings(self) -> Settings:
        """The settings of a linear learner, or those it will have with several classes."""
        if self.learner is None:
            task = "regression" if self.regression else "multiclass"
            found: Settings = self.estimator._checked_settings(task)
        else:
            found = self.learner.settings
        return found

    @property
    def classes(self) -> Array:
        """The classes seen so far."""
        return np.asarray(getattr(self.estimator, "classes_", np.empty(0)))

    @property
    def features(self) -> int:
        """Number of features seen so far; for texts, the number of hashed columns."""
        estimator = self.estimator
        return int(estimator.n_features if self.raw else estimator.n_features_in_)

    @property
    def ignored(self) -> Array:
        """Columns that count as zero because they only rise or only fall."""
        fitted = self.estimator.__dict__.get("_fitted")
        return counters.found(None if fitted is None else fitted.counters)

    @property
    def columns(self) -> dict[str, Any]:
        """Options with which a ``Reading`` opens data for the model."""
        return {"width": self.features, "dtype": self.dtype, "raw": self.raw}

    @property
    def measured(self) -> str:
        """Name of the error of the predictions made before learning (see ``error_name``)."""
        criterion = getattr(self.estimator, "criterion", DEFAULTS["criterion"])
        return f"{criterion} error" if self.regression else "mistakes"

    @property
    def loss(self) -> float:
        """Mistakes, or the sum of errors of a regression, each before its example was learned."""
        if self.learner is None:
            return 0.0
        return float(
            progressive_loss(self.learner)[1] if self.regression else self.estimator.n_mistakes_
        )

    @property
    def updates(self) -> int:
        """Number of examples that changed the model."""
        return 0 if self.learner is None else int(self.estimator.n_updates_)

    # -- learning ---------------------------------------------------------------------------

    @property
    def step(self) -> int:
        """Number of examples that a batch must be divided at a multiple of."""
        if isinstance(self.learner, ModelSelection):
            return INTERVAL
        return 1 if self.raw else self.settings.batch_size

    def begin_batch(self, X: Any, y: Array, weights: Array | None) -> Any:
        """Return a batch to learn; the model gets its features and classes."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ``ignored`` columns are reported at the end
            if self.raw:
                return self.estimator._begin_batch(X, y, weights)
            ignore = self.ignores_counters
            return self.estimator._begin_batch(X, y, weights, ignore_counters=ignore)

    def end_pass(self) -> None:
        """Prepare for learning the same rows again."""
        self.again = True
        if self.learner is None:
            return
        if not self.raw:
            self.learner.freeze_means()
        elif self.selects:
            self.keep_best()

    def expect_new_rows(self) -> None:
        """Prepare for learning rows that were not learned before."""
        self.again = False
        if not self.raw:
            self.learner.freeze_means(False)

    @property
    def selects(self) -> bool:
        """Whether settings are still being selected."""
        return self.learner is not None and bool(getattr(self.estimator, "candidates_", ()))

    def keep_best(self) -> dict[str, Any]:
        """Keep only the best candidate; return its settings."""
        best = dict(self.estimator.best_params_)
        self.estimator.keep_best()
        self.selected = {**self.selected, **best}
        return best

    # -- predicting -------------------------------------------------------------------------

    def scores(self, X: Any) -> Array:
        """Return one row per example and one column per output."""
        scores: Array = self.estimator._scores_of(X)
        return scores

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of each class; a softmax if no margins were recorded."""
        found: Array = self.estimator._probabilities_of(scores)
        return found

    def chosen(self, scores: Array) -> Array:
        """Return the index of the predicted class."""
        return chosen(scores, len(self.classes))

    # -- files ------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Names of hashed columns, such as "city=Oslo"."""
        return list(self.estimator.__dict__.get("_names", ()))

    def keep_names(self, new: Iterable[str]) -> None:
        """Add names of hashed columns, up to the number that a model stores."""
        known = dict.fromkeys((*self.names, *new))
        if known:
            self.estimator._names = list(islice(known, MOST_NAMES))

    def save(self, path: str, reading: Reading, passes: int) -> None:
        """Write the estimator, and how its data are read."""
        own = {"variant": self.title, "selected": self.selected}
        self.estimator._origin = {**own, **dataclasses.asdict(reading)}
        if not self.raw:
            self.estimator._fitted = self.estimator._fitted.changed(n_iter=passes)
        save(self.estimator, path)


def load_model(path: str) -> tuple[Model, Reading]:
    """Read a model, and how its data are read."""
    estimator = load(path)
    model = Model(estimator)
    if not model.raw and model.name not in LINEAR:
        raise ModelFileError(f"{path}: the command line has no {model.name}; load it in Python.")
    if model.learner is None:
        raise ModelFileError(f"{path}: the model has learned nothing yet.")
    several = model.regression and not model.raw and model.learner.outputs > 1
    if model.settings.task == "multilabel" or several:
        raise ModelFileError(
            f"{path}: the command line has no models of several targets; load it in Python."
        )
    if not model.raw:
        model.dtype = model.learner.dtype
        estimator.densify()  # before more is learned
    return model, Reading.from_origin(estimator.__dict__.get("_origin", {}))


def shown_params(params: dict[str, Any]) -> str:
    """Return selected parameters as text.

    >>> shown_params({"C": 0.1, "metric": "newton"})
    'C=0.1, metric=newton'
    """
    return ", ".join(
        f"{name}={value:g}" if name == "C" else f"{name}={value}" for name, value in params.items()
    )


# -- new models ----------------------------------------------------------------------------------

# Settings that do not turn the model selection off.
BESIDE_SELECTION = {
    *("epsilon", "criterion", "features", "fit_intercept", "intercept_scaling"),
    *("forgetting", "memory"),
}


def selects_by_default(args: argparse.Namespace) -> bool:
    """Return whether the settings are selected: always, unless an option asks for one model."""
    plain = args.algorithm is not None or args.fast or given(args).keys() - BESIDE_SELECTION
    return bool(args.auto or not plain)


def new_model(args: argparse.Namespace, X: Any, y: Array, kinds: Mapping[str, str] | None) -> Model:
    """Return a new model: the given variant, or the default for these first labels.

    ``kinds`` are those of the columns of a table; feature maps take the columns of numbers.
    """
    if isinstance(X, RawRows):
        return new_text_model(args, X, y)
    selects = selects_by_default(args)
    variant = find_variant(args.algorithm, args.task, y, selects)
    if selects and args.algorithm is None and args.criterion == "squared":
        variant = find(SQUARED) if is_regression(variant) else variant
    params = checked_params(variant, given(args))
    if selects:
        params = selected_params(variant, named=args.algorithm is not None) | params
    params |= recording(args, is_regression(variant))
    estimator = variant.make(**params, random_state=args.random_state or 0)
    estimator._checked_settings("regression" if is_regression(variant) else "multiclass")
    numbers = len(numeric_names(kinds or {}))
    if 0 < numbers < X.shape[1]:
        estimator._mapped_columns = numbers
    return Model(estimator, X.dtype, variant.name)


def recording(args: argparse.Namespace, regression: bool) -> dict[str, Any]:
    """Return the parameter that records margins for calibrated probabilities, if it was given."""
    if args.probability and regression:
        raise ValueError("--probability is for classes; these labels are numbers.")
    return {"probability": True} if args.probability else {}


def selected_params(variant: Variant, *, named: bool) -> dict[str, Any]:
    """Return the settings of ``AutoClassifier`` or ``AutoRegressor``.

    A variant that was ``named`` keeps its loss.
    """
    auto = AutoRegressor if is_regression(variant) else AutoClassifier
    params = {**ESTIMATORS[auto.__name__].fixed, "features": auto().features}
    axes = ESTIMATORS[variant.estimator].axes
    return {
        name: value
        for name, value in params.items()
        if name in axes and (name in CHOSEN or not named)
    }


# -- variants ----------------------------------------------------------------------------------


def is_regression(variant: Variant) -> bool:
    """Return whether a variant predicts numbers."""
    return ESTIMATORS[variant.estimator].regression


def task_of(variant: Variant) -> str:
    """Return the task of a variant, as --task names it."""
    return "regression" if is_regression(variant) else "classification"


def find_variant(algorithm: str | None, task: str, y: Array, selects: bool) -> Variant:
    """Return the named variant, or the default for the task; raise if they contradict."""
    found = "regression" if looks_continuous(y) else "classification"
    if task != "auto":
        default = (SELECTED if selects else PLAIN)[task == "regression"]
        variant = find(algorithm or default)
        if task_of(variant) != task:
            raise ValueError(
                f"{variant.name} is for {task_of(variant)}; for {task} use e.g. {default}."
            )
        return variant
    if algorithm is None:
        return find((SELECTED if selects else PLAIN)[found == "regression"])
    variant = find(algorithm)
    if found == "regression" and not is_regression(variant):
        raise ValueError(
            f"{variant.name} is for classification, but the labels are numbers such as {y[0]:g}; "
            "use --task regression without --algorithm, or --task classification to treat them "
            "as classes."
        )
    return variant


def checked_params(variant: Variant, params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters; raise if the variant does not have one of them."""
    if ESTIMATORS[variant.estimator].kernel:
        raise ValueError(
            f"{variant.name} is a kernel variant, which the command line does not have; use "
            f"aggro.{variant.estimator} in Python."
        )
    axes = set(ESTIMATORS[variant.estimator].axes)
    unknown = sorted(params.keys() - axes)
    if unknown:
        listed = ", ".join(map(option_of, sorted(axes & options().keys())))
        raise ValueError(
            f"{variant.name} has no {option_of(unknown[0])}; its options are {listed}."
        )
    return params


# -- texts -------------------------------------------------------------------------------------


TEXT_OPTIONS = ("ngrams", "chars", "idf", "stop_words")
TEXT_SETTINGS = {
    *("C", "metric", "average", "multiclass", "forgetting", "epsilon", "criterion", "features"),
    *("mergeable", "memory"),
}


def learns_texts(args: argparse.Namespace) -> bool:
    """Return whether a text estimator learns, rather than a linear one from word counts."""
    if not args.text or args.text_defaults == "counts" or args.algorithm is not None:
        unused = [name for name in TEXT_OPTIONS if getattr(args, name)]
        if unused:
            raise ValueError(
                f"{option_of(unused[0])} is for text models: give --text COLUMN, and neither "
                "--algorithm nor --text-defaults counts."
            )
        return False
    return all(source_of(args.format or format_of(path)) == TABLE for path in expand(args.data))


def new_text_model(args: argparse.Namespace, X: RawRows, y: Array) -> Model:
    """Return a new text model of the kind that suits the first labels."""
    regression = args.task == "regression" or (args.task == "auto" and looks_continuous(y))
    params = text_params(args) | recording(args, regression)
    if regression:
        params.pop("multiclass", None)
    for name in {"epsilon", "criterion"} & params.keys():
        if not regression:
            raise ValueError(f"--{name} is for regression; these labels are classes.")
    columns = {
        **dict.fromkeys(X.texts, "text"),
        **dict.fromkeys(X.categories, "category"),
        **X.kinds,
    }
    params["columns"] = None if list(columns.values()) == ["text"] else columns
    estimator = (TextRegressor if regression else TextClassifier)(**params)
    estimator._new_learner(2)  # raises if a parameter is invalid
    return Model(estimator)


def text_params(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of a text estimator that were given."""
    params = given(args)
    unknown = sorted(params.keys() - TEXT_SETTINGS)
    if unknown:
        raise ValueError(
            f"{option_of(unknown[0])} is not an option of text models; add --text-defaults counts, "
            "or an --algorithm, to learn from word counts."
        )
    if args.ngrams and args.chars:
        raise ValueError("--ngrams is for words and --chars for characters; give one of them.")
    if args.ngrams:
        params["ngram_range"] = args.ngrams
    if args.chars:
        params |= {"analyzer": "char_wb", "ngram_range": args.chars}
    if args.idf:
        params["idf"] = {"yes": True, "no": False, "auto": "auto"}[args.idf]
    if args.stop_words == "english":
        params["stop_words"] = "english"
    elif args.stop_words:
        words = Path(args.stop_words).read_text(encoding="utf-8").split()
        params["stop_words"] = sorted(set(words))
    if args.hash_bits is not None:
        params["n_features"] = 2**args.hash_bits
    return {**params, "random_state": args.random_state or 0}


# -- resuming ----------------------------------------------------------------------------------


ROW_OPTIONS = ("format", "weight", "missing_zero")  # how rows are written, not their columns
CHANGEABLE = ("C", "epsilon", "r", "eta")  # settings that may change between runs


def resume(args: argparse.Namespace) -> tuple[Model, Reading]:
    """Return the saved model and how its data are read; options must not contradict it."""
    model, known = load_model(args.resume)
    asked = _given_reading(args)
    if hasattr(model.estimator, "_origin"):  # a model made in Python stores no reading
        for name in asked.keys() - set(ROW_OPTIONS):
            value = _known(known, name)
            if (name, value) != ("labels", "auto"):
                _check_same(args.resume, name, value, asked[name])
    if args.task != "auto":
        task = "regression" if model.regression else "classification"
        _check_same(args.resume, "task", task, args.task)
    if args.random_state is not None:
        seed = model.estimator.random_state
        _check_same(args.resume, "random_state", seed, args.random_state)
    if args.probability:
        recorded = getattr(model.estimator, "probability", False)
        _check_same(args.resume, "probability", recorded, True)
    if model.raw:
        fixed = [name for name in (*TEXT_OPTIONS, "text_defaults", "algorithm") if vars(args)[name]]
        for name in [*fixed, *sorted(given(args))]:
            raise _fixed(name)
    else:
        _check_variant(args, model)
        if args.float32:
            _check_same(args.resume, "float32", model.dtype == np.float32, True)
        change_params(model, given(args))
    if args.skip == 0:
        model.expect_new_rows()  # also after an interrupt in a later pass
    return model, dataclasses.replace(known, **asked)


def _fixed(name: str) -> ValueError:
    """Return the error of an option that cannot change."""
    return ValueError(f"{option_of(name)} is part of the model and cannot change with --resume.")


def _given_reading(args: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of the reading that were given on the command line."""
    asked, default = (dataclasses.asdict(r) for r in (Reading.from_arguments(args), Reading()))
    found = {name: value for name, value in asked.items() if value != default[name]}
    return found | ({} if args.hash_bits is None else {"hash_bits": args.hash_bits})


def _known(known: Reading, name: str) -> Any:
    """Return a field of a model's reading; all columns of a table if none were named."""
    if name == "columns" and known.columns is None and known.kinds is not None:
        return tuple(column for column in known.kinds if column not in known.text)
    return getattr(known, name)


def _check_variant(args: argparse.Namespace, model: Model) -> None:
    if args.algorithm is None:
        return
    variant = find(args.algorithm)
    params = variant.params.items()
    same = variant.estimator == model.name and all(
        getattr(model.estimator, name) == value for name, value in params
    )
    if variant.name != model.title and not same:
        _check_same(args.resume, "algorithm", model.title, variant.name)


def change_params(model: Model, params: dict[str, Any]) -> None:
    """Change parameters for the rows to come; raise if one is part of what was learned."""
    known = model.settings
    same = {
        name
        for name, value in params.items()
        if getattr(known, name) == value or (value == "auto" and name in model.selected)
    }
    params = {name: value for name, value in params.items() if name not in same}
    fixed = sorted(params.keys() - set(CHANGEABLE))
    if fixed:
        raise _fixed(fixed[0])
    unknown = sorted(params.keys() - set(LINEAR[model.name].axes))
    if unknown:
        raise ValueError(f"{model.title} has no {option_of(unknown[0])}.")
    if "C" in params and "auto" in (params["C"], known.C):
        raise ValueError(
            f"{model.title} learns with --C {known.C}, which cannot change to {params['C']} with "
            "--resume; leave --C out, or train a new model."
        )
    estimator = model.estimator.set_params(**params)
    estimator._fitted = estimator._configured(estimator._fitted)


def _check_same(path: str, name: str, known: Any, asked: Any) -> None:
    if known != asked:
        option = option_of("no_header" if name == "header" else name)
        absent = known is None or known == () or isinstance(known, bool)
        made = f"without {option}" if absent else f"with {option} {_plain(known)}"
        raise ValueError(
            f"{path} was made {made}, which cannot change to {_plain(asked)}; leave {option} out, "
            "or train a new model without --resume."
        )


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
