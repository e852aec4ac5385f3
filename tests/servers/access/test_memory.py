"""Memory pools: what is charged, who gives up its searcher for whom, and that everything comes back."""

import weakref

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from plyd.engines.core.errors import Overloaded
from plyd.servers.access.memory import MemoryGrant, MemoryPool


class Tree:
    """Stands for a searcher."""


def idle(daemon, client, granted, touched):
    """A game that searched and waits now."""
    grant = MemoryGrant(daemon, client)
    assert grant.take(granted, granted) == granted
    grant.searcher = Tree()
    grant.rest(touched)
    return grant


def test_a_running_search_is_charged_with_its_grant_and_an_idle_game_with_what_it_touched():
    daemon, client = MemoryPool(100), MemoryPool()
    grant = MemoryGrant(daemon, client)
    grant.take(60, 60)
    assert (daemon.used, client.used) == (60, 60)
    grant.rest(5)
    assert (daemon.used, client.used) == (5, 5)
    assert grant.take(60, 60) == 60
    grant.release()
    assert (daemon.used, client.used, daemon.idle, client.idle) == (0, 0, {}, {})


def test_a_game_that_goes_on_gets_the_grant_that_it_had():
    daemon, client = MemoryPool(100), MemoryPool()
    grant = idle(daemon, client, 60, 5)
    other = idle(daemon, client, 60, 20)
    assert grant.take(30, 8) == 60
    assert (daemon.dropped, grant.has_lost(), other.has_lost()) == (0, False, False)


def test_the_longest_idle_game_gives_up_its_searcher_first_and_no_more_than_are_needed():
    daemon = MemoryPool(100)
    games = [idle(daemon, MemoryPool(), 30, 20) for _ in range(4)]
    games[0].take(30, 8)
    games[0].rest(20)  # now it is the one that was idle for the shortest time
    freed = [weakref.ref(game.searcher) for game in games]
    assert MemoryGrant(daemon, MemoryPool()).take(45, 45) == 45
    assert [game.has_lost() for game in games] == [False, True, True, False]
    assert [tree() is None for tree in freed] == [False, True, True, False]
    assert (daemon.used, daemon.dropped) == (85, 2)
    assert not games[1].has_lost(), "it is told once"


def test_a_client_short_of_its_own_memory_takes_it_from_its_own_games():
    daemon, mine, yours = MemoryPool(1000), MemoryPool(100), MemoryPool(100)
    other, own = idle(daemon, yours, 80, 80), idle(daemon, mine, 80, 80)
    MemoryGrant(daemon, mine).take(50, 50)
    assert (other.has_lost(), own.has_lost()) == (False, True)


def test_nobody_loses_anything_in_vain():
    daemon = MemoryPool(100)
    running, game = MemoryGrant(daemon, MemoryPool()), idle(daemon, MemoryPool(), 30, 30)
    running.take(60, 60)
    with pytest.raises(Overloaded, match="the search needs 50 MB of memory, which are not free"):
        MemoryGrant(daemon, MemoryPool()).take(50, 50)
    assert (game.searcher is None, daemon.used) == (False, 90)
    game.take(30, 30)
    MemoryGrant(daemon, MemoryPool()).take(10, 10)
    game.rest(5)
    MemoryGrant(daemon, MemoryPool()).take(20, 20)
    with pytest.raises(Overloaded, match="the search needs 30 MB of memory, which are not free"):
        game.take(30, 30)
    assert (game.searcher is None, game.charged, list(daemon.idle)) == (False, 5, [game])


def test_a_game_whose_grant_is_not_free_any_more_loses_its_searcher_and_goes_on_with_less():
    daemon = MemoryPool(100)
    game = idle(daemon, MemoryPool(), 80, 10)
    MemoryGrant(daemon, MemoryPool()).take(60, 60)
    assert game.take(80, 8) == 20  # half of what is left
    assert (game.searcher, game.has_lost(), daemon.used) == (None, True, 80)


def test_a_search_without_a_wish_leaves_something_for_the_next():
    daemon = MemoryPool(100)
    assert [MemoryGrant(daemon, MemoryPool()).take(40, 8) for _ in range(4)] == [40, 30, 15, 8]


class Pools(RuleBasedStateMachine):
    """Games of two clients that search, rest and end as they like."""

    def __init__(self):
        super().__init__()
        self.daemon, self.clients = MemoryPool(100), [MemoryPool(60), MemoryPool()]
        self.games, self.running = [], {}  # the searcher of each game that runs

    @rule(client=st.integers(0, 1))
    def open(self, client):
        self.games.append(MemoryGrant(self.daemon, self.clients[client]))

    @precondition(lambda self: len(self.running) < len(self.games))
    @rule(data=st.data(), wanted=st.integers(1, 120), least=st.integers(1, 120))
    def begin(self, data, wanted, least):
        game = data.draw(st.sampled_from([game for game in self.games if game not in self.running]))
        least = min(wanted, least)
        had, charged = game.searcher, game.charged
        try:
            megabytes = game.take(wanted, least)
        except Overloaded:
            assert (game.charged, game.searcher) == (charged, had)
            return
        assert game.charged == megabytes >= charged
        assert game.searcher in (had, None)
        if game.searcher is None:
            assert least <= megabytes <= wanted
        game.searcher = self.running[game] = game.searcher or Tree()

    @precondition(lambda self: self.running)
    @rule(data=st.data(), touched=st.integers(0, 120))
    def end(self, data, touched):
        game = data.draw(st.sampled_from(list(self.running)))
        del self.running[game]
        game.rest(touched)

    @precondition(lambda self: self.games)
    @rule(data=st.data())
    def close(self, data):
        game = data.draw(st.sampled_from(self.games))
        self.games.remove(game)
        self.running.pop(game, None)
        game.release()

    @invariant()
    def what_is_charged_is_within_the_limits(self):
        for pool in (self.daemon, *self.clients):
            games = [game for game in self.games if pool in (game._daemon, game._client)]
            assert pool.used == sum(game.charged for game in games)
            assert pool.free >= 0
            assert set(pool.idle).isdisjoint(self.running)

    @invariant()
    def who_runs_keeps_its_searcher(self):
        assert all(game.searcher is tree for game, tree in self.running.items())

    def teardown(self):
        for game in self.games:
            game.release()
        assert [(pool.used, pool.idle) for pool in (self.daemon, *self.clients)] == [(0, {})] * 3


TestPools = Pools.TestCase
