"""What runs beside what; how much hypothesis tries: little and always the same, or `HYPOTHESIS_PROFILE=thorough`."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

BROWSER = "tests/clients/web/browser"
LONGEST = (BROWSER, "tests/test_up", "tests/faults", "tests/engines/gomoku", "tests/clients/match")
SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a script that runs `make test &`
    signal.signal(signal.SIGINT, signal.default_int_handler)  # child processes then start with the default handler

settings.register_profile(
    "quick",
    max_examples=20,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=SLOW_IS_FINE,
)
settings.register_profile(
    "thorough", max_examples=2000, stateful_step_count=50, deadline=None, suppress_health_check=SLOW_IS_FINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A process takes a file whole, but whatever needs a browser goes to one process, which needs one `plyd up`."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return "browser" if nodeid.startswith(BROWSER) else super()._split_scope(nodeid)

    config.option.loadscopereorder = False  # not those with most tests first
    return ByFile(config, log)


def pytest_collection_modifyitems(items):
    """What takes longest begins first, so that no process is left alone with it at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
