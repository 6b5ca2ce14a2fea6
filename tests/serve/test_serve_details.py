"""Details of the server: counters, delays, configuration, limits, evaluation."""

import json
import math
import re
import shlex
import time
from pathlib import Path

import httpx
import msgspec
import numpy as np
import pytest
from closeness import assert_close
from serve_support import problem, running

import aggro
from aggro.cli.serve import parser, run
from aggro.persistence import container
from aggro.serve import client
from aggro.serve.adapters import (
    ArrayAdapter,
    Output,
    StreamAdapter,
    TextAdapter,
    adapter_for,
)
from aggro.serve.calls import CALLS
from aggro.serve.client import Client
from aggro.serve.config import MAX_FEATURES, Limits, Plan, Retention
from aggro.serve.messages import CODES, failure_reply
from aggro.serve.monitoring import Evaluation, Totals
from aggro.serve.server import first_model
from aggro.serve.service import EXPLAINED


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data"), limits={"id": 8}) as found:
        yield found


def test_every_kind_of_receipt_is_counted(server):
    before = dict(server.service.learning.stats.counts)
    server.learn({"a": 1.0}, "x", id="c1")
    server.learn({"a": 1.0}, "x", id="c1")
    server.learn({"a": 2.0}, "x", id="c1")
    server.post("/label", {"id": "nobody", "label": "x"})
    after = server.service.learning.stats.counts
    grown = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert grown == {"learned": 1, "duplicates": 1, "conflicts": 1, "unknown": 1}


def test_the_longest_id_can_be_explained(server):
    server.learn({"a": 1.0}, "x")
    for length, status in ((8, 200), (9, 422)):
        server.post("/predict", {"features": {"a": 1.0}, "id": "i" * min(length, 8)})
        assert server.http.get(f"/explain?id={'i' * length}").status_code == status


def test_limits_are_inclusive(tmp_path):
    """A value at the limit is accepted; one more is rejected with a message."""
    bounds = {"id": 8, "body": 600, "batch": 3, "features": 4, "name": 5, "classes": 2}
    ways = {**bounds, "list": bounds["body"]}  # a list takes another path than one update

    def update(count, what):
        given = {"features": {"a": 1.0}, "label": "x"}
        given |= {"id": "i" * count} if what == "id" else {}
        given |= {"label": "x" * count} if what == "name" else {}
        if what == "features":
            given["features"] = {str(k): 1.0 for k in range(count)}
        if what in ("body", "list"):
            return json.dumps([given] if what == "list" else given).ljust(count).encode()
        return json.dumps([given] * count if what == "batch" else given).encode()

    kind = {"content-type": "application/json"}
    with running(tmp_path, limits=bounds) as server:
        for what in ("id", "body", "list", "batch", "features", "name"):
            taken, rejected = (
                server.http.post("/learn", content=update(ways[what] + more, what), headers=kind)
                for more in (0, 1)
            )
            assert taken.status_code == 200, what
            assert rejected.status_code == (413 if what in ("body", "list") else 422), what
            assert problem(rejected)
        assert server.http.get("/model").json()["classes"] == ["x", "xxxxx"]
        assert "2 classes" in problem(server.learn({"a": 1.0}, "y"))


def test_every_documented_status_has_a_code():
    """Other codes are for wrong methods, heads that are too large and failures."""
    promised = {status for call in CALLS for status in call.statuses} - {200}
    assert CODES.keys() == promised | {405, 431, 500}
    assert len(set(CODES.values())) == len(CODES)


def test_the_manual_states_the_limits():
    text = (Path(__file__).parents[2] / "docs/serve.md").read_text()
    paragraph = re.search(r"\*\*All resources are bounded\*\*.*?\n\n", text, re.DOTALL)[0]
    limits, retention = Limits(), Retention()
    for phrase in (
        f"queued entries ({limits.waiting:,} entries",
        f"bodies ({limits.body >> 20} MiB)",
        f"batches ({limits.batch})",
        f"features of an example ({limits.features:,})",
        f"names ({limits.name} characters)",
        f"ids ({limits.id})",
        f"texts ({limits.text:,})",
        f"classes ({limits.classes})",
        f"features of a new model ({MAX_FEATURES:,}",
        f"({retention.predictions:,} and seven days",
        f"connections ({limits.connections})",
        f"watchers ({limits.watchers})",
        f"to read its answer ({limits.request_seconds:g} s)",
    ):
        assert phrase in " ".join(paragraph.split()), phrase
    assert retention.seconds == 7 * 86_400 and retention.ids == 10**6


