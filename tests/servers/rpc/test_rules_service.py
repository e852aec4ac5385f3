"""The rules service over a real socket, with 2584 on 2x3: cells 0 1 2 above 3 4 5."""

import grpc
import pytest

from plyd.v1 import position_pb2, rules_pb2
from tests.patience import SOON
from tests.servers.daemons import field_at_fault


def new_game(daemon, **fields):
    return daemon.caller.rules.NewGame(rules_pb2.NewGameRequest(**fields), timeout=SOON).state


def inspect(daemon, start="", moves=()):
    request = rules_pb2.InspectRequest(position={"start": start, "moves": moves})
    return daemon.caller.rules.Inspect(request, timeout=SOON).state


def apply(daemon, start="", moves=(), more=(), **fields):
    request = rules_pb2.ApplyRequest(position={"start": start, "moves": moves}, moves=more, **fields)
    return daemon.caller.rules.Apply(request, timeout=SOON)


# --- NewGame ----------------------------------------------------------------------------------------------------------


def test_a_new_game_begins_with_two_drops_on_the_empty_board(fibonacci):
    state = new_game(fibonacci, seed=1)
    assert (state.position.game, state.position.variant) == ("2584-2x3", "classic")
    assert state.position.start == "a 0 0 0 0 0 0"
    assert len(state.position.moves) == 2
    assert state.to_move == position_pb2.SIDE_PLAYER_ONE
    assert state.outcome == position_pb2.OUTCOME_ONGOING
    assert sum(cell != "" for cell in state.board.cells) == 2
    assert state == inspect(fibonacci, state.position.start, state.position.moves)


def test_the_same_seed_gives_the_same_start(fibonacci):
    for seed in (0, 1, 2584, 2**64 - 1):
        assert new_game(fibonacci, seed=seed) == new_game(fibonacci, seed=seed)


def test_different_seeds_and_no_seed_give_different_starts(fibonacci):
    assert len({new_game(fibonacci, seed=seed).text for seed in range(20)}) > 5
    assert len({new_game(fibonacci).text for _ in range(20)}) > 5


def test_a_new_game_from_a_start_of_ones_own(fibonacci):
    state = new_game(fibonacci, start="b 2 2 0 0 0 0", seed=3)
    assert (state.text, list(state.position.moves)) == ("b 2 2 0 0 0 0", [])
    dropped = new_game(fibonacci, start="a 3 0 0 0 0 0", seed=3)
    assert len(dropped.position.moves) == 1
    assert dropped.to_move == position_pb2.SIDE_PLAYER_ONE


def test_a_name_may_be_given_or_left_out(fibonacci):
    assert new_game(fibonacci, game="2584-2x3", variant="classic", seed=5) == new_game(fibonacci, seed=5)


# --- Inspect ----------------------------------------------------------------------------------------------------------


def test_everything_is_said_about_a_position_before_a_slide(fibonacci):
    # 2 1 .   --left-->   3 . .
    # . . .               . . .
    assert inspect(fibonacci, "b 2 1 0 0 0 0") == position_pb2.State(
        position={"game": "2584-2x3", "variant": "classic", "start": "b 2 1 0 0 0 0"},
        text="b 2 1 0 0 0 0",
        to_move=position_pb2.SIDE_PLAYER_ONE,
        outcome=position_pb2.OUTCOME_ONGOING,
        legal_moves=[{"move": slide, "kind": position_pb2.MOVE_KIND_SLIDE} for slide in ("right", "down", "left")],
        board={"rows": 2, "columns": 3, "cells": ["2", "1", "", "", "", ""]},
        picture="2 1 .\n. . .",
    )


def test_everything_is_said_about_a_position_after_a_slide(fibonacci):
    # 13 1 .   index 6 is the tile 13
    #  2 8 .
    state = inspect(fibonacci, "a 6 1 0 2 5 0")
    assert state.to_move == position_pb2.SIDE_ENVIRONMENT
    assert [(move.move, move.cell) for move in state.legal_moves] == [("1@2", 2), ("1@5", 5), ("2@2", 2), ("2@5", 5)]
    assert [move.probability for move in state.legal_moves] == pytest.approx([0.45, 0.45, 0.05, 0.05])
    assert list(state.board.cells) == ["13", "1", "", "2", "8", ""]
    assert state.picture == "13  1  .\n 2  8  ."


def test_moves_add_up_to_points_and_stay_in_the_position(fibonacci):
    moves = ["left", "1@5", "up"]
    state = inspect(fibonacci, "b 2 1 0 0 0 0", moves)
    assert state.points == 3
    assert (state.position.start, list(state.position.moves)) == ("b 2 1 0 0 0 0", moves)
    # 3 . .   --1@5-->   3 . .   --up-->   3 . 1
    # . . .              . . 1             . . .
    assert state.text == "a 3 0 1 0 0 0"


def test_a_slide_has_neither_cell_nor_probability(fibonacci):
    for move in inspect(fibonacci, "b 2 1 0 0 0 0").legal_moves:
        assert not move.HasField("cell")
        assert not move.HasField("probability")


def test_a_finished_game_has_no_side_to_move(fibonacci):
    # 1 3 1   nothing merges and nothing can slide
    # 3 1 3
    state = inspect(fibonacci, "b 1 3 1 3 1 3")
    assert (state.to_move, state.outcome) == (position_pb2.SIDE_UNSPECIFIED, position_pb2.OUTCOME_ENDED)
    assert len(state.legal_moves) == 0


