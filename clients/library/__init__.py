"""The client library, in the order in which a call passes through it:

client, aio   EngineClient and AsyncEngineClient, with the same methods
state, report what they return: positions, states, scores, lines and reports, as views of messages (view)
board_svg     a board as a picture, by the game's card (cards)
requests      builds requests, decides timeouts and retries; no I/O
channel       addresses, credentials and channels
connect/      from an address to daemons that answer: several behind one name, private ones, those of `plyd up`
errors        gRPC errors as exceptions, all of them PlydError
bridges/      what bridges to other programs share
file_lock     files that one process writes at a time
"""
