"""The client library, in the order in which a call passes through it:

client, aio   EngineClient and AsyncEngineClient, with the same methods
state, report what they return: positions, states, scores, lines and reports, as views of messages (view)
board_svg     a board as a picture, by the game's card (cards)
requests      builds requests, decides timeouts and retries; no I/O
daemons       the daemons behind the address: connections, loads, names
balance       which of several daemons a call goes to; no I/O
channel       addresses, credentials and channels
connections   one connection, and more while it is full of calls
resend        batches that are sent again when a stream breaks
errors        gRPC errors as exceptions, all of them PlydError
up_addresses  where `plyd up` serves each installed game
embedded      a private daemon, started and stopped by a client
locate        the daemon of a bridge: at an address, or an embedded one that is restarted
bridge_engine a bridge's searches over one stream to its daemon, with retries
line_bridge   serves a bridge that speaks a line protocol, on stdin and stdout
file_lock     files that one process writes at a time
"""
