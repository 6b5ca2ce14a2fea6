"""Access control (tokens, hosts, origins, headers) and hostile input."""

import json
import logging
import socket
import time

import pytest
from serve_support import request, running, status_of

READ, WRITE = "r" * 20, "w" * 20
CALLS = [("GET", "/model"), ("POST", "/predict"), ("POST", "/learn"), ("GET", "/events")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    limits = {"request_seconds": 1.0, "body": 200_000, "head": 20_000, "batch": 100}
    limits |= {"features": 2000, "classes": 20}
    folder = tmp_path_factory.mktemp("data")
    with running(folder, limits=limits, params={"max_features": 5000}) as found:
        found.learn({"a": 1.0}, "x")
        found.learn({"a": -1.0}, "y")
        yield found
        assert found.alive()


def bearer(token):
    return {"authorization": f"Bearer {token}"}


def test_calls_require_their_token(tmp_path):
    with running(tmp_path, token=READ, write_token=WRITE) as server:
        update = {"features": {"a": 1.0}, "label": "x"}
        for method, path in CALLS:
            answer = server.http.request(method, path, json=update if method == "POST" else None)
            assert answer.status_code == 401, path
            assert answer.headers["www-authenticate"] == "Bearer"
        ask = {"features": {"a": 1.0}}
        assert server.post("/predict", ask, headers=bearer(READ)).status_code == 200
        assert server.post("/predict", ask, headers=bearer(WRITE)).status_code == 200
        assert server.post("/learn", update, headers=bearer(READ)).status_code == 403
        assert server.post("/learn", update, headers=bearer(WRITE)).status_code == 200
        for wrong in ("x", "r" * 19, "r" * 21, "é" * 20, WRITE[:-1] + "x"):
            header = f"Bearer {wrong}".encode()
            answer = server.post("/learn", update, headers={"authorization": header})
            assert answer.status_code == 401
        assert server.http.get("/health").status_code == 200
        assert server.http.get("/").status_code == 200  # the page has no secrets; it asks


def test_a_write_token_alone_leaves_reading_open(tmp_path):
    with running(tmp_path, write_token=WRITE) as server:
        assert server.http.get("/model").status_code == 200
        assert server.learn({"a": 1.0}, "x").status_code == 401


def test_one_token_is_for_everything(tmp_path):
    with running(tmp_path, token=READ) as server:
        update = {"features": {"a": 1.0}, "label": "x"}
        assert server.post("/learn", update, headers=bearer(READ)).status_code == 200
        assert server.post("/learn", update).status_code == 401


def test_other_hosts_and_origins_are_rejected(server):
    assert server.http.get("/model", headers={"host": "evil.example"}).status_code == 403
    headers = {"origin": "http://evil.example"}
    update = {"features": {"a": 1.0}, "label": "x"}
    assert server.post("/learn", update, headers=headers).status_code == 403
    own = {"origin": server.address}
    assert server.post("/predict", {"features": {}}, headers=own).status_code == 200
    text = {"content-type": "text/plain"}  # what a foreign page may send without asking
    answer = server.http.post("/learn", content=json.dumps(update), headers=text)
    assert answer.status_code == 415


@pytest.mark.parametrize(
    "host",
    ["evil@localhost", "localhost@evil", "localhost:80:80", "local host", "", "[::1", "localhost/x",
     "localhost#", "localhost?", "localhost\\", "127.0.0.1:x"],
)  # fmt: skip
def test_invalid_host_names_are_rejected(server, host):
    assert status_of(server.raw(request("GET", "/model", host=host))) == 400


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]", "[::1]:80"]
)
def test_names_of_this_machine_are_allowed(server, host):
    assert status_of(server.raw(request("GET", "/model", host=host))) == 200


@pytest.mark.parametrize("target", ["http://evil.example/model", "http://evil@localhost/model"])
def test_the_host_of_an_absolute_target_counts(server, target):
    assert status_of(server.raw(request("GET", target))) in (400, 403)


@pytest.mark.parametrize(
    "line", ["host: 127.0.0.1", "host: evil", "authorization: Bearer x", "content-type: text/plain"]
)
def test_a_header_with_one_value_may_not_be_repeated(server, line):
    whole = request("POST", "/predict", b'{"features": {}}', authorization="Bearer y")
    doubled = whole.replace(b"\r\n\r\n", f"\r\n{line}\r\n\r\n".encode())
    assert status_of(server.raw(whole)) == 200 and status_of(server.raw(doubled)) == 400
    assert status_of(server.raw(whole.replace(b"host: 127.0.0.1\r\n", b""))) == 400


def test_whitespace_around_header_values_is_ignored(tmp_path):
    token = "t" * 20
    with running(tmp_path, token=token) as server:
        answer = server.raw(request("GET", "/model", authorization=f"Bearer {token} \t"))
        assert status_of(answer) == 200


