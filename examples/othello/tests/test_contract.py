"""Othello keeps every promise of an engine."""

import pytest

pytest.register_assert_rewrite("plyd.engines.testing")

from plyd.engines.testing import EngineContract  # noqa: E402


class TestContract(EngineContract):
    """The fixture `engine` is Othello."""
