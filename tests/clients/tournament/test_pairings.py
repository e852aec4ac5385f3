"""Who meets whom."""

from collections import Counter
from functools import cache
from itertools import combinations
from random import Random

import pytest

from plyd.clients.tournament.matching import largest_matching
from plyd.clients.tournament.pairings import SwissTable, gauntlet, round_robin, swiss_round


@pytest.mark.parametrize("players", range(2, 12))
def test_round_robin_is_complete_and_nobody_waits_for_long(players):
    pairs = list(round_robin(players))
    assert sorted(pairs) == list(combinations(range(players), 2))
    size = players // 2
    for begin in range(0, len(pairs), size):
        assert len({player for pair in pairs[begin : begin + size] for player in pair}) == 2 * size


def test_gauntlet_players_meet_all_others_but_not_each_other():
    assert list(gauntlet(4, 1)) == [(0, 1), (0, 2), (0, 3)]
    assert sorted(gauntlet(5, 2)) == [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]


def most_pairs(neighbours):
    """The size of a largest matching, by trying everything."""

    @cache
    def best(left):
        if not left:
            return 0
        first = min(left)
        rest = left - {first}
        return max([best(rest), *(1 + best(rest - {near}) for near in neighbours[first] if near in rest)])

    return best(frozenset(range(len(neighbours))))


def test_matching_is_a_largest_one():
    random = Random(1)
    for _ in range(300):
        size, share = random.randint(1, 9), random.choice([0.15, 0.3, 0.5])
        edges = {pair for pair in combinations(range(size), 2) if random.random() < share}
        graph = [[b for b in range(size) if (min(a, b), max(a, b)) in edges] for a in range(size)]
        partner = largest_matching(graph)
        assert all(other < 0 or (partner[other] == one and other in graph[one]) for one, other in enumerate(partner))
        assert len(partner) - partner.count(-1) == 2 * most_pairs(graph)


def play_swiss(players, rounds, seed):
    """The rounds of a Swiss tournament with random results: before each one its table, its pairs and its bye."""
    random, table = Random(seed), SwissTable([0.0] * players)
    for _ in range(rounds):
        pairs, bye = swiss_round(table)
        yield table, pairs, bye
        for pair in pairs:
            won = random.choice([0.0, 0.5, 1.0])
            table.add(pair, (won, 1 - won))
        if bye is not None:
            table.add_bye(bye, 1.0)


@pytest.mark.parametrize("players", [4, 5, 6, 7, 8, 9])
def test_swiss_pairs_nobody_twice_while_that_can_be_avoided(players):
    rematches = 0
    for seed in range(10):
        for table, pairs, bye in play_swiss(players, players + 1, seed):
            assert sorted([*(player for pair in pairs for player in pair), *([] if bye is None else [bye])]) == list(
                range(players)
            )
            again = [pair for pair in pairs if table.meetings[pair]]
            rematches += len(again)
            if again:
                fresh = [
                    [b for b in range(players) if b != a and not table.meetings[min(a, b), max(a, b)]]
                    for a in range(players)
                ]
                assert most_pairs(fresh) < players // 2
    assert rematches  # there are more rounds than opponents


def test_swiss_leaders_meet():
    table = SwissTable([2.0, 0.0, 1.0, 2.0, 1.0, 0.0])
    assert swiss_round(table) == ([(0, 3), (2, 4), (1, 5)], None)
    table.meetings[0, 3] += 1
    assert swiss_round(table)[0] == [(0, 2), (3, 4), (1, 5)]


def test_swiss_leaders_step_back_if_the_others_could_not_be_paired():
    table = SwissTable([3.0, 2.0, 1.0, 0.0], Counter({(2, 3): 1, (0, 3): 1}))
    assert swiss_round(table)[0] == [(0, 2), (1, 3)]


def test_bye_goes_to_the_lowest_who_had_none():
    byes = [bye for _, _, bye in play_swiss(5, 5, 3)]
    table = SwissTable([3.0, 1.0, 2.0, 1.0, 2.0])
    assert swiss_round(table)[1] == 3
    table.byes[3] += 1
    assert swiss_round(table)[1] == 1
    assert Counter(byes).most_common(1)[0][1] <= 2


def test_pairing_many_players_ends():
    for _, pairs, _ in play_swiss(40, 21, 1):
        assert len(pairs) == 20
