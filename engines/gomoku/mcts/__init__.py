"""Monte-Carlo tree search guided by a policy-value network (PUCT).

searcher      keeps the tree between moves; runs rounds of simulations
search_tree   the tree: its root, its threads, batches of leaves for the network
tree          the kernel: select leaves, expand them
nodes         the node record; backpropagation and proofs
planes        the network's input; inference: its output, by ONNX Runtime
"""
