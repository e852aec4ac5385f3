"""Where `plyd up` serves each game by default; servers/up_ports.py explains the rule.

Clients know no engines: they read the names of plug-in games from the metadata of installed packages.
"""

import re
import socket
from importlib.metadata import distributions
from zlib import crc32

from plyd.clients.library.channel import UP_ADDRESSES

GROUP = "plyd.engines"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}", re.ASCII)
PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", re.ASCII)
HOST, BASE_PORT = "127.0.0.1", 25840
METRICS_PORT = 20
BLOCK, SLOTS = 2 * METRICS_PORT, 10 * METRICS_PORT


def up_addresses() -> dict[str, str]:
    """The address of every installed game: those of plyd, then those of plug-ins by name."""
    addresses = dict(UP_ADDRESSES)
    taken: set[int] = set()
    for game in plugin_games()[:SLOTS]:
        slot = crc32(game.encode()) % SLOTS
        while slot in taken:
            slot = (slot + 1) % SLOTS
        taken.add(slot)
        block, place = divmod(slot, METRICS_PORT)
        addresses[game] = f"{HOST}:{BASE_PORT + BLOCK * (1 + block) + place}"
    return addresses


def metrics_addresses() -> list[str]:
    """Where `plyd up` serves the metrics of every installed game."""
    places = (address.rpartition(":") for address in up_addresses().values())
    return [f"{host}:{int(port) + METRICS_PORT}" for host, _, port in places]


def running_daemon(game: str) -> str:
    """The address where `plyd up` serves a game, if something listens there, or ""."""
    address = up_addresses().get(game, "")
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port or 0)), timeout=1.0).close()
    except OSError:
        return ""
    return address


def plugin_games() -> list[str]:
    """The games of installed packages other than plyd, as engines/plugins.py finds them."""
    games: set[str] = set()
    for package in distributions():
        try:
            entries = package.entry_points.select(group=GROUP)
            games.update(entry.name for entry in entries if NAME.fullmatch(entry.name) and PLACE.fullmatch(entry.value))
        except Exception:  # noqa: S112  damaged metadata: `plyd up` says so
            continue
    return sorted(games - UP_ADDRESSES.keys())
