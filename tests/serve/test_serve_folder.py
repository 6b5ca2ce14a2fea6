"""Starts from a data folder: consistency of its files, lost updates, backups."""

import shutil
import sqlite3
import threading
import time

import pytest
from serve_support import running

import aggro
from aggro.cli import main
from aggro.serve.folder import ACKNOWLEDGED, JOURNAL, DataFolderError, snapshot_numbers
from aggro.serve.snapshots import backup

WAL = f"{JOURNAL}-wal"


def update(k, prefix="e"):
    id = f"{prefix}{k}"
    return {"id": id, "features": {id: 1.0, "a": k % 3 - 1}, "label": "xy"[k % 2]}


def learn_updates(server, first, last, prefix="e"):
    for k in range(first, last):
        assert server.post("/learn", update(k, prefix)).status_code == 200


def crash(folder, to):
    """Copy a folder as a crash at this moment leaves it."""
    shutil.copytree(folder, to)
    return to


def model_file(server):
    return server.http.get("/model/file").content


def rejected(folder, words, model="PA-I"):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(DataFolderError, match=words) as error, running(folder, model):
        pass
    for name, content in before.items():
        if not name.endswith("-shm"):
            assert (folder / name).read_bytes() == content, f"{name} was changed"
    return str(error.value)


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """A folder with 30 updates, the snapshots 0, 10 and 20 written, and a full write-ahead log."""
    place = tmp_path_factory.mktemp("folder")
    with running(place / "data") as server:
        for first in (0, 10, 20):
            learn_updates(server, first, first + 10)
            if first < 20:
                server.post("/model/snapshot", {})
        crash(place / "data", place / "crashed")
    return place / "crashed"


@pytest.fixture
def folder(crashed, tmp_path):
    return crash(crashed, tmp_path / "copy")


def test_a_crashed_folder_starts(folder):
    assert snapshot_numbers(folder) == [10, 20] and (folder / WAL).stat().st_size > 0
    with running(folder) as server:
        assert server.service.version == 30 and server.service.replayed == 10


def journal_of(folder, tmp_path, updates, model="PA-I"):
    """Put the journal of another server with this many updates into a folder."""
    with running(tmp_path / "other", model) as server:
        learn_updates(server, 0, updates)
    for name in (JOURNAL, WAL, f"{JOURNAL}-shm", ACKNOWLEDGED):
        (folder / name).unlink(missing_ok=True)
    shutil.copy(tmp_path / "other" / JOURNAL, folder)


@pytest.mark.parametrize("name", [JOURNAL, WAL])
def test_a_journal_or_a_log_that_was_removed_or_emptied_is_noticed(folder, name):
    content = (folder / name).read_bytes()
    (folder / name).unlink()
    assert "backup" in rejected(folder, "journal")
    (folder / name).write_bytes(b"")
    assert "backup" in rejected(folder, "journal")
    (folder / name).write_bytes(content)
    with running(folder) as server:
        assert server.service.version == 30


def test_a_removed_log_is_noticed_without_any_snapshot(tmp_path):
    with running(tmp_path / "data") as server:
        learn_updates(server, 0, 5)
        folder = crash(tmp_path / "data", tmp_path / "crashed")
    (folder / WAL).unlink()
    rejected(folder, "journal")


def test_lost_updates_can_be_given_up_on_purpose(tmp_path):
    with running(tmp_path / "data") as server:
        learn_updates(server, 0, 5)
    with running(tmp_path / "data") as server:
        learn_updates(server, 5, 10)
        folder = crash(tmp_path / "data", tmp_path / "crashed")
    (folder / WAL).unlink()
    message = rejected(folder, "10 updates were acknowledged")
    assert f"delete {folder / ACKNOWLEDGED}" in message
    (folder / ACKNOWLEDGED).unlink()
    with running(folder) as server:
        assert server.service.version == 5
        learn_updates(server, 5, 6)
    with running(folder) as server:
        assert server.service.version == 6


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9])
def test_a_damaged_log_is_noticed(folder, share):
    content = bytearray((folder / WAL).read_bytes())
    place = int(share * len(content))
    content[place : place + 40] = bytes(b ^ 0xFF for b in content[place : place + 40])
    (folder / WAL).write_bytes(content)
    message = rejected(folder, "journal")
    assert "backup" in message


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"this is no database " * 500,
        lambda content: content[: len(content) // 2],
        lambda content: content[:4096] + bytes(len(content) - 4096),
        lambda content: content[:100] + bytes(4096 - 100) + content[4096:],
    ],
    ids=["text", "half", "zeros", "first page"],
)
def test_a_damaged_journal_is_noticed(tmp_path, damage):
    with running(tmp_path) as server:
        learn_updates(server, 0, 200)
    path = tmp_path / JOURNAL
    path.write_bytes(damage(path.read_bytes()))
    rejected(tmp_path, "journal")


