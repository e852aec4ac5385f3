"""How the games behind a client look: their cards, which a daemon gives with Describe."""

import grpc

from plyd.clients.library.channel import ChannelConfig, open_channel
from plyd.v1 import engine_pb2, engine_pb2_grpc

ASK_SECONDS = 2.0  # at most, before a board is drawn without its card


class Cards:
    """The cards that a client has seen. A card that it has not seen is asked for when a board is first drawn.

    Drawing is no coroutine, in a notebook or elsewhere. So the question goes over a connection of its own, which
    blocks: the same for a blocking and an asyncio client, and after the client is closed.
    """

    def __init__(self, config: ChannelConfig) -> None:
        self._config = config
        self._seen: dict[str, engine_pb2.EngineInfo] = {}

    def learn(self, response: engine_pb2.DescribeResponse) -> None:
        """Keep the cards of a Describe."""
        self._seen.update({card.game: card for card in response.engines})

    def card(self, game: str) -> engine_pb2.EngineInfo | None:
        """The card of a game, or None if no daemon has it or answers."""
        if game not in self._seen:
            self._ask(game)
        return self._seen.get(game)

    def _ask(self, game: str) -> None:
        request, metadata = engine_pb2.DescribeRequest(game=game), self._config.metadata
        addresses = self._config.addresses
        for address in addresses:
            with open_channel(self._config, address) as channel:
                stub = engine_pb2_grpc.EngineServiceStub(channel)
                try:
                    self.learn(stub.Describe(request, timeout=ASK_SECONDS / len(addresses), metadata=metadata))
                    return
                except grpc.RpcError:
                    continue
