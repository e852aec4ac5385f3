"""`plyd gomocup`: wrong usage and help."""

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--connect", ""], "an address is HOST:PORT or unix:PATH"),
        (["--option", "threads"], "'threads'; expected NAME=VALUE"),
        (["--move-time", "-1"], "-1 is not in the range"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_wrong_usage(options, message):
    done = CliRunner().invoke(main, ["gomocup", *options], prog_name="plyd")
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_help_teaches():
    on_report = CliRunner().invoke(main, ["gomocup", "--help"]).stdout
    for word in ("plyd warm gomoku", "c-gomoku-cli", "TURN 8,8", "--connect ADDRESS"):
        assert word in on_report