def change(folder, sql):
    with sqlite3.connect(folder / JOURNAL) as db:
        db.execute(sql)
    db.close()


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM examples WHERE seq = 25",
        "UPDATE examples SET features = NULL WHERE seq = 25",
        "UPDATE examples SET label = CAST('\"z\"' AS BLOB) WHERE seq = 25",
        "UPDATE examples SET label = '\"x\"' WHERE seq = 25",
        "UPDATE examples SET weight = 2.0 WHERE seq = 25",
        "UPDATE examples SET id = 'q' WHERE seq = 25",
        "UPDATE examples SET checksum = checksum + 1 WHERE seq = 30",
    ],
)
def test_an_update_that_is_not_the_one_written_is_noticed(folder, sql):
    change(folder, sql)
    with pytest.raises(DataFolderError, match="journal"), running(folder):
        pass


@pytest.mark.parametrize("updates", [5, 20, 40])
def test_a_journal_of_another_server_is_noticed(folder, tmp_path, updates):
    journal_of(folder, tmp_path, updates)
    rejected(folder, "journal")


def test_a_journal_of_another_model_is_noticed(folder, tmp_path):
    journal_of(folder, tmp_path, 30, "PA-II")
    with pytest.raises(ValueError, match="began as PA-II"), running(folder):
        pass


def test_a_snapshot_of_another_server_is_noticed(folder, tmp_path):
    with running(tmp_path / "other") as server:
        learn_updates(server, 0, 25)
    shutil.copy(tmp_path / "other" / "model-000000000000025.aggro", folder)
    rejected(folder, "do not belong together")


def test_a_snapshot_newer_than_the_journal_is_noticed(tmp_path):
    """A journal that was copied before the snapshot would give numbers out twice."""
    with running(tmp_path / "data") as server:
        learn_updates(server, 0, 10)
        old = tmp_path / "old"
        old.mkdir()
        db, copy = (sqlite3.connect(each / JOURNAL) for each in (tmp_path / "data", old))
        db.backup(copy)
        db.close()
        copy.close()
        learn_updates(server, 10, 30)
        server.post("/model/snapshot", {})
    shutil.copy(tmp_path / "data" / "model-000000000000030.aggro", old)
    message = rejected(old, "journal is older than the snapshot")
    for phrase in ("30 updates", "after update 10", "--data NEW_FOLDER"):
        assert phrase in message
    snapshot = old / "model-000000000000030.aggro"
    snapshot.write_bytes(b"damaged as well")
    rejected(old, "journal is older than the snapshot")


def test_histories_that_diverge_after_a_restore_are_detected(tmp_path):
    with running(tmp_path / "data") as server:
        learn_updates(server, 0, 10)
        backup(tmp_path / "data", tmp_path / "saved")
        learn_updates(server, 10, 20)
    with running(tmp_path / "saved") as server:
        learn_updates(server, 0, 10, "other")
    shutil.copy(tmp_path / "data" / "model-000000000000020.aggro", tmp_path / "saved")
    rejected(tmp_path / "saved", "do not belong together")


def test_damaged_snapshots_are_renamed_and_do_not_count(folder):
    with running(crash(folder, folder.with_name("whole"))) as server:
        expected = model_file(server)
    newest = folder / "model-000000000000020.aggro"
    newest.write_bytes(newest.read_bytes()[:-10])
    with running(folder) as server:
        assert server.service.replayed == 20
        assert model_file(server) == expected
        assert server.http.get("/model").json()["examples"] == 30
        server.post("/model/snapshot", {})
        assert snapshot_numbers(folder) == [10, 30]
        assert server.service.journal.stripped <= 10
    assert newest.with_name(f"{newest.name}.damaged").exists()


def test_the_error_of_a_folder_without_a_snapshot_names_the_required_one(folder):
    change(folder, "UPDATE facts SET value = '10' WHERE name = 'stripped'")
    for path in folder.glob("model-*.aggro"):
        path.write_bytes(b"nothing")
    message = rejected(folder, "snapshot of update 10 or later is needed")
    assert "updates 11 to 30" in message and "model-000000000000020.aggro" in message
    for path in folder.glob("model-*.aggro"):
        path.unlink()
    rejected(folder, "snapshot")


