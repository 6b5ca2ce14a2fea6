"""Tables with awkward columns and labels: generators by name, and the notes that they get.

A generator takes a random generator, a number of rows and whether they are test rows. It returns
columns by name, None standing for a missing value, and the labels.
"""

import datetime
from dataclasses import dataclass

import numpy as np

START = datetime.datetime(2021, 3, 1)


@dataclass(frozen=True)
class Kind:
    """A kind of table.

    ``notes`` are regular expressions of what ``aggro train`` reports of its columns. ``gain`` is
    the least share of the constant answer's error that a model must avoid. Rows that are
    ``ordered`` do not come in random order, which a model of later rows needs; they are learned
    with ``options``.
    """

    make: object
    notes: tuple = ()
    gain: float = 0.0
    ordered: bool = False
    options: tuple = ()


def base(rng, n):
    """Return two informative columns and a noisy score."""
    a, b = rng.standard_normal(n), rng.standard_normal(n)
    return {"a": a, "b": b}, a - b + rng.standard_normal(n)


def yes_no(score, share=0.6):
    return np.where(score > np.quantile(score, share), "yes", "no")


def with_column(name, values, share=0.6):
    """Return the generator of a plain table with one more column, the first."""

    def make(rng, n, is_test):
        columns, score = base(rng, n)
        return {name: values(rng, n, is_test), **columns}, yes_no(score, share)

    return make


def gaps(rng, values, share):
    return [None if rng.random() < share else value for value in values]


# -- columns -------------------------------------------------------------------------------------


def timestamps(rng, n, is_test):
    return 1_700_000_000 + np.cumsum(rng.integers(1, 500, n)) + 10**7 * is_test


def random_days(rng, n, is_test):
    return [
        str((START + datetime.timedelta(days=int(d))).date()) for d in rng.integers(1800, size=n)
    ]


def rising_times(rng, n, is_test):
    hours = np.cumsum(rng.integers(1, 9, n)) + 20_000 * is_test
    return [str(START + datetime.timedelta(hours=int(h))) for h in hours]


def identifiers(rng, n, is_test):
    return [f"c{code:08x}" for code in rng.permutation(10**6)[:n] + 10**7 * is_test]


def huge_integers(rng, n, is_test):
    return rng.integers(10**17, 10**18, n)


def shuffled_numbers(rng, n, is_test):
    return 10**6 + rng.permutation(4 * n)[:n]


def noisy_clock(rng, n, is_test):
    return np.arange(n) + 3.0 * n * is_test + 20 * rng.standard_normal(n)


def rare_spikes(rng, n, is_test):
    return np.where(rng.random(n) < 0.004, 1e9, 5.0)


def sentinels(rng, n, is_test):
    return np.where(rng.random(n) < 0.3, -999.0, rng.standard_normal(n))


def notes(rng, n, is_test):
    words = rng.choice(["good", "bad", "late", "fine", "price", "help", "call", "wait"], (n, 6))
    return [" ".join(words[i]) + f" {i}" for i in range(n)]


def mixed(rng, n, is_test):
    words, digits = rng.choice(["low", "high"], n), rng.integers(5, size=n).astype(str)
    return np.where(rng.random(n) < 0.5, words, digits)


def rare_cities(rng, n, is_test):
    return [f"city{c}" for c in np.minimum(rng.zipf(1.5, n), 500)]


def outliers(rng, n, is_test):
    return np.where(rng.random(n) < 0.01, 1e6, 1.0) * rng.standard_normal(n)


# -- labels --------------------------------------------------------------------------------------


def of_dates(signal):
    """Return a generator whose labels depend on a part of a date."""

    def make(rng, n, is_test):
        times = [START + datetime.timedelta(hours=int(h)) for h in rng.integers(20_000, size=n)]
        columns, _ = base(rng, n)
        score = np.array([signal(time) for time in times]) + 0.3 * rng.standard_normal(n)
        return {"when": [str(time) for time in times], **columns}, yes_no(score)

    return make


def in_gaps(rng, n, is_test):
    columns, score = base(rng, n)
    cities = rng.choice(["Oslo", "Rome", "Paris"], n)
    score += 1.5 * (cities == "Oslo")
    found = {name: gaps(rng, values, 0.2) for name, values in columns.items()}
    return {**found, "city": gaps(rng, cities.tolist(), 0.2)}, yes_no(score)


def where_gaps_are_labels(rng, n, is_test):
    columns, score = base(rng, n)
    gone = rng.random(n) < 0.4
    values = [None if out else value for out, value in zip(gone, columns["a"], strict=True)]
    return {**columns, "c": values}, yes_no(score + 3 * gone)


def categories_alone(rng, n, is_test):
    codes = rng.integers(6, size=(n, 3))
    score = 2.0 * (codes[:, 0] > 3) + (codes[:, 2] > 3) + 0.4 * rng.standard_normal(n)
    return {f"kind{i}": [f"k{code}" for code in codes[:, i]] for i in range(3)}, yes_no(score)


