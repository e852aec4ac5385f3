"""n-tuple networks, as files.

patterns     which cells each pattern of a network reads
checkpoint   the state of a training run
packing      a network packed for play
lab          the weight file of the 2048 lab's framework
"""
