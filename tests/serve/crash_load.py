"""Clients that learn, label, repeat themselves and contradict themselves until the server dies."""

import http.client
import json
import random
import threading

NAMES = [f"f{i}" for i in range(30)]
HUGE = 1.7e308  # two of these, times weights near 1, are no number: the regressor rejects them


class Book:
    """What was sent under each id, and what is acknowledged."""

    def __init__(self, sent=None, acknowledged=None, first=0):
        self.sent = sent or {}  # id: features, label, weight
        self.acknowledged = acknowledged or {}  # id: status
        self.wrong = []  # answers that should not have been
        self._lock = threading.Lock()
        self._count = first

    def new(self, features, label, weight=1.0):
        with self._lock:
            self._count += 1
            id = f"e{self._count}"
            self.sent[id] = (features, label, weight)
            return id

    def unanswered(self):
        with self._lock:
            return [id for id in self.sent if id not in self.acknowledged]


class Caller:
    """One client with a connection of its own."""

    def __init__(self, port, book, seed, regression):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.book, self.random, self.regression = book, random.Random(seed), regression
        self.to_label = []  # predictions that were made

    def post(self, path, body):
        head = {"content-type": "application/json"}
        self.connection.request("POST", path, json.dumps(body), head)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def get(self, path):
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def example(self):
        rng = self.random
        x = {name: rng.gauss(0, 1) for name in rng.sample(NAMES, 6)}
        if rng.random() < 0.3:
            x["word"] = rng.choice(["red", "green", "blue"])
        total = sum(v for v in x.values() if isinstance(v, float))
        if not self.regression:
            return x, "abc"[(total > 0) + (total > 2)]
        if rng.random() < 0.05:
            return {**x, "f0": HUGE, "f1": HUGE}, 0.0
        return x, total

    # -- what a client does -----------------------------------------------------------------

    def learn(self):
        ids = [self.book.new(*self.example(), self.random.choice([1.0, 1.0, 0.5])) for _ in
               range(self.random.choice([1, 1, 1, 2, 8]))]  # fmt: skip
        self.send(ids)

    def send(self, ids):
        """Send updates, new or repeated."""
        bodies = []
        for id in ids:
            features, label, weight = self.book.sent[id]
            bodies.append({"id": id, "features": features, "label": label, "weight": weight})
        if len(ids) == 1:
            self.note(ids[0], self.post("/learn", bodies[0])[0])
            return
        for receipt in self.post("/learn", bodies)[1]:
            self.note(receipt["id"], receipt["status"])

    def note(self, id, status):
        expected = self.book.acknowledged.get(id, status)
        if status not in (200, 422) or status != expected:
            self.book.wrong.append((id, status, expected))
        self.book.acknowledged[id] = status

    def predict(self):
        features, label = self.example()
        id = self.book.new(features, label)
        status, _ = self.post("/predict", {"id": id, "features": features})
        if status == 200:
            self.to_label.append(id)
        else:
            self.book.wrong.append((id, status, "a prediction"))

    def label(self):
        if not self.to_label:
            return self.predict()
        id = self.to_label.pop(self.random.randrange(len(self.to_label)))
        return self.note(id, self.post("/label", self.label_body(id))[0])

    def label_body(self, id):
        return {"id": id, "label": self.book.sent[id][1]}

    def repeat(self):
        known = list(self.book.acknowledged)
        if known:
            self.send([self.random.choice(known[-200:])])

    def contradict(self):
        known = list(self.book.acknowledged)
        if known:
            id = self.random.choice(known[-200:])
            other = 12345.0 if self.regression else "z"
            self.expect(409, "/label", {"id": id, "label": other})

    def unknown(self):
        self.expect(404, "/label", {"id": "nobody", "label": 1.0 if self.regression else "a"})

    def expect(self, wanted, path, body):
        status, _ = self.post(path, body)
        if status != wanted:
            self.book.wrong.append((path, body, status, wanted))

    def snapshot(self):
        self.expect(200, "/model/snapshot", {})

    def run(self, steps):
        acts = (self.learn, self.predict, self.label, self.repeat, self.contradict, self.unknown,
                self.snapshot)  # fmt: skip
        weights = (40, 12, 20, 12, 4, 4, 3)
        try:
            for act in self.random.choices(acts, weights, k=steps):
                act()
        except (OSError, http.client.HTTPException, ValueError):
            pass  # the server was killed; an answer may be cut anywhere
        finally:
            self.connection.close()
