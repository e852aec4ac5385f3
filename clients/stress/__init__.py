"""`plyd stress`: load and faults on purpose, against real daemons on real sockets, and a verdict."""
