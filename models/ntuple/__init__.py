"""n-tuple networks, as files.

patterns     which cells each pattern of a network reads
checkpoint   the state of a training run
packing      a network packed for play
lab          the weight file of the 2048 lab's framework
tdl2048      the weight file of the framework TDL2048
images       a pattern's eight images; byte_reader   binary files of other programs, piece by piece
"""
