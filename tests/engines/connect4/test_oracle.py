"""The solver of Connect Four positions that other tests believe, against the rulebook and plain minimax."""

import functools
import random

import pytest

from plyd.engines.connect4.rules import RULES
from plyd.engines.core.rules import Outcome
from tests.engines.connect4.oracle import (
    CELLS,
    FIRST_PLY,
    LAST_PLY,
    Oracle,
    is_over,
    line_of,
    plies_to_end,
    read,
    words,
)

COLUMNS = "1234567"


@pytest.fixture(scope="module")
def oracle():
    return Oracle(table_bits=20)


def position_after(moves):
    return functools.reduce(lambda position, move: RULES.play(position, move).position, moves, RULES.start())


def late_games(count, seed, least, most):
    """Random games that lasted until `least` to `most` cells are empty, and are not over."""
    rng, games = random.Random(seed), []
    while len(games) < count:
        moves, plies = "", CELLS - rng.randint(least, most)
        while len(moves) < plies and not is_over(moves):
            moves += rng.choice([column for column in COLUMNS if moves.count(column) < 6])
        if len(moves) == plies and not is_over(moves):
            games.append(moves)
    return games


# --- Minimax ----------------------------------------------------------------------------------------------------------


def stacks_after(moves):
    """The columns of stones from the bottom, as strings of x and o."""
    stacks = [""] * 7
    for ply, move in enumerate(moves):
        stacks[int(move) - 1] += "xo"[ply % 2]
    return tuple(stacks)


def top_makes_four(stacks, column):
    """Whether the top stone of a column stands in a line of four."""
    row = len(stacks[column]) - 1

    def run(right, up):
        at, height, length = column + right, row + up, 0
        while 0 <= at < 7 and 0 <= height < len(stacks[at]) and stacks[at][height] == stacks[column][row]:
            at, height, length = at + right, height + up, length + 1
        return length

    return any(run(right, up) + run(-right, -up) >= 3 for right, up in ((1, 0), (0, 1), (1, 1), (1, -1)))


def slow_results(stacks):
    """For each column a pair, 1, 0 or -1 for a win, draw or loss and the plies to the end; None for a full one."""
    results, stone = [], "xo"[sum(map(len, stacks)) % 2]
    for column, stack in enumerate(stacks):
        after = (*stacks[:column], stack + stone, *stacks[column + 1 :])
        if len(stack) == 6:
            results.append(None)
        elif top_makes_four(after, column):
            results.append((1, 1))
        else:
            result, plies = slow_result(after)
            results.append((-result, plies + 1))
    return results


@functools.cache
def slow_result(stacks):
    """The best of the columns' pairs: a win soon before a win late, a loss late before a loss soon."""
    results = [result for result in slow_results(stacks) if result]
    return max(results, key=lambda pair: (pair[0], -pair[0] * pair[1]), default=(0, 0))


def slow_line(moves):
    """What the oracle's file would say."""
    letters = {1: "W", -1: "L"}
    results = slow_results(stacks_after(moves))
    fields = ["-" if r is None else "D" if r[0] == 0 else f"{letters[r[0]]}{r[1]}" for r in results]
    return " ".join([moves, *fields])


# --- The solver -------------------------------------------------------------------------------------------------------


def test_every_move_has_the_result_and_the_distance_that_minimax_finds(oracle):
    for moves in late_games(25, seed=0, least=4, most=12):
        assert line_of(moves, oracle.scores(moves)) == slow_line(moves)


def test_three_in_the_bottom_row_win_at_both_ends_and_threaten_to(oracle):
    # . . . o o o .
    # . . . x x x .    x to move
    assert [line_of("445566", oracle.shallow_scores("445566", 4)).split()[1:][at] for at in (2, 6)] == ["W1", "W1"]
    # . . . o o . .
    # . . . x x . .    x to move: 3 and 6 leave two ends open
    fields = line_of("4455", oracle.shallow_scores("4455", 4)).split()[1:]
    assert fields[2] == fields[5] == "W3"


def test_results_are_those_of_the_rulebook_where_a_move_ends_the_game(oracle):
    for moves in late_games(25, seed=4, least=6, most=30):
        position, fields = position_after(moves), line_of(moves, oracle.scores(moves)).split()[1:]
        legal = {move.text for move in RULES.legal_moves(position)}
        assert [field == "-" for field in fields] == [column not in legal for column in COLUMNS]
        for column in legal:
            after = RULES.outcome(RULES.play(position, column).position)
            assert (fields[int(column) - 1] == "W1") == (after in (Outcome.PLAYER_ONE_WINS, Outcome.PLAYER_TWO_WINS))


def test_signs_are_the_signs_of_scores(oracle):
    for moves in late_games(40, seed=1, least=6, most=16):
        assert oracle.signs(moves) == [s if s is None else (s > 0) - (s < 0) for s in oracle.scores(moves)]


def test_shallow_scores_see_what_ends_soon_and_nothing_else(oracle):
    for moves in late_games(40, seed=2, least=6, most=16):
        for score, seen in zip(oracle.scores(moves), oracle.shallow_scores(moves, 4), strict=True):
            if score and plies_to_end(score, len(moves)) <= 4:
                assert seen == score
            else:
                assert seen in (0, score)


def test_a_small_table_that_forgets_changes_no_score(oracle):
    forgetful = Oracle(table_bits=6)
    for moves in late_games(25, seed=3, least=6, most=12):
        assert forgetful.scores(moves) == oracle.scores(moves)


@pytest.mark.parametrize("moves", ["1111111", "11223344"])
def test_a_sequence_that_cannot_be_played_is_refused(moves):
    with pytest.raises(ValueError, match=moves):
        words(moves)


# --- The file ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kinds():
    return read()


def test_the_file_has_300_different_positions_of_each_kind(kinds):
    assert {kind: len(positions) for kind, positions in kinds.items()} == {"random": 300, "played": 300}
    for positions in kinds.values():
        assert len({words(moves) for moves, _ in positions}) == 300


def test_plies_of_the_file_are_evenly_spread(kinds):
    for positions in kinds.values():
        counts = [sum(len(moves) == plies for moves, _ in positions) for plies in range(FIRST_PLY, LAST_PLY + 1)]
        assert set(counts) == {23, 24}


def test_every_position_of_the_file_is_one_where_a_move_can_be_wrong(kinds):
    for positions in kinds.values():
        for moves, results in positions:
            assert len(results) == 7
            assert len({result[0] for result in results} - {"-"}) >= 2
            assert [result == "-" for result in results] == [moves.count(column) == 6 for column in COLUMNS]


def test_games_of_the_file_are_games_of_the_rulebook_and_not_over(kinds):
    for positions in kinds.values():
        for moves, results in positions[::10]:
            legal = [move.text for move in RULES.legal_moves(position_after(moves))]
            assert legal == [column for column, result in zip(COLUMNS, results, strict=True) if result != "-"]


def test_late_positions_of_the_file_are_solved_as_it_says(kinds, oracle):
    for positions in kinds.values():
        late = [(moves, results) for moves, results in positions if len(moves) >= 22]
        for moves, results in late:
            assert line_of(moves, oracle.scores(moves)) == " ".join([moves, *results])
