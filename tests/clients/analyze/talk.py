"""Conversations with `plyd analyze` within this process: a script sends lines, and reads answers as they come."""

import asyncio
import contextlib
import json
import os
import signal
import threading

from plyd.clients.analyze.main import answer_queries
from plyd.clients.analyze.query import Query, SearchLimits
from tests.servers.daemons import SLOW

__all__ = ["ENDLESS", "Talk", "converse", "scrubbed"]

ENDLESS = {"options": SLOW, "moveTimeMs": 1_000_000}  # a query of the fake game that does not end by itself
TIMES = ("seconds", "waitedSeconds")
DEFAULTS = Query(id="", limits=SearchLimits(nodes=3))


class Talk:
    """Both ends of a conversation."""

    def __init__(self, send, receive):
        self._send = send
        self._receive = os.fdopen(receive, "r")

    def say(self, *lines):
        """Send lines: objects, or raw text."""
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        os.write(self._send, text.encode())

    def end(self):
        """Close the input."""
        if self._send is not None:
            os.close(self._send)
            self._send = None

    def hear(self):
        """The next answer, without its times; None at the end."""
        line = self._receive.readline()
        return scrubbed(json.loads(line)) if line else None

    def rest(self):
        """All answers that are left, once the input is closed."""
        self.end()
        return [scrubbed(json.loads(line)) for line in self._receive]

    def hang_up(self):
        """Close the output."""
        self._receive.close()


def scrubbed(answer):
    """An answer without what differs from run to run."""
    return {key: value for key, value in answer.items() if key not in TIMES}


def converse(target, script, defaults=DEFAULTS, **options):
    """What a script returns that talks to `plyd analyze`, and the exit status."""
    to_us, send = os.pipe()
    receive, from_us = os.pipe()
    talk = Talk(send, receive)
    outcome = []

    def act():
        try:
            outcome.append(script(talk))
        except BaseException:
            os.kill(os.getpid(), signal.SIGINT)  # ends what the script has begun
            raise
        finally:
            talk.end()

    options = {"connect": target, "store": None, "resume": None, "as_csv": False, "workers": None, **options}
    actor = threading.Thread(target=act, daemon=True)
    actor.start()
    try:
        status = asyncio.run(answer_queries(defaults, options, to_us, from_us))
    finally:
        for end in (to_us, from_us):
            with contextlib.suppress(OSError):
                os.close(end)
    actor.join()
    return outcome[0], status
