"""Every call does what docs/serve.md says: predict, label, learn, explain, model, metrics."""

import json
import time

import numpy as np
import pytest
from serve_support import problem, running

import aggro


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data"), params={"C": 1.0}) as found:
        yield found


def two_classes(server):
    for k in range(4):
        server.learn({"money": 1.0 + k}, "spam")
        server.learn({"meeting": 1.0 + k, "colour": "red"}, "ham")


def test_a_prediction_has_scores_a_version_and_an_id(server):
    two_classes(server)
    answer = server.post("/predict", {"features": {"money": 1.0}}).json()
    assert answer["prediction"] == "spam"
    assert answer["scores"]["spam"] == -answer["scores"]["ham"] > 0
    assert answer["version"] == server.service.version
    assert answer["id"]


def test_a_label_is_combined_with_the_features_of_its_prediction(server):
    two_classes(server)
    answer = server.post("/predict", {"features": {"new": 2.0}, "id": "p"}).json()
    before = server.http.get("/model").json()["version"]
    receipt = server.post("/label", {"id": answer["id"], "label": "spam"}).json()
    assert receipt == {"id": "p", "status": 200, "version": before + 1}
    assert "new" in server.service.learning.adapter.model.coef_["spam"]


def test_an_id_is_learned_once_and_another_label_is_rejected(server):
    server.post("/predict", {"features": {"x": 2.0}, "id": "once"})
    first = server.post("/label", {"id": "once", "label": "spam"})
    again = server.post("/label", {"id": "once", "label": "spam"})
    other = server.post("/label", {"id": "once", "label": "ham"})
    assert (first.status_code, again.status_code, other.status_code) == (200, 200, 409)
    assert again.json()["duplicate"] and again.json()["version"] == first.json()["version"]
    learned = server.learn({"x": 2.0}, "spam", id="once")
    assert learned.json()["duplicate"]
    assert server.learn({"x": 3.0}, "spam", id="once").status_code == 409


def test_a_label_without_a_prediction_is_answered_404(server):
    answer = server.post("/label", {"id": "nobody", "label": "spam"})
    assert answer.status_code == 404
    assert "/learn" in problem(answer)


def test_each_update_of_a_batch_gets_a_receipt(server):
    two_classes(server)
    answers = server.post("/predict", [{"features": {"money": 1.0}}, {"features": {}}]).json()
    assert len(answers) == 2
    updates = [{"features": {"a": 1.0}, "label": "spam", "id": k} for k in ("b1", "b2", "b1")]
    receipts = server.post("/learn", updates).json()
    assert [r.get("duplicate", False) for r in receipts] == [False, False, True]
    labels = [{"id": answers[0]["id"], "label": "spam"}, {"id": "nobody", "label": "ham"}]
    assert [r["status"] for r in server.post("/label", labels).json()] == [200, 404]


def test_the_weight_of_an_update_counts(tmp_path):
    with running(tmp_path, params={"C": 0.1}) as server:
        server.learn({"a": 1.0}, "no")
        server.learn({"a": 1.0}, "yes", weight=3.0)
        plain = aggro.StreamClassifier("PA-I", C=0.1, max_features=1 << 18)
        plain.learn_one({"a": 1.0}, "no")
        plain.learn_one({"a": 1.0}, "yes", 3.0)
        assert server.service.learning.adapter.model.coef_ == plain.coef_


def test_an_explanation_adds_up_to_the_score(server):
    two_classes(server)
    x = {"money": 2.0, "colour": "red", "never seen": 7.0}
    answer = server.post("/predict", {"features": x, "id": "e"}).json()
    explanation = server.http.get("/explain", params={"id": "e"}).json()
    parts = {part["feature"]: part["contribution"] for part in explanation["contributions"]}
    assert explanation["label"] == explanation["served"] == answer["prediction"]
    assert parts.keys() == x.keys() and parts["never seen"] == 0
    assert sum(parts.values()) + explanation["intercept"] == pytest.approx(explanation["score"])
    assert explanation["score"] == pytest.approx(answer["scores"][answer["prediction"]])
    weights = server.service.learning.adapter.model.coef_["spam"]
    sign = 1 if explanation["label"] == "spam" else -1
    assert parts["money"] == pytest.approx(sign * 2.0 * weights["money"])