def test_every_option_reaches_the_plan(tmp_path, monkeypatch, capsys):
    plans = []
    monkeypatch.setattr("aggro.serve.server.run", lambda plan, ready: plans.append(plan))
    (tmp_path / "token").write_text("t" * 16)
    words = f"PA-I --data {tmp_path} --host ::1 --port 99 --token-file {tmp_path}/token --no-token"
    words += " --keep 7 --keep-hours 1.5 --ids 8 --snapshot-every 9 --random-state 3"
    assert (
        run(
            parser().parse_args(
                [*words.split(), "--max-features", "5", "--probability", "--C", "0.5"]
            )
        )
        == 0
    )
    (plan,) = plans
    kept = plan.retention
    assert (kept.predictions, kept.seconds, kept.ids, kept.snapshot_examples) == (7, 5400.0, 8, 9)
    assert (plan.model, plan.data, plan.host, plan.port) == ("PA-I", tmp_path, "::1", 99)
    assert (plan.token, plan.write_token, plan.open) == ("t" * 16, None, True)
    assert plan.params == {"random_state": 3, "max_features": 5, "probability": True, "C": 0.5}
    assert run(parser().parse_args(["PA-I"])) == 0
    assert plans[1].retention == Retention() and plans[1].params == {}


def test_event_streams_end_when_the_server_drains(tmp_path, monkeypatch):
    with running(tmp_path) as other:
        application, gone = other.server.application, []
        monkeypatch.setattr(application.endpoints.events_, "stop", lambda: gone.append(True))
        application.drain()
        assert gone and other.service.stopping


def test_retry_delays_double_up_to_a_limit(monkeypatch):
    waits = []
    monkeypatch.setattr(client.time, "sleep", waits.append)
    monkeypatch.setattr(client, "LONGEST_WAIT", 1.0)

    def reject(request):
        raise httpx.ConnectError("nobody there", request=request)

    with (
        Client("http://test", retries=5, transport=httpx.MockTransport(reject)) as caller,
        pytest.raises(httpx.ConnectError),
    ):
        caller.predict({"a": 1.0})
    assert_close(waits, [0.1, 0.2, 0.4, 0.8, 1.0])


@pytest.mark.parametrize(
    "words",
    ["--random-state 3", "PA-I --random-state 3 --max-features 9", "StreamRegressor --epsilon 0.2",
     "TextClassifier --random-state 3 --probability", "--C 0.5 --probability", "AROW --r 0.1",
     "--metric adagrad --scale online --average --no-intercept --memory 64MiB"],
)  # fmt: skip
def test_options_of_new_models_make_a_model(words, tmp_path, monkeypatch):
    plans = []
    monkeypatch.setattr("aggro.serve.server.run", lambda plan, ready: plans.append(plan))
    assert run(parser().parse_args([*words.split(), "--data", str(tmp_path)])) == 0
    model, identity = first_model(plans[0])
    if "--random-state" in words:
        assert model.random_state == 3 and '"random_state": 3' in identity
    if "--probability" in words:
        assert model.probability is True


@pytest.mark.parametrize("name", ["PassiveAggressiveClassifier", "Client", "load"])
def test_other_names_than_variants_streams_and_texts_are_errors(name, tmp_path):
    with pytest.raises(ValueError, match=name):
        first_model(Plan(name, tmp_path))


@pytest.mark.parametrize("name", [None, "StreamClassifier", "StreamRegressor", "TextClassifier"])
def test_a_new_folder_gets_the_named_class_or_a_stream_classifier(name, tmp_path):
    model, identity = first_model(Plan(name, tmp_path))
    assert type(model).__name__ == (name or "StreamClassifier")
    assert identity.startswith(type(model).__name__)


