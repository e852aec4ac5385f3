"""What every engine promises, as tests. A package with a game runs them on its engine:

    import pytest
    from plyd.engines.testing import EngineContract

    @pytest.fixture(scope="session")
    def engine():
        engine = MyGame()
        engine.warm_up()
        return engine

    class TestContract(EngineContract):
        pass

They try every choice of every option, on every variant. pytest explains a failure in full if the test file begins with
`pytest.register_assert_rewrite("plyd.engines.testing")`.
"""

import random
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from plyd.engines.core.engine import Capability, Engine
from plyd.engines.core.errors import BadMove
from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.look import BoardKind
from plyd.engines.core.rules import MoveKind, Outcome, Rules, Side
from plyd.engines.core.search import ExpectedPoints, Limits, Report, Searcher, StopReason
from plyd.engines.core.symmetry import HasImages

PLAY_OUTS = 5
POSITIONS = 8  # of a game, that are searched
MOVES_TURNED = 5  # of a position
LONGEST_PLAY_OUT = 2000
NODES = 1000
GAME_NODES = 30  # per move of a whole game
STEP = 60  # nodes that a search may need for its first answer
SMALL = 8  # rows and columns of a board on which whole games are played
LONGEST_GAME = 100  # moves; tile games may last for thousands
SOON, LONG = 120.0, 600.0  # seconds; hang guards, which nothing reaches unless it is broken
SLIDES = {"up", "right", "down", "left"}
PLAYED: dict[tuple[int, int], list[Any]] = {}  # games by rulebook and seed


def play_out(rules: Rules, seed: int) -> list[Any]:
    """Positions of one game of random moves, from the start to its end; each game is played once."""
    if (id(rules), seed) not in PLAYED:
        PLAYED[id(rules), seed] = random_game(rules, seed)
    return PLAYED[id(rules), seed]


def random_game(rules: Rules, seed: int) -> list[Any]:
    """Positions of one game of random moves."""
    rng, positions = random.Random(seed), [rules.start()]
    while rules.outcome(positions[-1]) is Outcome.ONGOING and len(positions) < LONGEST_PLAY_OUT:
        moves = rules.legal_moves(positions[-1])
        move = rng.choices(moves, [move.probability or 1.0 for move in moves])[0]
        positions.append(rules.play(positions[-1], move.text).position)
    return positions


def some(positions: list[Any]) -> list[Any]:
    """A few positions of a game, from its beginning to near its end."""
    return positions[:: len(positions) // POSITIONS + 1]


def searchers(engine: Engine, **options: Any) -> list[tuple[Searcher, Rules]]:
    """A searcher for each variant and each choice of each option, and its rules."""
    defaults = {option.name: options.get(option.name, option.default) for option in engine.card.options}
    settings = [defaults]
    settings += [defaults | {o.name: c} for o in engine.card.options for c in o.choices if c != o.default]
    return [(engine.searcher(variant, s), engine.variants[variant]) for variant in engine.variants for s in settings]


def small_start(engine: Engine, rules: Rules) -> Any:
    """The start on a board of at most 8 rows and columns, if the game has one."""
    form = engine.card.start_form
    if form is None or max(form.rows, form.columns) <= SMALL:
        return rules.start()
    return rules.parse(form.template.replace("{columns}", str(SMALL)).replace("{rows}", str(SMALL)))


def assert_only_the_last_is_final(reports: Sequence[Report]) -> None:
    """Fail unless the last report, and only the last, is final."""
    assert reports, "a search without a report"
    assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]


