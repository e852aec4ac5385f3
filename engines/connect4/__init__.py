"""Connect Four on boards from 4x4 to 16x16, with or without a forbidden cell.

In the order a request meets them:
    engine    the card, and the searchers by method
    rules     the rulebook in plain Python
    graph/    method=graph: Monte-Carlo search of a graph of positions, with proven results
    solver/   the exact solver that runs beside it
    uct/      method=uct: the textbook's search, as a yardstick
    report    what the graph knows, as lines of play
    board     bitboards, a column a lane; playout: random games
    train/    fits the weights of move features; bench: speed
"""
