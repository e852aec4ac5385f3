"""What `make fuzz` throws inputs at holds for what hypothesis makes up, too: a quick look at every parser."""

import functools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plyd.clients.match.elo import SequentialTest, score_of, strength
from plyd.engines import registry
from tests.fuzz.notation import check_options, check_rules
from tests.fuzz.targets import TARGETS, seeds_of

ODD = ["²", "٣", "\ud800".encode("utf-8", "surrogatepass"), "\0", "9" * 5000, "-1", "1e999", "nan", "[" * 3000, "\x85"]
PIECES = [each if isinstance(each, bytes) else each.encode() for each in ODD]
RULES = [
    pytest.param(rules, registry.load(game).card.position_examples, id=f"{game} {variant}")
    for game in registry.ENGINES
    for variant, rules in registry.load(game).variants.items()
]
check_of = functools.cache(lambda name: TARGETS[name].make())
card_of = functools.cache(lambda game: registry.load(game).card)


@st.composite
def inputs(draw, seeds):
    """Bytes near to a seed: some of them taken out, others put in; or any bytes at all."""
    if not draw(st.integers(0, 4)):
        return draw(st.binary(max_size=60) | st.text(max_size=30).map(str.encode))
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        end = at + draw(st.integers(0, 3))
        data[at:end] = draw(st.binary(max_size=3) | st.sampled_from(PIECES) | st.just(bytes(data[at : at + 9])))
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
def test_a_parser_reads_or_refuses_whatever_comes(name, data):
    check_of(name)(data.draw(inputs(seeds_of(name))))


@pytest.mark.parametrize("name", TARGETS)
def test_what_a_fuzzer_begins_from_holds(name):
    for seed in seeds_of(name):
        check_of(name)(seed)


@pytest.mark.parametrize(("rules", "examples"), RULES)
@given(data=st.data())
def test_every_legal_move_of_any_position_can_be_played(rules, examples, data):
    seeds = [f"{example}|".encode() for example in examples]
    check_rules(rules, data.draw(inputs(seeds)), every_move=True)


@pytest.mark.parametrize(("rules", "examples"), RULES)
@given(data=st.data())
def test_positions_on_the_way_of_a_random_game_have_one_name(rules, examples, data):
    position = rules.parse(data.draw(st.sampled_from(examples)))
    for _ in range(data.draw(st.integers(0, 30))):
        if not (legal := rules.legal_moves(position)):
            break
        position = rules.play(position, data.draw(st.sampled_from([move.text for move in legal]))).position
    assert check_rules(rules, rules.text(position).encode())


@pytest.mark.parametrize("game", registry.ENGINES)
@given(data=st.data())
def test_an_option_is_read_within_its_bounds_or_refused(game, data):
    options = card_of(game).options
    names = [option.name for option in options] or ["none"]
    text = st.text(max_size=8) | st.integers().map(str) | st.floats().map(str) | st.sampled_from(["true", "9" * 5000])
    check_options(options, f"{data.draw(st.sampled_from(names))}={data.draw(text)}".encode("utf-8", "surrogatepass"))


COUNTS = st.lists(st.integers(0, 10**9), min_size=5, max_size=5)


@given(COUNTS, st.floats(-1000, 1000), st.floats(-1000, 1000))
def test_whatever_a_match_counts_its_figures_are_numbers(pairs, elo, other):
    told = strength(pairs)
    assert (told is None) == (not any(pairs))
    if told:
        assert told.low <= told.elo <= told.high or math.isinf(told.elo)
        assert 0 <= told.superiority <= 1
    assert 0 < score_of(elo) < 1
    if abs(elo - other) > 1e-3:
        test = SequentialTest(min(elo, other), max(elo, other))
        assert math.isfinite(test.ratio(pairs))
        assert test.accepted(test.ratio(pairs)) in ("", "H0", "H1")