def test_a_failed_start_removes_nothing(folder):
    (folder / JOURNAL).unlink()
    rejected(folder, "missing")
    assert (folder / WAL).exists()


# -- what belongs to a snapshot is in it -------------------------------------------------------


def test_totals_and_rejections_survive_a_crash_before_the_snapshot_is_recorded(tmp_path):
    huge = {"features": {"z": 1.0}, "label": 1.7e308}
    with running(tmp_path / "data", "PAR-I") as server:
        for k in range(20):
            server.learn({"a": 1.0, f"f{k}": 1.0}, 1.0)
        server.post("/learn", huge | {"id": "big"})
        service = server.service
        write = service.journal.write

        def lost(entries):
            """The disk takes no note of rejections and snapshots."""
            if type(entries[0]).__name__ in ("Rejection", "SnapshotWritten"):
                raise OSError(28, "No space left on device")
            return write(entries)

        service.journal.write = lost
        assert server.post("/learn", huge | {"id": "bad"}).status_code == 422
        server.post("/model/snapshot", {})
        before = server.http.get("/model").json()
        folder = crash(tmp_path / "data", tmp_path / "crashed")
    with running(folder, "PAR-I") as server:
        assert server.service.replayed == 0
        assert server.post("/learn", huge | {"id": "bad"}).status_code == 422
        after = server.http.get("/model").json()
        assert after == before
    with running(folder, "PAR-I") as server:
        assert server.post("/learn", huge | {"id": "bad"}).status_code == 422


def test_rejections_are_written_with_the_next_snapshot(tmp_path):
    """A rejection that could not be written is not forgotten when the snapshot after it is."""
    huge = {"features": {"z": 1.0}, "label": 1.7e308}
    with running(tmp_path, "PAR-I") as server:
        server.post("/learn", huge | {"id": "big"})
        service, failed = server.service, []
        write = service.journal.write

        def once(entries):
            if type(entries[0]).__name__ == "Rejection" and not failed:
                failed.append(entries)
                raise OSError(28, "No space left on device")
            return write(entries)

        service.journal.write = once
        assert server.post("/learn", huge | {"id": "bad"}).status_code == 422
        while not failed:
            time.sleep(0.01)
        server.post("/model/snapshot", {})
        db = sqlite3.connect(tmp_path / JOURNAL)
        assert db.execute("SELECT rejected FROM examples WHERE id = 'bad'").fetchone()[0]
        db.close()


def test_a_replay_rejects_what_was_rejected(tmp_path):
    """Memory may be short once: the answer stays, and so does the model."""
    with running(tmp_path / "data") as server:
        learn_updates(server, 0, 5)
        adapter = server.service.learning.adapter
        learn = adapter.learn

        def short(*example):
            raise MemoryError

        adapter.learn = short
        assert server.post("/learn", update(5)).status_code == 422
        adapter.learn = learn
        learn_updates(server, 6, 8)
        before = model_file(server)
        while server.service.writer.waiting:
            time.sleep(0.01)
        folder = crash(tmp_path / "data", tmp_path / "crashed")
    with running(folder) as server:
        assert server.service.replayed == 8
        assert model_file(server) == before
        assert server.post("/learn", update(5)).status_code == 422
        assert server.http.get("/model").json()["examples"] == 7


# -- the same model after a crash --------------------------------------------------------------

TEXTS = ["free money", "lunch", "money for lunch", "free"]
ARRAYS = [[0.1 * k, 1.0, -0.3 * k % 1] for k in range(4)]
DICTS = [{"a": 0.1 * k, "word": "xyz"[k % 3]} for k in range(4)]
MODELS = {
    "unfitted classifier": (lambda: aggro.PassiveAggressiveClassifier(), ARRAYS),
    "unfitted selection": (lambda: aggro.PassiveAggressiveClassifier(C="auto"), ARRAYS),
    "reservoir": (lambda: aggro.PassiveAggressiveClassifier(average="reservoir"), ARRAYS),
    "calibrated": (lambda: aggro.PassiveAggressiveClassifier(probability=True), ARRAYS),
    "second order": (lambda: aggro.AROWClassifier(probability=True), ARRAYS),
    "kernel": (lambda: aggro.KernelPassiveAggressiveClassifier(), ARRAYS),
    "regressor": (lambda: aggro.PassiveAggressiveRegressor(), ARRAYS),
    "text": (lambda: aggro.TextClassifier(), TEXTS),
    "text regressor": (lambda: aggro.TextRegressor(), TEXTS),
    "stream": (lambda: aggro.StreamClassifier(probability=True), DICTS),
    "stream of reservoir": (lambda: aggro.StreamClassifier(average="reservoir"), DICTS),
}


