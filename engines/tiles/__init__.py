"""What the tile games share: 2048 and 2584 on 4x4; 2584 on 2x3 takes the rulebook and the batches.

In the order a request meets them:
    engine     a tile game as an engine: its card, its players by variant
    games      the tile games by name; game: one of them as kernels play it
    rulebook   positions, slides and drops in plain Python; fibonacci: how tiles of 2584 merge
    bitboard   a board in one or two 64-bit words, slides by table
    ntuple/    the network: values of boards, best slides, the player that ships
    search/    expectimax and the searcher around it
    batch/     many positions at once: lines of text in, values out
    play/      many games of a trained player; train/: learning by playing
"""
