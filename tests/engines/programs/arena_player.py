"""A player of the 2584 arena for tests: answers with the opcodes that it is given, and writes what it hears to a file.

arena_player.py LOG OPCODE...
"""

import sys


def main():
    log, *answers = sys.argv[1:]
    for line in map(str.strip, sys.stdin):
        with open(log, "a") as file:
            file.write(f"{line}\n")
        words = line.split()
        if words[2] == "open" and words[3].startswith("tester:"):
            print("hello from the framework")
            print(f"match {words[1]} play ready", flush=True)
        if "take" in words:
            print(f"match {words[1]} play move {answers.pop(0)}", flush=True)


if __name__ == "__main__":
    main()
