"""`plyd openings gomoku`: openings that differ, that the engine calls balanced, and files that are continued."""

import itertools
import random

import pytest
from click.testing import CliRunner

from plyd.engines.core.search import WinProbability
from plyd.engines.gomoku.openings import Judge, canonical, openings
from plyd.engines.gomoku.rules import FREESTYLE, RULES, Position
from plyd.engines.openings import openings as command
from tests.engines.gomoku.searches import answer
from tests.engines.gomoku.slow import random_position


def run(*arguments):
    return CliRunner().invoke(command, ["gomoku", *map(str, arguments)])


def position_after(line):
    start, moves = line.split(" | ")
    position = FREESTYLE.parse(start)
    for move in moves.split():
        position = FREESTYLE.play(position, move).position
    return position


def test_all_symmetric_forms_of_a_board_have_one_canonical_form():
    for seed in range(20):
        rows = random_position(FREESTYLE, 7, 9, random.Random(seed)).rows
        turned = tuple("".join(column) for column in zip(*rows[::-1], strict=True))
        mirrored = tuple(row[::-1] for row in rows)
        assert canonical(rows) == canonical(turned) == canonical(mirrored) == canonical(rows[::-1])
    assert canonical(("x..", "...", "...")) != canonical((".x.", "...", "..."))


def test_balanced_openings_are_what_the_engine_calls_balanced(tmp_path):
    out = tmp_path / "openings.txt"
    done = run("--balanced", "--count", 3, "--out", out, "--nodes", 2000, "--margin", 0.1)
    assert done.exit_code == 0, done.output
    lines = out.read_text().splitlines()
    assert len(lines) == 3
    for line in lines:
        value = answer(FREESTYLE, position_after(line), max_nodes=2000).score.value
        assert isinstance(value, WinProbability)
        assert abs(value.probability - 0.5) <= 0.1
        assert 4 <= len(line.split(" | ")[1].split()) <= 8


def test_a_judge_rejects_what_is_decided_or_one_sided():
    judge = Judge(FREESTYLE, 2000, 0.1)
    assert not judge.is_balanced(position_after("15x15 | h8 a1 h9 a15 h10 o1")), "an open three, and to move"
    assert not judge.is_balanced(position_after("15x15 | h8 a1 h9 a15 h10 o1 i9 o15 i7"))
    rows = position_after("15x15 | h8 a1 h9 a15").rows
    assert not judge.is_balanced(Position(rows, "x"))


def test_a_file_is_continued_as_if_it_had_not_been_interrupted(tmp_path):
    whole, parts = tmp_path / "whole.txt", tmp_path / "parts.txt"
    assert run("--count", 12, "--out", whole, "--seed", 3).exit_code == 0
    assert run("--count", 5, "--out", parts, "--seed", 3).exit_code == 0
    parts.write_text(parts.read_text() + "15x15 | h8 i")  # killed while writing
    assert run("--count", 12, "--out", parts, "--seed", 3).exit_code == 0
    assert parts.read_text() == whole.read_text()
    assert run("--count", 4, "--out", parts, "--seed", 3).exit_code == 0, "there are more already"
    assert parts.read_text() == whole.read_text()
    assert run("--count", 12, "--seed", 4).stdout != whole.read_text()


@pytest.mark.parametrize("variant", list(RULES))
def test_openings_differ_even_from_each_others_mirror_images(variant):
    rules = RULES[variant]
    lines = list(itertools.islice(openings(rules, 9, (1, 3), 1, None, []), 25))
    assert len({canonical(position_after(line).rows) for line in lines}) == 25
    assert all(line.startswith("9x9 | ") for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plies", 6, 4], "6 is more than 4"),
        (["--plies", 1, 1, "--count", 99], "no new opening of 1 to 1 plies"),
        (["--plies", 4, 9], "not in the range"),
        (["--size", 4], "not in the range"),
    ],
)
def test_what_is_not_possible_is_refused_in_a_line(arguments, message):
    refused = run(*arguments)
    assert refused.exit_code in (1, 2)
    assert message in refused.output


@pytest.mark.parametrize("line", ["9x9 | e5", "15x15 | h8 h8", "15x15 | z99", "nonsense"])
def test_a_file_of_something_else_is_not_continued(tmp_path, line):
    out = tmp_path / "openings.txt"
    out.write_text(f"{line}\n")
    refused = run("--count", 2, "--out", out)
    assert refused.exit_code == 1
    assert refused.exception.__class__ is SystemExit
    assert out.read_text() == f"{line}\n"
