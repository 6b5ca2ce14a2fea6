"""What is learned does not depend on workers: how many, which of them die, who gives up."""

import os
import threading
import time
import uuid
from pathlib import Path

import dask
import dask.bag as db
import numpy as np
import pytest
from dask_support import X, Y, arrays, content, pa, same
from distributed import Client

from aggro.dask import TextClassifier
from aggro.dask.inputs import Inlined, Partition, inlined, partitions_of

pytestmark = pytest.mark.filterwarnings("ignore")
WORDS = [" ".join(f"w{j}" for j in np.flatnonzero(row > 0.5)) or "none" for row in X]


def scaled(cluster, client, count):
    cluster.scale(count)
    client.wait_for_workers(count)
    while {len(client.scheduler_info(n_workers=-1)["workers"]), len(cluster.workers)} != {count}:
        time.sleep(0.05)


def fitted():
    """One model of each kind, learned in rounds."""
    texts = [db.from_sequence(list(each), npartitions=3) for each in (WORDS, Y.tolist())]
    return [
        pa().fit(*arrays()),
        pa(C="auto", metric="newton", rounds=3).fit(*arrays()),
        TextClassifier(rounds=2, ngram_range=(1, 1)).fit(*texts),
    ]


def test_the_number_of_workers_does_not_matter(cluster, client, monkeypatch):
    monkeypatch.setattr("aggro.merging.schedule.FIRST_ROWS", 100)
    monkeypatch.setattr("aggro.merging.schedule.FIRST_TEXTS", 100)
    models = fitted()
    expected = [content(each) for each in models]
    assert all(len(each.history_) >= 2 for each in models)
    assert all(each.to_local().score(X, Y) > 0.85 for each in models[:2])
    try:
        for count in (1, 4):
            scaled(cluster, client, count)
            assert [content(each) for each in fitted()] == expected
    finally:
        scaled(cluster, client, 2)


def deadly(part, folder):
    """Load a part; the first worker that comes by dies of it."""
    flag = Path(folder, "died")
    if not flag.exists():
        flag.touch()
        os._exit(1)
    return part


def test_a_killed_worker_changes_nothing(client, tmp_path):
    blocks = np.array_split(np.arange(len(Y)), 4)
    rows = [dask.delayed(X[part], pure=False) for part in blocks]
    targets = [dask.delayed(Y[part], pure=False) for part in blocks]
    expected = pa().fit(rows, targets)
    harmed = [*rows[:2], dask.delayed(deadly)(rows[2], str(tmp_path)), rows[3]]
    model = pa().fit(harmed, targets)
    assert (tmp_path / "died").exists()
    same(model, expected)


def slow(part):
    time.sleep(0.3)
    return part


def test_a_lost_client_leaves_nothing_behind(cluster, client):
    other = Client(cluster, set_as_default=False)
    rows, targets = arrays(100)
    errors, model = [], pa(client=other)

    def fit():
        try:
            model.fit(rows.map_blocks(slow), targets)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=fit)
    thread.start()
    time.sleep(0.8)
    other.close()
    thread.join(30)
    assert not thread.is_alive()
    assert errors
    assert not hasattr(model, "_learner")
    deadline = time.monotonic() + 20
    while any(str(key).startswith("aggro") for key in cluster.scheduler.tasks):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert pa(client=client).fit(rows, targets).to_local().score(X, Y) > 0.8


def noted(part, folder):
    """Load a part, and leave a note that it was loaded."""
    Path(folder, uuid.uuid4().hex).touch()
    return part


@pytest.mark.parametrize(("partitions", "rounds"), [(64, 4), (8, 3), (8, "auto")])
def test_partitions_are_loaded_once(client, tmp_path, partitions, rounds):
    blocks = [
        dask.delayed(noted)((X[part], Y[part]), str(tmp_path))
        for part in np.array_split(np.arange(256), partitions)
    ]
    model = pa(rounds=rounds).partial_fit(blocks, classes=[0, 1])
    assert model.t_ - 1 == 256
    assert len(list(tmp_path.iterdir())) == partitions


def test_a_task_makes_its_partitions_itself_unless_others_need_the_results(client):
    def kinds(*data):
        return {type(each) for each in inlined(partitions_of(*data, None, {}))}

    assert kinds(*arrays()) == {Inlined}
    rows, targets = arrays(50)
    assert kinds(rows.rechunk((200, -1)), targets.rechunk(200)) == {Inlined}
    assert kinds(rows.rechunk((75, -1)), targets.rechunk(75)) >= {Partition}  # chunks are shared
    assert kinds(rows.persist(), targets) == {Partition}  # the cluster has the results
    block = dask.delayed((X, Y))
    assert kinds([block, block], None) == {Partition}


def test_joined_partitions_are_learned_as_one(client):
    parts = np.array_split(np.arange(len(Y)), 24)
    blocks = [dask.delayed((X[part], Y[part])) for part in parts]
    joined = [
        dask.delayed((X[part], Y[part]))
        for part in (np.concatenate(parts[i : i + 6]) for i in range(0, 24, 6))
    ]
    for method in ("fit", "partial_fit"):
        models = [getattr(pa(rounds=2, shuffle=False), method)(each) for each in (blocks, joined)]
        assert content(models[0]) == content(models[1])
        assert models[0].history_[0]["rows"] < len(Y)
