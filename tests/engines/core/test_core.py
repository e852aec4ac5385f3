"""What engines share: options, limits, the stop flag, the clock, errors, the registry, the cache of kernels."""

import mmap
import re
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from plyd.engines import registry
from plyd.engines.core.engine import Engine
from plyd.engines.core.errors import BadOption, EngineError, UnknownGame, quoted
from plyd.engines.core.intrinsics import NEVER, Stop, is_raised, monotonic_ns
from plyd.engines.core.memory import dense_zeros, sparse_zeros, touched_megabytes
from plyd.engines.core.options import Option, granted_megabytes, memory_option, read_options
from plyd.engines.core.search import Report, Score, StopReason, Unreachable
from tests.patience import SOON

# --- Options ----------------------------------------------------------------------------------------------------------

LAYERS = Option("layers", "", default=3, minimum=1, maximum=10)
ALPHA = Option("alpha", "", default=0.5, minimum=0.0, maximum=2.0)
NOISE = Option("noise", "", default=False)
METHOD = Option("method", "", default="exact", choices=("exact", "expectimax"))


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        (LAYERS, "1", 1),
        (LAYERS, "7", 7),
        (LAYERS, "10", 10),
        (ALPHA, "0", 0.0),
        (ALPHA, "0.25", 0.25),
        (ALPHA, "1e-3", 0.001),
        (ALPHA, "2", 2.0),
        (NOISE, "true", True),
        (NOISE, "false", False),
        (METHOD, "exact", "exact"),
        (METHOD, "expectimax", "expectimax"),
    ],
)
def test_a_good_option_is_read_with_the_type_of_its_default(option, text, value):
    read = option.read(text)
    assert read == value
    assert type(read) is type(option.default)


@pytest.mark.parametrize(
    ("option", "text", "allowed"),
    [
        *((LAYERS, text, "a whole number from 1 to 10") for text in ["0", "11", "-1", "", "3.0", "x", "1e1", "true"]),
        (LAYERS, "9" * 59, "a whole number from 1 to 10"),
        *((ALPHA, text, "a number from 0 to 2") for text in ["-0.1", "2.1", "", "x", "nan", "inf", "-inf", "0,5"]),
        *((NOISE, text, "true or false") for text in ["True", "FALSE", "1", "0", "yes", "", " true"]),
        *((METHOD, text, "exact or expectimax") for text in ["", "Exact", "exact ", "mcts"]),
    ],
)
def test_a_bad_option_is_quoted_with_what_is_allowed(option, text, allowed):
    message = f'option {option.name} is "{text}"; allowed is {allowed}'
    with pytest.raises(BadOption, match=f"^{re.escape(message)}$"):
        option.read(text)


def test_a_number_too_long_to_convert_is_a_bad_option():
    with pytest.raises(BadOption):
        LAYERS.read("9" * 5000)


def test_options_not_given_have_their_defaults():
    options = (LAYERS, ALPHA, NOISE, METHOD)
    assert read_options(options, {}) == {"layers": 3, "alpha": 0.5, "noise": False, "method": "exact"}
    assert read_options(options, {"layers": "5", "noise": "true"}) == {
        "layers": 5,
        "alpha": 0.5,
        "noise": True,
        "method": "exact",
    }


def test_an_unknown_option_is_quoted_with_the_known_ones():
    with pytest.raises(BadOption, match=r'^unknown option "depth"; options are layers, method$'):
        read_options((LAYERS, METHOD), {"layers": "5", "depth": "5"})
    with pytest.raises(BadOption, match=r'^unknown option "depth"; options are none$'):
        read_options((), {"depth": "5"})


def test_a_bad_value_among_good_ones_is_a_bad_option():
    with pytest.raises(BadOption, match='option method is "mcts"'):
        read_options((LAYERS, METHOD), {"layers": "5", "method": "mcts"})


def test_an_alias_sets_its_option_but_may_not_contradict_it():
    options = (replace(METHOD, aliases=("engine",)), LAYERS)
    assert read_options(options, {"engine": "expectimax"}) == {"method": "expectimax", "layers": 3}
    assert read_options(options, {"engine": "exact", "method": "exact"})["method"] == "exact"
    message = '^options method and engine mean the same, but are "exact" and "expectimax"$'
    with pytest.raises(BadOption, match=message):
        read_options(options, {"method": "exact", "engine": "expectimax"})
    with pytest.raises(BadOption, match=r"options are method, layers$"):  # the alias is not advertised
        read_options(options, {"depth": "5"})


def test_memory_that_is_granted_counts_more_than_what_the_option_asks_for():
    options = read_options((memory_option(default=64, minimum=1, maximum=100),), {"memory": "32"})
    assert granted_megabytes(options, None) == 32
    assert granted_megabytes(options, 8) == 8


def test_a_sparse_array_is_zeros_that_can_be_written():
    array = sparse_zeros(1 << 20, np.int32)
    assert (array.dtype, array.shape) == (np.int32, (1 << 20,))
    assert not array.any()
    array[-1] = 7
    assert array.sum() == 7
    assert sparse_zeros(0, np.int32).size == 0


# --- Reports ----------------------------------------------------------------------------------------------------------


def test_a_report_is_final_if_it_says_why_the_search_ended():
    score = Score("anyone", Unreachable())
    assert not Report(score).final
    assert all(Report(score, stop_reason=reason).final for reason in StopReason)


