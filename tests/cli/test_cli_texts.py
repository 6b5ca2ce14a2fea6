"""``--text``: text models, word counts, explanations, resuming."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import run, write_csv

import aggro
from aggro.cli import main


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "data.csv", n=400)
    write_csv(tmp_path / "new.csv", n=100, seed=1)
    return tmp_path


TRAIN = "train data.csv --label kind --text body -o m.aggro --quiet"


def test_the_model_equals_the_text_estimator(capsys):
    run(f"{TRAIN} --columns body --test new.csv --json report.json")
    model = aggro.load("m.aggro")
    assert isinstance(model, aggro.TextClassifier)
    assert json.loads(Path("report.json").read_text())["test"]["accuracy"] > 0.9
    expected = aggro.TextClassifier()
    rows = [line.split(",")[:2] for line in Path("data.csv").read_text().splitlines()[1:]]
    names = Path("data.csv").read_text().splitlines()[0].split(",")
    kind, body = names.index("kind"), names.index("body")
    texts = [row[body].strip('"') for row in rows]
    expected.partial_fit(texts, [row[kind] for row in rows])
    np.testing.assert_allclose(
        model.decision_function(texts),
        expected.keep_best().decision_function(texts),
        rtol=1e-4,
        atol=1e-5,
    )
    run("predict m.aggro new.csv --proba")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("\t") == ["label", "ham", "spam"]
    shares = [float(each) for each in lines[1].split("\t")[1:]]
    assert sum(shares) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--ngrams 1,2 --idf", {"ngram_range": (1, 2), "idf": True}),
        ("--chars 3,4 --idf no", {"analyzer": "char_wb", "ngram_range": (3, 4), "idf": False}),
        ("--stop-words english --C 0.5", {"stop_words": "english", "C": 0.5}),
        ("--stop-words stops.txt --hash-bits 12", {"stop_words": ["a", "the"], "n_features": 4096}),
        ("--metric diagonal --average --passes 2", {"metric": "diagonal", "average": True}),
    ],
)
def test_options_are_those_of_the_estimator(inside, options, expected):
    (inside / "stops.txt").write_text("the a\n")
    run(f"{TRAIN} {options}")
    params = aggro.load("m.aggro").get_params()
    assert {name: params[name] for name in expected} == expected
    run("evaluate m.aggro new.csv")


@pytest.mark.parametrize("options", ["--text-defaults counts", "--algorithm SPA-I"])
def test_text_defaults_counts_trains_on_word_counts(options):
    run(f"{TRAIN} {options}")
    assert isinstance(aggro.load("m.aggro"), aggro.PassiveAggressiveClassifier)


def test_info_and_explain_show_words(capsys):
    run(TRAIN)
    run('explain m.aggro "free money for lunch" --top 3 --plot why.png')
    message = capsys.readouterr().out
    assert message.startswith("spam (")
    assert "money" in message
    run("info m.aggro --top 3")
    message = capsys.readouterr().out
    assert "strongest words" in message
    assert "selected" in message
    assert Path("why.png").read_bytes()[:4] == b"\x89PNG"


def test_text_models_can_be_resumed():
    run(f"{TRAIN} --keep-candidates")
    run("train new.csv --resume m.aggro -o n.aggro --quiet --keep-candidates")
    whole = "train data.csv new.csv --label kind --text body -o w.aggro --quiet --keep-candidates"
    run(whole)
    one, two = aggro.load("n.aggro"), aggro.load("w.aggro")
    assert one.t_ == two.t_ == 501
    assert one.n_mistakes_ == two.n_mistakes_


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{TRAIN} --loss hard", "--text-defaults counts"),
        (f"{TRAIN} --ngrams 1,2 --chars 3,5", "give one of them"),
        (f"{TRAIN} --ngrams 1,2 --algorithm PA-I", "--ngrams is for text models"),
        ("train data.csv --label kind -o m.aggro --idf", "--idf is for text models"),
        (f"{TRAIN} --C -1", "--C -1.0"),
        ("explain counts.aggro words", "was not trained with --text"),
        ("train new.csv --resume old.aggro -o n.aggro --idf", "--idf is part of the model"),
        ("train new.csv --resume old.aggro -o n.aggro --C 2", "--C is part of the model"),
    ],
)
def test_invalid_combinations_are_errors(capsys, line, message):
    run(f"{TRAIN.replace('m.aggro', 'counts.aggro')} --text-defaults counts")
    run(TRAIN.replace("m.aggro", "old.aggro"))
    assert main(line.split()) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("given", ["1", "2,1", "0,1", "a,b"])
def test_invalid_ranges_are_errors(capsys, given):
    assert main(f"{TRAIN} --ngrams {given}".split()) == 2
    assert given in capsys.readouterr().err


def test_numbers_and_other_formats(inside):
    rng = np.random.default_rng(0)
    lines = ["value,body"]
    for _ in range(300):
        good = rng.random() < 0.5
        lines.append(
            f"{(2.5 if good else -1.25) + rng.normal() / 10:.3f},{'fine' if good else 'poor'} film"
        )
    (inside / "values.csv").write_text("\n".join(lines) + "\n")
    rows = [line.split(",") for line in lines[1:]]
    records = [json.dumps({"value": float(value), "body": body}) for value, body in rows]
    (inside / "values.jsonl").write_text("\n".join(records) + "\n")
    for name in ("csv", "jsonl"):
        run(f"train values.{name} --label value --text body -o {name}.aggro --quiet")
    one, two = (aggro.load(f"{name}.aggro") for name in ("csv", "jsonl"))
    assert isinstance(one, aggro.TextRegressor)
    texts = ["a fine film", "a poor film"]
    assert np.array_equal(one.predict(texts), two.predict(texts))
    run("predict jsonl.aggro values.csv -o predictions.txt")
    assert len((inside / "predictions.txt").read_text().splitlines()) == 300


def test_numbers_beside_texts_may_have_non_linear_features():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1500, 2)).round(4).tolist()
    labels = ["yes" if a * b > 0 else "no" for a, b in X]
    rows = [{"note": f"word{i % 7}", "a": a, "b": b} for i, (a, b) in enumerate(X)]
    table = [",".join([y, *map(str, row.values())]) for y, row in zip(labels, rows, strict=True)]
    Path("table.csv").write_text("\n".join(["y,note,a,b", *table]) + "\n")
    right = []
    for features in ("linear", "both"):
        run(f"train table.csv --label y --text note --features {features} -o m.aggro --quiet")
        right.append(aggro.load("m.aggro").score(rows, labels))
    assert right[1] > 0.85 > 0.65 > right[0]
