"""Models of texts on a cluster: every shard meets words of its own, and all learn one model."""

import pickle
from dataclasses import replace

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import aggro
from aggro.dask import TextClassifier, TextRegressor
from aggro.selection.search_space import TEXT_SEARCH_SPACE

pytestmark = pytest.mark.filterwarnings("ignore")
FIXED = {"ngram_range": (1, 1), "idf": True, "C": 1.0, "metric": "euclidean", "rounds": 2}
FIXED |= {"max_iter": 1, "tol": None, "probability": True}
RANDOM = np.random.default_rng(0)
PICKED = [RANDOM.choice(60, RANDOM.integers(2, 9)) for _ in range(800)]
TEXTS = [" ".join(f"w{i}" for i in each) for each in PICKED]
Y = np.array(["odd" if (each % 2).mean() > 0.5 else "even" for each in PICKED])
TESTS, TRUTH = TEXTS[600:], Y[600:]
TEXTS, Y = TEXTS[:600], Y[:600]


def bags(texts=TEXTS, labels=Y, parts=4):
    return [db.from_sequence(list(each), npartitions=parts) for each in (texts, labels)]


def same(one, other):
    first, second = one._learner, other._learner
    known = [each.encoder.state() for each in (first, second)]
    assert known[0].keys() == known[1].keys()
    assert all(np.array_equal(known[0][name], known[1][name]) for name in known[0])
    assert np.array_equal(one.decision_function(TESTS), other.decision_function(TESTS))


def test_texts_of_all_kinds_are_learned_alike(client, tmp_path):
    expected = TextClassifier(**FIXED, shuffle=False).fit(*bags()).to_local()
    assert type(expected) is aggro.TextClassifier
    assert expected.score(TESTS, TRUTH) > 0.8
    assert expected.t_ - 1 == len(Y)
    pairs = db.from_sequence(list(zip(TEXTS, Y.tolist(), strict=True)), npartitions=4)
    series = dd.from_pandas(pd.Series(TEXTS), chunksize=150, sort=False)
    labels = dd.from_pandas(pd.Series(Y), chunksize=150, sort=False)
    array = da.from_array(np.array(TEXTS, object), chunks=150)
    blocks = [TEXTS[i : i + 150] for i in range(0, 600, 150)]
    lists = [dask.delayed(each, traverse=False) for each in blocks]
    targets = [dask.delayed(Y[i : i + 150]) for i in range(0, 600, 150)]
    frame = dd.from_pandas(pd.DataFrame({"body": TEXTS}), chunksize=150, sort=False)
    for number, block in enumerate(blocks):
        rows = {"body": block, "label": Y[number * 150 :][:150]}
        pd.DataFrame(rows).to_csv(tmp_path / f"{number}.csv", index=False)
    pattern = str(tmp_path / "*.csv")
    for given, more in (
        ((pairs,), {}),
        ((series, labels), {}),
        ((array, da.from_array(Y, chunks=150)), {}),
        ((lists, targets), {}),
        ((frame["body"], labels), {}),
        ((pattern,), {"label": "label", "text": "body"}),
    ):
        same(TextClassifier(**FIXED, shuffle=False).fit(*given, **more).to_local(), expected)
    named = TextClassifier(**FIXED, shuffle=False, columns={"body": "text"}).fit(frame, labels)
    assert (named.predict(frame).compute() == expected.predict(TEXTS)).all()
    with pytest.raises(ValueError, match="Which column holds texts"):
        TextClassifier(**FIXED).fit(pattern, label="label")


def test_documents_and_names_are_those_of_one_machine(client):
    model = TextClassifier(**FIXED, shuffle=False).fit(*bags())
    local = aggro.TextClassifier(**{k: v for k, v in FIXED.items() if k != "rounds"})
    local.partial_fit(TEXTS, Y)
    known = [each._learner.encoder.state() for each in (model, local)]
    for name in ("with_0", "columns_0"):
        assert sorted(known[0][f"text0_{name}"]) == sorted(known[1][f"text0_{name}"])
    assert known[0]["text0_documents_0"].tolist() == known[1]["text0_documents_0"].tolist()
    assert sorted(known[0]["text0_name_counts"]) == sorted(known[1]["text0_name_counts"])
    words = dict(model.to_local().top_words("odd"))
    assert all(int(word[1:]) % 2 for word in words)


