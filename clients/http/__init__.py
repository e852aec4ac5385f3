"""HTTP with JSON for callers without gRPC: the Connect protocol, and WebSockets for streams both ways. The files, in
the order a request meets them:

cli.py        `plyd http`: options, the listening socket, the web server
app.py        the routes; unary calls
streams.py    streams from the daemon: a message in, messages out
sockets.py    streams both ways, over a WebSocket
request.py    what a request says: body, form, deadline, token
codec.py      messages as JSON or binary protobuf, alone or in envelopes
methods.py    the methods of the schema, by path
daemons.py    the daemons: which of them a call goes to, and the call itself
failures.py   errors as the Connect protocol writes them
openapi.py    the schema as an OpenAPI document
"""
