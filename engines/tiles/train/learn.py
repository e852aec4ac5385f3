"""Training for tile games, in numba: plays whole games, and learns from each one backwards.

    before --slide, points--> after --drop--> before --slide--> after ... --drop--> before (no slide: the end)

After-state learning estimates the value of a board after a slide. In a game with after-states s_0 ... s_T and points
r_0 ... r_T,

    target(s_T) = 0
    target(s_t) = r_{t+1} + lambda target(s_{t+1}) + (1 - lambda) V(s_{t+1})          (lambda 0 is TD(0))

and each of the m weights of s_t changes by its share of the error, rate (target - V) / m. With temporal coherence (TC)
the rate of a weight is multiplied by |E| / A, where E is the sum of its errors so far and A the sum of their absolute
values: errors of one sign keep a weight moving, errors that cancel out let it rest.

The method `lab` (that of the 2048 lab's program, see docs/tiles.md) estimates before-states instead: the value of a
slide is its points plus the mean value of the before-states over all drops. Before-state s_t learns from r_t +
V(s_{t+1}), the last one with a slide from r_T alone. This needs ten times as many evaluations per move.

Games may also begin where earlier ones entered a later stage of the network (see `ntuple/stages`): such boards are kept
in a pool, and a long game has many moves in its first stage and few in its last.

Several threads may update the same weights at once: they take no locks, and occasionally lose an update.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plyd.engines.core.intrinsics import lowest_bit_index, pointer_to, prefetch
from plyd.engines.core.kernel_cache import njit
from plyd.engines.tiles.bitboard import ONE, Rows, Slides, Word, drop_at, empties, largest, load, slides_of, store
from plyd.engines.tiles.ntuple.moves import Spawns, best_slide, drop, evil_drop, random_word, slide
from plyd.engines.tiles.ntuple.network import (
    IMAGES,
    SLOTS,
    Network,
    Shape,
    find_places,
    network_of,
    sum_of_places,
    value,
)
from plyd.engines.tiles.ntuple.stages import stage_of

Weights = NDArray[np.float32]
AHEAD = SLOTS - 1  # boards whose weights are prefetched while one learns


class Method(NamedTuple):
    """Parameters of learning."""

    rate: np.float32  # alpha, divided among the features
    stage_rate: np.float32  # the same for stages after the first
    trace: np.float32  # lambda
    coherent: bool  # TC if true, else plain TD
    every: np.int64  # learn after this many moves; 0: once, at the end of the game
    restart_moves: np.int64  # a game of at least this many moves is replayed from its middle; 0: never
    goal: np.int64  # a game is won, and ends, with a tile of this index; 0: none
    goal_points: np.int64  # minimum points of the slide that makes such a tile
    bonus: np.float32  # value of a won game, in addition to its points
    on_befores: bool  # the method `lab`
    pool_games: np.int64  # from boards of each later stage, after each game
    evil: bool = False  # tiles are dropped on the cell that is worst for the player


class Desk(NamedTuple):
    """The workspace of one thread for playing games and learning from them."""

    path: NDArray[np.uint64]  # (moves, words): after-states, or before-states with the method `lab`
    points: NDArray[np.float32]  # (moves,): of the slide to the after-state, or from the before-state
    seed: NDArray[np.uint64]  # (1,): state of the random generator
    scratch: NDArray[np.uint64]  # see network.scratch_for
    pool: NDArray[np.uint64]  # (stages - 1, boards, words): the last after-states with which games entered a stage
    entries: NDArray[np.int64]  # (stages - 1,): how many did, ever
    late: NDArray[np.int64]  # (stages - 1, 2): games from the pool, and the sum of their points


class Game(NamedTuple):
    """A game in progress, by address; see `pointer_to`."""

    path: Any
    points: Any
    most_moves: np.int64
    seed: Any
    slides: Slides
    spawns: Spawns
    pool: Any
    pool_size: np.int64
    entries: Any


@njit(cache=True, nogil=True)
def game_of(desk: Desk, rows: Rows, spawns: Spawns) -> Game:
    """The game by address."""
    path, points, seed = pointer_to(desk.path), pointer_to(desk.points), pointer_to(desk.seed)
    pool, entries = pointer_to(desk.pool), pointer_to(desk.entries)
    slides, pool_size = slides_of(rows), desk.pool.shape[1]
    return Game(path, points, desk.points.size, seed, slides, spawns, pool, pool_size, entries)


@njit(cache=True, nogil=True)
def update(slot: int, net: Network, sums: Any, error: np.float32, method: Method) -> np.float32:
    """Changes the weights at a slot's places by their share of an error; returns the new value.

    If a place occurs twice, the first occurrence adds its weight after one update only, as in the lab's program.

    `sums` holds E and A of each weight side by side; plain TD does not read it.
    """
    features = IMAGES * net.patterns
    first = slot * features
    rate = method.rate if Word(net.places[first]) < net.size else method.stage_rate
    if rate == 0:  # nothing to learn, and no memory to touch
        return sum_of_places(slot, net)
    share = rate * error / np.float32(features)
    total, size = np.float32(0), abs(error)
    if not method.coherent:
        for i in range(first, first + features):
            now = net.weights[net.places[i]] + share
            net.weights[net.places[i]] = now
            total += now
        return total
    for i in range(first, first + features):
        place = np.int64(net.places[i])
        e, a = sums[2 * place], sums[2 * place + 1]
        now = net.weights[place] + (share * (abs(e) / a) if a > 0 else share)
        net.weights[place] = now
        sums[2 * place], sums[2 * place + 1] = e + error, a + size
        total += now
    return total


@njit(cache=True, nogil=True)
def learn_afters(
    like: Any, begin: int, end: int, target: np.float32, net: Network, sums: Any, method: Method, game: Game
) -> None:
    """Learns from the after-states begin ... end - 1 of a path, last first; `target` is that of the last one."""
    for t in range(end - 1, max(begin, end - AHEAD) - 1, -1):
        bring(load(game.path, t, like), t % SLOTS, net, sums, method)
    for t in range(end - 1, begin - 1, -1):
        if t - AHEAD >= begin:
            bring(load(game.path, t - AHEAD, like), (t - AHEAD) % SLOTS, net, sums, method)
        slot = t % SLOTS
        now = update(slot, net, sums, target - sum_of_places(slot, net), method)
        target = game.points[t] + method.trace * target + (np.float32(1) - method.trace) * now


@njit(cache=True, nogil=True)
def bring(board: Any, slot: int, net: Network, sums: Any, method: Method) -> None:
    """Finds a board's places, and prefetches what an update needs there."""
    find_places(board, slot, net)
    if method.coherent:
        first = slot * IMAGES * net.patterns
        for i in range(first, first + IMAGES * net.patterns):
            prefetch(sums, 2 * np.int64(net.places[i]))


