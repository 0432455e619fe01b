"""How Hypothesis runs in all tests."""

from hypothesis import HealthCheck, settings

# No deadline: a busy machine must not fail a test.
settings.register_profile(
    "privacy_eval", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("privacy_eval")
