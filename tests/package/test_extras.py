"""With NumPy alone, features work or name the missing extra."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from aggro.extras import PACKAGES, optional

# Hides packages from a process, as if they were not installed.
BARE = """
import json, pathlib, sys
HIDDEN = set("sklearn scipy matplotlib pyarrow onnx rich zstandard pandas polars".split())
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hide())

import numpy as np
import aggro
from aggro import demo

folder = pathlib.Path(sys.argv[1])
(folder / "rows.svm").write_text("1 1:1\\n-1 2:1\\n")
(folder / "rows.csv").write_text("y,a\\n1,2\\n0,3\\n")
for name in ("rows.parquet", "rows.arrow", "rows.svm.zst"):
    (folder / name).write_bytes(bytes(64))
stream = aggro.StreamClassifier("SPA-I", C="auto")
for word, label in (("a", 1), ("b", 0)):
    stream.learn_one({word: 1.0}, label)
rows = np.eye(4), [0, 1, 0, 1]

def read(name, **options):
    return list(aggro.io.read(folder / name, **options))

USES = {
    "works: csv": lambda: read("rows.csv", label="y"),
    "works: save": lambda: aggro.load(aggro.save(stream, folder / "m.aggro") or folder / "m.aggro"),
    "works: names": lambda: aggro.catalogue(),
    "works: rules": lambda: aggro.reference.slack("hard", 1.0),
    "works: estimator": lambda: aggro.PassiveAggressiveClassifier,
    "works: kernel": lambda: aggro.KernelPassiveAggressiveRegressor,
    "works: from_name": lambda: aggro.from_name("PA"),
    "works: sweep": lambda: aggro.sweep(*rows, C=[1.0, 2.0]),
    "sklearn: demo": lambda: demo.digits(),
    "plot: candidates": lambda: stream.plot_candidates(),
    "onnx: export": lambda: aggro.to_onnx(stream, folder / "m.onnx"),
    "files: svmlight": lambda: read("rows.svm"),
    "files: load_svmlight": lambda: aggro.io.load_svmlight(folder / "rows.svm"),
    "files: parquet": lambda: read("rows.parquet", label="y"),
    "files: arrow": lambda: read("rows.arrow", label="y"),
}
if sys.version_info < (3, 14):
    USES["files: zst"] = lambda: read("rows.svm.zst")
errors = {}
for name, use in USES.items():
    try:
        use()
        errors[name] = ""
    except ImportError as error:
        errors[name] = str(error)
print(json.dumps(errors))
"""


def test_error_names_the_missing_package_and_its_extra(tmp_path):
    line = [sys.executable, "-c", BARE, str(tmp_path)]
    errors = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
    for use, message in errors.items():
        extra = use.partition(":")[0]
        if extra == "works":
            assert message == "", use
        else:
            assert re.search(
                rf"needs the package \S+: pip install \S+, or 'aggro\[{extra}\]'", message
            )


def test_table_agrees_with_the_extras_of_pyproject():
    text = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    for package, extra in PACKAGES.values():
        (line,) = re.findall(rf"^{extra} = \[.*\]$", text, re.MULTILINE)
        assert f'"{package}>=' in line


def test_installed_package_is_returned():
    assert optional("matplotlib.figure", "nothing").__name__ == "matplotlib.figure"
    with pytest.raises(ModuleNotFoundError, match=r"aggro\.x needs the package scipy"):
        optional("scipy.there_is_none", "aggro.x")