@njit(cache=True, nogil=True)
def enter_pool(after: Any, stage: int, net: Network, game: Game) -> int:
    """The stage of an after-state; if it is later than that of the game so far, the board enters the pool."""
    now = stage_of(after, net.stages)
    for entered in range(stage, now):
        store(game.pool, entered * game.pool_size + game.entries[entered] % game.pool_size, after)
        game.entries[entered] += 1
    return max(stage, now)


@njit(cache=True, nogil=True)
def pool_board(stage: int, like: Any, game: Game) -> Any:
    """A random board of a later stage's pool, a tile dropped; the pool must not be empty."""
    count = min(game.entries[stage - 1], game.pool_size)
    n = np.int64((random_word(game.seed) >> Word(32)) * Word(count) >> Word(32))
    return drop(load(game.pool, (stage - 1) * game.pool_size + n, like), game.spawns, game.seed)


@njit(cache=True, nogil=True)
def play_afters(start: Any, net: Network, sums: Any, method: Method, game: Game) -> tuple[int, int, int]:
    """Plays a game by the values of after-states and learns from it; returns moves, points and largest index."""
    board, moves, score, learned = start, 0, 0, 0
    stage, is_won = stage_of(start, net.stages), False
    while moves < game.most_moves and not is_won:
        best, _, after, points = best_slide(board, game.slides, net)
        if best < 0:
            break
        store(game.path, moves, after)
        game.points[moves] = points
        stage = enter_pool(after, stage, net, game)
        if method.every > 0 and moves - learned >= method.every:
            target = game.points[moves] + value(after, net)
            learn_afters(start, learned, moves, target, net, sums, method, game)
            learned = moves
        score += points
        moves += 1
        is_won = method.goal > 0 and points >= method.goal_points and largest(after) >= method.goal
        if method.evil:
            board = evil_drop(after, game.spawns, game.seed, game.slides, net)
        else:
            board = drop(after, game.spawns, game.seed)
    end = method.bonus if is_won else np.float32(0)
    learn_afters(start, learned, moves, end, net, sums, method, game)
    return moves, score, largest(board)