def test_a_learned_prediction_can_still_be_explained(server):
    server.post("/predict", {"features": {"money": 2.0}, "id": "later"})
    server.post("/label", {"id": "later", "label": "spam"})
    assert server.http.get("/explain?id=later").status_code == 200
    assert server.http.get("/explain?id=nobody").status_code == 404
    assert server.http.get("/explain").status_code == 422


def test_the_file_is_the_model(server, tmp_path):
    two_classes(server)
    answer = server.http.get("/model/file")
    path = tmp_path / "m.aggro"
    path.write_bytes(answer.content)
    model = aggro.load(path)
    assert model.coef_ == server.service.learning.adapter.model.coef_
    assert answer.headers["x-aggro-version"] == str(server.service.version)


def test_model_lists_the_candidates_of_a_selection(tmp_path):
    with running(tmp_path, params={"C": "auto"}) as server:
        assert "C" not in server.http.get("/model").json()
        two_classes(server)
        facts = server.http.get("/model").json()
        assert facts["algorithm"] == "PA-I" and facts["classes"] == ["ham", "spam"]
        assert facts["examples"] == facts["version"] == 8
        assert sum(candidate["chosen"] for candidate in facts["candidates"]) == 1


def test_metrics_count_requests(tmp_path):
    with running(tmp_path) as server:
        two_classes(server)
        server.post("/predict", {"features": {"money": 1.0}})
        text = server.http.get("/metrics").text
        assert "aggro_learned_total 8.0" in text
        assert "aggro_predictions_total 1.0" in text
        assert 'aggro_answers_total{call="/learn",status="200"} 8.0' in text
        assert 'aggro_seconds_bucket{call="/learn",le="+Inf"} 8.0' in text


def test_events_begin_with_the_history(server):
    with server.http.stream("GET", "/events") as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: history"
        assert isinstance(json.loads(next(lines)[6:]), list)
        assert (next(lines), next(lines)) == ("", "event: sample")
        assert json.loads(next(lines)[6:])["model"]["model"] == "StreamClassifier"


def test_a_regressor_predicts_numbers(tmp_path):
    with running(tmp_path, "PAR", params={"epsilon": 0.0}) as server:
        server.learn({"width": 3.0}, 30)
        answer = server.post("/predict", {"features": {"width": 3.0}, "id": "n"}).json()
        assert answer["prediction"] == pytest.approx(30.0)
        explanation = server.http.get("/explain?id=n").json()
        assert explanation["label"] is None
        (part,) = explanation["contributions"]
        assert part["contribution"] + explanation["intercept"] == pytest.approx(30.0)
        assert server.learn({"width": 3.0}, "thirty").status_code == 422


def test_a_rejected_example_is_answered_with_the_reason_also_when_repeated(tmp_path):
    with running(tmp_path, "PAR") as server:
        server.learn({"a": 1e-10}, 1e308)
        before = server.service.learning.adapter.model.coef_
        for expected in (False, True):
            answer = server.learn({"a": 1e300}, 1e308, id="huge")
            assert answer.status_code == 422
            assert "overflows" in problem(answer)
            receipt = server.post("/learn", [{"features": {"a": 1e300}, "label": 1e308,
                                              "id": "huge"}]).json()[0]  # fmt: skip
            assert receipt["duplicate"], expected
        assert server.service.learning.adapter.model.coef_ == before


def test_probabilities_are_calibrated_and_follow_the_model(tmp_path):
    rng = np.random.default_rng(0)
    with running(tmp_path, params={"probability": True}) as server:
        for _ in range(3):
            updates = [
                {"features": {"a": a, "b": b}, "label": "up" if a + 0.5 * b > 0 else "down"}
                for a, b in rng.normal(size=(250, 2)).tolist()
            ]
            server.post("/learn", updates)
            answer = server.post("/predict", {"features": {"a": 3.0, "b": 1.0}}).json()
            assert sum(answer["probabilities"].values()) == pytest.approx(1.0)
        assert answer["probabilities"]["up"] > 0.9
        server.learn({"a": 0.0}, "sideways")
        answer = server.post("/predict", {"features": {"a": 3.0}}).json()
        assert answer["probabilities"].keys() == {"up", "down", "sideways"}


