"""Authentication: clients are known by a token or by the name in their certificate.

The clients file is TOML. It holds only the SHA-256 of each token, so reading the file does not reveal any token:

    [[client]]
    name = "gui"
    sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    searches = 2
    move_seconds = 10
"""

import asyncio
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from plyd.engines.core.errors import NotAllowed
from plyd.servers.access.quotas import Client, Quotas
from plyd.servers.settings import BY_NAME, BadSetting, read_toml, unknown

MAX_HOSTS = 4096  # hosts remembered by address; beyond that, idle ones are forgotten
QUOTA_NAMES = tuple(field.name for field in fields(Quotas))
KEYS = ("name", "sha256", "common_name", *QUOTA_NAMES)


@dataclass(frozen=True, slots=True)
class ClientEntry:
    """One client of the file: its name, how it is recognised, and the quotas set for it alone."""

    name: str
    sha256: bytes = b""
    common_name: str = ""
    own_quotas: tuple[tuple[str, Any], ...] = ()

    def quotas(self, defaults: Quotas) -> Quotas:
        """Its own quotas; the defaults where it has none."""
        return replace(defaults, **dict(self.own_quotas))


class Grant:
    """The right of a client to call by one credential. It ends when the clients file no longer lists that credential.

    `calls` are the tasks of the calls that were admitted by it; those that still run are cancelled when it ends.
    """

    __slots__ = ("calls", "client", "has_ended")

    def __init__(self, client: Client) -> None:
        self.client = client
        self.calls: set[asyncio.Task[Any]] = set()
        self.has_ended = False

    def end(self) -> None:
        """End the calls that were admitted by it."""
        self.has_ended = True
        for call in list(self.calls):
            call.cancel()


class Authenticator:
    """Finds out which client makes a call. Without a clients file everybody may call, and each host is a client."""

    def __init__(self, file: Path | None = None, default_quotas: Quotas | None = None) -> None:
        self._file = file
        self._default_quotas = default_quotas or Quotas()
        self._known: dict[str, Client] = {}
        self._by_digest: dict[tuple[str, bytes], Grant] = {}  # by client and token
        self._by_common_name: dict[tuple[str, str], Grant] = {}  # by client and certificate
        self._hosts: dict[str, Client] = {}
        self._is_open = file is None and self._default_quotas == Quotas()  # nothing to check and nothing to count
        self._anonymous = Grant(Client(""))
        self.reload()

    @property
    def needs_credentials(self) -> bool:
        """Whether only the clients of a file may call."""
        return self._file is not None

    def reload(self) -> int:
        """Read the clients file again; the number of clients in it. Calls by credentials that are gone end.

        What the others use now stays counted, and new quotas apply at once.
        """
        if self._file is None:
            return 0
        entries = read_clients(self._file)
        known = {}
        for entry in entries:
            known[entry.name] = self._known.get(entry.name) or Client(entry.name, is_known=True)
            known[entry.name].set_quotas(entry.quotas(self._default_quotas))
        self._known = known
        self._by_digest = _grants(
            self._by_digest, known, [(entry.name, entry.sha256) for entry in entries if entry.sha256]
        )
        self._by_common_name = _grants(
            self._by_common_name, known, [(entry.name, entry.common_name) for entry in entries if entry.common_name]
        )
        return len(entries)

    def by_metadata(self, metadata: Sequence[tuple[str, Any]]) -> Grant | None:
        """The grant of a call by what comes before its message; None if only its connection can tell."""
        if self._is_open:
            return self._anonymous
        token = next((value for key, value in metadata if key == "authorization"), "")
        if self._file is None or not isinstance(token, str) or not token.lower().startswith("bearer "):
            return None
        digest = hashlib.sha256(token[7:].strip().encode()).digest()
        found = None
        for (_, expected), grant in self._by_digest.items():  # all of them, so that the time taken reveals nothing
            if hmac.compare_digest(expected, digest):
                found = grant
        return found

    def by_connection(self, context: Any) -> Grant:
        """The grant of a call by its certificate or address; NotAllowed if it needs credentials and has none."""
        if self._file is None:
            return Grant(self._client_at(host_of(context.peer())))
        names = {name.decode(errors="replace") for name in context.auth_context().get("x509_common_name", ())}
        for (_, common_name), grant in self._by_common_name.items():
            if common_name in names:
                return grant
        raise NotAllowed("this daemon needs a valid token, sent as metadata 'authorization: Bearer TOKEN'")

    def _client_at(self, host: str) -> Client:
        if host not in self._hosts:
            if len(self._hosts) >= MAX_HOSTS:
                self._hosts = {name: client for name, client in self._hosts.items() if not client.is_idle}
            self._hosts[host] = Client(host, self._default_quotas)
        return self._hosts[host]


def _grants(
    old: Mapping[tuple[str, Any], Grant], known: Mapping[str, Client], keys: Sequence[tuple[str, Any]]
) -> dict[tuple[str, Any], Grant]:
    """The grants of the credentials now listed; those of the old ones that are gone end."""
    for key in old.keys() - set(keys):
        old[key].end()
    return {key: old.get(key) or Grant(known[key[0]]) for key in keys}


def host_of(peer: str) -> str:
    """The host in gRPC's name for a peer, such as ipv4:127.0.0.1:4711, ipv6:%5B::1%5D:4711 or unix:."""
    kind, _, rest = peer.partition(":")
    return rest.rpartition(":")[0] if kind in ("ipv4", "ipv6") else kind


def read_clients(file: Path) -> list[ClientEntry]:
    """The clients in a clients file."""
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


def check_client_name(name: Any, where: str = "") -> None:
    """Raise BadSetting if a client cannot have that name."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9._@-]{1,64}", name):
        raise BadSetting(f"{where}name is {name!r}; allowed is 1 to 64 of A-Z a-z 0-9 . _ @ -")


def _entry(file: Path, number: int, row: Mapping[str, Any]) -> ClientEntry:
    where = f"{file}: client {number}"
    for key in row.keys() - set(KEYS):
        raise BadSetting(f"{where}: {unknown('key', key, KEYS)}")
    name, digest, common_name = (row.get(key, "") for key in ("name", "sha256", "common_name"))
    check_client_name(name, f"{where}: ")
    if digest and not (isinstance(digest, str) and re.fullmatch(r"[0-9a-fA-F]{64}", digest)):
        raise BadSetting(f"{where}, {name}: sha256 is {digest!r}; allowed is 64 hexadecimal digits; see `plyd token`")
    if not isinstance(common_name, str):
        raise BadSetting(f"{where}, {name}: common_name is {common_name!r}; allowed is a text")
    if not digest and not common_name:
        raise BadSetting(f"{where}, {name}: neither sha256 nor common_name; at least one is needed")
    own = []
    for limit in QUOTA_NAMES:
        if limit in row:
            try:
                own.append((limit, BY_NAME[f"limits.{limit}"].read(row[limit])))
            except BadSetting as error:
                raise BadSetting(f"{where}, {name}: {error}") from None
    return ClientEntry(name, bytes.fromhex(digest), common_name, tuple(own))
