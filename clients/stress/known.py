"""Positions of 2584 on 2x3 with known values: read from Evaluate, and checked against each other by expectation."""

import math
import random
from dataclasses import dataclass

from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.errors import PlydError
from plyd.clients.library.state import State

GAME = "2584-2x3"
FIRST = ("b 2 2 0 0 0 0", 1422.339260970406)  # from docs/protocol.md
CHECKED = 30  # positions that are checked, at some dozen calls each


class WrongValues(Exception):
    """Values that do not agree with each other."""


@dataclass(frozen=True, slots=True)
class KnownValues:
    """Positions with the player to move, as start texts, and their values."""

    texts: tuple[str, ...]
    values: tuple[float, ...]


async def learn_values(client: AsyncEngineClient, count: int, seed: int = 1) -> KnownValues:
    """`count` positions of random games with their values from Evaluate; CHECKED of them are checked."""
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
        raise WrongValues(f"the value of {FIRST[0]} is {FIRST[1]!r}, but Evaluate returns {values[0]!r}")
    for place in chance.sample(range(count), min(CHECKED, count)):
        await _check(client, texts[place], values[place])
    return KnownValues(tuple(texts), tuple(values))


async def _check(client: AsyncEngineClient, text: str, value: float) -> None:
    """Raise WrongValues unless a value is the maximum over its moves of reward plus expected value."""
    state = await client.inspect(text)
    afters = [await client.apply(text, legal.move) for legal in state.legal_moves]
    worths = [after.points - state.points + await _mean(client, after) for after in afters]
    best = max(worths, default=0.0)
    if not math.isclose(best, value, rel_tol=1e-9, abs_tol=1e-9):
        raise WrongValues(f"Evaluate of {text} returns {value!r}, but its moves give {best!r}")


async def _mean(client: AsyncEngineClient, after: State) -> float:
    """The expected value of a position with chance to move."""
    if not after.legal_moves:
        return 0.0
    drops = [await client.apply(after.text, legal.move) for legal in after.legal_moves]
    values = (await client.evaluate([drop.text for drop in drops])).values
    found = (await client.evaluate([after.text])).values[0]
    mean = sum(legal.probability * value for legal, value in zip(after.legal_moves, values, strict=True))
    if not math.isclose(mean, found, rel_tol=1e-9, abs_tol=1e-9):
        raise WrongValues(f"Evaluate of {after.text} returns {found!r}, but the expectation over new tiles is {mean!r}")
    return mean


async def known_values(target: str, count: int) -> KnownValues:
    """Positions with known values, from a daemon that serves 2584 on 2x3."""
    try:
        async with AsyncEngineClient(target, GAME) as client:
            return await learn_values(client, count)
    except PlydError as error:
        raise WrongValues(f"cannot read the values of 2584 on 2x3: {error}") from None
