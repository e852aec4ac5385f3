"""Many games of a trained player without a daemon, which `plyd play --games` runs; and many moves within one.

many_games   the command: threads that play, one line of JSON per game
fast_player  many moves of a game that a daemon follows
kernel       the moves of both, compiled
"""
