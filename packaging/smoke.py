"""What a new wheel must be able to do in an environment with NumPy alone.

It trains from a file, on the command line and in Python, learns a stream, saves and loads a model,
and says which extra to install where one is missing. The package must be installed; the working
directory is left alone.
"""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import aggro

EXTRAS = {"sklearn": "sklearn", "plot": "matplotlib", "files": "pyarrow", "onnx": "onnx"}


def command(*arguments: str) -> str:
    """Run the command ``aggro`` and return what it printed."""
    line = [sys.executable, "-m", "aggro.cli", *arguments]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def train_from_a_file(folder: Path) -> None:
    """Learn a text file on the command line, and ask the model in Python too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    signs = np.sign(X @ [2.0, -1.0, 0.5, 0.0, 0.0])
    lines = [
        f"{sign:+.0f} " + " ".join(f"{k}:{value:.4f}" for k, value in enumerate(row, 1))
        for sign, row in zip(signs, X, strict=True)
    ]
    data, model = folder / "rows.svm", folder / "rows.aggro"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command("train", str(data), "-o", str(model), "--passes", "5")
    predicted = np.array(
        [float(label) for label in command("predict", str(model), str(data)).split()]
    )
    assert np.mean(predicted == signs) > 0.95, "the command line did not learn"


def learn_a_stream(folder: Path) -> None:
    """Learn dicts, save the model, load it, ask it."""
    mail = aggro.StreamClassifier("PA-I")
    for words, kind in [("free money", "spam"), ("lunch today", "ham"), ("money", "spam")] * 3:
        mail.learn_one(dict.fromkeys(words.split(), 1.0), kind)
    aggro.save(mail, folder / "mail.aggro")
    again = aggro.load(folder / "mail.aggro")
    assert again.predict_one({"money": 1.0}) == "spam"


def missing(extra: str, folder: Path) -> None:
    """Use what needs an extra that is not installed; the error must name it."""
    if importlib.util.find_spec(EXTRAS[extra]):
        return
    stream = aggro.StreamRegressor(C="auto")
    stream.learn_one({"a": 1.0}, 1.0)
    (folder / "rows.parquet").write_bytes(b"PAR1" + bytes(64) + b"PAR1")
    uses = {
        "sklearn": lambda: aggro.PassiveAggressiveClassifier(),
        "plot": stream.plot_candidates,
        "files": lambda: list(aggro.io.read(folder / "rows.parquet", label="y")),
        "onnx": lambda: aggro.to_onnx(stream, folder / "model.onnx"),
    }
    try:
        uses[extra]()
    except ImportError as error:
        assert f"'aggro[{extra}]'" in str(error), f"{extra}: {error}"
    else:
        raise AssertionError(f"{extra} was not needed")


def main() -> None:
    """Try everything in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train_from_a_file(folder)
        learn_a_stream(folder)
        for extra in EXTRAS:
            missing(extra, folder)
    print(f"aggro {aggro.__version__} from {Path(aggro.__file__).parent} does what it must")


if __name__ == "__main__":
    main()
