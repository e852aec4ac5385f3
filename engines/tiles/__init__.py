"""What the tile games share: 2048 and 2584 on 4x4. 2584 on 2x3 uses only the rulebook and the batches.

In the order a request meets them:
    engine     a tile game as an engine: its card, and a player for each variant
    look       how a tile game looks
    games      the tile games by name; game: one of them, for kernels
    rulebook   positions, slides and drops in plain Python; fibonacci: the merge rule of 2584
    bitboard   a board in one or two 64-bit words, slides by table
    ntuple/    the network: values of boards, best slides, the player that ships
    search/    expectimax and the searcher around it
    batch/     batch evaluation: lines of text in, values out
    play/      many games of a trained player; train/: training by playing
"""
