"""What runs beside what; how much hypothesis tries: little and always the same, or `HYPOTHESIS_PROFILE=thorough`."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

ENGINES = "tests/engines"
TOGETHER = {  # files that one process takes: they share a browser and its daemons, or kernels that only tests compile
    "browser": ("tests/clients/web/browser",),
    "gomoku": tuple(f"{ENGINES}/gomoku/test_{name}." for name in ("negascout", "patterns", "renju", "threats")),
    "tiles": (f"{ENGINES}/tiles/",),
    "connect4": (f"{ENGINES}/connect4/",),
}
LONGEST = (*(file for files in TOGETHER.values() for file in files), "tests/faults", ENGINES, "tests/clients/match")
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
    """A process takes a file whole, or all files that belong together."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid) or super()._split_scope(nodeid)

    config.option.loadscopereorder = False  # not those with most tests first
    return ByFile(config, log)


def group_of(nodeid):
    """The group of files that a test belongs to, None if it has none."""
    return next((name for name, files in TOGETHER.items() if nodeid.startswith(files)), None)


def pytest_collection_modifyitems(items):
    """What takes longest begins first, so that no process is left alone with it at the end."""
    ranks = {file: rank for rank, file in enumerate(LONGEST)}
    items.sort(key=lambda item: min((ranks[f] for f in LONGEST if item.nodeid.startswith(f)), default=len(LONGEST)))
