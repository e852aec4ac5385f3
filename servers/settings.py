"""All settings in one table. Each has one name in the file, in the environment and on the command line:

    tls.key     [tls] key = "..."     PLYD_TLS_KEY=...     --tls-key ...

A flag overrides the environment, the environment overrides the file, and the file overrides the default.
"""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plyd.servers.up_ports import METRICS_PORT, WEB_PORT

DEFAULT_PORT = 25840
PREFIX = "PLYD_"
FILE_VARIABLE = "PLYD_CONFIG"
CLIENT_VARIABLES = {
    "PLYD_TOKEN",
    "PLYD_TOKEN_FILE",
    "PLYD_CA",
    "PLYD_CERTIFICATE",
    "PLYD_KEY",
}  # read by clients, not by daemons
BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


class BadSetting(Exception):
    """A setting that does not exist, or whose value is not allowed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `kind` is str, int, float, bool or Path; a number has a range, a string may have choices."""

    name: str
    kind: type
    summary: str
    default: Any = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    form: str = ""  # placeholder of the value in help texts
    flag: str = ""

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return PREFIX + self.name.replace(".", "_").upper()

    @property
    def option(self) -> str:
        """Its name on the command line."""
        return self.flag or "--" + self.name.replace(".", "-").replace("_", "-")

    @property
    def key(self) -> str:
        """Its name as a Python identifier."""
        return self.name.replace(".", "_")

    def read(self, value: Any) -> Any:
        """A checked value of the file or the command line; a tuple if the setting takes many values."""
        if self.many:
            if not isinstance(value, list | tuple):
                raise BadSetting(f"{self.name} is {value!r}; allowed is a list, like [{self._example()}]")
            return tuple(self._one(item) for item in value)
        return self._one(value)

    def read_text(self, text: str) -> Any:
        """A checked value of the environment; several values are separated by commas."""
        if self.many:
            return self.read([self._converted(item.strip()) for item in text.split(",") if item.strip()])
        return self.read(self._converted(text))

    def allowed(self) -> str:
        """A description of the allowed values."""
        if self.choices:
            return " or ".join(self.choices)
        if self.kind is bool:
            return "true or false"
        if self.kind in (int, float):
            what = "a whole number" if self.kind is int else "a number"
            return f"{what} from {self.least:g} to {self.most:g}" if self.least is not None else what
        return self.form or "a string"

    def _one(self, value: Any) -> Any:
        if self.kind is float and type(value) is int:
            value = float(value)
        if self.kind is Path and isinstance(value, str) and value:
            value = Path(value)
        is_kind = isinstance(value, Path) if self.kind is Path else type(value) is self.kind  # True is not 1 here
        if not is_kind or not self._is_in_range(value):
            raise BadSetting(f"{self.name} is {_shown(value)}; allowed is {self.allowed()}")
        return value

    def _is_in_range(self, value: Any) -> bool:
        if self.choices:
            return value in self.choices
        return self.least is None or self.most is None or bool(self.least <= value <= self.most)

    def _converted(self, text: str) -> Any:
        try:
            if self.kind is bool:
                return BOOLEANS[text.lower()]
            return self.kind(text) if self.kind in (int, float) and text.isascii() and "_" not in text else text
        except (ValueError, KeyError):
            return text  # `_one` refuses it and says what is allowed

    def _example(self) -> str:
        return '"127.0.0.1:25840"' if self.name == "listen" else '"..."'


ADDRESS = "HOST:PORT (port 0: any free port)"

