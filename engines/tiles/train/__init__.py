"""Training of n-tuple networks for tile games.

cli       `plyd train 2048` and `plyd train 2584`
trainer   TileTrainer: threads that play and learn, checkpoints; runs in a `core.training_run`
learn     the kernels: whole games of self-play, TD and TC learning
curve     the learning curve
"""