@pytest.mark.parametrize("field", ["authorization: Bearer " + READ, "host: 127.0.0.1"])
@pytest.mark.parametrize("together", [False, True])
def test_a_trailer_is_no_header(tmp_path, field, together):
    update = b'{"features": {"a": 1.0}, "label": "x"}'
    lines = ["POST /learn HTTP/1.1", "content-type: application/json", "transfer-encoding: chunked"]
    given = {"host: 127.0.0.1", "authorization: Bearer " + READ} - {field}
    head = "\r\n".join([*lines, *given, "", ""]).encode()
    chunk = b"%x\r\n%b\r\n0\r\n" % (len(update), update)
    with (
        running(tmp_path, token=READ) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=5) as line,
    ):
        trailer = field.encode() + b"\r\n\r\n"
        for part in [head + chunk + trailer] if together else [head + chunk, trailer]:
            line.sendall(part)
            time.sleep(0.05)
        assert status_of(line.recv(4000)) in (400, 401)
        assert server.service.version == 0


@pytest.mark.parametrize("path", ["/", "/model", "/nothing", "/page/page.js"])
def test_every_answer_has_the_headers_that_a_browser_needs(server, path):
    headers = server.http.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "/page/../../journal.sqlite", "/page/%2e%2e/app.py", "//etc/passwd",
        "/model/file/../../x", "/page/page.js%00.png", "/v2/models/..%2f..%2fetc/infer", "/\\..\\x",
        "/page/journal.sqlite", "/explain?id=../../etc/passwd", "/explain?id=%00",
        "/explain?id=%ff", "/explain?id=a&id=b", "/explain?id=" + "x" * 500,
    ],
)  # fmt: skip
def test_path_traversal_is_answered_404(server, path):
    assert status_of(server.raw(request("GET", path))) in (400, 404, 422)


