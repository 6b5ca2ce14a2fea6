"""HTTP/1.1 connections: framing, order, upgrades, trailers, half-closed and slow clients."""

import json
import socket
import time

import pytest
from serve_support import request, running, status_of

import aggro
from aggro.serve.adapters import adapter_for
from aggro.serve.config import Retention
from aggro.serve.journal import Journal
from aggro.serve.service import pack
from aggro.serve.writer import (
    ROWS_AT_ONCE,
    DelayedLabel,
    Duplicate,
    Example,
    Found,
    Ids,
    Lookup,
    Prediction,
    Rejected,
    Row,
    parts,
)

ASK = b'{"features": {"a": 1.0, "b": "red"}}'
UPDATE = b'{"features": {"a": 1.0, "b": "red"}, "label": "x"}'


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    limits = {"request_seconds": 1.0, "idle_seconds": 1.0, "body": 5000}
    with running(tmp_path_factory.mktemp("quick"), limits=limits) as found:
        found.learn({"a": -1.0}, "y")
        yield found


def talk(server, *pieces, answers, pause=0.05):
    """Send pieces over one connection; return the answers as (status, headers, body)."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as line:
        line.settimeout(5)
        for piece in pieces:
            line.sendall(piece)
            time.sleep(pause)
        stream = line.makefile("rb")
        return [read_answer(stream) for _ in range(answers)]


def read_answer(stream):
    status = int(stream.readline().split()[1])
    headers = {}
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        headers[name.decode()] = value.strip().decode()
    if status == 100:
        return status, headers, b""
    return status, headers, stream.read(int(headers["content-length"]))


def plain(answer):
    """Return an answer without its id, its date and its turn."""
    status, headers, body = answer
    content = json.loads(body)
    content.pop("id", None)
    content.pop("version", None)
    drop = ("date", "content-length", "connection")
    return status, {k: v for k, v in headers.items() if k not in drop}, content


UPGRADE = {
    "connection": "Upgrade, HTTP2-Settings",
    "upgrade": "h2c",
    "HTTP2-Settings": "AAMAAABk",
}


def chunked(path, *parts, trailer="", **headers):
    """Return a request whose body is sent in chunks."""
    head = request("POST", path, **headers, **{"transfer-encoding": "chunked"})
    head = head.replace(b"content-length: 0", b"content-type: application/json")
    chunks = [b"%x\r\n%b\r\n" % (len(part), part) for part in parts]
    return b"".join([head, *chunks, b"0\r\n", trailer.encode(), b"\r\n"])


WAYS = {
    "in pieces": lambda path, body: (request("POST", path, body)[:-9], body[-9:]),
    "with a query": lambda path, body: (request("POST", path + "?x=1", body),),
    "and leave": lambda path, body: (request("POST", path, body, connection="close"),),
    "with space before": lambda path, body: (request("POST", path, b" " + body),),
    "chunked": lambda path, body: (chunked(path, body),),
    "chunked, a byte at a time": lambda path, body: (
        chunked(path, *(bytes([byte]) for byte in body)),
    ),
    "with an upgrade": lambda path, body: (request("POST", path, body, **UPGRADE),),
    "with an upgrade, in pieces": lambda path, body: (
        request("POST", path, body, **UPGRADE)[: -len(body)],
        body[:9],
        body[9:],
    ),
    "with an upgrade, chunked": lambda path, body: (chunked(path, body, **UPGRADE),),
    "to an absolute target": lambda path, body: (
        request("POST", f"http://127.0.0.1{path}", body, host="ignored.example"),
    ),
    "with the path encoded": lambda path, body: (
        request("POST", f"/%{ord(path[1]):x}{path[2:]}", body),
    ),
    "HTTP/1.0": lambda path, body: (request("POST", path, body).replace(b"1.1", b"1.0", 1),),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/predict", ASK),
        ("/learn", UPDATE),
        ("/label", b'{"id": "nobody", "label": "x"}'),
        ("/learn", b'{"features": {"a": 1.0}}'),
        ("/predict", b'{"features": '),
    ],
)
def test_the_answer_does_not_depend_on_how_a_request_is_sent(server, path, body, way):
    (plainly,) = talk(server, request("POST", path, body), answers=1)
    (other,) = talk(server, *WAYS[way](path, body), answers=1)
    assert plain(plainly) == plain(other)


def test_expect_continue_is_answered_with_100(server):
    head = request("POST", "/predict", ASK, expect="100-continue")[: -len(ASK)]
    first, second = talk(server, head, ASK, answers=2)
    assert first[0] == 100 and second[0] == 200


def test_answers_come_in_the_order_of_the_requests(server):
    one = request("POST", "/learn", UPDATE)
    batch = request("POST", "/predict", b"[" + ASK + b"," + ASK + b"]")
    many = b"".join([one, request("POST", "/predict", ASK), one, request("GET", "/health"), batch])
    answers = [json.loads(body) for _, _, body in talk(server, many, answers=5)]
    assert answers[0]["status"] == answers[2]["status"] == 200
    assert answers[0]["version"] < answers[2]["version"]
    assert "prediction" in answers[1]
    assert answers[3] == {"live": True}
    assert len(answers[4]) == 2


def test_a_body_that_is_too_large_is_rejected_in_one_piece(server):
    body = b'{"features": {"a": 1.0}, "id": "' + b"x" * 6000 + b'"}'
    assert status_of(server.raw(request("POST", "/predict", body))) == 413


def test_requests_after_an_ignored_upgrade_are_answered(server):
    first = request("POST", "/learn", UPDATE, **UPGRADE)
    answers = talk(server, first + first + request("GET", "/health"), answers=3)
    assert [status for status, *_ in answers] == [200, 200, 200]


@pytest.mark.parametrize(
    "size", [6000, 10**12], ids=["sent in part", "more than will ever be sent"]
)
def test_a_body_that_is_too_large_is_rejected_before_it_is_sent(server, size):
    head = request("POST", "/predict", **{"content-length": str(size)})
    head = head.replace(b"\r\n\r\n", b"\r\ncontent-type: application/json\r\n\r\n")
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as line:
        line.sendall(head + b"{")
        begin = time.monotonic()
        status, headers, _ = read_answer(line.makefile("rb"))
        assert (status, headers["connection"]) == (413, "close")
        assert time.monotonic() - begin < 0.9  # of the second that the request may take


def test_an_endless_chunked_body_is_rejected(server):
    endless = chunked("/predict", b"x" * 4000, b"x" * 4000)[:-5]
    assert status_of(server.raw(endless)) == 413


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"], ids=["endless", "whole"])
@pytest.mark.parametrize("place", ["head", "trailer", "chunk extension"])
def test_lines_outside_the_body_are_bounded(server, place, end):
    filler = (b"x=" if place == "chunk extension" else b"x: ") + b"b" * 200_000
    start = {
        "head": b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n",
        "trailer": chunked("/learn", UPDATE)[:-2],
        "chunk extension": chunked("/learn")[:-5] + b"1;",
    }[place]
    status = status_of(server.raw(start + filler + end))
    assert status == 431 or (place != "head" and end and status in (200, 400))


def test_a_rejected_request_gets_its_error_instead_of_100(server):
    head = request("POST", "/nothing", ASK, expect="100-continue")[: -len(ASK)]
    (answer,) = talk(server, head, answers=1)
    assert answer[0] == 404 and answer[1]["connection"] == "close"


def test_a_client_that_has_closed_its_side_is_answered(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as line:
        line.sendall(request("POST", "/learn", UPDATE) * 2)
        line.shutdown(socket.SHUT_WR)
        stream = line.makefile("rb")
        assert [read_answer(stream)[0] for _ in range(2)] == [200, 200]
        assert stream.read() == b""


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /health HTTP/1.1\r\nhost 127.0.0.1\r\n\r\n", 400),
        (b"POST /predict HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n", 400),
        (b"CONNECT 127.0.0.1:80 HTTP/1.1\r\nhost: 127.0.0.1:80\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\n", 408),
        (b"GET /" + b"a" * 70_000, 431),
    ],
)
def test_errors_of_the_protocol_have_the_form_of_all_errors(server, data, status):
    answer = server.raw(data)
    assert status_of(answer) == status
    head, _, body = answer.partition(b"\r\n\r\n")
    assert json.loads(body)["error"]["code"] and b"nosniff" in head


def test_the_error_of_a_later_request_does_not_overtake_an_answer(server):
    answers = talk(server, request("POST", "/learn", UPDATE) + b"no HTTP\r\n\r\n", answers=2)
    assert [status for status, *_ in answers] == [200, 400]


def test_the_server_stops_reading_from_a_client_that_does_not_read(server):
    """Else its answers would fill the memory."""
    ask = request("GET", "/openapi.json", padding="x" * 4000) * 20
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.settimeout(0.3)
        line.connect(("127.0.0.1", server.port))
        before = server.service.learning.stats.statuses.get(("/openapi.json", 200), 0)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 20_000:
                line.sendall(ask)
                sent += 20
        answered = server.service.learning.stats.statuses["/openapi.json", 200] - before
        assert answered < 1000


def test_more_connections_than_allowed_are_rejected(tmp_path):
    with running(tmp_path, limits={"connections": 3}) as server:
        assert server.alive()  # over a connection that stays open
        lines = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(2)]
        answer = server.raw(request("GET", "/health"))
        assert status_of(answer) == 503 and b"retry-after: 1" in answer
        for line in lines:
            line.close()
        deadline = time.monotonic() + 5
        while len(server.server.connections) > 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert status_of(server.raw(request("GET", "/health"))) == 200


def test_head_has_the_headers_of_get_and_no_body(server):
    get, head = request("GET", "/model"), request("HEAD", "/model")
    answer = server.raw(head)
    length = int(dict(line.split(b": ") for line in answer.split(b"\r\n")[1:-2])[b"content-length"])
    assert answer.endswith(b"\r\n\r\n") and length > 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as line:
        line.sendall(request("HEAD", "/events") + get)
        assert line.makefile("rb").read().endswith(b"\r\n\r\n")  # a stream has no next answer


def test_an_idle_connection_is_closed_after_an_answer(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as line:
        line.sendall(request("POST", "/predict", ASK))
        assert b"200 OK" in line.recv(4000)
        begin = time.monotonic()
        assert line.recv(100) == b""
        assert 0.5 < time.monotonic() - begin < 4


def test_a_client_that_disconnects_early_does_not_affect_others(tmp_path):
    with running(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(request("POST", "/learn", UPDATE))
        deadline = time.monotonic() + 5
        while server.service.version < 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.service.version == 1 and server.alive()


def test_latencies_and_statuses_are_counted(server):
    before = dict(server.service.learning.stats.statuses)
    talk(server, request("POST", "/predict", ASK), answers=1)
    after = server.service.learning.stats.statuses
    assert after["/predict", 200] == before.get(("/predict", 200), 0) + 1


# -- the model and the journal behind it -----------------------------------------------------------


def test_prediction_and_scores_agree():
    model = aggro.StreamClassifier("PA-I")
    adapter = adapter_for(model)
    for k, label in enumerate(["b", "a", "b", "c", "a"]):
        for x in ({}, {"a": 1.0}, {"a": -2.0, "z": 3.0}):
            output = adapter.predict(x)
            assert output.prediction == model.predict_one(x)
            assert set(output.scores) == set(model.classes_)
        model.learn_one({"a": 1.0 - k, "b": 0.5 * k}, label)


def group_of(folder, *entries):
    journal = Journal(folder, Retention())
    try:
        return journal.write(list(entries)), journal.pending
    finally:
        journal.close()


def test_entries_of_a_group_see_each_other(tmp_path):
    update = ("l", b'"x"', 1.0, b"f")
    outcomes, pending = group_of(
        tmp_path,
        Prediction("p", time.time(), b"1", b"s"),
        Prediction("p", time.time(), b"2", b"s"),
        DelayedLabel("p", b'"x"', 1.0),
        DelayedLabel("p", b'"x"', 1.0),
        DelayedLabel("p", b'"y"', 1.0),
        DelayedLabel("q", b'"y"', 1.0),
        Example(*update),
        Example(*update),
        Example("l", b'"x"', 1.0, pack("other")),
        Prediction("q", time.time(), b"3", b"s"),
    )
    kinds = [None, None, Row, Duplicate, 409, 404, Row, Duplicate, 409, None]
    assert [getattr(each, "status", each and type(each)) for each in outcomes] == kinds
    assert outcomes[2].features == b"2"  # the latest prediction under the id
    assert pending == 1


def test_a_group_sees_the_rows_of_earlier_groups(tmp_path):
    count = 2 * ROWS_AT_ONCE + 5
    examples = [Example(f"l{k}", b"1", 1.0, b"f") for k in range(count)]
    asked = [Prediction(f"p{k}", time.time(), pack(k), b"s") for k in range(count)]
    outcomes, pending = group_of(tmp_path, *examples, *asked)
    assert [row.seq for row in outcomes[:count]] == list(range(1, count + 1)) and pending == count
    labels = [DelayedLabel(f"p{k}", b"1", 1.0) for k in range(0, count, 2)]
    outcomes, pending = group_of(tmp_path, *examples, *labels)
    assert all(isinstance(each, Duplicate) for each in outcomes[:count])
    assert [row.features for row in outcomes[count:]] == [pack(k) for k in range(0, count, 2)]
    assert pending == count // 2


def test_a_lookup_sees_the_rows_of_its_group(tmp_path):
    asked = Prediction("p", time.time(), b"1", b"s")
    update, true_label = Example("l", b'"x"', 1.0, b"2"), DelayedLabel("p", b'"x"', 1.0)
    questions = [Lookup("p"), Lookup("l"), Lookup("q")]
    outcomes, _ = group_of(tmp_path, asked, update, *questions, true_label, *questions)
    expected = [Found(b"1", b"s"), Found(b"2", None), Rejected("q", 404)]
    assert outcomes[2:5] == outcomes[6:] == expected


def test_a_prediction_replaces_an_earlier_one_with_its_id(tmp_path):
    for features in (b"1", b"2"):
        _, pending = group_of(tmp_path, Prediction("p", time.time(), features, b"s"))
        assert pending == 1
    outcomes, pending = group_of(tmp_path, DelayedLabel("p", b"1", 1.0), Lookup("p"))
    assert outcomes[0].features == b"2" and outcomes[1].features == b"2" and pending == 0


def test_predictions_of_one_group_are_bounded(tmp_path):
    journal = Journal(tmp_path, Retention(predictions=50))
    for start in (0, 60, 70):
        journal.write([Prediction(f"{start + k}", time.time(), b"", b"s") for k in range(60)])
        assert journal.pending == 50
    kept = journal.db.execute("SELECT id FROM pending ORDER BY number").fetchall()
    assert [int(id) for (id,) in kept] == list(range(80, 130))
    journal.close()


def test_old_predictions_are_removed(tmp_path, monkeypatch):
    journal, begin = Journal(tmp_path, Retention(seconds=60)), time.time()
    for second, left in ((0, 1), (30, 2), (59, 3), (61, 3), (95, 3), (300, 1)):
        now = begin + second
        monkeypatch.setattr(time, "time", lambda now=now: now)
        journal.write([Prediction(f"{second}", now, b"", b"s")])
        assert journal.pending == left, second
    journal.close()


def test_parts_contain_each_row_once():
    for length in range(3 * ROWS_AT_ONCE):
        found = list(parts(range(length)))
        assert [row for part in found for row in part] == list(range(length))
        assert all(1 <= len(part) <= ROWS_AT_ONCE for part in found)


def test_new_ids_are_unique_and_ordered_by_time():
    ids = Ids()
    first = [ids.new() for _ in range(1000)]
    time.sleep(0.005)
    later = ids.new()
    assert len(set(first)) == 1000 and max(first) < later


def test_an_id_is_its_time_and_eighty_bits_at_random():
    """Of one length, so that the order of ids is that of their times."""
    ids, before = Ids(), int(time.time() * 1000)
    made = [ids.new() for _ in range(1000)]
    assert {len(id) for id in made} == {11 + 80 // 4}
    assert all(before <= int(id[:11], 16) <= time.time() * 1000 for id in made)
    bits = [bin(int("1" + id[11:], 16))[3:] for id in made]
    assert all(
        300 < ones < 700 for ones in (column.count("1") for column in zip(*bits, strict=True))
    )
