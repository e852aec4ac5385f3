"""Outside programs as engines (`plyd serve GAME --program COMMAND`). In the order a search meets them:

engine        ProgramEngine: the built-in game's rules and card, and a program that plays
searcher      one search: ask, wait, check the answer
pool          the program's processes; each keeps the game it played last
conversation  what every protocol does: begin a search, understand a line
gomocup, ugi, arena2584, course     the protocols
process       one process with its limits: lines in, lines out, killed with all its children
course_host   loads a course's C library in a process of its own; a script that imports nothing of ours
"""
