"""Gomoku on boards from 5x5 to 20x20: freestyle, standard (exactly five) and renju.

In the order a request meets them:
    engine       the engine's card, and the searcher of each method
    rules        the rulebook in plain Python; renju: which moves are forbidden
    mcts/        method=mcts: tree search guided by a policy-value network
    negascout/   method=negascout: alpha-beta over learned patterns
    forced       the second line of play where only one move is searched
    prover       forced wins beside a search: our own, and the opponent's after a move about to be played
    board/       the board of both searches, with incremental patterns of every point; forced wins (VCF, VCT)
    train/       learns the network by self-play; fit/: fits the pattern weights
    bench        speed measurements
"""