def test_few_texts_are_learned_as_one_machine_learns_them(client):
    """Representations are compared where all of them are at hand: sending them takes longer."""
    local = aggro.TextClassifier().partial_fit(TEXTS, Y)
    model = TextClassifier().partial_fit(*bags())
    assert len(model.history_) == 1 and model.history_[0]["rows"] == len(TEXTS)
    assert (model.to_local().decision_function(TESTS) == local.decision_function(TESTS)).all()


def test_the_best_representation_goes_on_alone(client, monkeypatch):
    monkeypatch.setattr("aggro.merging.schedule.FIRST_TEXTS", 200)
    space = replace(TEXT_SEARCH_SPACE, patience=150)
    monkeypatch.setattr("aggro.text.learner.TEXT_SEARCH_SPACE", space)
    model = TextClassifier(rounds=2, random_state=0).partial_fit(*bags())
    learner = model._learner
    assert len(learner.encoder.descriptions) == 1
    assert model.t_ - 1 == learner.examples == len(TEXTS)
    assert {each["ngram_range"] for each in learner.selection.left} == {(1, 1), (1, 2)}
    assert [each["rows"] for each in model.history_] == [200, 150, 250]
    assert model.to_local().score(TESTS, TRUTH) > 0.8


def test_what_is_asked_of_texts_is_lazy(client):
    model = TextClassifier(**FIXED).fit(*bags())
    local = model.to_local()
    texts, labels = bags(TESTS, TRUTH, 2)
    series = dd.from_pandas(pd.Series(TESTS), chunksize=90, sort=False)
    array = da.from_array(np.array(TESTS, object), chunks=90)
    for method in ("predict", "decision_function", "predict_proba"):
        expected = getattr(local, method)(TESTS)
        assert (np.array(getattr(model, method)(texts).compute()) == expected).all()
        assert (getattr(model, method)(series).compute().to_numpy() == expected).all()
        assert (getattr(model, method)(array).compute() == expected).all()
    assert float(model.score(texts, labels)) == local.score(TESTS, TRUTH)
    truth = da.from_array(TRUTH, chunks=90)
    assert float(model.score(array, truth)) == local.score(TESTS, TRUTH)
    assert local.predict_proba(TESTS).sum(axis=1) == pytest.approx(1.0)


def test_learning_texts_goes_on_and_is_pickled_without_a_client(client):
    model = TextClassifier(**FIXED, client=client).partial_fit(*bags(parts=2))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    again.partial_fit(*bags(["new words here"] * 40, ["third"] * 40, 2))
    assert again.classes_.tolist() == ["even", "odd", "third"]
    assert again.t_ == model.t_ + 40
    assert again.to_local().predict_one("new words") == "third"
    assert model.classes_.tolist() == ["even", "odd"]


def test_several_passes_count_documents_once(client):
    model = TextClassifier(**{**FIXED, "max_iter": 3}).fit(*bags(parts=2))
    assert model._learner.encoder.state()["text0_documents_0"][0] == len(TEXTS)
    assert model.t_ - 1 == 3 * len(TEXTS)
    assert model._learner.repeated == 2 * len(TEXTS)
    assert model.n_mistakes_ == round(
        sum(e["error"] * e["rows"] for e in model.history_ if e["pass"] == 0)
    )
    assert [each["pass"] for each in model.history_][-1] == 2


def test_passes_end_when_the_loss_stops_falling(client):
    model = TextClassifier(**{**FIXED, "max_iter": 1000, "tol": 1e-3}).fit(*bags(parts=2))
    assert 3 < model.history_[-1]["pass"] < 200
    assert float(model.to_local().score(TESTS, TRUTH)) > 0.8


def test_columns_and_numbers_are_learned_on_a_cluster(client):
    rows = [{"title": text, "size": float(i % 5)} for i, text in enumerate(TEXTS)]
    y = [row["size"] + 2.0 * row["title"].count("w1 ") for row in rows]
    model = TextRegressor(columns={"title": "text", "size": "number"}, rounds=2)
    model.fit(*bags(rows, y, 3))
    assert float(model.score(*bags(rows, y, 3))) > 0.8
    assert float(model.score(*bags(rows, y, 3))) == pytest.approx(model.to_local().score(rows, y))


def test_bad_texts_name_their_partition_and_cost_nothing(client):
    model = TextClassifier(**FIXED).fit(*bags())
    before = model.decision_function(TESTS)
    bad = [*TEXTS[:200], None, *TEXTS[201:]]
    with pytest.raises(ValueError, match="partition 1: document 50"):
        model.partial_fit(*bags(bad))
    assert (model.decision_function(TESTS) == before).all()
    with pytest.raises(ValueError, match="forgetting"):
        TextClassifier(forgetting=0.1).fit(*bags())