# --- The machine ------------------------------------------------------------------------------------------------------


@njit(nogil=True)
def now():
    return monotonic_ns()


@njit(nogil=True)
def spin(flag, deadline_ns):
    """Turns until the flag is raised, and whether it was raised before the deadline."""
    turns = 0
    while not is_raised(flag):
        turns += 1
        if turns & 1023 == 0 and monotonic_ns() > deadline_ns:
            return turns, False
    return turns, True


@njit(nogil=True)
def spin_blindly(flag, most):
    """The same without a look at the clock: nothing in this loop makes the compiler read the flag again."""
    turns = 0
    while turns < most and not is_raised(flag):
        turns += 1
    return turns, turns < most


def test_a_stop_is_set_once_and_for_all():
    stop = Stop()
    assert not stop.is_set()
    stop.set()
    assert stop.is_set()
    stop.set()
    assert stop.is_set()


def test_two_stops_are_two_flags():
    one, other = Stop(), Stop()
    one.set()
    assert not other.is_set()


def test_a_kernel_sees_a_flag_set_before_it_begins():
    stop = Stop()
    stop.set()
    assert spin(stop.flag, time.monotonic_ns() + 10**10) == (0, True)


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(lambda flag: spin(flag, time.monotonic_ns() + 20 * 10**9), id="polling the clock too"),
        pytest.param(lambda flag: spin_blindly(flag, 2**34), id="polling the flag only"),  # some ten seconds
    ],
)
def test_a_kernel_in_another_thread_sees_the_flag_being_set(kernel):
    already = Stop()
    already.set()
    kernel(already.flag)  # compiles
    stop, begun, seen = Stop(), threading.Event(), []

    def run():
        begun.set()
        seen.append(kernel(stop.flag))

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(SOON)
    time.sleep(0.2)  # the kernel turns without the GIL, or this thread would not come back
    stop.set()
    thread.join(SOON)
    ((turns, raised),) = seen
    assert raised, "the kernel did not see the flag"
    assert turns > 0, "the kernel began only after the flag was set"


def test_a_kernel_ends_at_its_deadline():
    began = time.monotonic_ns()
    _, raised = spin(Stop().flag, began + 20_000_000)
    assert not raised
    assert 20_000_000 <= time.monotonic_ns() - began < SOON * 1e9


def test_the_kernels_clock_is_pythons():
    now()
    for _ in range(100):
        earlier = time.monotonic_ns()
        kernels = now()
        assert earlier <= kernels <= time.monotonic_ns()


def test_never_is_centuries_away_and_fits_a_kernels_integer():
    assert int(NEVER) - time.monotonic_ns() > 100 * 365 * 86400 * 10**9
    assert int(NEVER) < 2**63


# --- Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", '""'),
        ("b 1 2", '"b 1 2"'),
        ("x" * 60, '"' + "x" * 60 + '"'),
        ("x" * 61, '"' + "x" * 60 + '..."'),
        ("é 五", '"é 五"'),
        ("a\nb", r'"a\nb"'),
        ("\x1b[31mred", r'"\x1b[31mred"'),
        ("\0", r'"\x00"'),
        ("\u202eabc", r'"\u202eabc"'),  # would turn the writing direction round
        ("\ud800", r'"\ud800"'),  # half a character, which no terminal can encode
        ("\t\r", r'"\t\r"'),
    ],
)
def test_a_quoted_text_cannot_spoil_a_terminal(text, shown):
    assert quoted(text) == shown
    assert quoted(text).isprintable()


def test_a_quoted_text_is_cut_where_asked():
    assert quoted("abcdef", longest=3) == '"abc..."'
    assert quoted("abcdef", longest=6) == '"abcdef"'


# --- The registry -----------------------------------------------------------------------------------------------------


def test_an_unknown_game_is_quoted_with_the_known_ones():
    with pytest.raises(UnknownGame, match=r'^unknown game "go\\n"; games are .*2584-2x3') as caught:
        registry.load("go\n")
    assert isinstance(caught.value, EngineError)


@pytest.mark.parametrize("game", registry.ENGINES)
def test_each_game_loads_an_engine_of_that_game(game):
    engine = registry.load(game)
    assert isinstance(engine, Engine)
    assert engine.card.game == game


# --- Memory -----------------------------------------------------------------------------------------------------------


def resident_megabytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE >> 20


@pytest.mark.parametrize("zeros", [dense_zeros, sparse_zeros])
def test_memory_is_what_was_touched_and_all_of_it_goes_back_to_the_system(zeros):
    before = resident_megabytes()
    arrays = [zeros(1 << 20, np.uint64) for _ in range(16)]  # 8 MB each
    assert touched_megabytes(arrays) == 0
    for array in arrays:
        array[: 1 << 19] = 1
    assert 64 <= touched_megabytes(arrays) <= 128
    assert resident_megabytes() - before >= 48
    del array, arrays
    assert resident_megabytes() - before <= 16


def test_memory_is_counted_in_megabytes_rounded_up():
    array = sparse_zeros(1 << 20, np.uint8)
    assert touched_megabytes([array, array[:0]]) == 0
    array[5000] = 1
    assert touched_megabytes([array]) == 1
