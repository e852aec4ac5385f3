"""The ports of `plyd up`, counted from its base port. Clients have the same rule (library/connect/up_addresses.py).

    0 ... 9      the games of this package, in the order of the registry
    10           the page
    20 ... 39    metrics of 0 ... 19

    40 ... 59    plug-in games              each game has a slot by its name, so that its port stays the same
    60 ... 79    their metrics              whatever else is installed; metrics are always at port + 20
    80 ... 99    more plug-in games, and so on up to 439

If two names have the same slot, the later one in the alphabet takes the next free slot.
"""

from collections.abc import Iterable
from zlib import crc32

WEB_PORT, METRICS_PORT = 10, 20
BLOCK = 2 * METRICS_PORT  # engines, then their metrics
SLOTS = 10 * METRICS_PORT  # of plug-ins


def port_offsets(built_in: Iterable[str], plugins: Iterable[str]) -> dict[str, int]:
    """The port of each game, counted from the base port; plug-ins beyond SLOTS have none."""
    offsets = {game: number for number, game in enumerate(built_in)}
    taken: set[int] = set()
    for game in sorted(plugins)[:SLOTS]:
        slot = crc32(game.encode()) % SLOTS
        while slot in taken:
            slot = (slot + 1) % SLOTS
        taken.add(slot)
        block, place = divmod(slot, METRICS_PORT)
        offsets[game] = BLOCK * (1 + block) + place
    return offsets
