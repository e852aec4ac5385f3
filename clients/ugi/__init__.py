"""`plyd ugi`: any game by the Universal Game Interface, for GUIs and managers. In the order a command meets them:

cli      the command; reads lines from stdin
listen   the same over TCP
bridge   carries out each line and sends the answer
text     reports of the daemon as `info` lines, options as `option` lines

The grammar is in `plyd.protocols.ugi`.
"""
