"""Positions of 2584 on 2x3 whose values are known: learned from Evaluate and checked by the rules of probability."""

import math
import random
from dataclasses import dataclass

from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.errors import PlydError
from plyd.clients.library.requests import State

GAME = "2584-2x3"
FIRST = ("b 2 2 0 0 0 0", 1422.339260970406)  # as docs/protocol.md has it
CHECKED = 30  # of the positions, by the rules; each costs some dozen calls


class NotRight(Exception):
    """Values that do not agree with each other."""


@dataclass(frozen=True, slots=True)
class Known:
    """Positions in which the player is to move, each as a start, and what each is worth."""

    texts: tuple[str, ...]
    values: tuple[float, ...]


async def learn(client: AsyncEngineClient, count: int, seed: int = 1) -> Known:
    """So many positions of random games and the values that Evaluate gives them now, some of them checked."""
    chance = random.Random(seed)
    texts = [FIRST[0]]
    while len(texts) < count:
        state = await client.new_game(seed=chance.randrange(2**32))
        while state.legal_moves and len(texts) < count:
            texts.append(state.text)
            move = chance.choice(state.legal_moves).move
            state = await client.apply(state.position, move, with_chance=True, seed=chance.randrange(2**32))
    values = (await client.evaluate(texts)).values
    if values[0] != FIRST[1]:
        raise NotRight(f"{FIRST[0]} is worth {FIRST[1]!r}, but Evaluate says {values[0]!r}")
    for place in chance.sample(range(count), min(CHECKED, count)):
        await _check(client, texts[place], values[place])
    return Known(tuple(texts), tuple(values))


async def _check(client: AsyncEngineClient, text: str, value: float) -> None:
    """Raise unless a value is the best of what its moves bring, and what they bring is the mean over chance."""
    state = await client.inspect(text)
    afters = [await client.apply(text, legal.move) for legal in state.legal_moves]
    worths = [after.points - state.points + await _mean(client, after) for after in afters]
    best = max(worths, default=0.0)
    if not math.isclose(best, value, rel_tol=1e-9, abs_tol=1e-9):
        raise NotRight(f"{text} is worth {value!r} by Evaluate, {best!r} by the moves from it")


async def _mean(client: AsyncEngineClient, after: State) -> float:
    """What a position is worth in which chance is to move."""
    if not after.legal_moves:
        return 0.0
    drops = [await client.apply(after.text, legal.move) for legal in after.legal_moves]
    values = (await client.evaluate([drop.text for drop in drops])).values
    told = (await client.evaluate([after.text])).values[0]
    mean = sum(legal.probability * value for legal, value in zip(after.legal_moves, values, strict=True))
    if not math.isclose(mean, told, rel_tol=1e-9, abs_tol=1e-9):
        raise NotRight(f"{after.text} is worth {told!r} by Evaluate, {mean!r} by the drops that may follow")
    return mean


async def known_of(target: str, count: int) -> Known:
    """The known positions of a daemon that serves 2584 on 2x3."""
    try:
        async with AsyncEngineClient(target, GAME) as client:
            return await learn(client, count)
    except PlydError as error:
        raise NotRight(f"the values of 2584 on 2x3 cannot be learned: {error}") from None
