"""Training of Gomoku's policy-value network. Only this package needs torch.

cli              `plyd train gomoku`
trainer          GomokuTrainer: bootstrapping, self-play, ratings; runs in a `core.training_run`
learner          the network, its optimiser and the average of its weights
gradients        gradients of parts of a batch, computed by a fleet
network          the network in torch, and its losses
replay           games, the replay buffer, batches
players          the fleet that plays: processes, or actors of a cluster; `self_play` is what each of them runs
export           the network for play, as ONNX; `import_network` is the way back
curve            the learning curve
"""
