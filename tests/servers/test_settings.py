"""Settings: one name in the file, the environment and on the command line; who goes before whom; what is refused."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from plyd.clients.cli import main
from plyd.servers import daemon
from plyd.servers.daemon_config import make_daemon_config
from plyd.servers.settings import BY_NAME, BadSetting, gather


@pytest.fixture
def written(tmp_path):
    """Writes a file of settings."""

    def write(text):
        path = tmp_path / "plyd.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def invoke(monkeypatch):
    """Runs plyd with an environment in which nothing is set but this."""
    for name in ("PLYD_CONFIG", *(setting.variable for setting in BY_NAME.values())):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments, **environment):
        return CliRunner().invoke(main, list(map(str, arguments)), env=environment)

    return run


def test_nothing_said_is_the_default():
    settings = gather({}, {}, None)
    assert {name: settings[name] for name in BY_NAME} == {name: s.default for name, s in BY_NAME.items()}
    assert {settings.origin(name) for name in BY_NAME} == {"default"}


def test_a_flag_goes_before_the_environment_and_that_before_the_file(written):
    file = written("slots = 1\nqueue = 1\nsessions = 1")
    settings = gather({"slots": 3}, {"PLYD_SLOTS": "2", "PLYD_QUEUE": "2"}, file)
    assert [settings[name] for name in ("slots", "queue", "sessions")] == [3, 2, 1]
    assert [settings.origin(n) for n in ("slots", "queue", "sessions", "insecure")] == [
        "--slots",
        "PLYD_QUEUE",
        str(file),
        "default",
    ]


def test_the_environment_can_name_the_file(written):
    assert gather({}, {"PLYD_CONFIG": str(written("slots = 5"))}, None)["slots"] == 5


def test_every_setting_has_names_of_its_own():
    for attribute in ("name", "variable", "option", "key"):
        names = [getattr(setting, attribute) for setting in BY_NAME.values()]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("games = ['2048', '2584']", {"games": ("2048", "2584")}),
        ("insecure = true", {"insecure": True}),
        ("limits.move_seconds = 2", {"limits.move_seconds": 2.0}),
        ("[limits]\nmove_seconds = 2.5\nsearches = 4", {"limits.move_seconds": 2.5, "limits.searches": 4}),
        ("[log]\nlevel = 'debug'", {"log.level": "debug"}),
    ],
)
def test_file(written, text, value):
    settings = gather({}, {}, written(text))
    assert {name: settings[name] for name in value} == value


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("PLYD_LISTEN", "127.0.0.1:0, unix:/tmp/s", "listen", ("127.0.0.1:0", "unix:/tmp/s")),
        ("PLYD_INSECURE", "yes", "insecure", True),
        ("PLYD_INSECURE", "0", "insecure", False),
        ("PLYD_LIMITS_MOVE_SECONDS", "1e1", "limits.move_seconds", 10.0),
        ("PLYD_TLS_KEY", "/k.pem", "tls.key", Path("/k.pem")),
        ("PLYD_SLOTS", "", "slots", None),
    ],
)
def test_environment(variable, text, name, value):
    assert gather({}, {variable: text}, None)[name] == value


def test_paths_of_the_file_start_at_its_folder(written):
    file = written('clients = "c.toml"\nmodel = ["a.plyd", "/b.plyd"]')
    settings = gather({}, {}, file)
    assert settings["clients"] == file.parent / "c.toml"
    assert settings["model"] == (file.parent / "a.plyd", Path("/b.plyd"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slot = 2", 'unknown key "slot"; did you mean "slots"?'),
        ("[tls]\nkeys = 'k'", 'unknown key "tls.keys"; did you mean "tls.key"?'),
        ("zzzzzzzz = 1", 'unknown key "zzzzzzzz"; known names are clients, connection_seconds, games,'),
        ("slots = 0", "slots is 0; allowed is a whole number from 1 to 1024"),
        ("slots = 1.0", "slots is 1.0; allowed is a whole number"),
        ("slots = true", "slots is True; allowed is a whole number"),
        ("slots = '2'", 'slots is "2"; allowed is a whole number'),
        ("listen = '127.0.0.1:1'", "listen is '127.0.0.1:1'; allowed is a list, like [\"127.0.0.1:25840\"]"),
        ("insecure = 1", "insecure is 1; allowed is true or false"),
        ("log.level = 'loud'", 'log.level is "loud"; allowed is debug or info or warning or error'),
        ("limits.move_seconds = nan", "limits.move_seconds is nan; allowed is a number"),
        ("tls = 1", "tls is 1; expected a table, written [tls]"),
        ("tls.key = ''", 'tls.key is ""; allowed is FILE'),
        ("slots = ", "is not TOML"),
        ("a = " + "[" * 5000, "is not TOML"),
    ],
)
def test_bad_file(written, text, message):
    with pytest.raises(BadSetting) as caught:
        gather({}, {}, written(text))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("PLYD_SLOT", "2", 'unknown environment variable "PLYD_SLOT"; did you mean "PLYD_SLOTS"?'),
        ("PLYD_SLOTS", "two", 'PLYD_SLOTS: slots is "two"; allowed is a whole number'),
        ("PLYD_SLOTS", "1_0", 'slots is "1_0"'),
        ("PLYD_INSECURE", "maybe", 'insecure is "maybe"; allowed is true or false'),
    ],
)
def test_bad_environment(variable, text, message):
    with pytest.raises(BadSetting) as caught:
        gather({}, {variable: text}, None)
    assert message in str(caught.value)


def test_what_callers_set_for_themselves_is_not_for_the_daemon():
    assert gather({}, {"PLYD_TOKEN": "t", "PLYD_CA": "c"}, None)["slots"] is None


def test_all_faults_are_told_at_once(written):
    with pytest.raises(BadSetting) as caught:
        gather({}, {"PLYD_QUEUE": "x"}, written("slot = 1\nslots = 0"))
    assert len(str(caught.value).splitlines()) == 3


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadSetting, match="No such file"):
        gather({}, {}, tmp_path / "none.toml")


def test_check_of_a_good_file(written, invoke):
    done = invoke("config", "check", written('games = ["2584-2x3"]\nslots = 2'))
    assert done.exit_code == 0
    assert "is good: 2 of" in done.stdout


def test_check_tells_what_would_stop_a_daemon(written, invoke, tmp_path):
    (tmp_path / "c.toml").write_text("[[client]]\nname = 'a b'")
    file = written(
        "games = ['chess']\nlisten = ['0.0.0.0:1']\nclients = 'c.toml'\nmetrics.listen = 'x'\ntls.client_ca = 'ca'\n"
        "tracing.endpoint = 'ftp://x'"
    )
    done = invoke("config", "check", file)
    assert done.exit_code == 1
    for part in (
        'unknown game "chess"',
        "0.0.0.0:1 can be reached",
        "name is 'a b'",
        '"x" is not an address',
        "tls.client_ca",
        'tracing.endpoint is "ftp://x"',
    ):
        assert part in done.stderr


def test_show_says_where_each_value_came_from(written, invoke):
    file = written("queue = 7")
    done = invoke("config", "show", "--json", "--config", file, "--slots", 3, PLYD_SESSIONS="9")
    shown = json.loads(done.stdout)
    assert shown.keys() == BY_NAME.keys()
    assert shown["queue"] == {"value": 7, "origin": str(file)}
    assert shown["slots"] == {"value": 3, "origin": "--slots"}
    assert shown["sessions"] == {"value": 9, "origin": "PLYD_SESSIONS"}
    assert shown["up.host"] == {"value": "127.0.0.1", "origin": "default"}


def test_show_as_a_table(invoke):
    done = invoke("config", "show", "--slots", 3)
    assert any(line.split() == ["slots", "3", "--slots"] for line in done.stdout.splitlines())


def test_bad_settings_are_told_by_serve(invoke):
    done = invoke("serve", "2584-2x3", PLYD_SLOTS="0")
    assert done.exit_code == 1
    assert "PLYD_SLOTS: slots is 0; allowed is a whole number from 1 to 1024" in done.stderr


def test_games_of_the_file_are_served(written, invoke, monkeypatch, keep_loggers):
    configs = []

    async def run(config, **_):
        configs.append(config)
        return 0

    monkeypatch.setattr(daemon, "run", run)
    file = written('games = ["2584-2x3"]\nlisten = ["127.0.0.1:0"]\nlog.level = "error"')
    assert invoke("serve", "--config", file).exit_code == 0
    assert [(*config.engines, *map(str, config.addresses)) for config in configs] == [("2584-2x3", "127.0.0.1:0")]


def test_there_are_as_many_slots_as_cores_by_default():
    config = make_daemon_config(gather({"games": ("2584-2x3",)}, {}, None))
    assert config.capacity.slots == len(os.sched_getaffinity(0))


def test_every_setting_is_explained():
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    for setting in BY_NAME.values():
        assert f"| `{setting.name}` |" in page
        assert setting.summary in page


def test_the_example_of_the_page_can_be_read(written):
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    settings = gather({}, {}, written(page.split("```toml\n")[1].split("```")[0]))
    assert settings["limits.move_seconds"] == 30
    assert f"{sum(settings.origin(name) != 'default' for name in BY_NAME)} of {len(BY_NAME)} settings" in page
