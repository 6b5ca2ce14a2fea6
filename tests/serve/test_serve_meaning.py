"""Updates are compared by content, and only learned classes count."""

import pytest
from serve_support import problem, running

from aggro.serve.journal import digest_of
from aggro.serve.service import pack

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("data")) as found:
        yield found


def learn(server, body, path="/learn"):
    return server.http.post(path, content=body, headers=JSON).status_code


@pytest.mark.parametrize(
    ("one", "other", "status"),
    [
        ('"features": {"a": 1, "b": 2}', '"features": {"b": 2.0, "a": 1e0}', 200),
        ('"features": {"a": true, "b": 0}', '"features": {"b": -0.0, "a": 1}', 200),
        ('"features": {"é": "ü"}', '"features": {"\\u00e9": "\\u00fc"}', 200),
        ('"features": {"a": 1}, "weight": 1', '"features": {"a": 1}', 200),
        ('"features": {"a": 1}', '"features": {"a": "1"}', 409),
        ('"features": {"a": 1}', '"features": {"a": 1, "b": 0}', 409),
        ('"features": {"a": 1}', '"features": {"a": 1}, "weight": 2', 409),
    ],
)
def test_a_retry_may_be_written_in_another_way(server, one, other, status):
    id = f"{one} {other}"[:100].replace('"', "").replace("\\", "")
    for body, expected in ((one, 200), (other, status), (one, 200)):
        assert learn(server, f'{{"id": "{id}", "label": "x", {body}}}'.encode()) == expected


@pytest.mark.parametrize(
    ("one", "other", "status"),
    [("1", "1.0", 200), ("1", "true", 200), ("0", "-0.0", 200), ("1", '"1"', 409), ("1", "2", 409)],
)
def test_labels_are_compared_as_classes(tmp_path, one, other, status):
    with running(tmp_path) as server:
        server.post("/predict", {"features": {"a": 1.0}, "id": "p"})
        for label, expected in ((one, 200), (other, status)):
            body = f'{{"id": "p", "label": {label}}}'.encode()
            assert learn(server, body, "/label") == expected
            body = f'{{"id": "l", "features": {{"a": 1}}, "label": {label}}}'.encode()
            assert learn(server, body) == expected


def test_an_id_learned_by_its_label_is_not_learned_again_with_its_features(server):
    server.post("/predict", {"features": {"a": 1.0}, "id": "both"})
    assert learn(server, b'{"id": "both", "label": "x"}', "/label") == 200
    for features, status in ((b'{"a": 1}', 200), (b'{"a": 2}', 409)):
        body = b'{"id": "both", "label": "x", "features": %b}' % features
        assert learn(server, body) == status


def test_a_digest_is_that_of_the_content():
    assert digest_of(pack({"a": 1.0, "b": "x"})) == digest_of(b"", {"b": "x", "a": True})
    assert digest_of(pack([1.0, -0.0])) == digest_of(pack([1.0, 0.0]))
    assert digest_of(pack("text")) != digest_of(pack("Text"))


def test_only_learned_classes_count(tmp_path):
    with running(tmp_path, limits={"classes": 3, "batch": 10}) as server:
        unknown = [{"id": f"u{k}", "label": f"c{k}"} for k in range(10)]
        assert {each["status"] for each in server.post("/label", unknown).json()} == {404}
        server.learn({"a": 1.0}, "x", id="one")
        assert server.learn({"a": 1.0}, "y", id="one").status_code == 409
        assert server.learn({"a": 1.0}, "never", weight=0.0).status_code == 200
        server.service.writer.fits = lambda *_: False
        assert server.learn({"a": 1.0}, "busy").status_code == 429
        del server.service.writer.fits
        many = [{"features": {"a": 1.0}, "label": f"m{k}"} for k in range(4)]
        receipts = server.post("/learn", many).json()
        assert [each["status"] for each in receipts] == [200, 200, 422, 422]
        assert "3 classes" in receipts[-1]["error"]
        assert server.http.get("/model").json()["classes"] == ["m0", "m1", "x"]
        assert "3 classes" in problem(server.learn({"a": 1.0}, "z"))
        assert server.learn({"a": 1.0}, "m1").status_code == 200
    with running(tmp_path, limits={"classes": 3, "batch": 10}) as server:
        assert server.http.get("/model").json()["classes"] == ["m0", "m1", "x"]
        assert server.learn({"a": 1.0}, "z").status_code == 422
