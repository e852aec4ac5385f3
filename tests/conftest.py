"""How much hypothesis tries: little and always the same, or `HYPOTHESIS_PROFILE=thorough` for more and other inputs."""

import os

from hypothesis import HealthCheck, settings

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]

settings.register_profile(
    "quick",
    max_examples=40,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=SLOW_IS_FINE,
)
settings.register_profile(
    "thorough", max_examples=2000, stateful_step_count=50, deadline=None, suppress_health_check=SLOW_IS_FINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
