"""What every game shares: the contract of an engine, and what engines are built from.

In the order a request meets them:
    engine        Engine and its Card: what a daemon needs to know to serve a game
    rules         the rulebook of one variant: parse, text, legal moves, play, outcome
    options       an engine's options: text in, values out
    search        one Limits in, any number of Reports out
    time_control  limits, clock, deadline and margins become one budget
    search_run    the one loop of every searcher
    cores         who uses the machine's cores
    errors        everything that can be wrong with a request
Kernels are built with `kernel_cache` (njit and its cache), `intrinsics` (clock, stop flag, bits) and `simd`.
`training_run` runs every trainer; `figures` is what a benchmark measures.
"""
