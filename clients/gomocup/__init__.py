"""`plyd gomocup` (also `pbrain-plyd`): the Gomocup protocol for Gomoku managers. In the order a command meets them:

cli            the command; reads lines from stdin
bridge         carries out each line and sends the answer
text           parses points and lists of stones, formats search reports
board          the stones, and the position in the engine's notation
time_control   deadlines of a move from the manager's limits
swap2          the swap2 opening: stones to place, or a side to choose
"""
