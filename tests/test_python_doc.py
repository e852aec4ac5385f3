"""The examples of docs/python.md run as they stand, and its tables name what there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from plyd.clients import EngineClient, PlydError
from plyd.clients.library import errors
from plyd.engines import registry
from tests.patience import LONG
from tests.servers.daemons import House, OpenDaemon

PAGE = (Path(__file__).parent.parent / "docs" / "python.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SAYS = [
    r"\w+ [\d,.]+ points \[.*\]\n(.*\n){2}",
    r"<State .*>\n1,422\.3 points\n",
    r"\['right', '\w+'\]\n",
    r"InvalidRequest: .*\n",
]


@pytest.fixture(scope="module")
def address():
    house = House()
    with OpenDaemon(house, registry.load("2584-2x3")) as daemon:
        yield daemon.target
    house.close()


@pytest.mark.parametrize(("example", "says"), list(zip(EXAMPLES, SAYS, strict=True)))
def test_an_example_says_what_it_should(example, says, address):
    code = example.replace("127.0.0.1:25840", address)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG, check=False)
    assert re.fullmatch(says, done.stdout), done.stderr
    for line, comment in re.findall(r"print\((.*)\)  # (.*)", example):
        assert comment in done.stdout, line


def test_every_error_and_method_that_users_meet_is_on_the_page():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, PlydError)]
    assert {kind.__name__ for kind in kinds} - set(re.findall(r"`(\w+)`", PAGE)) == {"BadEndpoint"}  # of bridges
    methods = {name for name, kind in vars(EngineClient).items() if callable(kind) and not name.startswith("_")}
    assert methods - set(re.findall(r"`(\w+)`", PAGE)) == {"close", "wait_until_ready", "watch"}