SERVE = (
    Setting("games", str, "Games to serve.", (), many=True, form="GAME"),
    Setting(
        "listen",
        str,
        f"Address to listen on: {ADDRESS} or unix:PATH.",
        (f"127.0.0.1:{DEFAULT_PORT}",),
        many=True,
        form="ADDRESS",
    ),
    Setting("slots", int, "Concurrent searches. Default: number of cores.", None, 1, 1024),
    Setting("queue", int, "Searches that may wait for a slot.", 64, 0, 100_000),
    Setting("sessions", int, "Concurrent games (Play streams).", 256, 1, 100_000),
    Setting(
        "memory_mb",
        int,
        "Memory of all searches and games in MB. Default: three quarters of the machine's or container's.",
        None,
        1,
        1 << 30,
    ),
    Setting(
        "connection_seconds",
        float,
        "Maximum age of a connection in seconds; closed after its calls finish. Default: no limit.",
        None,
        1,
        1e6,
    ),
    Setting(
        "model",
        Path,
        "Packed network to play with, in place of the one shipped for its game and variant.",
        (),
        many=True,
        form="FILE",
    ),
    Setting(
        "program.command",
        str,
        "Program that plays the game in place of the built-in engine, with its arguments; see docs/programs.md.",
        form="COMMAND",
        flag="--program",
    ),
    Setting(
        "program.protocol",
        str,
        "Protocol of the program; auto is the game's own, or UGI for a game that has none.",
        "auto",
        choices=("auto", "ugi", "gomocup", "arena2584", "course"),
    ),
    Setting("program.name", str, "Name of the program. Default: that of its file.", form="NAME"),
    Setting("program.option", str, "Option that the program is told at its start.", (), many=True, form="NAME=VALUE"),
    Setting("program.folder", Path, "Working folder of the program. Default: the daemon's.", form="FOLDER"),
    Setting(
        "program.memory_mb", int, "Memory of each process of the program in MB. Default: no limit.", None, 1, 1 << 30
    ),
    Setting(
        "program.processes",
        int,
        "Concurrent processes of the program. Default: twice the slots.",
        None,
        1,
        100_000,
    ),
    Setting(
        "program.margin_seconds",
        float,
        "Time in seconds that the program may answer late before it is killed.",
        1.0,
        0.001,
        3600,
    ),
    Setting("program.start_seconds", float, "Time in seconds for the program to start.", 30.0, 0.001, 3600),
    Setting(
        "program.move_seconds",
        float,
        "Time in seconds of a search without a time limit, if the protocol needs one.",
        5.0,
        0.001,
        3600,
    ),
    Setting(
        "store",
        str,
        "Store of what searches found: a file, or postgresql://USER@HOST/NAME. Default: none.",
        form="STORE",
    ),
    Setting("store_rows", int, "Reports that the store keeps; the oldest are forgotten.", 1_000_000, 1, 1_000_000_000),
    Setting("insecure", bool, "Allow other machines to connect without encryption.", False),
    Setting(
        "tls.certificate", Path, "Certificate chain (PEM). Encrypts every TCP address; needs tls.key.", form="FILE"
    ),
    Setting("tls.key", Path, "Private key of the certificate (PEM).", form="FILE"),
    Setting(
        "tls.client_ca", Path, "Authority (PEM) that client certificates must be signed by: mutual TLS.", form="FILE"
    ),
    Setting(
        "clients",
        Path,
        "Clients file: who may call, and their limits; see `plyd token`. Default: everybody may call.",
        form="FILE",
    ),
    Setting(
        "limits.searches",
        int,
        "Concurrent searches of one client, including waiting ones. Default: no limit.",
        None,
        1,
        100_000,
    ),
    Setting("limits.sessions", int, "Open games of one client. Default: no limit.", None, 1, 100_000),
    Setting(
        "limits.move_seconds",
        float,
        "Seconds that one search of a client may take. Default: no limit.",
        None,
        0.001,
        1e6,
    ),
    Setting(
        "limits.requests_per_second", float, "Requests of one client per second. Default: no limit.", None, 0.001, 1e6
    ),
    Setting(
        "limits.memory_mb",
        int,
        "Memory of one client's searches and games, in MB. Default: no limit.",
        None,
        1,
        1 << 30,
    ),
    Setting(
        "log.level",
        str,
        "Minimum level of messages to log; requests are logged at info.",
        "info",
        choices=("debug", "info", "warning", "error"),
    ),
    Setting(
        "log.format",
        str,
        "Log format; auto is human on a terminal, else JSON.",
        "auto",
        choices=("auto", "human", "json"),
    ),
    Setting(
        "metrics.listen",
        str,
        f"{ADDRESS} to serve Prometheus metrics on, over HTTP at /metrics. Default: none.",
        form="HOST:PORT",
    ),
    Setting(
        "metrics.name",
        str,
        "Further host name by which the metrics may be read, such as a container's.",
        (),
        many=True,
        form="HOST",
    ),
    Setting("metrics.insecure", bool, "Allow other machines to read the metrics, which are never encrypted.", False),
    Setting(
        "tracing.endpoint",
        str,
        "Collector to send OpenTelemetry traces to (OTLP over gRPC). Default: none.",
        form="URL",
    ),
)