def test_strongest_features_of_arrays():
    X = np.array([[1.0, 0.0, 0.2], [0.0, -3.0, 0.1], [0.5, 2.0, 0.0]])
    linear = aggro.PassiveAggressiveClassifier().fit(X, ["no", "yes", "no"])
    best = int(np.abs(linear.coef_[0]).argmax())
    assert ArrayAdapter(linear).strongest(1) == [(str(best), "yes", linear.coef_[0, best])]
    assert ArrayAdapter(aggro.PassiveAggressiveClassifier()).strongest(1) == []
    kernel = aggro.KernelPassiveAggressiveClassifier(kernel="linear").fit(X, ["no", "yes", "no"])
    assert ArrayAdapter(kernel).strongest(1) == []


EVERY_KIND = {
    "selection": aggro.AutoClassifier,
    "feature map": lambda: aggro.AutoClassifier(features="fourier"),
    "mapped regressor": lambda: aggro.AutoRegressor(features="bins"),
    "kernel": aggro.KernelPassiveAggressiveClassifier,
    "text": aggro.TextClassifier,
    "text regressor": aggro.TextRegressor,
    "stream": aggro.StreamClassifier,
    "stream regressor": aggro.StreamRegressor,
    "hashed stream": lambda: aggro.StreamClassifier(overflow="hash", max_features=64),
}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_kind_of_model_is_described_and_explained_or_has_no_explanation(kind):
    adapter, numbers = (
        adapter_for(EVERY_KIND[kind]()),
        np.random.default_rng(0).normal(size=(40, 3)),
    )
    examples = numbers.tolist()
    if isinstance(adapter, TextAdapter):
        examples = ["a b", "free money", "lunch"] * 20
    elif isinstance(adapter, StreamAdapter):
        examples = [dict(zip("abc", x, strict=True)) for x in examples]
    for count in (0, 1, 30):  # nothing learned, one example, several
        for k in range(count):
            adapter.learn(examples[k], float(k % 3) if adapter.regression else "pq"[k % 2], 1.0)
        adapter.predict(examples[0])
        assert isinstance(adapter.strongest(3), list)
        assert msgspec.json.encode(adapter.facts())
        adapter.freeze()()
        try:
            explanation = adapter.explain(examples[0])
        except ValueError as error:
            assert "Nothing is learned" in str(error) or "no explanation" in str(error)
        else:
            total = explanation.intercept + sum(part for _, _, part in explanation.contributions)
            assert total == pytest.approx(explanation.score, abs=1e-6)