def test_a_state_can_be_sent_back_as_it_is(fibonacci):
    state = apply(fibonacci, more=["1@0", "1@1", "left"], with_chance=True, seed=1).state
    again = fibonacci.caller.rules.Inspect(rules_pb2.InspectRequest(position=state.position), timeout=SOON).state
    assert again == state
    assert inspect(fibonacci, state.text).legal_moves == state.legal_moves


# --- Apply ------------------------------------------------------------------------------------------------------------


def test_moves_are_played_from_where_the_position_left_off(fibonacci):
    response = apply(fibonacci, "b 2 1 0 0 0 0", ["left"], ["1@5", "up"])
    assert response.state == inspect(fibonacci, "b 2 1 0 0 0 0", ["left", "1@5", "up"])
    assert list(response.chance_moves) == []


def test_no_moves_at_all_is_the_position_itself(fibonacci):
    assert apply(fibonacci, "b 2 1 0 0 0 0").state == inspect(fibonacci, "b 2 1 0 0 0 0")


def test_chance_moves_until_the_player_is_to_move(fibonacci):
    response = apply(fibonacci, "b 2 1 0 0 0 0", (), ["left"], with_chance=True, seed=7)
    assert response.state.to_move == position_pb2.SIDE_PLAYER_ONE
    [drop] = response.chance_moves
    assert list(response.state.position.moves) == ["left", drop]
    assert response.state.points == 3
    assert response.state == inspect(fibonacci, "b 2 1 0 0 0 0", ["left", drop])


def test_chance_does_nothing_where_the_player_is_to_move(fibonacci):
    response = apply(fibonacci, "b 2 1 0 0 0 0", with_chance=True)
    assert list(response.chance_moves) == []
    assert response.state.text == "b 2 1 0 0 0 0"


def test_the_same_seed_gives_the_same_chance_and_another_one_another(fibonacci):
    def drop(**seed):
        return apply(fibonacci, "a 2 0 0 0 0 0", with_chance=True, **seed).chance_moves[0]

    assert len({drop(seed=4) for _ in range(5)}) == 1
    assert len({drop(seed=seed) for seed in range(40)}) > 3
    assert len({drop() for _ in range(40)}) > 3


def test_a_game_of_five_hundred_moves_can_be_sent_whole(fibonacci):
    position, played = position_pb2.Position(), 0
    for seed in range(400):
        state = fibonacci.caller.rules.Apply(
            rules_pb2.ApplyRequest(position=position, with_chance=True, seed=seed), timeout=SOON
        ).state
        position, played = state.position, len(state.position.moves)
        if not state.legal_moves:
            break
        position.moves.append(state.legal_moves[0].move)
    assert played > 10
    assert fibonacci.caller.rules.Inspect(rules_pb2.InspectRequest(position=position), timeout=SOON).state == state


# --- Bad input --------------------------------------------------------------------------------------------------------


BAD = [
    ({"start": "x 0 0 0 0 0 0"}, "position.start", 'unknown letter "x"'),
    ({"start": "b 1 2 3"}, "position.start", "3 numbers in"),
    ({"start": "b 0 0 0 0 0 0 0"}, "position.start", "7 numbers in"),
    ({"start": "b 0 0 0 0 0 34"}, "position.start", '"34" is out of range'),
    ({"start": "b 0 0 0 0 0 -1"}, "position.start", '"-1" is out of range'),
    ({"start": "b 0 0 0 0 0 one"}, "position.start", '"one" is not a number'),
    ({"start": "b 0 0 0 0 0 ٣"}, "position.start", '"٣" is not a number'),
    ({"start": " "}, "position.start", "empty position"),
    ({"start": "b 2 1 0 0 0 0", "moves": ["up"]}, "position.moves", 'move 1: illegal move "up"'),
    ({"start": "b 2 1 0 0 0 0", "moves": ["left", "left"]}, "position.moves", 'move 2: illegal move "left"'),
    ({"start": "b 2 1 0 0 0 0", "moves": ["1@0"]}, "position.moves", 'move 1: illegal move "1@0"'),
    ({"start": "b 2 1 0 0 0 0", "moves": [""]}, "position.moves", 'move 1: illegal move ""'),
    ({"start": "a 2 1 0 0 0 0", "moves": ["3@5"]}, "position.moves", 'move 1: illegal move "3@5"'),
    ({"start": "a 2 1 0 0 0 0", "moves": ["1@0"]}, "position.moves", 'move 1: illegal move "1@0"'),
    ({"variant": "modern"}, "position.variant", 'unknown variant "modern" of 2584-2x3; variants are classic'),
]


@pytest.mark.parametrize(("position", "field", "message"), BAD, ids=[case[2] for case in BAD])
def test_a_bad_position_is_refused_by_every_method(fibonacci, position, field, message):
    rules = fibonacci.caller.rules
    calls = [
        (rules.Inspect, rules_pb2.InspectRequest(position=position)),
        (rules.Apply, rules_pb2.ApplyRequest(position=position)),
    ]
    if "moves" not in position:
        calls.append((rules.NewGame, rules_pb2.NewGameRequest(**position)))
    for method, request in calls:
        with pytest.raises(grpc.RpcError) as error:
            method(request, timeout=SOON)
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert error.value.details().startswith(message)
        # NewGame has those fields itself, the others have them in their position.
        assert field_at_fault(error.value) == (field.removeprefix("position.") if method is rules.NewGame else field)


def test_apply_plays_all_moves_or_none(fibonacci):
    with pytest.raises(grpc.RpcError) as error:
        apply(fibonacci, "b 2 1 0 0 0 0", (), ["left", "9@9"], with_chance=True)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error.value.details().startswith('move 2: illegal move "9@9" at "a 3 0 0 0 0 0"; legal is 1@1')
    assert field_at_fault(error.value) == "moves"
