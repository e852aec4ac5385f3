"""A game's record: moves played and taken back, all or none; chance that can be repeated."""

import pytest

from plyd.engines import registry
from plyd.engines.core.errors import BadCommand, BadMove, BadPosition, UnknownGame
from plyd.engines.core.rules import Side
from plyd.servers.search.game_record import (
    KEPT_PLIES,
    MAX_MOVES_BYTES,
    GameRecord,
    find_engine,
    find_variant,
    size_of,
)
from tests.servers.fakes import EndlessEngine, FakeEngine, Sticks, SticksRules

ONE, TWO = Side.PLAYER_ONE, Side.PLAYER_TWO


def sticks(start="7 one", moves=()):
    return GameRecord(FakeEngine(), "", start, moves)


def fibonacci(start, moves=()):
    return GameRecord(registry.load("2584-2x3"), "", start, moves)


def endless(moves=(), **settings):
    return GameRecord(EndlessEngine(), "", "b 1 1", moves, **settings)


def test_a_record_begins_at_the_start_and_follows_the_moves():
    record = sticks("", ["2", "1"])
    assert (record.start, record.moves, record.position) == ("7 one", ["2", "1"], Sticks(4, ONE))


def test_a_start_is_kept_in_the_games_own_words():
    assert fibonacci("b  2\t1 0 0 00 0").start == "b 2 1 0 0 0 0"


def test_points_add_up_and_are_taken_back():
    record = fibonacci("b 2 1 0 1 1 0", ["left"])  # 2+1=3 above, 1+1=2 below
    assert record.points == 5
    record.play(["1@1", "right"])
    assert record.points == 5
    record.take_back(3)
    assert record.points == 0


def test_moves_are_played_all_or_none():
    record = sticks(moves=["1"])
    with pytest.raises(BadMove, match=r'^move 3: illegal move "9" at "4 one"$'):
        record.play(["2", "9", "1"])
    assert (record.moves, record.position) == (["1"], Sticks(6, TWO))


def test_moves_are_taken_back_all_or_none():
    record = sticks(moves=["1", "2"])
    with pytest.raises(BadCommand, match=r"^cannot take back 3 plies; 2 were played$"):
        record.take_back(3)
    assert record.moves == ["1", "2"]
    record.take_back(0)
    assert record.position == Sticks(4, ONE)
    record.take_back(2)
    assert (record.moves, record.position) == ([], Sticks(7, ONE))


def test_a_history_holds_so_many_bytes_and_no_more():
    record, pairs = endless(), MAX_MOVES_BYTES // 11  # "left" and "1@1" are 4 and 3 bytes, and 2 more each
    record.play(["left", "1@1"] * pairs)
    assert record.plies == 2 * pairs > 20_000
    with pytest.raises(
        BadMove, match=r"^the moves take 131076 bytes; at most 131072 are allowed; a longer game goes on"
    ):
        record.play(["left", "1@1"])
    assert record.plies == len(record.moves) == 2 * pairs
    record.take_back(2)
    record.play(["right", "1@0"])


def test_a_record_without_history_takes_moves_for_ever_and_keeps_few():
    record = endless(has_history=False)
    for _ in range(60):
        record.play(["left", "1@1"] * 500)
    assert (record.plies, record.points) == (60_000, 60_000)
    assert size_of(record.moves) <= MAX_MOVES_BYTES
    record.take_back(KEPT_PLIES)
    assert (record.plies, record.points) == (60_000 - KEPT_PLIES, 60_000 - KEPT_PLIES)
    with pytest.raises(BadCommand, match=r"^cannot take back 1 plies; without history the last 0 can be taken back$"):
        record.take_back(1)
    record.play(["right", "1@0"])
    record.take_back(2)


def test_start_and_moves_lead_to_the_position_without_history_too():
    record = endless(has_history=False)
    pairs = MAX_MOVES_BYTES // 11
    for moves in (["left", "1@1"] * pairs, ["right", "1@0"], ["left", "1@1"]):  # the second begins the moves anew
        record.play(moves)
        assert endless_from(record) == record.position
    assert record.moves == ["left", "1@1"]
    record.take_back(1)
    assert record.moves == ["left"]
    record.take_back(5)
    assert (record.moves, endless_from(record)) == ([], record.position)


def endless_from(record):
    return GameRecord(EndlessEngine(), "", record.start, record.moves).position


def test_a_history_is_taken_back_to_its_start_however_long_it_is():
    record = endless(points=7, plies=3, moves=["left", "1@1"] * KEPT_PLIES)
    record.take_back(2 * KEPT_PLIES - 1)
    assert (record.plies, record.points, record.moves) == (4, 9, ["left"])
    record.take_back(1)
    assert (record.plies, record.points, record.moves) == (3, 7, [])
    with pytest.raises(BadCommand, match=r"^cannot take back 1 plies; 0 were played$"):
        record.take_back(1)


def test_chance_answers_even_where_the_history_is_full():
    record = endless(moves=["left", "1@1"] * (MAX_MOVES_BYTES // 11))
    record.take_back(1)
    record._bytes = MAX_MOVES_BYTES  # as if the last move had taken the rest
    assert record.play_chance(1) == ["1@1"]


@pytest.mark.parametrize("has_history", [True, False])
def test_points_and_plies_count_on_from_those_before_the_start(has_history):
    record = endless(points=40, plies=30, moves=["left", "1@1", "right"], has_history=has_history)
    assert (record.points, record.plies) == (44, 33)
    record.take_back(1)
    assert (record.points, record.plies) == (42, 32)


def test_chance_moves_until_the_player_is_to_move_and_can_be_repeated():
    one, other = fibonacci(""), fibonacci("")
    assert one.play_chance(5) == other.play_chance(5) == one.moves
    assert len(one.moves) == 2
    assert one.rules.to_move(one.position) is ONE
    assert one.play_chance(5) == []


def test_chance_follows_its_odds():
    drops = [fibonacci("a 2 3 4 5 6 0").play_chance(seed)[0] for seed in range(1000)]
    assert set(drops) == {"1@5", "2@5"}
    assert 850 < drops.count("1@5") < 950  # 0.9; the seeds are fixed, so the count is too


def test_chance_has_no_part_in_a_game_of_two():
    assert sticks().play_chance(None) == []


def test_an_engine_is_found_by_name_or_by_being_the_only_one():
    one, other = FakeEngine("one"), FakeEngine("other")
    assert find_engine({"one": one}, "") is one
    assert find_engine({"one": one, "other": other}, "other") is other
    with pytest.raises(UnknownGame, match=r"^no game named; served here: one, other$"):
        find_engine({"one": one, "other": other}, "")
    with pytest.raises(UnknownGame, match=r'^unknown game "third"; served here: one$'):
        find_engine({"one": one}, "third")


def test_a_variant_is_found_by_name_or_by_being_the_first():
    engine = FakeEngine()
    assert find_variant(engine, "") == "normal"
    assert find_variant(engine, "greedy") == "greedy"
    with pytest.raises(BadPosition, match=r'^unknown variant "x" of sticks; variants are normal, greedy$') as error:
        find_variant(engine, "x")
    assert error.value.field == "variant"


def test_the_fake_game_keeps_the_rulebooks_promise():
    rules = SticksRules("", 2)
    for left in range(8):
        for side in (ONE, TWO):
            assert rules.parse(rules.text(Sticks(left, side))) == Sticks(left, side)
