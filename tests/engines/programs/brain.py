"""A Gomocup program for tests: plays the first free point, or misbehaves. brain.py [HOW [MOVES BEFORE THAT [LOG]]]

It imports next to nothing, so that it starts at once, and writes what it hears to the file LOG.
"""

import os
import sys
import time

SUDDEN = ("crash", "exit", "nonsense", "outside", "occupied", "endless", "binary")  # misbehaviour that shows at once
SLOW = ("hang", "close", "chatter", "deaf")
HOW = sys.argv[1] if len(sys.argv) > 1 else "well"
PATIENCE = int(sys.argv[2]) if len(sys.argv) > 2 else 0
LOG = sys.argv[3] if len(sys.argv) > 3 else ""


def say(text):
    os.write(1, f"{text}\n".encode())


def write(text):
    with open(LOG, "a") as file:
        file.write(text)


def lies(moves):
    """How to misbehave now, "" to play well. Each of a random program's moves is bad with a chance of one in 16."""
    if HOW == "well" or moves < PATIENCE:
        return ""
    if not HOW.startswith("random"):
        return HOW
    dice = os.urandom(2)
    kinds = SUDDEN if HOW == "random" else SUDDEN + SLOW
    how = kinds[dice[1] % len(kinds)] if dice[0] < 16 else ""
    if how:
        write(f"{how}\n")
    return how


def misbehave(how, free):
    if how == "crash":
        os.abort()
    if how == "exit":
        sys.stderr.write("no more moves for you\n")
        sys.stderr.flush()
        sys.exit(3)
    if how == "hang":
        time.sleep(10_000)
    if how == "hang-with-child":
        child = os.fork() or time.sleep(10_000)
        write(str(child))
        time.sleep(10_000)
    if how == "deaf":
        os.close(0)
        time.sleep(10_000)
    if how == "close":
        os.close(1)
        time.sleep(10_000)
    if how == "chatter":
        while True:
            say("MESSAGE still thinking")
    if how == "endless":
        while True:
            os.write(1, b"7" * 65536)
    if how == "eat":
        _ = bytearray(1 << 40)
    if how == "environment":
        say("MESSAGE me")
        sys.exit(repr(sorted(os.environ)) + os.getcwd())
    say({"nonsense": "banana", "outside": "99,99", "occupied": "0,0", "binary": "\x00\xff\x1b[2J"}.get(how, free))


def main():
    size, board, moves, listing = 0, set(), 0, False
    for line in sys.stdin:
        line = line.strip()
        if LOG and HOW == "well":
            write(f"{line}\n")
        word, _, rest = line.partition(" ")
        if word == "START":
            size, board, moves = int(rest), set(), 0
            if HOW == "silent":
                time.sleep(10_000)
            say("ERROR no such board" if HOW == "refuse" else "OK")
            continue
        if word == "BOARD":
            board, listing = set(), True
            continue
        if listing and word != "DONE":
            board.add(tuple(map(int, line.split(",")[:2])))
            continue
        if word == "TURN":
            board.add(tuple(map(int, rest.split(","))))
        if word == "END":
            return
        if word not in ("BEGIN", "TURN", "DONE"):
            continue
        listing = False
        x, y = next((x, y) for y in range(size) for x in range(size) if (x, y) not in board)
        if how := lies(moves):
            misbehave(how, f"{x},{y}")
        else:
            say("MESSAGE I think")
            say(f"{x},{y}")
        board.add((x, y))
        moves += 1


if __name__ == "__main__":
    main()
