"""Conversations with a Gomocup bridge in this process, and an engine that answers without a search."""

import asyncio

from plyd.clients.gomocup.bridge import GomocupBridge
from plyd.engines.gomoku.rules import RULES
from plyd.v1 import position_pb2, search_pb2
from tests.patience import LONG, SOON

TALK = ("MESSAGE", "DEBUG")
QUIET = "BOARD 2,2,1 14,3,2 3,15,1 16,14,2 9,1,1 1,9,2 DONE"  # on 20x20: stones far apart, so no search ends early
X, O = position_pb2.SIDE_PLAYER_ONE, position_pb2.SIDE_PLAYER_TWO  # noqa: E741


class Talk:
    """A bridge in this process: `tell` it lines, `hear` what it answers."""

    def __init__(self, engine, move_ms=40, **options):
        self.said = asyncio.Queue()
        self.talk = []  # messages passed over
        self.bridge = GomocupBridge(engine, self.said.put_nowait, move_ms, options)

    async def tell(self, *lines):
        for line in lines:
            await self.bridge.handle_line(line, asyncio.get_running_loop().time())

    async def hear(self, seconds=SOON):
        while True:
            line = await asyncio.wait_for(self.said.get(), seconds)
            if line.split()[0] not in TALK:
                return line
            self.talk.append(line)

    async def ask(self, *lines):
        await self.tell(*lines)
        return await self.hear()

    def is_silent(self):
        return self.said.empty()


class ScriptedEngine:
    """An engine that reports a legal move; with `searches`, it then goes on until it is stopped or out of time."""

    trouble = ""

    def __init__(self, *, searches=False, **known):
        self.known = known
        self.queries = []
        self._searches = searches
        self._stopped = asyncio.Event()

    async def ready(self, options):
        pass

    async def search(self, query, end, late, on_report):
        self.queries.append(query)
        self._stopped.clear()
        rules = RULES[query.variant]
        position = rules.parse(query.position.start)
        for move in query.position.moves:
            position = rules.play(position, move).position
        moves = [move.text for move in rules.legal_moves(position)]
        on_report(search_pb2.Report(move=moves[len(moves) // 2] if moves else None, final=not self._searches))
        if self._searches:
            try:
                async with asyncio.timeout_at(end):
                    await self._stopped.wait()
            except TimeoutError:
                pass

    async def stop(self):
        self._stopped.set()

    @property
    def is_stopped(self):
        """Whether the last search was stopped."""
        return self._stopped.is_set()

    async def close(self):
        pass


def quiet_board(size=20):
    """Lines that start a game whose search does not end by itself."""
    board = QUIET.split()
    return [f"START {size}", f"INFO timeout_turn {1000 * LONG}", *board]
