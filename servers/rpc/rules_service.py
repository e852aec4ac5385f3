"""The rules service: legal moves, outcomes and positions, for callers that do not know the rules."""

import asyncio
from typing import Any

from plyd.servers.rpc.call import rpc_method
from plyd.servers.rpc.context import current_call
from plyd.servers.rpc.messages import state_message
from plyd.servers.runtime import Runtime
from plyd.servers.search.game_record import GameRecord, find_engine, read_game
from plyd.v1 import rules_pb2, rules_pb2_grpc


class RulesService(rules_pb2_grpc.RulesServiceServicer):
    """Answers plyd.v1.RulesService."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    @rpc_method
    async def NewGame(self, request: rules_pb2.NewGameRequest, context: Any) -> rules_pb2.NewGameResponse:  # noqa: ARG002
        """A new game, with the opening chance moves played."""
        record = GameRecord(find_engine(self.runtime.engines, request.game), request.variant, request.start)
        current_call().note(game=record.engine.card.game)
        record.play_chance(request.seed if request.HasField("seed") else None)
        return rules_pb2.NewGameResponse(state=state_message(record))

    @rpc_method
    async def Inspect(self, request: rules_pb2.InspectRequest, context: Any) -> rules_pb2.InspectResponse:  # noqa: ARG002
        """Everything that the rules say about a position."""
        record = await read_game(self.runtime.engines, request.position)
        current_call().note(game=record.engine.card.game)
        return rules_pb2.InspectResponse(state=state_message(record))

    @rpc_method
    async def Apply(self, request: rules_pb2.ApplyRequest, context: Any) -> rules_pb2.ApplyResponse:  # noqa: ARG002
        """The position after moves and, on request, after the chance moves that follow."""
        return await asyncio.to_thread(self._apply, request)

    def _apply(self, request: rules_pb2.ApplyRequest) -> rules_pb2.ApplyResponse:
        record = GameRecord.read(self.runtime.engines, request.position)
        current_call().note(game=record.engine.card.game)
        record.play(request.moves)
        seed = request.seed if request.HasField("seed") else None
        chance_moves = record.play_chance(seed) if request.with_chance else []
        return rules_pb2.ApplyResponse(state=state_message(record), chance_moves=chance_moves)
