"""A student's program for the arena's protocol, for the referee's tests: `arena_program.py NAME [misbehaviour AFTER]`.

It plays any role: the first slide that changes something; a drop on the first empty cell. After its AFTERth turn it
misbehaves.
"""

import os
import signal
import sys
import time

from plyd.clients.formats.tile_replay import Replay


def misbehave(how, match, role):
    if how == "crash":
        print("out of luck", file=sys.stderr)
        sys.exit(3)
    if how == "abort":
        os.kill(os.getpid(), signal.SIGABRT)
    if how == "hang":
        time.sleep(3600)
    if how == "silent":
        return
    if how == "flood":
        sys.stdout.write("x" * 200_000)
        sys.stdout.flush()
        time.sleep(3600)
    answer = {"illegal": "7", "nonsense": "up", "other tile": "20", "no move": "ffffffff"}[how]
    print(f"match {match} {role} move {answer}", flush=True)


def main(name, how="", after="0"):
    print(f"name {name}", flush=True)  # as the course's sample program does
    games, turns = {}, 0
    for line in sys.stdin:
        _, match, *words = line.replace(",", "").split()
        if words[0] == "open":
            if how == "environment":
                print(" ".join(sorted(os.environ)), file=sys.stderr)
                sys.exit(3)
            if how == "never ready":
                continue
            games[match] = Replay()
            for role, player in zip(("play", "evil"), words[1].split(":"), strict=True):
                if player == name:
                    print(f"match {match} {role} ready", flush=True)
        elif words[0] == "close":
            del games[match]
        elif words[1] == "move":
            games[match].play(int(words[2], 16))
        else:
            turns += 1
            role, replay = words[0], games[match]
            if how and turns > int(after):
                misbehave(how, match, role)
                continue
            action = replay.slides()[0] if role == "play" else int(words[4]) << 4 | replay.empty()[0]
            print(f"match {match} {role} move {action:x}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
