"""Games that people share by a link: the last state of each is kept in memory, and told to every page that has joined.

What a page shares is an object of its own, which the bridge does not look into. Each change has a version; a change
that was made from an older one is not taken, and its page gets what is there instead.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from plyd.clients.library.errors import InvalidRequest

MAX_ROOMS = 1000  # of which the one that was used least recently is given up for a new one
MAX_RECORD_LENGTH = 64 << 10  # of a game as JSON
NAME = re.compile(r"[A-Za-z0-9_-]{16,64}")

Listener = Callable[[dict[str, Any]], None]


class Room:
    """A game that is shared, and the pages that follow it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.version = 0
        self.record: dict[str, Any] | None = None
        self.listeners: list[Listener] = []

    def told(self) -> dict[str, Any]:
        """What pages are told of it."""
        return {"room": self.name, "version": self.version, "record": self.record, "pages": len(self.listeners)}


class Rooms:
    """All games that are shared."""

    def __init__(self) -> None:
        self._rooms: dict[str, Room] = {}  # least recently used first

    def join(self, name: str, listener: Listener) -> dict[str, Any]:
        """Follow a game; what is there."""
        room = self._room(name)
        if listener not in room.listeners:
            room.listeners.append(listener)
            self._tell(room, listener)
        return room.told()

    def share(self, name: str, version: int, record: object, listener: Listener) -> dict[str, Any]:
        """Take a change of this version of a game, unless there is a newer one; what is there then."""
        if not isinstance(record, dict) or len(json.dumps(record)) > MAX_RECORD_LENGTH:
            raise InvalidRequest(f"record is {record!r:.60}; allowed is an object of {MAX_RECORD_LENGTH} characters")
        room = self._room(name)
        if version == room.version:
            room.version, room.record = version + 1, record
            self._tell(room, listener)
        return room.told()

    def leave(self, listener: Listener) -> None:
        """A page is gone."""
        for room in self._rooms.values():
            if listener in room.listeners:
                room.listeners.remove(listener)
                self._tell(room, listener)

    def _room(self, name: str) -> Room:
        if not NAME.fullmatch(name):
            raise InvalidRequest(f"room is {name!r:.60}; allowed are 16 to 64 letters and digits")
        room = self._rooms.pop(name, None) or Room(name)
        self._rooms[name] = room
        if len(self._rooms) > MAX_ROOMS:
            del self._rooms[next(iter(self._rooms))]
        return room

    def _tell(self, room: Room, but: Listener) -> None:
        for listener in room.listeners:
            if listener != but:
                listener(room.told())
