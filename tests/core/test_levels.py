"""Builds for different instruction sets give the same results up to rounding."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

LEVELS = [
    level
    for level in ("baseline", "avx2", "avx512")
    if importlib.util.find_spec(f"aggro._core_{level}") is not None
]

SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from aggro import _core
from aggro.settings import Settings
from linear_support import CASES, make_problem, trained
out = {}
for case, (task, outputs, multiclass) in CASES.items():
    for metric in ("euclidean", "diagonal", "adagrad", "newton", "full"):
        for dtype in ("float64", "float32"):
            for storage in ("dense", "csr32", "csr64"):
                for mean, batch in ((0.0, 1), (0.2, 1), (0.0, 4)):
                    X, y = make_problem(task, outputs, np.random.default_rng(5), 60, 37)
                    number = task == "regression"
                    learner = trained(
                        X, y, outputs, None, storage, np.dtype(dtype), task=task,
                        multiclass=multiclass, metric=metric, batch_size=batch, C=0.3,
                        loss="squared_epsilon_insensitive" if number else "squared_hinge",
                        class_mean=0.0 if number else mean,
                    )
                    key = f"{case} {metric} {dtype} {storage} {mean} {batch}"
                    out[key] = [learner.coef().tolist(), learner.intercept().tolist()]
print(json.dumps({"level": _core.level, "models": out}))
"""


def run(level):
    folder = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, folder],
        env={**os.environ, "AGGRO_LEVEL": level},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def test_levels_agree():
    from aggro import _cpu

    best = _cpu.best_level()
    usable = LEVELS[: LEVELS.index(best) + 1] if best in LEVELS else LEVELS[:1]
    assert usable, "no compiled core found"
    first = run(usable[0])
    assert first["level"] == usable[0]
    for level in usable[1:]:
        other = run(level)
        assert other["level"] == level
        for key, (coef, intercept) in first["models"].items():
            close = 1e-9 if "float64" in key else 2e-3
            scale = close * (1 + np.abs(coef).max())
            got = other["models"][key]
            np.testing.assert_allclose(got[0], coef, rtol=0, atol=scale, err_msg=key)
            np.testing.assert_allclose(got[1], intercept, rtol=0, atol=scale, err_msg=key)


def test_unknown_level_falls_back():
    """A level that was not built falls back to one that was; an unknown one is rejected."""
    if "baseline" not in LEVELS:
        pytest.skip("this build has no baseline to fall back to")
    assert run("no_such_level")["level"] == "baseline"
