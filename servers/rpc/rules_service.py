"""The rules service: legal moves, outcomes and positions, for callers that do not know the rules."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from plyd.engines.core.errors import EngineError
from plyd.servers.rpc.call import rpc_method
from plyd.servers.rpc.context import current_call
from plyd.servers.rpc.messages import state_message
from plyd.servers.runtime import Runtime
from plyd.servers.search.game_record import FEW_MOVES, GameRecord, find_engine, find_variant
from plyd.v1 import rules_pb2, rules_pb2_grpc

T = TypeVar("T")


class RulesService(rules_pb2_grpc.RulesServiceServicer):
    """Answers plyd.v1.RulesService."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    @rpc_method
    async def NewGame(self, request: rules_pb2.NewGameRequest, context: Any) -> rules_pb2.NewGameResponse:  # noqa: ARG002
        """A new game, with the opening chance moves played."""
        return await self._run(request, 0, functools.partial(self._new_game, request))

    def _new_game(self, request: rules_pb2.NewGameRequest) -> rules_pb2.NewGameResponse:
        engine, has_history = find_engine(self.runtime.engines, request.game), not request.without_history
        record = GameRecord(engine, request.variant, request.start, has_history=has_history)
        current_call().note(game=record.engine.card.game)
        chance_moves = record.play_chance(request.seed if request.HasField("seed") else None)
        return rules_pb2.NewGameResponse(state=state_message(record, chance_moves))

    @rpc_method
    async def Inspect(self, request: rules_pb2.InspectRequest, context: Any) -> rules_pb2.InspectResponse:  # noqa: ARG002
        """Everything that the rules say about a position."""
        position = request.position
        return await self._run(position, len(position.moves), functools.partial(self._inspect, request))

    def _inspect(self, request: rules_pb2.InspectRequest) -> rules_pb2.InspectResponse:
        record = GameRecord.read(self.runtime.engines, request.position, has_history=not request.without_history)
        current_call().note(game=record.engine.card.game)
        return rules_pb2.InspectResponse(state=state_message(record))

    @rpc_method
    async def Apply(self, request: rules_pb2.ApplyRequest, context: Any) -> rules_pb2.ApplyResponse:  # noqa: ARG002
        """The position after moves and, on request, after the chance moves that follow."""
        moves = len(request.position.moves) + len(request.moves)
        return await self._run(request.position, moves, functools.partial(self._apply, request))

    def _apply(self, request: rules_pb2.ApplyRequest) -> rules_pb2.ApplyResponse:
        record = GameRecord.read(self.runtime.engines, request.position, has_history=not request.without_history)
        current_call().note(game=record.engine.card.game)
        record.play(request.moves)
        seed = request.seed if request.HasField("seed") else None
        chance_moves = record.play_chance(seed) if request.with_chance else []
        return rules_pb2.ApplyResponse(state=state_message(record, chance_moves), chance_moves=chance_moves)

    async def _run(self, game: Any, moves: int, work: Callable[[], T]) -> T:
        """What the work returns: done at once if that is a matter of milliseconds, else in a thread.

        `game` is a message with the fields game and variant, `moves` the number of moves to be played.
        """
        if moves <= FEW_MOVES and self._is_quick(game.game, game.variant):
            return work()
        return await self.runtime.rules.run(current_call().party, work)

    def _is_quick(self, game: str, variant: str) -> bool:
        try:
            engine = find_engine(self.runtime.engines, game)
            return engine.variants[find_variant(engine, variant)].is_quick
        except EngineError:
            return True  # the work raises it too, with the field at fault
