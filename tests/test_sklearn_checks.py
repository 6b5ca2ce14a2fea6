"""scikit-learn's own checks of what an estimator must do, in several configurations."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor

ESTIMATORS = [
    PassiveAggressiveClassifier(),
    PassiveAggressiveClassifier(multiclass="ovr"),
    PassiveAggressiveClassifier(metric="diagonal"),
    PassiveAggressiveClassifier(class_mean=0.1),
    PassiveAggressiveClassifier(batch_size=8),
    PassiveAggressiveClassifier(average=True),
    PassiveAggressiveClassifier(loss="squared_hinge", multiclass="top"),
    PassiveAggressiveRegressor(),
    PassiveAggressiveRegressor(metric="diagonal"),
    PassiveAggressiveRegressor(batch_size=8),
    PassiveAggressiveRegressor(average=True),
]


@parametrize_with_checks(ESTIMATORS)
def test_checks(estimator, check):
    check(estimator)
