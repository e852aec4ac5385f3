"""Gomoku on boards from 5x5 to 20x20: freestyle, standard (exactly five) and renju.

In the order a request meets them:
    engine       the card, and the searchers by method
    rules        the rulebook in plain Python; renju: which moves are forbidden
    mcts/        method=mcts: tree search led by a policy-value network
    negascout/   method=negascout: alpha-beta over learned patterns
    board/       the board that both search: patterns of every point, kept up to date; wins by force (VCF, VCT)
    train/       learns the network by self-play; fit/: fits the pattern weights
    bench        speed
"""
