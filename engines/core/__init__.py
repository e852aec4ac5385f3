"""What all games share: the engine contract, and the building blocks of engines.

In the order a request meets them:
    engine        Engine and its Card: what a daemon needs to know to serve a game
    look          how a game looks: kind of board, labels, sides, sizes
    rules         the rulebook of one variant: parse, text, legal moves, play, outcome
    symmetry      positions that are turns or mirror images of each other
    options       an engine's options: text in, values out
    search        one Limits in, any number of Reports out
    time_control  turns limits, clock, deadline and margins into one budget
    search_run    the main loop of every searcher
    memory        address space that is reserved once
    cores         how many cores are in use
    errors        the errors of a request
Kernels are built with `kernel_cache` (njit and its cache), `intrinsics` (clock, stop flag, bits) and `simd`.
`training_run` runs every trainer; `figures` is what a benchmark measures.
"""