class EngineContract:
    """The tests; a subclass or a conftest has a fixture `engine`, warmed up."""

    # The card

    def test_examples_of_positions_are_written_as_the_rulebook_writes_them(self, engine: Engine) -> None:
        rules = next(iter(engine.variants.values()))
        assert engine.card.position_examples
        for example in engine.card.position_examples:
            assert rules.text(rules.parse(example)) == example

    def test_examples_of_moves_are_moves_of_the_game(self, engine: Engine) -> None:
        rules = next(iter(engine.variants.values()))
        played = {
            move.text for seed in range(5) for position in play_out(rules, seed) for move in rules.legal_moves(position)
        }
        assert engine.card.move_examples
        assert set(engine.card.move_examples) <= played

    def test_defaults_of_options_are_allowed(self, engine: Engine) -> None:
        for option in engine.card.options:
            text = str(option.default).lower() if isinstance(option.default, bool) else str(option.default)
            assert option.read(text) == option.default

    def test_boards_have_a_size_that_the_card_allows(self, engine: Engine) -> None:
        card = engine.card
        for rules in engine.variants.values():
            board = rules.board(rules.start())
            assert card.min_rows <= board.rows <= card.max_rows
            assert card.min_columns <= board.columns <= card.max_columns
            assert len(board.cells) == board.rows * board.columns

    # Its symmetries, if the rulebook knows them

    def test_moves_in_an_image_of_a_position_lead_to_images_of_the_next(self, engine: Engine) -> None:
        for rules in engine.variants.values():
            for position in some(play_out(rules, 0)) if isinstance(rules, HasImages) else ():
                images = rules.images(position)
                assert images[0].position == position
                legal = [move.text for move in rules.legal_moves(position)]
                for number, (image, there, back) in enumerate(images):
                    assert rules.parse(rules.text(image)) == image
                    assert rules.outcome(image) is rules.outcome(position)
                    assert sorted(map(there, legal)) == sorted(move.text for move in rules.legal_moves(image))
                    assert [back(there(move)) for move in legal] == legal
                    for move in legal[:MOVES_TURNED]:
                        step, turned = rules.play(position, move), rules.play(image, there(move))
                        assert turned.position == rules.images(step.position)[number].position
                        assert turned.points == step.points

    def test_an_image_has_the_same_images(self, engine: Engine) -> None:
        for rules in engine.variants.values():
            for position in some(play_out(rules, 0)) if isinstance(rules, HasImages) else ():
                texts = {rules.text(image.position) for image in rules.images(position)}
                for image in rules.images(position):
                    assert {rules.text(other.position) for other in rules.images(image.position)} == texts

    def test_what_is_no_move_cannot_be_turned(self, engine: Engine) -> None:
        for rules in engine.variants.values():
            for image in rules.images(rules.start()) if isinstance(rules, HasImages) else ():
                for text in ("", "no move", "@", "0", "-1", "1@999", "999@1", "\u0661", "a\n", "z99"):
                    for turn in (image.there, image.back):
                        with pytest.raises(BadMove):
                            turn(text)

    # How it looks

    def test_stones_on_the_board_are_those_of_the_sides(self, engine: Engine) -> None:
        stones = {side.stone for side in engine.card.sides if side.stone}
        if engine.card.board_look.kind not in (BoardKind.POINTS, BoardKind.CELLS, BoardKind.DROPPED):
            return
        assert len(stones) == len(engine.card.sides) == 2
        assert all(re.fullmatch("#[0-9a-f]{6}", side.colour) for side in engine.card.sides)
        for rules in engine.variants.values():
            for position in play_out(rules, 0):
                assert set(rules.board(position).cells) <= stones | {"", "#"}

    def test_every_side_that_moves_is_on_the_card(self, engine: Engine) -> None:
        sides = [side.side for side in engine.card.sides]
        assert len(set(sides)) == len(sides)
        for rules in engine.variants.values():
            assert {rules.to_move(position) for position in play_out(rules, 0)} - {None} == set(sides)

    def test_labels_are_those_of_the_largest_board(self, engine: Engine) -> None:
        card, look = engine.card, engine.card.board_look
        for labels, most in ((look.column_labels, card.max_columns), (look.row_labels, card.max_rows)):
            assert len(labels) in (0, most)
            assert len(set(labels)) == len(labels)

    def test_moves_say_how_they_are_pointed_at(self, engine: Engine) -> None:
        is_tiles = engine.card.board_look.kind is BoardKind.TILES
        for rules in engine.variants.values():
            for position in play_out(rules, 0)[:-1]:
                size = len(rules.board(position).cells)
                for move in rules.legal_moves(position):
                    assert re.fullmatch(r"[^\s.,:#]{1,64}", move.text)
                    cells = move.cells or (() if move.cell is None else (move.cell,))
                    assert all(0 <= cell < size for cell in cells)
                    wanted = {MoveKind.CELL: 1, MoveKind.FROM_TO: len(cells)}.get(move.kind, 0)
                    assert len(cells) == wanted, f"{move} is pointed at by {wanted} cells"
                    assert move.kind is not MoveKind.FROM_TO or len(cells) > 1
                    assert move.kind is not MoveKind.SLIDE or (is_tiles and move.text in SLIDES)

    def test_the_last_move_is_on_the_board(self, engine: Engine) -> None:
        for rules in engine.variants.values():
            for position in play_out(rules, 0)[:-1]:
                step = rules.play(position, rules.legal_moves(position)[0].text)
                assert all(0 <= cell < len(rules.board(position).cells) for cell in step.cells)

    def test_boards_of_other_sizes_begin_as_the_card_says(self, engine: Engine) -> None:
        card, form = engine.card, engine.card.start_form
        if form is None:
            assert (card.min_rows, card.min_columns) == (card.max_rows, card.max_columns)
            return
        sizes = {(card.min_rows, card.min_columns), (card.max_rows, card.max_columns), (form.rows, form.columns)}
        for rules in engine.variants.values():
            for rows, columns in sizes:
                board = rules.board(rules.parse(form.text(rows, columns)))
                assert (board.rows, board.columns) == (rows, columns)
            assert rules.text(rules.start()) == form.text(form.rows, form.columns)
            if form.blocked_cell:
                start = form.text(form.rows, form.columns) + form.blocked_cell.format(column=2, row=1)
                assert rules.board(rules.parse(start)).cells[(form.rows - 1) * form.columns + 1] == "#"

    def test_games_can_be_saved_as_text(self, engine: Engine) -> None:
        assert "text" in engine.card.file_formats

    # The rulebook

    def test_every_position_of_random_play_survives_its_text(self, engine: Engine) -> None:
        for rules in engine.variants.values():
            for seed in range(PLAY_OUTS):
                for position in play_out(rules, seed):
                    assert rules.parse(rules.text(position)) == position

    def test_random_play_ends_with_nobody_to_move(self, engine: Engine) -> None:
        for rules in engine.variants.values():
            for seed in range(PLAY_OUTS):
                *others, last = play_out(rules, seed)
                assert rules.outcome(last) is not Outcome.ONGOING
                assert rules.to_move(last) is None
                assert all(rules.to_move(position) is not None for position in others)

    def test_moves_of_chance_are_certain_together_and_those_of_players_have_no_odds(self, engine: Engine) -> None:
        for rules in engine.variants.values():
            for seed in range(5):
                for position in play_out(rules, seed)[:-1]:
                    moves = rules.legal_moves(position)
                    assert len({move.text for move in moves}) == len(moves)
                    if rules.to_move(position) is Side.ENVIRONMENT:
                        assert sum(move.probability or 0.0 for move in moves) == pytest.approx(1.0)
                    else:
                        assert {move.probability for move in moves} == {None}

    def test_the_picture_shows_every_tile(self, engine: Engine) -> None:
        for rules in engine.variants.values():
            for position in play_out(rules, 0)[::10]:
                board = rules.board(position)
                assert rules.picture(position).split() == [cell or "." for cell in board.cells]

    # The search

    def test_the_last_report_and_only_the_last_is_final(self, engine: Engine) -> None:
        for searcher, rules in searchers(engine):
            for position in some(play_out(rules, 1)):
                assert_only_the_last_is_final(list(searcher.search(position, Limits(max_nodes=NODES), Stop())))

    def test_a_search_gives_a_legal_move_to_a_player_and_to_chance_only_if_something_plays_its_part(
        self, engine: Engine
    ) -> None:
        for searcher, rules in searchers(engine):
            for position in some(play_out(rules, 2)[:-1]):
                last = list(searcher.search(position, Limits(max_nodes=NODES, max_lines=3), Stop()))[-1]
                legal = {move.text for move in rules.legal_moves(position)}
                assert 1 <= len(last.lines) <= 3
                assert {line.moves[0] for line in last.lines} <= legal
                if rules.to_move(position) is not Side.ENVIRONMENT:
                    assert last.move == last.lines[0].moves[0]
                elif last.move is not None:
                    assert Capability.ENVIRONMENT in engine.card.capabilities
                    assert last.move == last.lines[0].moves[0]

    def test_the_same_nodes_twice_find_the_same(self, engine: Engine) -> None:
        for (one, rules), (other, _) in zip(searchers(engine), searchers(engine), strict=True):
            for position in some(play_out(rules, 3)[2:]):
                once, again = (
                    replace(list(searcher.search(position, Limits(max_nodes=NODES), Stop()))[-1], seconds=0.0)
                    for searcher in (one, other)
                )
                assert once == again
                assert once.stop_reason in (StopReason.NODES, StopReason.FINISHED, StopReason.NO_SEARCH)

    def test_a_search_that_is_paused_now_and_then_finds_the_same(self, engine: Engine) -> None:
        limits = Limits(max_nodes=NODES // 10)
        for (searcher, rules), (other, _) in zip(searchers(engine), searchers(engine), strict=True):
            position = next(p for p in play_out(rules, 4) if rules.to_move(p) is Side.PLAYER_ONE)
            expected = list(other.search(position, limits, Stop()))[-1]
            stop = Stop()
            reports: list[Report] = []
            stop.pause()  # it pauses as soon as it looks, in its kernel or between two of its steps
            thread = threading.Thread(
                target=lambda s=searcher, p=position, t=stop, r=reports: r.extend(s.search(p, limits, t))
            )
            thread.start()
            for _ in range(5):
                thread.join(0.001)
                stop.resume()
                thread.join(0.001)
                stop.pause()
            stop.resume()
            thread.join(SOON)
            assert_only_the_last_is_final(reports)
            assert replace(reports[-1], seconds=0.0) == replace(expected, seconds=0.0)

    def test_a_search_told_to_stop_before_it_begins_ends_with_a_move(self, engine: Engine) -> None:
        for searcher, rules in searchers(engine):
            stop = Stop()
            stop.set()
            position = next(p for p in play_out(rules, 4) if rules.to_move(p) is Side.PLAYER_ONE)
            began = time.monotonic()
            reports = list(searcher.search(position, Limits(max_seconds=LONG), stop))
            assert time.monotonic() - began < SOON
            assert_only_the_last_is_final(reports)
            assert reports[-1].move in {move.text for move in rules.legal_moves(position)}

    def test_a_search_with_time_to_spare_ends_when_told_to_stop(self, engine: Engine) -> None:
        for searcher, rules in searchers(engine):
            stop = Stop()
            reports: list[Report] = []
            position = next(p for p in play_out(rules, 5) if rules.to_move(p) is Side.PLAYER_ONE)
            thread = threading.Thread(
                target=lambda s=searcher, p=position, t=stop, r=reports: r.extend(
                    s.search(p, Limits(max_seconds=LONG), t)
                ),
                daemon=True,
            )
            thread.start()
            time.sleep(0.1)
            stop.set()
            thread.join(SOON)
            assert not thread.is_alive()
            assert_only_the_last_is_final(reports)
            assert reports[-1].stop_reason in (StopReason.STOPPED, StopReason.FINISHED)

    def test_a_node_limit_counts_the_new_nodes_of_each_move_of_a_whole_game_with_little_memory(
        self, engine: Engine
    ) -> None:
        memory = next((int(option.minimum or 0) for option in engine.card.options if option.name == "memory"), 0)
        for searcher, rules in searchers(engine, memory=memory):
            position, rng, moves = small_start(engine, rules), random.Random(1), 0
            while rules.outcome(position) is Outcome.ONGOING and moves < LONGEST_GAME:
                if rules.to_move(position) is Side.ENVIRONMENT:
                    drops = rules.legal_moves(position)
                    move: str | None = rng.choices(drops, [drop.probability or 0.0 for drop in drops])[0].text
                else:
                    reports, moves = list(searcher.search(position, Limits(max_nodes=GAME_NODES), Stop())), moves + 1
                    assert max(report.nodes for report in reports) <= GAME_NODES + STEP
                    assert len({report.kept_nodes for report in reports}) == 1
                    move = reports[-1].move
                assert move is not None
                position = rules.play(position, move).position  # raises if it is illegal

    def test_a_finished_game_gives_one_final_report_without_move(self, engine: Engine) -> None:
        for searcher, rules in searchers(engine):
            for seed in range(5):
                over = play_out(rules, seed)[-1]
                (report,) = searcher.search(over, Limits(max_nodes=NODES), Stop())
                assert report.stop_reason is StopReason.NO_SEARCH
                assert (report.move, report.lines) == (None, ())
                assert report.score.exact
                if rules.outcome(over) is Outcome.ENDED:
                    assert report.score.value == ExpectedPoints(0.0)
