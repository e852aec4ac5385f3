"""`plyd play`: games in the terminal.

cli             the group, with one command per game
terminal        the command of every game for two: a person against the engine
terminal_game   these games: input, moves, output
board_text      boards, scores and reports as text
tiles           the commands 2048 and 2584: many games, and the check of record files
tile_games      these games, from the engine's process or from a daemon
statistics      blocks of statistics on finished games
"""
