"""Many games of a trained player, without a daemon: what `plyd play --games` runs.

many_games   the command: threads that play, one line of JSON per game
kernel       one whole game, compiled
"""