def in_order_of_labels(rng, n, is_test):
    columns, score = base(rng, n)
    y = yes_no(score)
    order = np.arange(n) if is_test else np.argsort(y, kind="stable")
    return {name: values[order] for name, values in columns.items()}, y[order]


def in_order_of_a_column(rng, n, is_test):
    columns, score = base(rng, n)
    order = np.arange(n) if is_test else np.argsort(columns["a"])
    return {name: values[order] for name, values in columns.items()}, yes_no(score)[order]


def in_bursts(rng, n, is_test):
    columns, score = base(rng, n)
    y = yes_no(score)
    if is_test:
        return columns, y
    groups = [np.flatnonzero(y == label) for label in ("no", "yes")]
    runs = [group[i : i + 40] for group in groups for i in range(0, len(group), 40)]
    order = np.concatenate([runs[i] for i in rng.permutation(len(runs))])
    return {name: values[order] for name, values in columns.items()}, y[order]


def noisy_labels(rng, n, is_test):
    columns, score = base(rng, n)
    y = yes_no(score)
    flipped = np.where(y == "yes", "no", "yes")
    return columns, np.where((rng.random(n) < 0.3) & (not is_test), flipped, y)


def pure_noise(rng, n, is_test):
    columns, _ = base(rng, n)
    return columns, np.where(rng.random(n) < 0.3, "yes", "no")


def without_information(rng, n, is_test):
    columns = {"one": np.full(n, 3), "id": np.arange(1, n + 1) + n * is_test}
    return columns, np.where(rng.random(n) < 0.3, "yes", "no")


def many_classes(rng, n, is_test):
    columns, score = base(rng, n)
    return columns, np.array([f"k{k}" for k in np.digitize(score, [-4, -1, 0, 2, 4])])


def numbered_classes(rng, n, is_test):
    columns, score = base(rng, n)
    return columns, np.digitize(score, [-1, 1])


def scales(rng, n, is_test):
    columns, score = base(rng, n)
    return {"a": 1e-7 * columns["a"], "b": 1e7 * columns["b"] + 1e8}, yes_no(score)


def copies(rng, n, is_test):
    columns, score = base(rng, n)
    more = {f"{name}{i}": columns[name] for name in "ab" for i in range(4)}
    return {**columns, **more}, yes_no(score)


def booleans(rng, n, is_test):
    flags = rng.random((n, 4)) < [0.5, 0.1, 0.9, 0.5]
    score = flags @ [2, 1, -1, 0] + 0.5 * rng.standard_normal(n)
    return {f"is{i}": flags[:, i].tolist() for i in range(4)}, yes_no(score)


def zip_codes(rng, n, is_test):
    codes = rng.integers(100, size=n)
    score = np.sin(codes * 12.9898) * 3 + rng.standard_normal(n)
    return {"zip": [f"{code:05d}A" for code in codes], "a": rng.standard_normal(n)}, yes_no(score)


# -- targets -------------------------------------------------------------------------------------


def target(change=lambda y, rng: y, columns_of=lambda columns, rng, n, is_test: columns):
    """Return a generator of a regression, with changed targets or columns."""

    def make(rng, n, is_test):
        columns, y = base(rng, n)
        return columns_of(columns, rng, n, is_test), change(y, rng) + 0.123

    return make


def counted(columns, rng, n, is_test):
    return {"id": np.arange(1, n + 1), **columns}


def by_hours(rng, n, is_test):
    times = [START + datetime.timedelta(hours=int(h)) for h in rng.integers(17_000, size=n)]
    y = [10 * np.sin(time.hour / 12 * np.pi) + time.weekday() for time in times]
    columns = {"when": [str(time) for time in times], "a": rng.standard_normal(n)}
    return columns, np.array(y) + rng.standard_normal(n)


def spoiled(columns, rng, n, is_test):
    return {**columns, "c": outliers(rng, n, is_test), "d": gaps(rng, columns["a"], 0.3)}