UP = (
    Setting("up.host", str, "Loopback address to listen on.", "127.0.0.1", form="HOST", flag="--host"),
    Setting(
        "up.base_port",
        int,
        "Port of the first engine; the others follow, plug-in games from base port + 40 on.",
        DEFAULT_PORT,
        1,
        65000,
        flag="--base-port",
    ),
    Setting("up.web", bool, "Also serve the web page, to play in the browser.", True, flag="--web"),
    Setting(
        "up.web_port", int, f"Port of the web page. Default: base port + {WEB_PORT}.", None, 1, 65535, flag="--web-port"
    ),
    Setting("up.metrics", bool, f"Serve metrics of each engine, at its port + {METRICS_PORT}.", True, flag="--metrics"),
)

BY_NAME = {setting.name: setting for setting in SERVE + UP}


@dataclass(frozen=True, slots=True)
class SettingValue:
    """The value of a setting, and where it came from."""

    value: Any
    origin: str


class Settings:
    """The values of all settings and their origins: `settings["tls.key"]`, `settings.origin("tls.key")`."""

    def __init__(self, values: Mapping[str, SettingValue], file: Path | None) -> None:
        self._values = values
        self.file = file

    def __getitem__(self, name: str) -> Any:
        return self._values[name].value

    def origin(self, name: str) -> str:
        """Where its value came from."""
        return self._values[name].origin


def gather(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None) -> Settings:
    """All settings: from the flags, else the environment, else the file, else the default.

    `flags` holds the flags that were given, by setting name; `file` is the one named by a flag. Raises BadSetting with
    one line for each fault.
    """
    if file is None and environment.get(FILE_VARIABLE):
        file = Path(environment[FILE_VARIABLE])
    values = {setting.name: SettingValue(setting.default, "default") for setting in BY_NAME.values()}
    faults: list[str] = []
    if file is not None:
        for name, value in _flat(_table_of(file)):
            _put(values, faults, f"{file}: ", name, lambda s, v=value: _resolved(s.read(v), file), str(file))
    for variable, text in environment.items():
        if variable.startswith(PREFIX) and variable not in CLIENT_VARIABLES | {FILE_VARIABLE}:
            name = next((s.name for s in BY_NAME.values() if s.variable == variable), "")
            if not name:
                faults.append(unknown("environment variable", variable, (s.variable for s in BY_NAME.values())))
            elif text:
                _put(values, faults, f"{variable}: ", name, lambda s, t=text: s.read_text(t), variable)
    for name, value in flags.items():
        _put(values, faults, "", name, lambda s, v=value: s.read(v), BY_NAME[name].option)
    if faults:
        raise BadSetting("\n".join(faults))
    return Settings(values, file)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """An error message for an unknown name, with the closest known one."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, 1, 0.5)
    return f'unknown {what} "{name}"; ' + (
        f'did you mean "{near[0]}"?' if near else f"known names are {', '.join(names)}"
    )


def read_toml(file: Path) -> dict[str, Any]:
    """The contents of a TOML file."""
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise BadSetting(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadSetting(f"{file} is not UTF-8 text") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadSetting(f"{file} is not TOML: {error}") from None


def _table_of(file: Path) -> dict[str, Any]:
    table = read_toml(file)
    sections = {name.partition(".")[0] for name in BY_NAME if "." in name}
    for name in sections & table.keys():
        if not isinstance(table[name], dict):
            raise BadSetting(f"{file}: {name} is {_shown(table[name])}; expected a table, written [{name}]")
    return table


def _flat(table: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{inner}", item) for inner, item in value.items())
        else:
            yield key, value


def _put(values: dict[str, SettingValue], faults: list[str], where: str, name: str, read: Any, origin: str) -> None:
    """Store a setting's value, or add what is wrong with it to the faults."""
    if name not in BY_NAME:
        faults.append(where + unknown("key", name, BY_NAME))
        return
    try:
        values[name] = SettingValue(read(BY_NAME[name]), origin)
    except BadSetting as error:
        faults.append(f"{where}{error}")


def _resolved(value: Any, file: Path) -> Any:
    """A value of the file, with paths relative to the file's folder made absolute."""
    if isinstance(value, Path):
        return file.absolute().parent / value.expanduser()
    return tuple(_resolved(item, file) for item in value) if isinstance(value, tuple) else value


def _shown(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str | Path) else repr(value)
    return text if len(text) <= 80 else text[:80] + "..."
