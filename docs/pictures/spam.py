"""Draw docs/images/spam.png: a spam detector in ten lines and its explanations."""

import csv
import io

import aggro
from aggro.datasets.files import files_of, find, unpack

lines = unpack(find(files_of("sms-spam")[0]).read_bytes()).decode()
labels, texts = zip(
    *csv.reader(io.StringIO(lines), "excel-tab", quoting=csv.QUOTE_NONE), strict=True
)
detector = aggro.TextClassifier().fit(texts[:4000], labels[:4000])
print(f"{detector.score(texts[4000:], labels[4000:]):.1%} of new messages are classified correctly")
message = "You have WON a guaranteed prize! Call now to claim your free phone, see you at lunch"
print(detector.predict_one(message), detector.predict_proba_one(message))
detector.explain(message)["spam"].plot("docs/images/spam.png")
