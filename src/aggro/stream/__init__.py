"""``learn_one`` and ``predict_one`` on dicts: stream learners, free of scikit-learn."""
