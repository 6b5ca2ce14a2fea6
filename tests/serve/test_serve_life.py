"""Starts, stops and restarts: folder, snapshots, signals, tokens."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time

import httpx
import pytest
from serve_support import DEMO, problem, running

import aggro
from aggro.serve.config import Plan, Retention, token_from
from aggro.serve.journal import Journal
from aggro.serve.server import first_model, guard_of, run
from aggro.serve.service import pack
from aggro.serve.writer import Example, Row, Writer


def command(folder, *options, **env):
    """Start ``aggro serve`` in a process of its own; return it and its address."""
    words = ["serve", "PA-I", "--port", "0", "--data", str(folder), *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "aggro.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )
    line = process.stdout.readline()
    found = re.match(r"serving (http://\S+)", line)
    assert found, process.communicate(timeout=20)
    return process, found[1]


def test_sigterm_completes_requests_writes_a_snapshot_and_exits(tmp_path):
    process, address = command(tmp_path / "data", "--C", "auto")
    for k in range(5):
        httpx.post(f"{address}/learn", json={"features": {"a": k - 2.0}, "label": k % 2})
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "stopped" in out and not err
    assert aggro.load(tmp_path / "data" / "model-000000000000005.aggro").examples == 5
    process, address = command(tmp_path / "data", "--C", "auto")
    assert httpx.get(f"{address}/model").json()["version"] == 5
    process.terminate()
    process.communicate(timeout=30)


def test_a_restart_continues_with_the_same_model(tmp_path):
    plain = aggro.StreamClassifier("PA-I", C="auto", max_features=1 << 18)
    examples = [({"a": k % 7 - 3.0, "b": k % 3 - 1.0}, "xyz"[k % 3]) for k in range(90)]
    for x, y in examples:
        plain.learn_one(x, y)
    for part in range(3):
        retention = {"snapshot_examples": 1000}
        with running(tmp_path, params={"C": "auto"}, retention=retention) as server:
            assert server.service.version == 30 * part
            for x, y in examples[30 * part : 30 * (part + 1)]:
                server.learn(x, y)
            totals = server.service.learning.evaluation.totals
    with running(tmp_path, params={"C": "auto"}) as server:
        assert server.service.learning.adapter.model.coef_ == plain.coef_
        assert server.service.learning.evaluation.totals == totals
        assert totals.examples == 90 and totals.error <= plain.n_mistakes_ + 3


def test_a_folder_belongs_to_one_model_and_to_one_server(tmp_path):
    with running(tmp_path), pytest.raises(ValueError, match="another server"), running(tmp_path):
        pass
    words = "belongs to a model that began as PA-I"
    with pytest.raises(ValueError, match=words), running(tmp_path, "PA-II"):
        pass


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"model": "PX-9"}, "There is no variant"),
        ({"model": "no/such.aggro"}, "no such file"),
        ({"host": "0.0.0.0"}, "--no-token"),
        ({"params": {"D": 3}}, "not a setting"),
        ({"model": "KPA"}, "not a linear variant"),
    ],
)
def test_errors_of_wrong_configurations_say_what_is_wrong(tmp_path, plan, words):
    asked = Plan(**{"model": "PA-I", "data": tmp_path / "d", "port": 0, **plan})
    with pytest.raises((ValueError, TypeError, OSError), match=words):
        run(asked, lambda *_: pytest.fail("it runs"))


def test_settings_are_for_new_models(tmp_path):
    aggro.save(aggro.StreamClassifier(), tmp_path / "m.aggro")
    with pytest.raises(ValueError, match="--C is for a new model"):
        first_model(Plan(str(tmp_path / "m.aggro"), tmp_path / "d", params={"C": 0.1}))


def test_short_tokens_are_rejected(tmp_path, monkeypatch):
    (tmp_path / "token").write_text("short\n")
    with pytest.raises(ValueError, match="16"):
        token_from("AGGRO_TOKEN", str(tmp_path / "token"))
    monkeypatch.setenv("AGGRO_TOKEN", "x" * 20)
    assert token_from("AGGRO_TOKEN", None) == "x" * 20


@pytest.mark.parametrize("token", [" " * 20, "\n", "\t" * 16, "x" * 10 + " " + "y" * 10, "é" * 20])
def test_tokens_that_cannot_be_sent_are_rejected(tmp_path, monkeypatch, token):
    """A blank one above all: it must not pass for no token, which would let everyone in."""
    (tmp_path / "token").write_text(token)
    monkeypatch.setenv("AGGRO_TOKEN", token)
    for path in (None, str(tmp_path / "token")):
        with pytest.raises(ValueError, match="without spaces"):
            token_from("AGGRO_TOKEN", path)
    for name in ("token", "write_token"):
        plan = Plan(model="PA-I", data=tmp_path, **{name: token})
        with pytest.raises(ValueError, match="without spaces"):
            guard_of(plan)
    monkeypatch.setenv("AGGRO_TOKEN", "")
    assert token_from("AGGRO_TOKEN", None) is None


def test_a_full_disk_loses_no_update(tmp_path):
    with running(tmp_path) as server:
        server.learn({"a": 1.0}, "x")
        db, large = server.service.journal.db, {f"feature {k}": 1.0 for k in range(500)}
        update = {"features": large, "label": "y", "id": "later"}
        db.execute("PRAGMA max_page_count = 1")  # it grows no more: SQLite says "disk is full"
        for body in (
            update,
            [update] + [{**update, "id": f"{k}"} for k in range(100)],
        ):
            answer = server.post("/learn", body)
            assert answer.status_code == 503 and answer.headers["retry-after"]
            assert "disk is full" not in problem(answer)
        assert server.post("/predict", {"features": {"a": 1.0}}).json()["prediction"] == "x"
        db.execute("PRAGMA max_page_count = 1000000")
        assert server.post("/learn", update).json()["version"] == 2


def test_many_callers_share_a_commit(tmp_path):
    async def main():
        journal = Journal(tmp_path, Retention())
        writer = Writer(journal, 10_000)
        written, done = [], asyncio.Event()

        def note(outcomes, error):
            written.extend(outcomes)
            if len(written) == 500:
                done.set()

        writer.start()
        for k in range(500):
            writer.submit([Example(f"{k}", b'"x"', 1.0, pack({}))], note)
        await asyncio.wait_for(done.wait(), 20)
        await writer.stop()
        journal.close()
        return written, writer.commits

    written, commits = asyncio.run(main())
    assert [row.seq for row in written if isinstance(row, Row)] == list(range(1, 501))
    assert commits <= 50


def test_an_invalid_entry_does_not_fail_the_others_of_its_group(tmp_path):
    async def main():
        journal = Journal(tmp_path, Retention())
        writer = Writer(journal, 10_000)
        results, done = {}, asyncio.Event()

        def note(name, outcomes, error):
            results[name] = (outcomes, error)
            if len(results) == 3:
                done.set()

        good, bad = (b'"x"', 1.0, pack({})), (b'"x"', object(), pack({}))  # no number for SQLite
        for name, rest in (("a", good), ("b", bad), ("c", good)):
            writer.submit([Example(name, *rest)], lambda *result, name=name: note(name, *result))
        writer.start()
        await asyncio.wait_for(done.wait(), 20)
        await writer.stop()
        journal.close()
        return results

    results = asyncio.run(main())
    assert results["b"][1] is not None and results["a"][1] is results["c"][1] is None
    assert [results[name][0][0].seq for name in "ac"] == [1, 2]


def test_a_full_queue_is_answered_429_while_predictions_continue(tmp_path):
    with running(tmp_path, limits={"waiting": 10}) as server:
        write = server.service.journal.write

        def slow(entries):
            time.sleep(0.5)
            return write(entries)

        server.service.journal.write = slow
        updates = [{"features": {"a": 1.0}, "label": "x"}] * 10
        loop = [server.http.build_request("POST", "/learn", json=updates) for _ in range(2)]
        with httpx.Client(base_url=server.address, timeout=20) as other:
            import threading

            first = threading.Thread(target=other.send, args=(loop[0],))
            first.start()
            time.sleep(0.2)
            answer = server.http.send(loop[1])
            assert answer.status_code == 429 and answer.headers["retry-after"] == "1"
            begin = time.monotonic()
            answer = server.post("/predict", {"features": {"a": 1.0}}).json()
            assert answer["stored"] is False
            assert time.monotonic() - begin < 0.25  # it did not wait for the disk
            first.join()


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_a_missing_package_is_named():
    code = "import sys; sys.modules['{}'] = None; {}"
    serve = "from aggro.cli import main; sys.exit(main(['serve', 'PA-I']))"
    done = python(code.format("httptools", serve))
    assert done.returncode == 1
    assert "pip install 'aggro[serve]'" in done.stderr
    done = python(code.format("httpx", "import aggro.serve; aggro.serve.Client"))
    assert "pip install 'aggro[serve]'" in done.stderr


def test_the_package_loads_nothing_before_it_is_used():
    heavy = "{'httptools', 'uvloop', 'msgspec', 'httpx', 'sklearn'}"
    done = python(f"import sys, aggro.serve, aggro.cli.serve; print({heavy} & set(sys.modules))")
    assert done.stdout.strip() == "set()"


def test_the_demonstration_runs(tmp_path):
    words = [sys.executable, str(DEMO), "--port", "0", "--seconds", "4"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    assert "the concept changes after 2 s" in done.stdout
    assert re.search(r"[1-9]\d* examples learned", done.stdout)
