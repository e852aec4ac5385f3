"""The rules service: what is allowed, for callers who know no rules."""

import asyncio
from typing import Any

from plyd.servers.rpc.call import answered, note, record_of
from plyd.servers.rpc.messages import read_record, state_message
from plyd.servers.runtime import Runtime
from plyd.servers.search.game_record import Record, find_engine
from plyd.v1 import rules_pb2, rules_pb2_grpc


class RulesService(rules_pb2_grpc.RulesServiceServicer):
    """Answers plyd.v1.RulesService."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    @answered
    async def NewGame(self, request: rules_pb2.NewGameRequest, context: Any) -> rules_pb2.NewGameResponse:  # noqa: ARG002
        """A game begun, chance's opening moves made."""
        record = Record(find_engine(self.runtime.engines, request.game), request.variant, request.start)
        note(game=record.engine.card.game)
        record.play_chance(request.seed if request.HasField("seed") else None)
        return rules_pb2.NewGameResponse(state=state_message(record))

    @answered
    async def Inspect(self, request: rules_pb2.InspectRequest, context: Any) -> rules_pb2.InspectResponse:  # noqa: ARG002
        """What the rules know about a position."""
        record = await record_of(self.runtime.engines, request.position)
        note(game=record.engine.card.game)
        return rules_pb2.InspectResponse(state=state_message(record))

    @answered
    async def Apply(self, request: rules_pb2.ApplyRequest, context: Any) -> rules_pb2.ApplyResponse:  # noqa: ARG002
        """The position after moves, and after chance's answer if asked for."""
        return await asyncio.to_thread(self._apply, request)

    def _apply(self, request: rules_pb2.ApplyRequest) -> rules_pb2.ApplyResponse:
        record = read_record(self.runtime.engines, request.position)
        note(game=record.engine.card.game)
        record.play(request.moves)
        seed = request.seed if request.HasField("seed") else None
        chance_moves = record.play_chance(seed) if request.with_chance else []
        return rules_pb2.ApplyResponse(state=state_message(record), chance_moves=chance_moves)
