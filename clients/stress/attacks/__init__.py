"""Attacks on a daemon of ours, each a small class: what it sends, and what must hold beside it.

catalogue     every attack, in the order in which they run
run           one attack beside an honest caller, and the verdict on it
scene         the daemon that is attacked, the tokens of its clients, what was sent and heard
honest        the honest caller: a process of its own that calls at a steady rate
http2         frames of HTTP/2, for what no gRPC client would send
costly        messages that cost more than they look
connections   connections and streams by the hundred
holding       callers who take something and keep it
beside        the bridge, the metrics and the log
"""
