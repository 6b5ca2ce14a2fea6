"""The baseline: Flask and river in the manner of chantilly, which is no longer maintained.

A model in memory, stored after each update. ``STORE=shelve`` pickles it into a shelf, like
chantilly, without waiting for the disk. ``STORE=sqlite`` stores each update in a journal that is
synced before the response, like ``aggro serve``.
"""

import os
import shelve
import sqlite3
import uuid
from pathlib import Path

import flask
from river.linear_model import PAClassifier

FOLDER, STORE = Path(os.environ["FOLDER"]), os.environ["STORE"]
app = flask.Flask(__name__)
model = PAClassifier(C=1.0)
shelf = shelve.open(str(FOLDER / "shelf"))  # noqa: SIM115 -- for the life of the process
db = sqlite3.connect(FOLDER / "journal.sqlite", isolation_level=None, check_same_thread=False)
db.execute("PRAGMA journal_mode=WAL")
db.execute("PRAGMA synchronous=FULL")
db.execute("CREATE TABLE IF NOT EXISTS updates (body BLOB)")


@app.post("/predict")
def predict():
    """Predict, and store the features for their label."""
    features = flask.request.get_json()["features"]
    id = uuid.uuid4().hex
    if STORE == "shelve":
        shelf[f"#{id}"] = features
    return {"prediction": model.predict_one(features), "id": id}


@app.post("/learn")
def learn():
    """Learn and store."""
    body = flask.request.get_json()
    model.learn_one(body["features"], body["label"])
    if STORE == "shelve":
        shelf["model"] = model
    else:
        db.execute("INSERT INTO updates VALUES (?)", (flask.request.get_data(),))
    return {"learned": True}
