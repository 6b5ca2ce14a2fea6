"""Words, stems and batch learners of the paper on support classes."""

from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from studies.papers import style
from studies.papers.experiment import Results
from studies.papers.support_classes import learners, newsgroups, selection
from studies.papers.support_classes.figures import figures
from studies.papers.support_classes.stems import stem


def test_stems_equal_porter_stemming():
    pytest.importorskip("snowballstemmer")
    words = {"running": "run", "relational": "relat", "ponies": "poni", "generously": "gener"}
    assert {word: stem(word) for word in words} == words


def test_words_are_alphanumeric_and_from_selected_headers():
    pytest.importorskip("snowballstemmer")
    head = "From: ann@x1.org\nOrganization: none\nSubject: The cars"
    message = f"{head}\n\nA V8, 300 horses; e-mail"
    expected = "ann x1 org subject car v8 300 hors mail"
    assert newsgroups.words(message) == expected.split()


def test_a_batch_learner_that_does_not_converge_is_an_error(monkeypatch):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 5)), random.integers(0, 3, 60)
    assert learners.fitted("LR", 1.0, X, y).n_iter_.max() > 1
    monkeypatch.setitem(learners.BATCH_LIMITS, "LR", {"tol": 1e-12, "max_iter": 1})
    with pytest.raises(ConvergenceWarning):
        learners.fitted("LR", 1.0, X, y)


def test_c_is_chosen_in_the_middle_of_a_plateau():
    choose = [[5.0], [4.0], [4.0], [4.0], [6.0]]
    judge = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    cell = {"part": "online", "set": "USPS"}
    outcome = {"choose": {"PA-I": choose}, "judge": {"PA-I": judge}}
    assert selection.one_pass(Results([(cell, outcome)]), "USPS", "PA-I").tolist() == [2.0]


@pytest.fixture
def drawn(monkeypatch):
    """Draw into memory; return the panels of each figure by name."""
    panels = {}
    original = style.canvas

    @contextmanager
    def watched(path, *args, **kw):
        with original(path, *args, **kw) as (figure, axes):
            yield figure, axes
            panels[path.stem] = [
                [(line.get_color(), line.get_marker(), line.get_label()) for line in ax.get_lines()]
                for ax in axes.flat
            ]

    monkeypatch.setattr(style, "canvas", watched)
    return panels


def test_line_figures_have_at_most_six_distinct_curves(drawn, tmp_path):
    random, rows = np.random.default_rng(0), [200, 400, 600]
    pairs = []
    for seed in range(3):
        stream = {
            name: {what: random.random(3) for what in ("mistakes", "updates", "loss")}
            for name in learners.ONLINE
        }
        pairs.append(({"part": "stream", "set": "USPS", "seed": seed}, {"rows": rows, **stream}))
        for name in ("USPS", "News20"):
            online = {n: random.random((len(learners.C_values(n)), 4)) for n in learners.ONLINE}
            cell = {"part": "online", "set": name, "fold": seed}
            pairs.append((cell, {"choose": online, "judge": online}))
            batch = {n: random.random(4) for n in learners.BATCH}
            pairs.append(({**cell, "part": "batch"}, {"choose": batch, "judge": batch}))
    for figure in figures(Results(pairs)):
        if figure.name != "readings":
            figure.draw(tmp_path / f"{figure.name}.png")
    assert set(drawn) == {"mistakes", "loss", "passes"}
    for panels in drawn.values():
        for lines in panels:
            assert 4 <= len(lines) <= 6
            online = [line for line in lines if line[2] not in learners.BATCH]
            assert all(marker != "None" for _, marker, _ in online)
            assert len({colour for colour, _, _ in lines}) == len(lines)
            assert "#009E73" not in {colour for colour, _, _ in lines}  # green next to blue
