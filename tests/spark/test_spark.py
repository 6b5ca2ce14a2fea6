"""The estimators on a local Spark: what is learned, from what, and what is written."""

import dask
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F

import aggro
import aggro.dask
from aggro.persistence.record import bytes_of
from aggro.persistence.store import record_of
from aggro.spark import (
    AggroModel,
    AutoClassifier,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    TextClassifier,
)

pytestmark = pytest.mark.filterwarnings("ignore")
RANDOM = np.random.default_rng(0)
NAMES = [f"f{i}" for i in range(6)]
X = RANDOM.normal(size=(400, 6))
Y = np.where(X[:, 0] - X[:, 1] + 0.3 * RANDOM.normal(size=400) > 0, "up", "down")
TEXTS = [" ".join(f"w{i}" for i in np.flatnonzero(row > 0.3)) or "none" for row in X]
ONCE = {"max_iter": 1, "tol": None, "random_state": 0}


def content(model):
    return bytes_of(record_of(model))


@pytest.fixture(scope="module")
def frame(spark):
    data = pd.DataFrame(X, columns=NAMES).assign(label=Y, text=TEXTS, number=X @ np.arange(6.0))
    data["features"] = X.tolist()
    return spark.createDataFrame(data).repartition(3).cache()


def partitions_of(frame):
    """The rows of each partition, in order."""
    found = frame.withColumn("place", F.spark_partition_id()).toPandas()
    return [found[found.place == place] for place in sorted(found.place.unique())]


@pytest.mark.parametrize("partitions", [3, 9])
def test_spark_and_dask_learn_the_same_to_the_last_bit(spark, frame, partitions):
    rows = frame.repartition(partitions).cache()
    parts = partitions_of(rows)
    assert len(parts) == partitions
    params = {"C": 0.1, "metric": "newton", "probability": True, "rounds": 2, **ONCE}
    by_spark = PassiveAggressiveClassifier(featuresCol=NAMES, **params)
    model, once = by_spark.fit(rows), by_spark.partialFit(rows)
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"):
        blocks = [dask.delayed((p[NAMES].to_numpy(), p.label.to_numpy(str))) for p in parts]
        by_dask = aggro.dask.PassiveAggressiveClassifier(**params)
        assert content(model.local) == content(by_dask.fit(blocks).to_local())
        by_dask = aggro.dask.PassiveAggressiveClassifier(**params)
        assert content(once.local) == content(by_dask.partial_fit(blocks).to_local())
    assert len(model.history) == 2
    assert model.local.score(X, Y) > 0.85


def test_little_data_are_learned_as_one_machine_learns_them(frame):
    model = AutoClassifier(featuresCol=NAMES, random_state=0).fit(frame)
    rows = pd.concat(partitions_of(frame))
    local = aggro.AutoClassifier(random_state=0).fit(
        rows[NAMES].to_numpy(), rows.label.to_numpy(str)
    )
    assert content(model.local) == content(local)
    found = model.transform(frame).toPandas()
    assert (found.prediction == local.predict(found[NAMES].to_numpy())).all()


def test_vectors_arrays_and_columns_are_learned_alike(spark, frame):
    given = PassiveAggressiveClassifier(rounds=2, **ONCE)
    arrays = given.fit(frame)
    columns = given.copy({given.featuresCol: NAMES}).fit(frame)
    assert content(columns.local) == content(arrays.local)
    rows = [
        (Vectors.dense(x) if i % 2 else Vectors.sparse(6, range(6), x), str(y))
        for i, (x, y) in enumerate(zip(X, Y, strict=True))
    ]
    vectors = spark.createDataFrame(rows, ["features", "label"]).coalesce(1)
    mixed = given.fit(vectors)
    assert (mixed.transform(vectors).toPandas().prediction == mixed.local.predict(X)).all()
    dense = [(Vectors.dense(x), str(y)) for x, y in zip(X, Y, strict=True)]
    same = given.fit(spark.createDataFrame(dense, ["features", "label"]).coalesce(1))
    np.testing.assert_allclose(mixed.local.coef_, same.local.coef_, rtol=1e-9, atol=1e-12)


def test_a_model_is_written_and_read_by_spark(frame, tmp_path):
    model = PassiveAggressiveClassifier(
        featuresCol=NAMES, probabilityCol="chances", probability=True, **ONCE
    ).fit(frame)
    path = str(tmp_path / "model")
    model.write().save(path)
    model.write().overwrite().save(path)
    again = AggroModel.load(path)
    assert content(again.local) == content(model.local)
    found = again.transform(frame).toPandas()
    chances = np.array([each.toArray() for each in found.chances])
    np.testing.assert_array_equal(chances, model.local.predict_proba(found[NAMES].to_numpy()))
    assert set(model.explain(X[0])) == set(model.local.explain(X[0]))


def test_texts_are_learned_and_explained(frame):
    model = TextClassifier(rounds=2, **ONCE).fit(frame)
    found = model.transform(frame).toPandas()
    assert (found.prediction == found.label).mean() > 0.6
    assert (found.prediction == model.local.predict(found.text.tolist())).all()
    assert set(model.explain("w0 w1")) == {"down", "up"}


def test_regressors_predict_numbers(frame):
    model = PassiveAggressiveRegressor(
        featuresCol=NAMES, labelCol="number", predictionCol="guess", epsilon=0.01, random_state=0
    ).fit(frame)
    found = model.transform(frame).toPandas()
    assert np.corrcoef(found.guess, found.number)[0, 1] > 0.95


def test_batches_of_a_stream_are_learned_one_after_another(spark, tmp_path):
    data = pd.DataFrame(X, columns=NAMES).assign(label=Y)
    for number in range(4):
        data[number * 100 :][:100].to_json(
            tmp_path / f"{number}.json", orient="records", lines=True
        )
    estimator = PassiveAggressiveClassifier(featuresCol=NAMES, C=0.1)
    models = []

    def learn(batch, number):
        models.append(estimator.partialFit(batch, models[-1] if models else None))

    schema = ", ".join(f"{name} double" for name in NAMES) + ", label string"
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    query = stream.json(str(tmp_path)).writeStream.foreachBatch(learn)
    query.trigger(availableNow=True).start().awaitTermination(120)
    assert [model.local.t_ - 1 for model in models] == [100, 200, 300, 400]
    assert models[-1].local.score(X, Y) > 0.85


def test_errors_say_what_to_do(spark, frame):
    with pytest.raises(TypeError, match="no parameter 'colour'"):
        AutoClassifier(colour=1)
    bad = frame.withColumn("label", F.when(F.col("f0") > 2, None).otherwise(F.col("label")))
    with pytest.raises(ValueError, match="column 'label' contains null"):
        AutoClassifier(featuresCol=NAMES).fit(bad)
    nan = frame.withColumn("f1", F.when(F.col("f0") > 2, float("nan")).otherwise(F.col("f1")))
    with pytest.raises(ValueError, match=r"partition \d, row \d+:"):
        PassiveAggressiveClassifier(featuresCol=NAMES, rounds=1).fit(nan)
    with pytest.raises(ValueError, match="All partitions are empty"):
        AutoClassifier(featuresCol=NAMES).fit(frame.limit(0))
