"""A UGI program for tests: takes one stick, or misbehaves, as ugi_sticks.py [HOW] says. A crash tells what it heard."""

import sys

HOW = sys.argv[1] if len(sys.argv) > 1 else "well"
ANSWERS = {
    "illegal": ["bestmove 9"],
    "none": ["bestmove 0000"],
    "boasts": ["info depth 3 score mate 2 nodes 7 pv 1 2", "bestmove 1"],
    "leads": ["info depth 3 seldepth 4 score cp 400 nodes 7 time 2 pv 2 2 9", "bestmove 2"],
    "dreams": ["info depth 999999999999 nodes 99999999999999999999 score cp 0 pv 2", "bestmove 2"],
    "rambles": ["info string hello", "info pv 9 9", "info depth 2 nodes 5 pv 2", "what?", "bestmove 1"],
    "crash": [],
}


def say(*lines):
    print(*lines, sep="\n", flush=True)


def main():
    told = []
    for line in map(str.strip, sys.stdin):
        word = line.split()[0]
        if word == "ugi":
            say("id name sticks", *(["option name variant type combo default normal"] if HOW == "varied" else []))
            say("ugiok")
        elif word == "isready":
            say("readyok")
        elif word == "quit":
            return
        elif word == "stop" and HOW == "waits":
            say("bestmove 1")
        elif word == "go" and HOW != "waits":
            if HOW == "crash" or (HOW == "tired" and len(told) > 2):
                sys.exit(" | ".join([*told, line]))
            say(*ANSWERS.get(HOW, ["bestmove 1"]))
        if word not in ("ugi", "isready"):
            told.append(line)


if __name__ == "__main__":
    main()
