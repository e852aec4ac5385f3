"""Searches of Gomoku's NegaScout for tests, each of whose reports is looked at."""

from plyd.engines.core.intrinsics import Stop
from plyd.engines.core.rules import Outcome
from plyd.engines.core.search import Limits, Proven, Result, WinProbability
from plyd.engines.gomoku.negascout.searcher import NegaScoutSearcher
from plyd.engines.gomoku.rules import FREESTYLE, SIDES


def searcher(rules=FREESTYLE, threads=1, memory=8):
    """A new searcher with little memory."""
    return NegaScoutSearcher(rules, {"threads": threads}, memory)


def answer(rules, position, using=None, **limits):
    """The last report of a search, of which all were looked at."""
    reports = list((using or searcher(rules)).search(position, Limits(**limits), Stop()))
    for report in reports:
        assert_sane(rules, position, report, limits.get("max_lines", 1))
    assert [report.final for report in reports] == [False] * (len(reports) - 1) + [True]
    return reports[-1]


def assert_sane(rules, position, report, most_lines=1):
    """A report is what a caller can rely on, whatever the search knows."""
    legal = {move.text for move in rules.legal_moves(position)}
    assert 1 <= len(report.lines) <= most_lines
    assert report.move == report.lines[0].moves[0]
    assert report.score == report.lines[0].score
    assert len({line.moves[0] for line in report.lines}) == len(report.lines)
    assert {line.moves[0] for line in report.lines} <= legal
    assert report.nodes > 0
    assert report.seconds >= 0
    assert report.depth == max(line.depth for line in report.lines)
    for line in report.lines:
        assert line.score.point_of_view is SIDES[position.mover]
        assert line.depth >= 0
        match line.score.value:
            case WinProbability(probability):
                assert 0 <= probability <= 1
            case Proven(result, plies):
                assert plies is None or plies % 2 == (result is Result.WIN), "the winner makes the last move"
                assert plies is None or plies > 0
            case _:
                raise AssertionError(line)
        reached = position
        for move in line.moves:
            assert rules.outcome(reached) is Outcome.ONGOING
            reached = rules.play(reached, move).position
