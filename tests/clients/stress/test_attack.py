"""`plyd stress attack`: each attack once, small, beside an honest caller; and the verdict it comes to."""

import contextlib
import json
from collections import Counter

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.clients.stress.attacks import run
from plyd.clients.stress.attacks import scene as scenes
from plyd.clients.stress.attacks.catalogue import ATTACKS
from plyd.clients.stress.attacks.honest import HonestCaller, Period
from plyd.clients.stress.attacks.http2 import headers
from plyd.clients.stress.attacks.run import AttackResult, measure, run_attack
from plyd.clients.stress.attacks.scene import Attack, Scene, opened_scene
from tests.patience import until

SHARE = 0.02  # of the full size of an attack
SHARES = {"gzip-bomb": 0.005}  # ten bombs are enough
OWN_DAEMONS = {"stop-flood", "unread-log"}  # start processes of their own


def timed(name):
    """An attack that keeps the slots busy: on a busy machine, an honest search of 50 ms may well be refused."""
    return pytest.param(name, marks=pytest.mark.slow)


SMALL = [
    "nobody",
    "renju-lattice",
    "gzip-bomb",
    "long-start",
    "giant-metadata",
    "bad-tokens",
    "malformed-lines",
    "half-open",
    "crowd",
    "dropped-games",
    timed("slow-readers"),
    "idle-games",
    timed("endless-analyses"),
    "revoked-token",
    timed("memory-quota"),
    "foreign-host",
    "rapid-reset",
]
LONGER = {"rapid-reset", "idle-games", "endless-analyses", "slow-readers"}  # until the honest caller has searched twice


@pytest.fixture(scope="module")
def victim():
    """A scene with a daemon for all attacks of this file."""
    with opened_scene(seconds=0.15) as scene:
        yield scene


@pytest.fixture(scope="module")
def honest(victim):
    """An honest caller of that daemon."""
    with HonestCaller(victim.daemon.target, victim.tokens["honest"]) as honest:
        yield honest


def attacked(name, victim, honest):
    """The result of a small attack."""
    seconds = 0.6 if name in LONGER else victim.seconds
    scene = Scene(victim.daemon, victim.metrics, victim.clients_file, victim.tokens, seconds, SHARES.get(name, SHARE))
    attack = ATTACKS[name]()
    with scene.stack:
        attack.prepare(scene)
        return measure(attack, scene, honest, lead_seconds=0.0, settle_seconds=0.0)


@pytest.mark.parametrize("name", SMALL)
def test_an_honest_caller_gets_no_error_beside(name, victim, honest):
    result = attacked(name, victim, honest)
    assert result.honest.errors == {}
    assert result.broken == []
    assert not result.has_died
    assert sum(result.sent.values()) > 0 or name == "nobody"


def test_the_honest_caller_makes_calls(victim, honest):
    honest.measure()
    until(lambda: honest.report().calls > 0)


def test_every_attack_is_tested_here():
    names = [getattr(param, "values", [param])[0] for param in SMALL]
    assert set(names) | OWN_DAEMONS == set(ATTACKS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "stop-flood",
        "unread-log",
    ],
)
def test_an_honest_caller_gets_no_error_beside_an_attack_with_processes_of_its_own(name):
    with opened_scene(seconds=4.0) as scene:
        result = run_attack(ATTACKS[name](), scene)
    assert (result.honest.errors, result.broken, result.has_died) == ({}, [], False)


@pytest.mark.slow
def test_no_honest_caller_gets_an_error_in_a_full_run():
    result = stress("attack", "--json")
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert [figures["attack"] for figures in told] == list(ATTACKS)
    assert {figures["attack"]: figures["honest_errors"] for figures in told if figures["honest_errors"]} == {}


def test_long_header_fields_are_written_as_hpack_writes_them():
    short, long = headers("/x", a="b" * 126), headers("/x", a="b" * 1337)
    assert b"\0\x01a\x7e" + b"b" * 126 in short
    assert b"\0\x01a\x7f\xba\x09" + b"b" * 1337 in long  # RFC 7541, 5.1: 1337 = 127 + 58 + 128 * 9


# --- The verdict ------------------------------------------------------------------------------------------------------


def result_of(milliseconds=(1.0,) * 200, errors=(), broken=(), has_died=False):
    """A result with some of its figures."""
    period = Period(list(milliseconds), Counter(errors))
    return AttackResult("crowd", {"Describe": 3000}, {"OK": 3000}, list(broken), period, (1, 3, 2), 0.5, has_died)


@pytest.mark.parametrize(
    ("figures", "failure"),
    [
        ({"errors": ["CANCELLED"] * 2}, "of 202 honest calls 2 failed: 2 CANCELLED"),
        ({"broken": ["the bridge grew by 80 MB"]}, "the bridge grew by 80 MB"),
        ({"has_died": True}, "the daemon died"),
        ({"milliseconds": [1.0] * 97 + [60.0] * 3}, "p99 of honest calls was 60 ms, at most 50 is allowed"),
        ({"milliseconds": []}, "p99 of honest calls was inf ms, at most 50 is allowed"),
    ],
)
def test_what_fails_is_told_in_words(figures, failure):
    assert result_of(**figures).failures() == [failure]


def test_one_slow_call_in_two_hundred_is_allowed():
    assert result_of(milliseconds=[1.0] * 199 + [60.0]).failures() == []


# --- The command ------------------------------------------------------------------------------------------------------


def stress(*arguments):
    """Run plyd stress with some arguments, in this process."""
    return CliRunner().invoke(main, ["stress", *map(str, arguments)], prog_name="plyd")


@pytest.fixture
def results(monkeypatch):
    """Results by name of attack; no daemon is started for them."""
    results = {}
    monkeypatch.setattr(scenes, "opened_scene", contextlib.nullcontext)
    monkeypatch.setattr(run, "run_attack", lambda attack, scene: results[attack.name])
    return results


def test_a_table_has_a_row_for_each_attack_and_the_status_is_1_if_one_fails(results):
    results["crowd"], results["nobody"] = result_of(errors=["CANCELLED"]), result_of()
    result = stress("attack", "crowd", "nobody")
    assert (result.exit_code, result.stderr.splitlines()[-1][:6]) == (1, "crowd:")
    assert "3,000 Describe" in result.stdout
    assert stress("attack", "nobody").exit_code == 0


def test_figures_as_json(results):
    results["crowd"] = result_of()
    told = json.loads(stress("attack", "crowd", "--json").stdout)
    assert (told["attack"], told["honest_calls"], told["failures"]) == ("crowd", 200, [])
    assert told["memory_mb"] == {"before": 1, "peak": 3, "after": 2}


def test_the_list_says_what_each_attack_sends():
    result = stress("attack", "--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(ATTACKS)
    assert all(attack.__doc__ != Attack.__doc__ for attack in ATTACKS.values())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["no-such"], "'no-such' is not an attack; attacks are nobody, renju-lattice"),
        (["--connect", "127.0.0.1:25840"], "--connect"),
        (["--seconds", "3600"], "0.1<=x<=60"),
    ],
)
def test_what_the_command_refuses(arguments, complaint):
    result = stress("attack", *arguments)
    assert (result.exit_code, complaint in result.stderr) == (2, True)