HOSTILE = {
    "no JSON": (b"{", 400),
    "nothing": (b"", 415),
    "NaN": (b'{"features": {"a": NaN}}', 400),
    "infinity": (b'{"features": {"a": 1e999}}', 422),
    "many digits": (b'{"features": {"a": ' + b"9" * 5000 + b"}}", 422),
    "largest": (b'{"features": {"a": 1.7976931348623157e308, "b": -1.7e308}}', 200),
    "smallest": (b'{"features": {"a": 5e-324}}', 200),
    "deep lists": (b"[" * 90_000, 422),
    "deep objects": (b'{"features":' * 9000, 422),
    "deep in a lie": (b'{"features": {}, "x": ' + b"[" * 90_000, 422),
    "not UTF-8": (b'{"features": {"\xff\xfe": 1.0}}', 400),
    "half a surrogate": (b'{"features": {"\\ud800": 1.0}}', 400),
    "a NUL": (b'{"features": {"\\u0000": 1.0}, "id": "\\u0000"}', 200),
    "null": (b"null", 422),
    "null feature": (b'{"features": {"a": null}}', 422),
    "nested feature": (b'{"features": {"a": {"b": 1.0}}}', 422),
    "unknown field": (b'{"features": {}, "path": "/etc/passwd"}', 422),
    "twice": (b'{"features": {"a": 1.0}, "features": {"b": 2.0}}', 200),
    "empty id": (b'{"features": {}, "id": ""}', 422),
    "long id": (b'{"features": {}, "id": "' + b"x" * 129 + b'"}', 422),
    "long name": (b'{"features": {"' + b"x" * 257 + b'": 1.0}}', 422),
    "long value": (b'{"features": {"a": "' + b"x" * 257 + b'"}}', 422),
    "empty batch": (b"[]", 422),
    "large batch": (b"[" + b",".join([b'{"features":{}}'] * 101) + b"]", 422),
    "large body": (b'{"features": {"a": "' + b"x" * 200_000 + b'"}}', 413),
    "a pickle": (b"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00\x8c\x08builtins", 400),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bodies_are_rejected(server, name):
    body, expected = HOSTILE[name]
    answer = server.raw(request("POST", "/predict", body))
    assert status_of(answer) == expected, answer[:300]
    assert b"Traceback" not in answer and b"/src/" not in answer


@pytest.mark.parametrize(
    "update",
    [
        b'{"features": {"a": 1.0}, "label": null}',
        b'{"features": {"a": 1.0}, "label": ["x", null]}',
        b'{"features": {"a": 1.0}, "label": [["x"]]}',
        b'{"features": {"a": 1.0}, "label": {"x": 1}}',
        b'{"features": {"a": 1.0}, "label": 99999999999999999999}',
        b'{"features": {"a": 1.0}, "label": "x", "weight": -1}',
        b'{"features": {"a": 1.0}, "label": "x", "weight": 1e999}',
        b'{"features": {"a": 1.0}}',
    ],
)
def test_hostile_updates_are_rejected(server, update):
    before = server.service.version
    assert status_of(server.raw(request("POST", "/learn", update))) == 422
    assert server.service.version == before


def test_many_features_in_one_example(server):
    x = {f"f{k}": 1.0 for k in range(2001)}
    assert server.post("/predict", {"features": x}).status_code == 422


def test_a_million_new_names_do_not_grow_the_model(server):
    for part in range(100):
        batch = [
            {"features": {f"n{part}-{k}-{j}": 1.0 for j in range(100)}, "label": "xy"[k % 2]}
            for k in range(100)
        ]
        assert server.post("/learn", batch).status_code == 200
    assert server.http.get("/model").json()["features"] <= 5000


def test_the_number_of_classes_is_bounded(server):
    statuses = [server.learn({"a": 1.0}, f"class {k}").status_code for k in range(25)]
    assert statuses.count(200) == 18 and statuses[-1] == 422


def test_huge_numbers_are_learned_or_rejected(server):
    for value in (1e308, -1e308, 1e-308, 0.0, -0.0):
        answer = server.learn({"a": value, "b": value}, "x")
        assert answer.status_code in (200, 422)
    assert server.post("/predict", {"features": {"a": 1e308, "b": 1e308}}).status_code == 200


def test_a_silent_client_is_disconnected(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as line:
        begin = time.monotonic()
        assert b"408" in line.recv(1000)
        assert line.recv(1000) == b""
        assert time.monotonic() - begin < 4


@pytest.mark.parametrize("second", [False, True])
def test_a_slow_head_is_answered_408(server, second):
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as line:
        if second:  # also when a good request came before
            line.sendall(request("GET", "/health"))
            assert b"200 OK" in line.recv(4000)
        received = b""
        try:
            for letter in request("GET", "/health")[:30]:
                line.sendall(bytes([letter]))
                time.sleep(0.1)
            received = line.recv(1000)
        except ConnectionError:
            return
        assert received == b"" or b"408" in received


def test_a_slow_body_is_answered_408(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as line:
        whole = request("POST", "/predict", b'{"features": {}}')
        line.sendall(whole[:-5])
        begin = time.monotonic()
        line.recv(1000)
        assert time.monotonic() - begin < 4


def test_a_client_that_does_not_read_is_disconnected(server, monkeypatch):
    size = 30_000_000  # more than the system takes off our hands
    endpoints = server.server.application.endpoints
    monkeypatch.setattr(endpoints, "_description", b"x" * size)
    whole = server.http.get("/openapi.json")
    assert len(whole.content) == size
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(10)
        line.connect(("127.0.0.1", server.port))
        line.sendall(request("GET", "/openapi.json"))
        time.sleep(2.5)
        got = 0
        try:
            while part := line.recv(1 << 20):
                got += len(part)
        except ConnectionError:
            pass
    assert got < size


def test_an_endless_head_is_rejected(server):
    head = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"x-a: b\r\n" * 5000
    assert status_of(server.raw(head)) == 431
    assert status_of(server.raw(b"GET /" + b"a" * 50_000)) in (400, 431)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00" * 1000,
        b"GET\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
        b"POST /predict HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\n"
        b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ],
)
def test_requests_that_are_not_http_are_rejected(server, data):
    assert status_of(server.raw(data)) in (None, 400, 408, 415, 505)
    assert server.alive()


def test_a_wrong_method_is_answered_with_the_allowed_ones(server):
    answer = server.http.delete("/predict")
    assert answer.status_code == 405 and answer.headers["allow"] == "POST"
    assert server.http.head("/model").status_code == 200


def test_watchers_are_bounded(tmp_path):
    with (
        running(tmp_path, limits={"watchers": 1}) as server,
        server.http.stream("GET", "/events") as first,
    ):
        next(first.iter_lines())
        assert server.http.get("/events").status_code == 429


def test_internal_errors_are_not_sent_to_clients(server, monkeypatch, caplog):
    def fail(x):
        raise KeyError("/secret/place")

    monkeypatch.setattr(server.service.learning.adapter, "predict", fail)
    answer = server.post("/predict", {"features": {}})
    assert answer.status_code == 500
    assert "secret" not in answer.text and "KeyError" not in answer.text


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_client_addresses_are_not_logged(level, tmp_path, caplog, capsys):
    """Addresses of clients, and what they ask, are nobody's concern, however much is logged."""
    with running(tmp_path) as server:
        for name in ("", "asyncio", "aggro.serve"):
            caplog.set_level(level, name)
        for path in ("/health", "/model", "/nowhere-at-all"):
            server.raw(request("GET", path))
    lines = [*capsys.readouterr(), *(record.getMessage() for record in caplog.records)]
    assert not [line for line in lines if "127.0.0.1" in line or "nowhere-at-all" in line]