RISES, LEFT_OUT = "only rises or only falls", "it is omitted"
USELESS = "no better than always predicting"
SORTED = "labels change .* learned in random order"
KINDS = {
    "plain numbers": Kind(with_column("c", lambda rng, n, is_test: rng.random(n)), gain=0.3),
    "rising counter": Kind(with_column("id", lambda rng, n, is_test: np.arange(1, n + 1)),
                           (f"'id' {RISES}.*{LEFT_OUT}",), 0.3),
    "falling counter": Kind(with_column("left", lambda rng, n, is_test: np.arange(n, 0, -1)),
                            (f"'left' {RISES}.*{LEFT_OUT}",), 0.3),
    "timestamps": Kind(with_column("time", timestamps), (f"'time' {RISES}.*{LEFT_OUT}",), 0.3),
    "dates": Kind(with_column("day", random_days), gain=0.3),
    "rising times": Kind(with_column("at", rising_times), (f"'at' {RISES}.*only its cycles",), 0.3),
    "hours decide": Kind(of_dates(lambda t: np.sin(t.hour / 12 * np.pi)), gain=0.5),
    "weekdays decide": Kind(of_dates(lambda t: float(t.weekday() >= 5)), gain=0.3),
    "seasons decide": Kind(of_dates(lambda t: np.cos(t.month / 6 * np.pi)), gain=0.5),
    "years decide": Kind(of_dates(lambda t: t.year - 2021 + t.month / 12), gain=0.5),
    "identifiers": Kind(with_column("key", identifiers), ("'key' has a different value",), 0.3),
    "huge integers": Kind(with_column("key", huge_integers), gain=0.3),
    "skewed": Kind(with_column("c", lambda rng, n, is_test: rng.lognormal(0, 3, n)), gain=0.3),
    "constants": Kind(with_column("one", lambda rng, n, is_test: np.full(n, 7)),
                      ("'one' has the value 7 in all rows",), 0.3),
    "constant words": Kind(with_column("kind", lambda rng, n, is_test: ["new"] * n), gain=0.3),
    "empty column": Kind(with_column("gone", lambda rng, n, is_test: [None] * n), gain=0.3),
    "gaps": Kind(in_gaps, gain=0.2),
    "rare categories": Kind(with_column("city", rare_cities), gain=0.2),
    "many categories": Kind(zip_codes, gain=0.3),
    "shuffled numbers": Kind(with_column("key", shuffled_numbers), gain=0.3),
    "noisy clock": Kind(with_column("time", noisy_clock), gain=0.2),
    "rare spikes": Kind(with_column("c", rare_spikes), gain=0.3),
    "sentinels": Kind(with_column("c", sentinels), gain=0.2),
    "informative gaps": Kind(where_gaps_are_labels),
    "categories alone": Kind(categories_alone, gain=0.3),
    "free text": Kind(with_column("note", notes), ("'note' has a new text in almost every row",)),
    "numbers and words": Kind(
        with_column("level", mixed), ("'level': most values are numbers",), 0.3),
    "outliers": Kind(with_column("c", outliers), gain=0.2),
    "scales": Kind(scales, gain=0.3),
    "copies of columns": Kind(copies, gain=0.3),
    "booleans": Kind(booleans, gain=0.3),
    "sorted by the label": Kind(in_order_of_labels, (SORTED,), 0.3, ordered=True),
    "sorted by a column": Kind(in_order_of_a_column, (), 0.3, True, ("--shuffle",)),
    "bursts": Kind(in_bursts, (SORTED,), 0.3, ordered=True),
    "rare label": Kind(with_column("c", lambda rng, n, is_test: rng.random(n), 0.96)),
    "noisy labels": Kind(noisy_labels, gain=0.2),
    "noise alone": Kind(pure_noise, (USELESS,)),
    "no information": Kind(
        without_information, (f"'id' {RISES}.*{LEFT_OUT}", USELESS)),
    "many classes": Kind(many_classes, gain=0.2),
    "numbered classes": Kind(numbered_classes, gain=0.2),
    "regression": Kind(target(), gain=0.2),
    "skewed target": Kind(target(lambda y, rng: np.exp(y))),
    "far target": Kind(target(lambda y, rng: 1e6 + 10 * y), gain=0.1),
    "target far from zero": Kind(target(lambda y, rng: 1e8 + y), gain=0.1),
    "tiny target": Kind(target(lambda y, rng: 1e-9 * y), gain=0.1),
    "zeros in the target": Kind(target(lambda y, rng: np.maximum(y, 0)), gain=0.05),
    "heavy tails of the target": Kind(target(lambda y, rng: y + rng.standard_cauchy(len(y)))),
    "hours in the target": Kind(by_hours, gain=0.2),
    "outliers in the target": Kind(
        target(lambda y, rng: np.where(rng.random(len(y)) < 0.02, 1e4, y)), gain=0.0),
    "regression with a counter": Kind(target(columns_of=counted), (f"'id' {RISES}",), 0.2),
    "regression with outliers and gaps": Kind(target(columns_of=spoiled), gain=0.2),
    "targets of noise": Kind(target(lambda y, rng: rng.standard_normal(len(y))), (USELESS,)),
}  # fmt: skip


def parts_of(name, rows=1000, test_rows=500, seed=0):
    """Return the training and the test table of a kind, each as columns and labels."""
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    made = [KINDS[name].make(rng, n, is_test) for n, is_test in ((rows, False), (test_rows, True))]
    return [(columns, [plain(label) for label in labels]) for columns, labels in made]


def plain(value):
    """Return a value as Python has it."""
    return value.item() if isinstance(value, np.generic) else value
