"""Text protocols between programs that play and programs that run them. Imports no other room; both sides import it:
bridges (`clients`), with which other programs use our engines, and `engines/programs`, which uses theirs as engines.

gomocup     Gomoku: START, TURN, BOARD, INFO
ugi         any game, in the manner of UCI: position, go, info, bestmove
arena2584   2584: a referee's matches
"""
