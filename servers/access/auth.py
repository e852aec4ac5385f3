"""Who may come in: callers known by a token or by a certificate's name, and what each of them may have.

The file of clients is TOML. It holds no token, only the SHA-256 of each, so whoever reads it learns nothing of use:

    [[client]]
    name = "gui"
    sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    searches = 2
    move_seconds = 10
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from plyd.engines.core.errors import NotAllowed
from plyd.servers.access.quotas import Allowance, Client
from plyd.servers.settings import BY_NAME, BadSetting, read_toml, unknown

MANY_STRANGERS = 4096  # whom we remember by address, before those with nothing under way are forgotten
LIMITS = tuple(field.name for field in fields(Allowance))
KEYS = ("name", "sha256", "common_name", *LIMITS)


@dataclass(frozen=True, slots=True)
class Entry:
    """One client of the file: a name, how it is known, and its limits where they are its own."""

    name: str
    sha256: bytes = b""
    common_name: str = ""
    own: tuple[tuple[str, Any], ...] = ()

    def allowance(self, others: Allowance) -> Allowance:
        """Its own limits, and for the rest those of others."""
        return Allowance(**{name: getattr(others, name) for name in LIMITS} | dict(self.own))


class Gate:
    """Tells clients apart. With no file of clients all may come in, and each address of the network is a client."""

    def __init__(self, file: Path | None = None, everybody: Allowance | None = None) -> None:
        self._file = file
        self._everybody = everybody or Allowance()
        self._entries: Sequence[Entry] = ()
        self._known: dict[str, Client] = {}
        self._strangers: dict[str, Client] = {}
        self.is_open = file is None and self._everybody == Allowance()  # to all, without limits
        self._nobody = Client("")
        self.reload()

    def reload(self) -> int:
        """Read the file of clients again; how many there are. What they have under way stays counted."""
        if self._file is None:
            return 0
        entries = read_clients(self._file)
        known = {}
        for entry in entries:
            known[entry.name] = self._known.get(entry.name) or Client(entry.name, is_known=True)
            known[entry.name].allow(entry.allowance(self._everybody))
        self._entries, self._known = entries, known
        return len(entries)

    def admit(self, metadata: Sequence[tuple[str, Any]], context: Any) -> Client:
        """The client that makes a call; NotAllowed if there is a file of clients and it is not in it."""
        if self.is_open:
            return self._nobody
        if self._file is None:
            return self._stranger(host_of(context.peer()))
        entry = self._by_token(metadata) or self._by_certificate(context.auth_context())
        if entry is None:
            raise NotAllowed("this daemon wants a token it knows, as metadata 'authorization: Bearer TOKEN'")
        return self._known[entry.name]

    def _by_token(self, metadata: Sequence[tuple[str, Any]]) -> Entry | None:
        token = next((value for key, value in metadata if key == "authorization"), "")
        if not isinstance(token, str) or not token.lower().startswith("bearer "):
            return None
        digest = hashlib.sha256(token[7:].strip().encode()).digest()
        found = None
        for entry in self._entries:  # all of them, so that the time says nothing about which
            if hmac.compare_digest(entry.sha256, digest):
                found = entry
        return found

    def _by_certificate(self, facts: Mapping[str, Sequence[bytes]]) -> Entry | None:
        names = {name.decode(errors="replace") for name in facts.get("x509_common_name", ())}
        return next((entry for entry in self._entries if entry.common_name and entry.common_name in names), None)

    def _stranger(self, host: str) -> Client:
        if host not in self._strangers:
            if len(self._strangers) >= MANY_STRANGERS:
                self._strangers = {name: client for name, client in self._strangers.items() if not client.is_idle}
            self._strangers[host] = Client(host, self._everybody)
        return self._strangers[host]


def host_of(peer: str) -> str:
    """The address of a machine, of gRPC's name for a peer: ipv4:127.0.0.1:4711, ipv6:%5B::1%5D:4711, unix:."""
    kind, _, rest = peer.partition(":")
    return rest.rpartition(":")[0] if kind in ("ipv4", "ipv6") else kind


def read_clients(file: Path) -> list[Entry]:
    """The clients of a file."""
    table = read_toml(file)
    for key in table.keys() - {"client"}:
        raise BadSetting(f"{file}: {unknown('key', key, ['client'])}")
    rows = table.get("client", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadSetting(f"{file}: client is {rows!r}; each client is a table, written [[client]]")
    entries = [_entry(file, number, row) for number, row in enumerate(rows, 1)]
    for field in ("name", "sha256", "common_name"):
        given = [value for entry in entries if (value := getattr(entry, field))]
        if len(given) != len(set(given)):
            raise BadSetting(f"{file}: two clients have the same {field}")
    return entries


def checked_name(name: Any, where: str = "") -> None:
    """Raise BadSetting if a client cannot have that name."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9._@-]{1,64}", name):
        raise BadSetting(f"{where}name is {name!r}; allowed is 1 to 64 of A-Z a-z 0-9 . _ @ -")


def _entry(file: Path, number: int, row: Mapping[str, Any]) -> Entry:
    where = f"{file}: client {number}"
    for key in row.keys() - set(KEYS):
        raise BadSetting(f"{where}: {unknown('key', key, KEYS)}")
    name, digest, common_name = (row.get(key, "") for key in ("name", "sha256", "common_name"))
    checked_name(name, f"{where}: ")
    if digest and not (isinstance(digest, str) and re.fullmatch(r"[0-9a-fA-F]{64}", digest)):
        raise BadSetting(f"{where}, {name}: sha256 is {digest!r}; allowed is 64 hexadecimal digits; see `plyd token`")
    if not isinstance(common_name, str):
        raise BadSetting(f"{where}, {name}: common_name is {common_name!r}; allowed is a text")
    if not digest and not common_name:
        raise BadSetting(f"{where}, {name}: neither sha256 nor common_name; one of them says how it is known")
    own = []
    for limit in LIMITS:
        if limit in row:
            try:
                own.append((limit, BY_NAME[f"limits.{limit}"].read(row[limit])))
            except BadSetting as error:
                raise BadSetting(f"{where}, {name}: {error}") from None
    return Entry(name, bytes.fromhex(digest), common_name, tuple(own))
