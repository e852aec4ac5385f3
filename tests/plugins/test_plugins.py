"""Games of other packages: found by their entry points, told when broken, and never in the way of the others."""

import random
import string

import pytest

from plyd.clients.commands import top
from plyd.clients.library.channel import UP_ADDRESSES
from plyd.clients.library.connect import up_addresses as clients_view
from plyd.engines import registry
from plyd.engines.core.errors import BadPlugin, UnknownGame
from plyd.servers.up_ports import METRICS_PORT, SLOTS, WEB_PORT, port_offsets
from tests.plugins.packages import install
from tests.test_up import invoke, keep_loggers  # noqa: F401

NO_CARD = """
from tests.servers.fakes import FakeEngine


class Sticks(FakeEngine):
    def __init__(self):
        self.card = None
"""
STICKS = "from tests.servers.fakes import FakeEngine as Sticks"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function that installs a package with these entry points, for this process."""

    def package(name, entries, code=""):
        monkeypatch.syspath_prepend(install(tmp_path / name, name, entries, code))

    return package


def test_a_game_of_an_installed_package_is_a_game(package):
    package("some-sticks", "sticks = some_sticks:Sticks", STICKS)
    assert list(registry.games()) == [*registry.ENGINES, "sticks"]
    assert registry.load("sticks").card.title == "Sticks"
    assert registry.plugins().packages == {"sticks": "some-sticks 1.0"}


@pytest.mark.parametrize(
    ("entries", "code", "message"),
    [
        ("sticks = nowhere:Sticks", "", "ModuleNotFoundError: No module named 'nowhere'"),
        ("sticks = bad_one:Other", "", "AttributeError: module 'bad_one' has no attribute 'Other'"),
        ("sticks = bad_one:Sticks", "def Sticks():\n    1 / 0", "ZeroDivisionError: division by zero"),
        ("sticks = bad_one:Sticks", "class Sticks:\n    card = None", "bad_one:Sticks is not an Engine"),
        ("sticks = bad_one:Sticks", "1 +", "SyntaxError: invalid syntax"),
        ("sticks = bad_one:Sticks", "import sys\nsys.exit(3)", "SystemExit: 3"),
        ("sticks = bad_one:Sticks", NO_CARD, "AttributeError: 'NoneType' object has no attribute 'game'"),
        (
            "mikado = bad_one:Sticks",
            STICKS,
            'its card says "sticks"; both names must agree',
        ),
    ],
)
def test_a_plug_in_that_cannot_be_loaded_is_told_with_its_package(package, monkeypatch, entries, code, message):
    monkeypatch.delitem(__import__("sys").modules, "bad_one", raising=False)
    package("bad-one", entries, code or "x = 1")
    with pytest.raises(BadPlugin, match=r'game "\w+" of bad-one 1.0 cannot be loaded: .*') as told:
        registry.load(entries.split()[0])
    assert message in str(told.value)
    assert registry.load("connect4").card.game == "connect4"


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ("gomoku = mine:Gomoku", "game 'gomoku' of odd-one 1.0 is left out: plyd has a game of that name"),
        ("Big Game = mine:Game", "game 'Big Game' of odd-one 1.0 is left out: a game's name has 1 to 32 of a-z"),
        ("../x = mine:Game", "game '../x' of odd-one 1.0 is left out: a game's name"),
        ("go = mine", "game 'go' of odd-one 1.0 is left out: 'mine' is not module:class"),
        ("no equals sign", "the entry points of an installed package cannot be read"),
    ],
)
def test_a_plug_in_that_cannot_be_named_is_left_out_and_told(package, entries, problem):
    package("odd-one", entries)
    assert list(registry.games()) == list(registry.ENGINES)
    assert registry.plugins().problems[0].startswith(problem)
    assert clients_view.plugin_games() == []


def test_of_two_packages_with_a_game_of_one_name_the_first_is_taken_and_the_other_told(package):
    package("b-sticks", "sticks = b_sticks:Sticks", STICKS)
    package("a-sticks", "sticks = a_sticks:Sticks", STICKS)
    found = registry.plugins()
    assert found.packages == {"sticks": "a-sticks 1.0"}
    assert found.problems == ("game 'sticks' of b-sticks 1.0 is left out: a-sticks 1.0 has a game of that name",)


def test_an_unknown_game_that_was_left_out_is_told_why(package):
    package("odd-one", "go = mine")
    with pytest.raises(UnknownGame, match=r'unknown game "go"; games are .*; game \'go\' of odd-one 1.0 is left out'):
        registry.check(["go"])


# --- Ports ------------------------------------------------------------------------------------------------------------


def names(count, seed):
    rng = random.Random(seed)
    return ["".join(rng.choices(string.ascii_lowercase, k=8)) for _ in range(count)]


@pytest.mark.parametrize("count", [1, 20, SLOTS])
def test_ports_of_plug_ins_meet_no_other_port(count):
    offsets = port_offsets(registry.ENGINES, names(count, 1))
    ports = [WEB_PORT, *offsets.values(), *(port + METRICS_PORT for port in offsets.values())]
    assert len(offsets) == len(registry.ENGINES) + count
    assert len(set(ports)) == len(ports)
    assert max(ports) < 480
    assert len(registry.ENGINES) <= WEB_PORT


def test_a_plug_in_keeps_its_port_whatever_else_is_installed():
    alone = port_offsets(registry.ENGINES, ["chess"])["chess"]
    for seed in range(20):
        others = names(5, seed)
        assert port_offsets(registry.ENGINES, ["chess", *others])["chess"] == alone


def test_clients_look_for_games_and_metrics_where_up_serves_them(package):
    for number, game in enumerate(names(30, 3)):
        package(f"package-{number}", f"{game} = mine:Game")
    expected = port_offsets(registry.ENGINES, registry.plugins().places)
    assert clients_view.up_addresses() == {game: f"127.0.0.1:{25840 + port}" for game, port in expected.items()}
    metrics = [f"127.0.0.1:{25860 + port}" for port in expected.values()]
    assert clients_view.metrics_addresses() == metrics
    assert list(clients_view.up_addresses())[: len(UP_ADDRESSES)] == list(UP_ADDRESSES)
    assert not hasattr(top, "DAEMONS")


def test_up_runs_plug_ins_beside_the_others_and_can_do_without_them(package, invoke):  # noqa: F811
    package("some-sticks", "sticks = some_sticks:Sticks", STICKS)
    _, specs = invoke("--base-port", "1000")
    assert [(it.name, it.is_optional) for it in specs] == [
        *((game, False) for game in registry.ENGINES),
        ("sticks", True),
        ("web", False),
    ]
    port = port_offsets(registry.ENGINES, ["sticks"])["sticks"]
    assert (specs[-2].address.port, specs[-2].metrics.port) == (1000 + port, 1020 + port)
    [_, [named]] = invoke("sticks", "--no-web")
    assert not named.is_optional
