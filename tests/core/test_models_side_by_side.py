"""Several settings in one pass over the rows: each model equals one learned alone."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from linear_strategies import variants
from linear_support import stored, train

from aggro.learner import Learner, rows_of


@given(variants(average=False), st.sampled_from(["dense", "csr32"]), st.booleans())
def test_each_model_learns_as_if_alone(v, storage, single):
    """C, losses and pulls may differ; weights, intercepts, scores and counts are the same."""
    dtype = np.float32 if single else np.float64
    assume(not single or v.settings.loss != "hard")
    s = v.settings
    pull, most = s.class_mean, 1e3 if s.metric == "newton" else np.inf
    many = [s, replace(s, C=2.5), replace(s, C=0.01, class_mean=2 * pull), replace(s, C=most)]
    features, outputs = v.X.shape[1], 2 if s.task == "binary" else v.outputs
    rows = stored(v.X, storage, dtype)
    together = train(Learner(many, features, outputs, dtype), rows, v.y)
    for which, settings in enumerate(many):
        alone = train(Learner(settings, features, outputs, dtype), rows, v.y)
        scale = (2e-2 if single else 1e-9) * (1 + np.abs(alone.coef()).max())
        np.testing.assert_allclose(together.coef(which), alone.coef(), rtol=0, atol=scale)
        np.testing.assert_allclose(together.intercept(which), alone.intercept(), rtol=0, atol=scale)
        scores = together.scores(rows_of(rows), which)
        np.testing.assert_allclose(scores, alone.scores(rows_of(rows)), rtol=0, atol=10 * scale)
        if not single:
            assert together.progress_of(which).mistakes == alone.progress.mistakes
            assert together.progress_of(which).updates == alone.progress.updates
