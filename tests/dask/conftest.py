"""One small cluster for all tests: two worker processes."""

import contextlib

import dask
import pytest
from distributed import Client, LocalCluster

QUIET = {
    "distributed.admin.log-format": "%(message)s",
    "distributed.comm.timeouts.connect": "20s",
    "distributed.scheduler.worker-ttl": None,
}


@pytest.fixture(scope="session")
def cluster():
    with (
        dask.config.set(QUIET),
        contextlib.suppress(KeyError),  # a cluster may not know a worker that leaves while it ends
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster, set_as_default=True) as client:
        yield client
