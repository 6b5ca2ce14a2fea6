"""Check an installed wheel in an environment with NumPy alone.

Estimators, text and stream models learn in Python; the command line trains and predicts on svmlight
and Vowpal Wabbit files; models are saved and loaded; importing an estimator is quick; and an error
names the extra that is missing. The package must be installed. Files go to a temporary folder.
"""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import aggro

EXTRAS = {"sklearn": "sklearn", "plot": "matplotlib", "files": "pyarrow", "onnx": "onnx"}
LONGEST_IMPORT = 0.3  # seconds of processor time, NumPy included
IMPORT = "import time; from aggro import AutoClassifier; print(time.process_time())"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 5))
SIGNS = np.sign(X @ [2.0, -1.0, 0.5, 0.0, 0.0]).astype(int)


def python(*arguments: str) -> str:
    """Run Python and return what it printed."""
    line = [sys.executable, *arguments]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def check_command_line(folder: Path, ending: str) -> None:
    """Train on a file and predict it again."""
    bar = "| " if ending == "vw" else ""
    lines = [
        f"{sign:+d} {bar}" + " ".join(f"{k}:{value:.4f}" for k, value in enumerate(row, 1))
        for sign, row in zip(SIGNS, X, strict=True)
    ]
    data, model = folder / f"rows.{ending}", folder / f"{ending}.aggro"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    python("-m", "aggro.cli", "train", str(data), "-o", str(model), "--passes", "5")
    printed = python("-m", "aggro.cli", "predict", str(model), str(data))
    predicted = np.array([float(label) for label in printed.split()])
    assert np.mean(predicted == SIGNS) > 0.95, f"the command line did not learn from {ending}"


def check_estimator(folder: Path) -> None:
    """Fit a self-tuning classifier, save it and load it."""
    model = aggro.AutoClassifier(random_state=0).fit(X, SIGNS)
    assert model.score(X, SIGNS) > 0.95, "AutoClassifier did not learn"
    aggro.save(model, folder / "auto.aggro")
    assert np.array_equal(aggro.load(folder / "auto.aggro").predict(X), model.predict(X))


def check_words(folder: Path) -> None:
    """Learn the same texts with a text model and as a stream of dicts."""
    texts = ["free money", "lunch today", "money"] * 5
    kinds = ["spam", "ham", "spam"] * 5
    text = aggro.TextClassifier().fit(texts, kinds)
    stream = aggro.StreamClassifier()
    for words, kind in zip(texts, kinds, strict=True):
        stream.learn_one(dict.fromkeys(words.split(), 1.0), kind)
    aggro.save(stream, folder / "mail.aggro")
    assert aggro.load(folder / "mail.aggro").predict_one({"money": 1.0}) == "spam"
    assert text.predict_one("money") == "spam"


def check_import_time() -> None:
    """Import an estimator in new processes; the quickest counts."""
    seconds = min(float(python("-c", IMPORT)) for _ in range(5))
    assert seconds <= LONGEST_IMPORT, f"importing an estimator takes {seconds:.2f} s"


def check_missing(extra: str, folder: Path) -> None:
    """Use what needs an extra that is not installed; the error must name it."""
    if importlib.util.find_spec(EXTRAS[extra]):
        return
    model = aggro.PassiveAggressiveClassifier(C="auto").fit(X, SIGNS)
    (folder / "rows.parquet").write_bytes(b"PAR1" + bytes(64) + b"PAR1")
    uses = {
        "sklearn": lambda: aggro.to_sklearn(model),
        "plot": model.plot_candidates,
        "files": lambda: list(aggro.io.read(folder / "rows.parquet", label="y")),
        "onnx": lambda: aggro.to_onnx(model, folder / "model.onnx"),
    }
    try:
        uses[extra]()
    except ImportError as error:
        assert f"aggro[{extra}]" in str(error), f"{extra}: {error}"
    else:
        raise AssertionError(f"{extra} was not needed")


def main() -> None:
    """Run all checks in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for ending in ("svm", "vw"):
            check_command_line(folder, ending)
        check_estimator(folder)
        check_words(folder)
        check_import_time()
        for extra in EXTRAS:
            check_missing(extra, folder)
    print(f"aggro {aggro.__version__} from {Path(aggro.__file__).parent} passes")


if __name__ == "__main__":
    main()
