"""Games as files:

files           reads and writes a game in any format, and text, the format that every game has
game_record     a game as read from a file
gomoku, sgf     SGF and PSQ for Gomoku; SGF in general
rec2584         the course's record file of 2584; rec2584_judge checks it as the course's judges do
tile_replay     the rules of 2048 and 2584 on 4x4, and a game replayed by its opcodes
"""
