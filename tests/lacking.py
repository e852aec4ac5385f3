"""What a test does where something it needs is not there."""

import os

import pytest


def give_up(reason):
    """Skip on somebody's machine; fail where everything has to be there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
