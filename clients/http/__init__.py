"""HTTP with JSON for callers without gRPC: the Connect protocol, gRPC-Web, and WebSockets for streams both ways.

The files, in the order a request meets them:

cli.py        `plyd http`: options, the listening socket, the web server
app.py        the routes; unary calls
streams.py    calls with messages in envelopes: a message in, messages out
framing.py    envelopes of the Connect protocol and of gRPC-Web
sockets.py    streams both ways, over a WebSocket
request.py    what a request says: body, form, deadline, token
codec.py      messages as JSON or binary protobuf, alone or in envelopes
methods.py    the methods of the schema, by path
daemons.py    the daemons: which of them a call goes to, and the call itself
failures.py   errors as the Connect protocol writes them
openapi.py    the schema as an OpenAPI document
"""
