"""Engines: rules, kernels and searches of every game. Knows numpy and numba; never gRPC.

In the order a request meets them:
    registry   the games by name, each a folder: `tiles_2584_2x3`, `tiles_2584`, `tiles_2048`, `connect4`, `gomoku`
    plugins    the games of other packages
    core/      the contract of an engine: rules, options, limits, search loop, time, memory, errors
    tiles/     what the tile games share
    programs/  outside programs that play in place of an engine
and beside them `warm` (compile every kernel), `bench` (speed and search signature), `train` (learn a network),
`testing` (what every engine promises, as tests), gym/ (environments for reinforcement learning).
"""

__version__ = "0.1.0"
