"""`plyd play`: games in the terminal.

cli           the group, with one command per game
terminal      Connect Four and Gomoku: a person against the engine
board_text    boards, scores and reports of these games as text
tiles         2048 and 2584: many games, and the check of record files
tile_games    the games themselves, from the engine's process or from a daemon
statistics    blocks of statistics on finished games
"""
