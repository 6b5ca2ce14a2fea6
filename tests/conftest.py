"""Settings of the whole suite."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "aggro",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("aggro")
