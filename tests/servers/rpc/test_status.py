"""Every error has its status, and every status its exception on the client's side."""

import grpc
import pytest
from google.rpc import code_pb2
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status

from plyd.clients.library import errors as client_errors
from plyd.engines.core import errors
from plyd.servers.rpc.status import INTERNAL_MESSAGE, STATUS, status_code, status_message, trailing_details
from plyd.v1 import engine_pb2


def leaves(kind):
    """The kinds of error that are raised: those that nothing else derives from."""
    children = kind.__subclasses__()
    return {leaf for child in children for leaf in leaves(child)} if children else {kind}


def made(kind):
    return kind("too bad", 0.25) if kind is errors.Overloaded else kind("too bad")


LEAVES = sorted(leaves(errors.EngineError), key=lambda kind: kind.__name__)


def test_every_error_of_the_tree_has_a_status_and_nothing_else_has():
    assert set(STATUS) == set(LEAVES)


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_says_the_same_in_its_status_and_its_details(kind):
    error = made(kind)
    [(key, value)] = trailing_details(error)
    status = Status.FromString(value)
    assert key == client_errors.DETAILS_KEY
    assert status_code(error) is STATUS[kind]
    assert (status.code, status.message) == (STATUS[kind].value[0], "too bad")
    assert code_pb2.Code.Name(status.code) == STATUS[kind].name


@pytest.mark.parametrize("kind", [kind for kind in LEAVES if issubclass(kind, errors.BadInput)])
def test_bad_input_names_the_field_at_fault(kind):
    [(_, value)] = trailing_details(made(kind))
    [detail] = Status.FromString(value).details
    fault = BadRequest()
    assert detail.Unpack(fault)
    assert [(violation.field, violation.description) for violation in fault.field_violations] == [
        (kind.field, "too bad")
    ]
    assert kind.field


def test_an_overload_says_when_to_try_again():
    [(_, value)] = trailing_details(errors.Overloaded("too bad", 0.25))
    [detail] = Status.FromString(value).details
    retry = RetryInfo()
    assert detail.Unpack(retry)
    assert retry.retry_delay.ToMilliseconds() == 250


@pytest.mark.parametrize("fault", [RuntimeError("/etc/secret"), KeyError("x"), AssertionError()])
def test_anything_else_is_internal_and_keeps_its_secrets(fault):
    assert status_code(fault) is grpc.StatusCode.INTERNAL
    assert status_message(fault) == INTERNAL_MESSAGE


@pytest.mark.parametrize("status", sorted({*STATUS.values()}, key=lambda status: status.name))
def test_every_status_used_has_an_exception_of_its_own_for_the_client(status):
    assert client_errors.ERRORS[status] is not client_errors.DaemonFault


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_keeps_its_words_on_the_way_through_a_game(kind):
    code = status_code(made(kind)).value[0]
    error = client_errors.from_command(engine_pb2.CommandError(code=code, message="too bad"), "here")
    assert type(error) is client_errors.ERRORS[STATUS[kind]]
    assert str(error) == "too bad"
