"""Connect Four on boards from 4x4 to 16x16, with or without a forbidden cell.

In the order a request meets them:
    engine    the engine's card, and the searcher of each method
    rules     the rulebook in plain Python
    graph/    method=graph: Monte-Carlo search of a graph of positions, with proven results
    exact/    the exact solver of boards up to 8x6 that runs beside it, and opening books
    solver/   the same for larger boards
    uct/      method=uct: plain UCT, as a baseline
    report    the graph's results as lines of play
    board     bitboards, one column per lane; playout: random games
    train/    fits the weights of move features; bench: speed measurements
"""
