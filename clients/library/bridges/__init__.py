"""What bridges to other programs share.

line_bridge   serves a bridge that speaks a line protocol, on stdin and stdout
line_server   the same for many callers at an address
bridge_engine a bridge's searches over one stream to its daemon, with retries
"""
