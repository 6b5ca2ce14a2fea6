"""All rules of the library in plain NumPy: a reference for readers and for tests of the core.

Start with :mod:`~aggro.reference.rules` (step sizes), then
:class:`~aggro.reference.linear.ReferenceLearner` (the loop that puts the pieces together).

Examples
--------
>>> from aggro import reference
>>> reference.step_size(loss=1.0, q=4.0, penalty=reference.slack("hinge", C=0.1))
0.1
"""

from .batch import batch_dual, batch_support_classes
from .feature_maps import FeatureMap
from .geometry import Centre, ClassMeans, Metric
from .kernel import ReferenceKernelLearner, kernel_matrix, remove_one
from .linear import ReferenceLearner
from .merging import by_information, by_matrix, by_update_counts, moments_of
from .predictor import EnsemblePrediction
from .rules import (
    Slack,
    arow,
    cw_stdev,
    cw_variance,
    perceptron,
    scw_i,
    scw_ii,
    slack,
    step_size,
    support_classes,
)
from .task import Task

__all__ = [
    "Centre",
    "ClassMeans",
    "FeatureMap",
    "EnsemblePrediction",
    "Metric",
    "ReferenceKernelLearner",
    "ReferenceLearner",
    "Slack",
    "Task",
    "arow",
    "batch_dual",
    "batch_support_classes",
    "by_information",
    "by_matrix",
    "by_update_counts",
    "cw_stdev",
    "cw_variance",
    "remove_one",
    "kernel_matrix",
    "moments_of",
    "perceptron",
    "scw_i",
    "scw_ii",
    "slack",
    "step_size",
    "support_classes",
]
