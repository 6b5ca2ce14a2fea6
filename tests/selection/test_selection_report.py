"""``selection_report()``: the candidates, the best one first, and when each was removed."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits

import aggro
from aggro.plot import draw_report
from aggro.selection.search_space import CLASSIFICATION_PAIRS
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings

WORDS = np.array([f"word{i}" for i in range(60)])


def rows():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def texts(count):
    """Return texts of two classes with different word frequencies."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, count)
    shares = [np.linspace(1, 2, 60), np.linspace(2, 1, 60)]
    chosen = [rng.choice(WORDS, 12, p=shares[label] / shares[label].sum()) for label in y]
    return [" ".join(each) for each in chosen], y


def check(report, candidates, error):
    best = next(candidate for candidate in candidates if candidate["chosen"])
    assert report.best["error"] == best[error] and report.best["behind"] == 0
    assert all(report.best[name] == best[name] for name in ("C", "metric", "average"))
    remaining = [row for row in report.rows if row["left_after"] is None]
    assert report.rows[: len(remaining)] == tuple(remaining)
    for row in remaining:
        assert row["behind"] == max(row["error"] - best[error], 0)
    table = str(report).splitlines()
    assert len(table) == len(report.rows) + 1 and table[1].endswith("best")


@pytest.mark.parametrize("examples", [100, 600, 1797])
def test_report_of_classifiers(examples, tmp_path):
    X, y = rows()
    model = aggro.AutoClassifier().partial_fit(X[:examples], y[:examples], classes=range(10))
    report = model.selection_report(tmp_path / "choice.png")
    check(report, model.candidates_, "recent_error")
    assert len(report.rows) == len(CLASSIFICATION_PAIRS) + 1  # removed candidates are listed too
    assert (tmp_path / "choice.png").read_bytes().startswith(b"\x89PNG")
    aggro.save(model, tmp_path / "model.aggro")
    for copy in (pickle.loads(pickle.dumps(model)), aggro.load(tmp_path / "model.aggro")):
        assert copy.selection_report() == report


def test_removed_candidates_are_compared_with_the_best_one_at_their_removal():
    X, y = rows()
    model = aggro.AutoClassifier().partial_fit(X[:512], y[:512], classes=range(10))
    best = model.selection_report().best["error"]
    left = [row for row in model.selection_report().rows if row["left_after"] == 512]
    assert left
    model.partial_fit(X[512:], y[512:])
    later = model.selection_report()
    assert later.best["error"] < best
    for row in left:
        assert row in later.rows and row["behind"] == pytest.approx(row["error"] - best)


def test_report_of_regressors():
    X, y = load_diabetes(return_X_y=True)
    model = aggro.AutoRegressor().partial_fit(X, y)
    check(model.selection_report(), model.candidates_, "recent_loss")


def test_report_of_texts(tmp_path):
    X, y = texts(3400)
    model = aggro.TextClassifier().partial_fit(X[:500], y[:500])
    check(model.selection_report(), model.candidates_, "recent_error")
    assert len(model.selection_report().rows) == 16  # n-gram ranges, term weights, metrics
    model.partial_fit(X[500:], y[500:])
    report = model.selection_report(tmp_path / "choice.png")
    check(report, model.candidates_, "recent_error")
    assert len(report.rows) == 16
    assert {row["ngram_range"] for row in report.rows} == {(1, 1), (1, 2)}
    model.save(tmp_path / "model.aggro")
    for copy in (pickle.loads(pickle.dumps(model)), aggro.load(tmp_path / "model.aggro")):
        assert copy.selection_report() == report
    model.keep_best()
    with pytest.raises(AttributeError, match=r"keep_best\(\) has ended it"):
        model.selection_report()


def test_report_without_model_selection_raises():
    X, y = rows()
    plain, fixed = aggro.PassiveAggressiveClassifier(), aggro.AutoClassifier()
    for model in (plain.partial_fit(X, y), fixed.partial_fit(X, y).keep_best()):
        with pytest.raises(AttributeError, match="There is no model selection to report"):
            model.selection_report()
    fixed = {"ngram_range": (1, 1), "idf": True, "C": 1.0, "metric": "diagonal", "average": False}
    text = aggro.TextClassifier(**fixed).partial_fit(*texts(50))
    with pytest.raises(AttributeError, match="nothing is 'auto'"):
        text.selection_report()


def test_the_height_of_a_picture_grows_with_the_candidates():
    X, y = rows()
    figures = []
    for metric in ("auto", "diagonal"):
        model = aggro.PassiveAggressiveClassifier(C="auto", metric=metric, scale="auto")
        report = model.partial_fit(X[:200], y[:200], classes=range(10)).selection_report()
        figures.append((len(report.rows), draw_report(report, None).get_size_inches()[1]))
    (many, tall), (few, low) = figures
    assert many > few and tall - low == pytest.approx(0.32 * (many - few))


def test_picture_shows_when_candidates_were_removed():
    X, y = rows()
    report = aggro.AutoClassifier().partial_fit(X, y).selection_report()
    (axes,) = draw_report(report, None).axes
    assert {row["left_after"] is None for row in report.rows} == {True, False}
    for row, note in zip(report.rows, axes.texts, strict=True):
        said = note.get_text()
        assert said.startswith(f" {100 * row['error']:.3g}")
        gone = row["left_after"]
        assert ("removed" in said) == (gone is not None)
        if gone is not None:
            assert f"removed after {gone:,}, {100 * row['behind']:.2g} behind" in said


def test_a_new_selection_has_no_mistakes():
    selection = ModelSelection(Settings(task="binary", C="auto"), 3, 2)
    assert selection.made() == (0.0, 0.0) and selection.distance == 0.0
