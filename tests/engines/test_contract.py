"""What every engine promises, tested on every engine of this package, with every choice of its options."""

import pytest

pytest.register_assert_rewrite("plyd.engines.testing")

from plyd.engines.testing import EngineContract  # noqa: E402


class TestContract(EngineContract):
    """The fixture `engine` is each engine in turn."""
