"""`plyd stress`: load and faults against real daemons on real sockets, with every answer checked.

cli         the group; interrupt lets SIGTERM stop a run like Ctrl-C
rate        calls per second, compared with an echo server (echo, callers)
game        whole games move by move, compared with an echo server
soak        mixed load at capacity for a long time
overload    more searches than slots
kill        a daemon killed under load
attack      attacks on a daemon beside an honest caller (attacks/)
daemons     starts the daemons under load
load        the clients of soak and kill; known has the values they compare with
tally       counts of answers and errors; verdict prints the figures
"""