def test_a_mapped_model_has_no_explanation_and_its_page_gets_samples(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = aggro.AutoClassifier(features="fourier").partial_fit(X, X[:, 0] > 0)
    aggro.save(model, tmp_path / "m.aggro")
    with running(tmp_path / "data", tmp_path / "m.aggro") as server:
        id = server.post("/predict", {"features": [0.1, 0.2, 0.3]}).json()["id"]
        answer = server.http.get("/explain", params={"id": id})
        assert answer.status_code == 422 and "no explanation" in problem(answer)
        with server.http.stream("GET", "/events") as events:
            lines = (line for line in events.iter_lines() if line.startswith("event: "))
            assert [next(lines), next(lines)] == ["event: history", "event: sample"]


def test_the_open_inference_protocol_cuts_arrays_into_rows(tmp_path):
    X = np.array([[2.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    model = aggro.PassiveAggressiveClassifier().fit(X, ["a", "b", "a"])
    aggro.save(model, tmp_path / "m.aggro")
    tensor = {"name": "x", "shape": [3, 2], "datatype": "FP64", "data": X.ravel().tolist()}
    with running(tmp_path / "data", tmp_path / "m.aggro") as served:
        answer = served.post("/v2/models/aggro/infer", {"inputs": [tensor]}).json()
    assert answer["outputs"][0]["data"] == model.predict(X).tolist()


def test_the_confidence_is_that_of_what_was_predicted():
    probabilities = {"x": 0.4, "true": 0.6}
    assert Output("x", None, probabilities).confidence == 0.4
    assert Output(True, None, probabilities).confidence == 0.6
    assert Output(None, None, {}).confidence is None and Output("x").confidence is None


def test_the_deployment_examples_use_valid_options():
    folder = Path(__file__).parents[2] / "examples/serve"
    docker = (folder / "Dockerfile").read_text()
    entry, words = (
        json.loads(re.search(rf"^{k} (\[.*\])$", docker, re.M)[1]) for k in ("ENTRYPOINT", "CMD")
    )
    unit = (folder / "aggro-serve.service").read_text().replace("\\\n", " ")
    started = shlex.split(re.search(r"^ExecStart=(.*)$", unit, re.M)[1])
    for command in ([*entry, *words], started):
        assert Path(command[0]).name == "aggro" and command[1] == "serve"
        args = parser().parse_args(command[2:])
        assert args.model is None and Path(args.data).is_absolute()


def test_calibration_counts_confidences_in_bins():
    evaluation = Evaluation(regression=False)
    for confidence, predicted in ((0.95, "a"), (0.91, "b"), (1.0, "a"), (0.55, "a"), (0.0, "b")):
        evaluation.add(predicted, confidence, "a", '"a"')
    assert evaluation.summary()["calibration"] == [
        {"confidence": 0.0, "accuracy": 0.0, "count": 1},
        {"confidence": 0.55, "accuracy": 1.0, "count": 1},
        {
            "confidence": pytest.approx((0.95 + 0.91 + 1.0) / 3),
            "accuracy": pytest.approx(2 / 3),
            "count": 3,
        },
    ]
    again = Evaluation(False, evaluation.totals)
    assert again.summary()["calibration"] == evaluation.summary()["calibration"]


def test_absurd_targets_do_not_spoil_the_evaluation():
    plain, spoiled = Evaluation(regression=True), Evaluation(regression=True)
    for k in range(1200):
        for each in (plain, spoiled):
            each.add(k % 7 + 1.0, None, float(k % 7), "")
        if k in (50, 500, 900):
            for target in (1.7e308, -1.7e308):
                spoiled.add(0.0, None, target, "")
    found, expected = spoiled.summary(), plain.summary()
    assert found["examples"] == expected["examples"] + 6
    assert found["error"] == found["recent"] == 1.0
    assert found["constant"] == pytest.approx(expected["constant"], rel=0.05)
    assert found["constant_recent"] == pytest.approx(expected["constant_recent"], rel=0.05)


def test_an_evaluation_stays_finite_whatever_the_model_answers():
    evaluation = Evaluation(regression=True)
    for answer in (math.inf, 1.7e308, math.nan, -1.7e308) * 300:
        evaluation.add(answer, None, 1.0, "")
    shown = evaluation.summary()
    assert all(math.isfinite(shown[name]) for name in ("error", "recent", "constant", "before"))
    restored = msgspec.convert(msgspec.to_builtins(evaluation.totals), Totals)
    assert Evaluation(True, restored).summary()["error"] == shown["error"]


def test_metrics_stay_finite_after_a_huge_label(tmp_path):
    with running(tmp_path, "PAR-I") as server:
        for label in (1.0, 1.7e308, -1.7e308, *[2.0] * 20):
            server.learn({"a": 1.0}, label)
        text = server.http.get("/metrics").text
        values = dict(re.findall(r"^(aggro_(?:error|recent|constant)) (\S+)$", text, re.M))
        assert len(values) == 3 and all(math.isfinite(float(v)) for v in values.values())
        assert float(values["aggro_constant"]) < 1.0


def test_a_model_file_needs_no_disk(tmp_path, monkeypatch):
    with running(tmp_path) as server:
        server.learn({"a": 1.0}, "x")
        server.learn({"a": -1.0}, "y")

        def full(*args, **kwargs):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(container, "replacing", full)
        answer = server.http.get("/model/file")
        assert answer.status_code == 200
        rejected = server.post("/model/snapshot", {})
        assert rejected.status_code == 503 and "snapshot" in problem(rejected)
        monkeypatch.undo()
    (tmp_path / "fetched").write_bytes(answer.content)
    assert aggro.load(tmp_path / "fetched").predict_one({"a": -1.0}) == "y"


@pytest.mark.parametrize("error", [MemoryError(), OSError(28, "No space left on device")])
def test_a_model_that_cannot_be_copied_is_answered_503(tmp_path, monkeypatch, error):
    def full(*args, **kwargs):
        raise error

    with running(tmp_path) as server:
        server.learn({"a": 1.0}, "x")
        for place in ("aggro.serve.app.bytes_of", "aggro.serve.snapshots.write_record"):
            monkeypatch.setattr(place, full)
        for answer in (server.http.get("/model/file"), server.post("/model/snapshot", {})):
            assert answer.status_code == 503 and "full" in problem(answer)
            assert answer.headers["retry-after"] == "1"
        assert not list(tmp_path.glob(".model-*"))
        monkeypatch.undo()
        assert server.http.get("/model/file").status_code == 200
        assert server.post("/model/snapshot", {}).json() == {"snapshot": 1}


@pytest.mark.parametrize("hours", ["nan", "inf", "-1", "1e300", "soon"])
def test_hours_that_are_no_duration_are_rejected(hours, capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["PA-I", f"--keep-hours={hours}"])
    assert hours in capsys.readouterr().err


def test_only_pending_predictions_count_as_kept(tmp_path):
    with running(tmp_path, retention={"predictions": 10}) as server:

        def predict():
            id = server.post("/predict", {"features": {"a": 1.0}}).json()["id"]
            while server.service.writer.waiting:
                time.sleep(0.002)
            return id

        first = predict()
        for _ in range(30):
            answer = server.post("/label", {"id": predict(), "label": "x"})
            assert answer.status_code == 200
        assert server.service.journal.pending == 1
        kept = [first] + [predict() for _ in range(9)]
        predict()  # one too many: the oldest goes
        assert server.service.journal.pending == 10
        statuses = [server.post("/label", {"id": id, "label": "x"}).status_code for id in kept]
        assert statuses == [404] + [200] * 9


def test_internal_errors_are_logged_and_not_sent(caplog):
    reply = failure_reply("/predict", ZeroDivisionError("a secret"))
    assert "secret" not in str(reply) and "log" in str(reply)
    (record,) = caplog.records
    assert record.name == "aggro.serve" and "/predict failed" in record.getMessage()
    assert "a secret" in str(record.exc_info[1])


@pytest.mark.parametrize("classes", [2, 3])
def test_an_explanation_is_for_the_predicted_class(classes):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 3))
    y = X[:, :classes].argmax(axis=1)
    adapter = ArrayAdapter(
        aggro.PassiveAggressiveClassifier().partial_fit(X, y, classes=range(classes))
    )
    labels = set()
    for x in X[:30]:
        explanation = adapter.explain(x.tolist())
        labels.add(explanation.label)
        scores = np.atleast_2d(adapter.model.decision_function(x[None]))
        label = explanation.label
        expected = scores[0, label] if classes > 2 else scores[0, 0] * (2 * label - 1)
        assert explanation.score == pytest.approx(expected) and explanation.score > 0
    assert labels == set(range(classes))


def test_models_of_indicator_matrices_are_rejected():
    model = aggro.PassiveAggressiveClassifier().partial_fit([[1.0, 0.0]], [[1, 0, 1]])
    with pytest.raises(ValueError, match="indicator matrices, which the server"):
        adapter_for(model)


def test_scores_of_non_linear_features_are_explained():
    """A mapped model has no weights; contributions are differences of scores."""
    model, random = aggro.StreamClassifier(), np.random.default_rng(0)
    rows = random.uniform(-1, 1, (800, 3)).tolist()
    for a, b, c in rows:
        model.learn_one({"a": a, "b": b, "c": c}, a * b > 0)
    assert model.best_params_["features"] == "both"
    adapter = adapter_for(model)
    x = {"a": 0.7, "b": 0.6, "c": 0.1}
    found = adapter.explain(x)
    parts = {name: part for name, _, part in found.contributions}
    assert parts.keys() == x.keys() and abs(parts["c"]) < abs(parts["a"])
    assert_close(found.score, found.intercept + sum(parts.values()))
    assert adapter.strongest(5) == [] and adapter.work_of_explaining(x) < EXPLAINED
    model.learn_one({f"n{j}": 1.0 for j in range(77)}, True)
    assert adapter.work_of_explaining(x) > EXPLAINED