def test_array_models_are_served(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
    model = aggro.PassiveAggressiveClassifier().partial_fit(X, y)
    aggro.save(model, tmp_path / "m.aggro")
    row = X[0].tolist()
    with running(tmp_path / "data", tmp_path / "m.aggro") as server:
        answer = server.post("/predict", {"features": row, "id": "a"}).json()
        assert answer["prediction"] == model.predict(X[:1])[0]
        explanation = server.http.get("/explain?id=a").json()
        parts = sum(part["contribution"] for part in explanation["contributions"])
        assert parts + explanation["intercept"] == pytest.approx(explanation["score"])
        assert server.post("/label", {"id": "a", "label": "no"}).status_code == 200
        model.partial_fit(X[:1], ["no"], sample_weight=[1.0])
        assert server.post("/predict", {"features": {"a": 1.0}}).status_code == 422
        assert server.post("/predict", {"features": [1.0]}).status_code == 422
        (tmp_path / "served.aggro").write_bytes(server.http.get("/model/file").content)
        served, plain = (
            aggro.load(tmp_path / "served.aggro")._learner.state(),
            model._learner.state(),
        )
        assert {k: v.tobytes() for k, v in served.items()} == {
            k: v.tobytes() for k, v in plain.items()
        }


@pytest.mark.skipif("TextClassifier" not in aggro.__all__, reason="no estimator of texts")
def test_text_models_are_served(tmp_path):
    with running(tmp_path, "TextClassifier", params={"probability": True}) as server:
        assert server.post("/predict", {"text": "money"}).json()["prediction"] is None
        for _ in range(5):
            server.post("/learn", {"text": "free money now", "label": "spam"})
            server.post("/learn", {"text": "lunch at noon", "label": "ham", "weight": 2.0})
        answer = server.post("/predict", {"text": "money for free", "id": "t"}).json()
        assert answer["prediction"] == "spam" and sum(answer["probabilities"].values()) > 0.99
        explanation = server.http.get("/explain?id=t").json()
        assert {part["feature"] for part in explanation["contributions"]} >= {"money", "free"}
        assert server.post("/label", {"id": "t", "label": "spam"}).status_code == 200
        assert server.http.get("/model").json()["version"] == 11
        known = server.http.get("/model/file").content
        for _ in range(2):  # made now, and made before
            assert server.post("/model/snapshot", {}).json() == {"snapshot": 11}
    with running(tmp_path, None) as server:
        assert server.http.get("/model/file").content == known


@pytest.mark.parametrize("variant", ["StreamClassifier", "TextClassifier"])
@pytest.mark.parametrize("probability", [False, True])
def test_sets_of_labels_are_learned_and_served(tmp_path, variant, probability):
    field = "text" if variant == "TextClassifier" else "features"
    words = {"money": ["bill", "mail"], "meeting": ["mail", "work"], "nothing": []}

    def x(word):
        return {field: word if field == "text" else {word: 1.0}}

    with running(tmp_path, variant, params={"probability": probability}) as server:
        for i in range(12):
            for word, labels in words.items():
                body = {**x(word), "label": labels, "id": f"{word}{i}"}
                assert server.post("/learn", body).json()["status"] == 200
        again = {**x("money"), "label": ["mail", "bill", "mail"], "id": "money0"}
        assert server.post("/learn", again).json()["duplicate"]
        assert server.post("/learn", {**again, "label": ["mail"]}).status_code == 409
        assert server.post("/learn", {**x("money"), "label": "bill"}).status_code == 422
        answer = server.post("/predict", {**x("money"), "id": "p"}).json()
        assert answer["prediction"] == ["bill", "mail"]
        assert server.post("/predict", x("nothing")).json()["prediction"] == []
        shares = answer["probabilities"] if probability else answer["scores"]
        assert shares.keys() == {"bill", "mail", "work"} and shares["bill"] > shares["work"]
        explained = server.http.get("/explain?id=p").json()
        assert explained["label"] in ("bill", "mail") and explained["score"] > 0
        assert explained["served"] == ["bill", "mail"]
        assert server.post("/label", {"id": "p", "label": ["bill", "mail"]}).status_code == 200
        known = server.http.get("/model").json()
        assert known["task"] == "multilabel" and known["examples"] == 37
        summary = server.service.learning.evaluation.summary()
        assert summary["recent"] < 0.3 < summary["constant"]
        file = server.http.get("/model/file").content
    with running(tmp_path, None) as server:
        assert server.http.get("/model/file").content == file
        assert server.service.learning.evaluation.summary()["error"] == summary["error"]


def test_the_open_inference_protocol_predicts_and_stores_nothing(server):
    two_classes(server)
    assert server.http.get("/v2/health/ready").status_code == 200
    assert server.http.get("/v2").json()["name"] == "aggro"
    assert server.http.get("/v2/models/aggro").json()["outputs"][0]["name"] == "prediction"
    assert server.http.get("/v2/models/other").status_code == 404
    pending = server.service.journal.pending
    inputs = [
        {"name": "money", "shape": [2, 1], "datatype": "FP64", "data": [1.0, 0.0]},
        {"name": "meeting", "shape": [2], "datatype": "FP64", "data": [0.0, 5.0]},
    ]
    answer = server.post("/v2/models/aggro/infer", {"id": "7", "inputs": inputs}).json()
    assert answer["id"] == "7"
    assert answer["outputs"][0]["data"] == ["spam", "ham"]
    inputs[0]["shape"] = [3, 1]
    assert server.post("/v2/models/aggro/infer", {"inputs": inputs}).status_code == 422
    assert server.service.journal.pending == pending


def test_the_description_lists_every_call(server):
    paths = server.http.get("/openapi.json").json()["paths"]
    assert {"/predict", "/label", "/learn", "/explain", "/model/file"} <= paths.keys()
    described = {path: call for path, calls in paths.items() for call in calls.values()}
    without = {path for path, call in described.items() if "security" not in call}
    assert without == {"/health", "/ready", "/v2/health/live", "/v2/health/ready"}


def wait_until(check):
    for _ in range(200):
        if check():
            return
        time.sleep(0.02)
    raise AssertionError


def test_stored_predictions_and_ids_are_bounded(tmp_path):
    retention = {"predictions": 50, "ids": 30, "snapshot_examples": 20}
    with running(tmp_path, retention=retention) as server:
        for k in range(40):
            batch = [{"features": {"a": 1.0}, "id": f"{k}-{j}"} for j in range(5)]
            server.post("/predict", batch)
            server.learn({"a": 1.0 + k}, "xy"[k % 2], id=f"l{k}")
            server.learn({"a": -1.0 - k}, "yx"[k % 2], id=f"m{k}")
        wait_until(lambda: server.service.journal.pending <= 50)
        assert server.post("/label", {"id": "0-0", "label": "x"}).status_code == 404
        for k in range(10):  # the journal tidies up when it writes
            server.post("/model/snapshot", {})
            server.learn({"a": 1.0}, "x", id=f"n{k}")
        assert len(list(tmp_path.glob("model-*.aggro"))) <= 3
        db = server.service.journal.db
        assert db.execute("SELECT count(*) FROM examples").fetchone()[0] < 90
        held = db.execute("SELECT count(*) FROM examples WHERE features IS NOT NULL").fetchone()
        assert held[0] < 60


def test_predictions_expire_by_age(tmp_path):
    with running(tmp_path, retention={"seconds": 0.2}) as server:
        server.post("/predict", {"features": {"a": 1.0}, "id": "old"})
        time.sleep(0.4)
        assert server.post("/label", {"id": "old", "label": "x"}).status_code == 404


def test_client_retries_learn_nothing_twice(tmp_path):
    import httpx

    from aggro.serve import Client, ServerError

    with running(tmp_path) as server:
        tries = []

        def flaky(request):
            """Let every other answer get lost on its way back."""
            answer = server.http.request(
                request.method, request.url.raw_path.decode(), content=request.read(),
                headers={"content-type": "application/json"},
            )  # fmt: skip
            tries.append(request.url.path)
            if len(tries) % 2:
                raise httpx.ReadTimeout("lost", request=request)
            return httpx.Response(answer.status_code, content=answer.content)

        with Client(server.address, transport=httpx.MockTransport(flaky)) as client:
            client.learn({"a": 1.0}, "x")
            answer = client.predict({"a": 1.0})
            client.label(answer["id"], "y")
            receipts = client.learn_many([{"b": 1.0}, {"c": 1.0}], ["x", "y"])
            assert [r["status"] for r in receipts] == [200, 200]
            assert client.model()["examples"] == 4
            assert client.explain(answer["id"])["id"] == answer["id"]
            client.download(tmp_path / "copy.aggro")
            assert aggro.load(tmp_path / "copy.aggro").examples == 4
            assert client.snapshot() == 4
            with pytest.raises(ServerError, match="404 not_found"):
                client.label("nobody", "x")
        assert len(tries) >= 12
