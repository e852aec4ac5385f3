"""Games of any length on the page: it sends a board and the moves since, never a whole history."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from plyd.clients.web.messages import PageRequest
from tests.lacking import give_up
from tests.patience import SOON

GAME = Path(__file__).parents[3] / "clients" / "web" / "static" / "game" / "game.js"
PROGRAM = """
import { Game } from "GAME";
const sent = [];
const socket = {
  // A game that counts: a position is the number of plies; with chance, every second move is a drop.
  async apply({ start, moves = [] }, more = [], chance = false) {
    sent.push(moves.length + more.length);
    const drops = HAS_CHANCE && chance ? ["1@0"] : [];
    const all = [...moves, ...more, ...drops];
    const text = String(Number(start || "0") + all.length);
    const legal = HAS_CHANCE ? [{ move: "left", probability: 1 }] : [{ move: "left" }];
    const position = { start: start || "0", moves: all, variant: "" };
    return { position, text, toMove: "one", cells: ["x"], legal, points: all.length };
  },
};
const game = new Game(socket, { game: "count", moves: Array(20000).fill("left"), hasChance: HAS_CHANCE });
await game.begin();
const begun = [game.ply, game.state.text, game.points];
await game.advance(["left"], true);
const advanced = [game.ply, game.state.text];
await game.go(12345);
const back = [game.ply, game.state.text];
await game.advance(["right"]);
const other = [game.ply, game.moves.length];
console.log(JSON.stringify({ begun, advanced, back, other, most: Math.max(...sent), requests: sent.length }));
"""


@pytest.mark.parametrize("has_chance", [True, False])
def test_a_page_follows_20000_moves_by_messages_of_bounded_size(tmp_path, has_chance):
    if not shutil.which("node"):
        give_up("node is not installed")
    program = tmp_path / "program.mjs"
    program.write_text(PROGRAM.replace("GAME", GAME.as_uri(), 1).replace("HAS_CHANCE", json.dumps(has_chance)))
    done = subprocess.run(["node", str(program)], capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["begun"] == [20_000, "20000", 20_000 if has_chance else 0]
    assert told["advanced"] == [20_001 + has_chance, str(20_001 + has_chance)]
    assert told["back"] == [12_345, "12345"]
    assert told["other"] == [12_346, 12_346]
    assert told["most"] <= 1001
    assert told["requests"] < 30


def test_the_bridge_takes_more_moves_than_4096():
    moves = ["left", "1@15"] * 4000
    request = PageRequest(json.dumps({"id": 1, "do": "apply", "position": {"game": "2048", "moves": moves}}))
    assert list(request.position().moves) == moves