@pytest.mark.parametrize("name", MODELS)
def test_predictions_change_nothing_and_a_replay_makes_the_same_file(name, tmp_path):
    make, examples = MODELS[name]
    model = make()
    aggro.save(model, tmp_path / "model.aggro")
    field = "text" if examples is TEXTS else "features"
    labels = [1.5, -2.0] if "egressor" in type(model).__name__ else ["p", "q"]
    with running(tmp_path / "data", tmp_path / "model.aggro") as server:
        for k in range(60):
            one = {field: examples[k % 4], "label": labels[k % 3 % 2]}
            assert server.post("/learn", one).status_code == 200
        learned = model_file(server)
        for x in examples:
            answer = server.post("/predict", {field: x})
            assert answer.status_code == 200
            server.http.get("/explain", params={"id": answer.json()["id"]})
        server.http.get("/model")
        server.service.learning.adapter.strongest(5)
        assert model_file(server) == learned
        folder = crash(tmp_path / "data", tmp_path / "crashed")
    with running(folder, tmp_path / "model.aggro") as server:
        assert server.service.replayed == 60
        assert model_file(server) == learned


# -- backups -----------------------------------------------------------------------------------


def test_a_backup_of_a_learning_server_holds_all_that_was_acknowledged(tmp_path):
    """Several backups while updates arrive and snapshots come and go; each can be restored."""
    acknowledged, stop = [], threading.Event()
    with running(tmp_path / "data", retention={"snapshot_examples": 25}) as server:

        def load():
            k = 0
            while not stop.is_set():
                server.post("/learn", [update(k + j) for j in range(5)])
                acknowledged.extend(range(k, k + 5))
                k += 5

        thread = threading.Thread(target=load)
        thread.start()
        try:
            for number in range(8):
                while len(acknowledged) < 60 * number:
                    time.sleep(0.005)
                before = len(acknowledged)
                last, snapshot = backup(tmp_path / "data", tmp_path / f"saved-{number}")
                assert last >= before and snapshot <= last
        finally:
            stop.set()
            thread.join()
    for number in range(8):
        saved = tmp_path / f"saved-{number}"
        with running(saved, None) as server:
            version = server.service.version
            plain = aggro.StreamClassifier("PA-I", max_features=1 << 18)
            for k in range(version):
                plain.learn_one(update(k)["features"], update(k)["label"])
            assert server.service.learning.adapter.model.coef_ == plain.coef_
            if version:
                assert server.post("/learn", update(version - 1)).json()["duplicate"] is True
            learn_updates(server, 0, 5, "new")
            after = crash(saved, tmp_path / f"crashed-{number}")
        with running(after, None) as server:
            assert server.service.version == version + 5


def test_a_backup_of_a_crashed_or_stopped_server(folder, tmp_path):
    content = (folder / WAL).read_bytes()
    assert backup(folder, tmp_path / "first") == (30, 20)
    assert (folder / WAL).read_bytes() == content
    with running(folder):
        pass
    assert backup(folder, tmp_path / "second") == (30, 30)
    for name in ("first", "second"):
        with running(tmp_path / name) as server:
            assert server.service.version == 30


def test_a_failed_backup_leaves_no_files(folder, tmp_path):
    with pytest.raises(DataFolderError, match="not the data folder"):
        backup(tmp_path / "nothing", tmp_path / "saved")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(DataFolderError, match="exists already"):
        backup(folder, tmp_path / "full")
    for path in folder.glob("model-*.aggro"):
        path.write_bytes(b"nothing")
    with pytest.raises(DataFolderError, match="snapshot"):
        backup(folder, tmp_path / "saved")
    assert {path.name for path in tmp_path.iterdir()} == {"copy", "full"}


def test_the_command_backs_up_and_restores(folder, tmp_path, capsys):
    assert main(["serve", "--data", str(folder), "--backup", str(tmp_path / "saved")]) == 0
    assert "30 updates" in capsys.readouterr().out
    with running(tmp_path / "saved", None) as server:
        assert server.service.version == 30
    assert main(["serve", "PA-I", "--data", str(folder), "--backup", str(tmp_path / "x")]) == 1
    assert "needs no model" in capsys.readouterr().err
