"""Every rule of the library in plain NumPy: to be read, and to judge the compiled core by.

Start with :mod:`~aggro.reference.rules` (how far to move), then
:class:`~aggro.reference.linear.ReferenceLearner` (the loop that puts the pieces together).

Examples
--------
>>> from aggro import reference
>>> reference.step_size(loss=1.0, q=4.0, price=reference.slack("hinge", C=0.1))
0.1
"""

from .batch import batch_dual, batch_support_classes
from .feature_maps import FeatureMap
from .geometry import Centre, ClassMeans, Metric
from .joint import JointAnswer
from .kernel import ReferenceKernelLearner, forget_one, kernel_matrix
from .linear import ReferenceLearner
from .merging import by_information, by_matrix, by_news, moments_of
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
    "JointAnswer",
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
    "by_news",
    "cw_stdev",
    "cw_variance",
    "forget_one",
    "kernel_matrix",
    "moments_of",
    "perceptron",
    "scw_i",
    "scw_ii",
    "slack",
    "step_size",
    "support_classes",
]
