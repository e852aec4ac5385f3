"""Every status has a meaning, and every error a status."""

from types import SimpleNamespace

import grpc
import pytest

from plyd.clients.library import errors
from plyd.servers.rpc.status import STATUS
from plyd.v1.engine_pb2 import CommandError


def children(kind):
    """A class and everything below it, in the library: bridges have errors of their own."""
    below = [child for child in kind.__subclasses__() if child.__module__ == errors.__name__]
    return {kind}.union(*map(children, below))


def test_every_status_but_ok_means_an_error(faults):
    assert set(faults) == {status.name for status in grpc.StatusCode} - {"OK"}


def test_every_error_comes_of_some_status(faults):
    assert set(faults.values()) == children(errors.PlydError) - {errors.PlydError, errors.BadEndpoint}


def test_every_status_that_a_daemon_gives_has_a_name_of_its_own():
    assert set(STATUS.values()) <= set(errors.ERRORS)


def test_error_of_a_command_is_the_error_of_a_call(faults):
    for status in grpc.StatusCode:
        if status is not grpc.StatusCode.OK:
            error = errors.from_command(CommandError(code=status.value[0], message="so it is"), "here")
            assert type(error) is faults[status.name]
            assert "so it is" in str(error)


def test_unknown_code_of_a_command_is_a_fault_of_the_daemon():
    assert type(errors.from_command(CommandError(code=99, message="so it is"), "here")) is errors.DaemonFault


def test_a_command_s_error_has_its_field_and_its_hint():
    error = errors.from_command(CommandError(code=8, message="later", field="go", retry_after_ms=1500), "here")
    assert (type(error), error.field, error.retry_seconds) == (errors.Overloaded, "go", 1.5)


@pytest.mark.parametrize(
    ("code", "details", "kind"),
    [
        ("INTERNAL", "Received RST_STREAM with error code 2", errors.Unavailable),
        ("INTERNAL", "Stream removed (RST_STREAM (Received RST_STREAM with error code 2))", errors.Unavailable),
        ("CANCELLED", "Received RST_STREAM with error code 8", errors.Unavailable),
        ("UNKNOWN", "Stream removed", errors.Unavailable),
        ("INTERNAL", "Internal error from Core", errors.Unavailable),
        ("CANCELLED", "CANCELLED", errors.Unavailable),
        ("CANCELLED", "Stream removed (Channel closed!)", errors.Cancelled),
        ("DEADLINE_EXCEEDED", "Stream removed (Deadline Exceeded)", errors.TimedOut),
        ("CANCELLED", "Locally cancelled by application!", errors.Cancelled),
        ("INTERNAL", "internal error of the daemon; its log has the details", errors.DaemonFault),
        ("UNKNOWN", None, errors.DaemonFault),
    ],
)
def test_a_stream_that_breaks_is_unavailable_whatever_grpc_calls_it(code, details, kind):
    error = SimpleNamespace(code=lambda: grpc.StatusCode[code], details=lambda: details, trailing_metadata=tuple)
    assert type(errors.from_rpc_error(error, "here")) is kind


def test_tree_in_the_docstring_names_every_error():
    for kind in children(errors.PlydError):
        assert kind.__name__ in errors.__doc__


@pytest.mark.parametrize("name", ["AsyncEngineClient", "AsyncGame", "EngineClient", "Game", "PlydError"])
def test_package_offers_what_it_names(name):
    import plyd.clients

    assert name in plyd.clients.__all__
    assert getattr(plyd.clients, name).__name__ == name


def test_package_refuses_what_it_does_not_have():
    import plyd.clients

    with pytest.raises(AttributeError, match="no attribute 'Engine'"):
        plyd.clients.Engine  # noqa: B018
