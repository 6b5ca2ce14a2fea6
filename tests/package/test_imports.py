"""Features that work with NumPy alone, and import times."""

import subprocess
import sys

import pytest

NUMPY_ALONE = """
import importlib.abc, sys
ALLOWED = {"numpy", "aggro", "_aggro_editable", *sys.stdlib_module_names}

class NumPyAlone(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in list(sys.modules):
    if name.partition(".")[0] not in ALLOWED | {"__main__"} and not name.startswith("_"):
        del sys.modules[name]
sys.meta_path.insert(0, NumPyAlone())
"""


def run(code, cwd=None):
    return subprocess.run(
        [sys.executable, "-c", NUMPY_ALONE + code],
        check=True,
        capture_output=True,
        text=True,
        cwd=cwd,
    ).stdout.strip()


def test_hook_hides_all_packages_but_numpy():
    code = "import numpy, aggro\ntry:\n    import scipy\nexcept ImportError:\n    print('none')"
    assert run(code) == "none"


ESTIMATORS = """
import numpy as np
import aggro
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5))
y = (X @ rng.normal(size=5) > 0).astype(int)
"""


@pytest.mark.parametrize(
    "model",
    [
        "AutoClassifier(probability=True)",
        "AutoRegressor()",
        "PassiveAggressiveClassifier(early_stopping=True)",
        "PassiveAggressiveRegressor(early_stopping=True)",
        "AROWClassifier()",
        "Perceptron()",
        "KernelPassiveAggressiveClassifier(max_iter=3, tol=None)",
        "KernelPassiveAggressiveRegressor(max_iter=3, tol=None)",
    ],
)
def test_estimators_fit_predict_and_score_with_numpy_alone(model):
    code = ESTIMATORS + f"model = aggro.{model}.set_params(random_state=1).fit(X, y)\n"
    code += "print(model.score(X, y), repr(model))"
    score, representation = run(code).split(" ", 1)
    assert float(score) > (0.3 if "Regressor" in model else 0.9)
    assert "random_state=1" in representation


def test_text_and_stream_models_learn_with_numpy_alone():
    code = """
import aggro
text = aggro.TextClassifier().fit(["free money now", "lunch at noon"] * 5, ["spam", "ham"] * 5)
stream = aggro.StreamClassifier(C=1.0)
for _ in range(3):
    stream.learn_one({"money": 1.0}, "spam")
    stream.learn_one({"lunch": 1.0}, "ham")
print(text.predict_one("money"), stream.predict_one({"lunch": 1.0}))
"""
    assert run(code) == "spam ham"


@pytest.mark.parametrize(
    ("name", "lines"),
    [("rows.svm", ["1 1:1 3:0.5", "-1 2:1"]), ("rows.vw", ["1 | a b:0.5", "-1 | c"])],
)
def test_command_line_trains_and_predicts_with_numpy_alone(name, lines, tmp_path):
    (tmp_path / name).write_text("\n".join(lines * 30) + "\n")
    code = f"""
from aggro.cli import main
assert main(["train", {name!r}, "-o", "model.aggro"]) in (0, None)
assert main(["predict", "model.aggro", {name!r}]) in (0, None)
"""
    assert run(code, cwd=tmp_path).splitlines()[-2:] == ["1", "-1"]


def test_export_names_the_missing_extra():
    code = (
        ESTIMATORS
        + """
try:
    aggro.to_sklearn(aggro.AutoClassifier().fit(X, y))
except ImportError as error:
    print(error)
"""
    )
    assert "aggro[sklearn]" in run(code)


def test_estimator_is_imported_in_less_than_a_third_of_a_second():
    code = "import time; from aggro import AutoClassifier; print(time.process_time())"
    lines = (subprocess.check_output([sys.executable, "-c", code]) for _ in range(5))
    assert min(map(float, lines)) < 0.3  # processor time, including NumPy


def test_estimators_do_not_import_scikit_learn():
    code = "import sys\nfrom aggro import AutoClassifier, KernelPassiveAggressiveRegressor\n"
    code += "print(*{'sklearn', 'scipy', 'pandas'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == ""


def test_every_public_name_can_be_imported():
    import aggro

    for name in aggro.__all__:
        assert getattr(aggro, name) is not None
    assert dir(aggro) == sorted(aggro.__all__)
