"""The scikit-learn estimators, thin around the learners of ``aggro.learn``."""
