"""Imports point one way: clients -> plyd.v1 <- servers -> engines -> models. A stranger in a room fails here.

Text protocols (`protocols`) and what runs on Ray (`cluster`) import no other room; clients and engines import them.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHARED_BY_GAMES = {"core", "tiles"}
ALLOWED_ROOMS = {
    "models": {"plyd.models"},
    "protocols": {"plyd.protocols"},
    "cluster": {"plyd.cluster"},
    "engines": {"plyd.engines", "plyd.models", "plyd.protocols", "plyd.cluster"},
    "servers": {"plyd.servers", "plyd.engines", "plyd.v1"},
    "clients": {"plyd.clients", "plyd.v1", "plyd.protocols", "plyd.cluster"},
}
FORBIDDEN_LIBRARIES = {
    "models": {"grpc", "google", "ray"},
    "protocols": {"grpc", "google", "numba", "numpy", "click", "ray"},
    "cluster": {"grpc", "google", "numba", "numpy", "torch"},
    "engines": {"grpc", "google", "grpc_health", "grpc_reflection", "ray"},
    "servers": {"torch", "ray"},
    "clients": {"numba", "numpy", "torch", "ray"},
}


def imports(source: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}: a relative import hides which room it enters"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def sources(room: str) -> list[Path]:
    return sorted(path for path in (ROOT / room).rglob("*.py") if "node_modules" not in path.parts)


@pytest.mark.parametrize("room", ALLOWED_ROOMS)
def test_a_room_imports_only_rooms_below_it(room):
    assert sources(room)
    for source in sources(room):
        for name in imports(source):
            if name.split(".")[0] == "plyd":
                assert ".".join(name.split(".")[:2]) in ALLOWED_ROOMS[room], f"{source} imports {name}"
            assert name.split(".")[0] not in FORBIDDEN_LIBRARIES[room], f"{source} imports {name}"


def test_a_game_imports_what_games_share_but_never_another_game():
    games = [
        folder for folder in (ROOT / "engines").iterdir() if (folder / "engine.py").exists() and folder.name != "core"
    ]
    assert games
    for folder in [*games, *((ROOT / "engines" / name) for name in SHARED_BY_GAMES)]:
        own = SHARED_BY_GAMES | ({folder.name} if folder in games else set())
        for source in folder.rglob("*.py"):
            for name in imports(source):
                if name.startswith("plyd.engines."):
                    assert name.split(".")[2] in own, f"{source} imports {name}"