@njit(cache=True, nogil=True)
def mean_over_drops(after: Any, spawns: Spawns, net: Network) -> float:
    """Mean value of the before-states that a drop may lead to."""
    total, cells = np.float32(0), np.float32(0)
    rare = np.float32(spawns.rare_chance)
    free = empties(after)
    while free != Word(0):
        bit = lowest_bit_index(free)
        find_places(drop_at(after, bit, spawns.common), 0, net)
        find_places(drop_at(after, bit, spawns.rare), 1, net)
        total += (np.float32(1) - rare) * sum_of_places(0, net) + rare * sum_of_places(1, net)
        cells += np.float32(1)
        free &= free - ONE
    return total / cells


@njit(cache=True, nogil=True)
def play_befores(start: Any, net: Network, sums: Any, method: Method, game: Game) -> tuple[int, int, int]:
    """Plays a game by the values of before-states and learns from it (`lab`); returns moves, points, largest index."""
    board, moves, score = start, 0, 0
    while moves < game.most_moves:
        best, best_worth, best_after, best_points = -1, np.float32(0), board, 0
        for direction in range(4):
            after, points = slide(board, direction, game.slides)
            if after != board:
                worth = np.float32(points) + mean_over_drops(after, game.spawns, net)
                if best < 0 or worth > best_worth:
                    best, best_worth, best_after, best_points = direction, worth, after, points
        if best < 0:
            break
        store(game.path, moves, board)
        game.points[moves] = best_points
        score += best_points
        moves += 1
        board = drop(best_after, game.spawns, game.seed)
    target = np.float32(0)
    for t in range(moves - 1, -1, -1):
        find_places(load(game.path, t, start), 0, net)
        target = game.points[t] + target
        target = update(0, net, sums, target - sum_of_places(0, net), method)
    return moves, score, largest(board)


@njit(cache=True, nogil=True)
def play_pool(like: Any, net: Network, sums: Any, method: Method, game: Game, late: NDArray[np.int64]) -> int:
    """Plays games from the pool of each later stage and learns from them; returns the total of moves."""
    all_moves = 0
    for stage in range(1, net.stages.later + 1):
        for _ in range(method.pool_games):
            if game.entries[stage - 1] > 0:
                moves, score, _ = play_afters(pool_board(stage, like, game), net, sums, method, game)
                all_moves += moves
                late[stage - 1, 0] += 1
                late[stage - 1, 1] += score
    return all_moves


@njit(cache=True, nogil=True)
def train(
    games: int,
    empty: Any,
    rows: Rows,
    spawns: Spawns,
    weights: Weights,
    sums: Weights,
    shape: Shape,
    method: Method,
    desk: Desk,
    results: NDArray[np.int64],
) -> int:
    """Plays games and learns from each. Writes points, moves and largest index of each game to `results` (games, 3);
    returns the total of moves, including those of restarted games and of games from the pool.
    """
    net, game, sums_at = network_of(weights, shape, desk.scratch), game_of(desk, rows, spawns), pointer_to(sums)
    all_moves = 0
    for i in range(games):
        board = drop(drop(empty, spawns, game.seed), spawns, game.seed)
        if method.on_befores:
            moves, score, most = play_befores(board, net, sums_at, method, game)
        else:
            moves, score, most = play_afters(board, net, sums_at, method, game)
        results[i, 0], results[i, 1], results[i, 2] = score, moves, most
        all_moves += moves
        while (
            not method.on_befores
            and method.restart_moves > 0
            and moves >= method.restart_moves
            and (method.goal == 0 or most < method.goal)
        ):
            board = drop(load(game.path, moves // 2, empty), spawns, game.seed)
            moves, score, most = play_afters(board, net, sums_at, method, game)
            all_moves += moves
        all_moves += play_pool(empty, net, sums_at, method, game, desk.late)
    return all_moves
