"""From an address to daemons that answer.

up_addresses  where `plyd up` serves each installed game
daemons       the daemons behind the address: connections, loads, names
balance       which of several daemons a call goes to; no I/O
connections   one connection, and more while it is full of calls
resend        batches that are sent again when a stream breaks
embedded      a private daemon, started and stopped by a client
locate        the daemon of a bridge: at an address, or an embedded one that is restarted
"""
