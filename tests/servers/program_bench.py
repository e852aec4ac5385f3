"""How much longer a move of a Gomocup program takes through our daemon: `python -m tests.servers.program_bench`.

A referee plays the program of the tests against itself, which answers at once: directly, by pipes; through a daemon, by
a Play stream for each side; and through the daemon and our Gomocup bridge, as a manager would. Each is one process.
"""

import contextlib
import statistics
import subprocess
import sys
import tempfile
import time

from plyd.clients import EngineClient
from tests.servers.test_programs import BRAIN

GAMES, PLIES, SKIPPED = 30, 20, 4  # the first plies of a game start processes


class Piped:
    """A Gomocup program on a pipe."""

    def __init__(self, *command):
        self._popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, *lines):
        self._popen.stdin.write("".join(f"{line}\n" for line in lines))
        while (answer := self._popen.stdout.readline().strip()).partition(" ")[0] in ("MESSAGE", "DEBUG"):
            pass
        return answer

    def close(self):
        self._popen.communicate("END\n", timeout=60)


def piped_game(*command):
    """Milliseconds of each move of a game between two programs on pipes."""
    sides, taken, last = [Piped(*command) for _ in range(2)], [], ""
    for side in sides:
        assert side.ask("START 15") == "OK"
    for ply in range(PLIES):
        lines = [f"TURN {last}"] if ply > 1 else ["BOARD", f"{last},2", "DONE"] if ply else ["BEGIN"]
        began = time.perf_counter()
        last = sides[ply % 2].ask("INFO timeout_turn 1000", *lines)
        taken.append((time.perf_counter() - began) * 1000)
    for side in sides:
        side.close()
    return taken[SKIPPED:]


def streamed_game(client):
    """Milliseconds of each move of a game between two streams of a daemon, the opponent's move included."""
    taken, moves = [], []
    with client.play() as first, client.play() as second:
        for ply in range(PLIES):
            game = (first, second)[ply % 2]
            began = time.perf_counter()
            if moves:
                game.moves(*moves[-2:])
            moves.append(game.best(seconds=1.0).move)
            taken.append((time.perf_counter() - began) * 1000)
    return taken[SKIPPED:]


def main():
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        target, command = f"unix:{folder}/plyd.sock", " ".join(BRAIN)
        words = ["-m", "plyd.clients", "serve", "gomoku", "--program", command, "--listen", target, "--slots", "2"]
        daemon = stack.enter_context(subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True))
        stack.callback(daemon.terminate)
        assert daemon.stdout.readline().startswith("serving")
        client = stack.enter_context(EngineClient(target, "gomoku"))
        bridge = [sys.executable, "-m", "plyd.clients", "gomocup", "--connect", target]
        kinds = {
            "directly": lambda: piped_game(*BRAIN),
            "through the daemon": lambda: streamed_game(client),
            "through the bridge and the daemon": lambda: piped_game(*bridge),
        }
        direct = 0.0
        for name, play in kinds.items():
            taken = [ms for _ in range(GAMES if "bridge" not in name else GAMES // 6) for ms in play()]
            middle = statistics.median(taken)
            direct = direct or middle
            late = sorted(taken)[len(taken) * 95 // 100]
            more = f"{middle - direct:.2f} ms more"
            print(f"{name}: median {middle:.2f} ms, {more}; 95% within {late:.2f} ms; {len(taken)} moves")


if __name__ == "__main__":
    main()
