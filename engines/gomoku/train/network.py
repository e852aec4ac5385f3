"""The policy-value network in torch, for training only. Engines play with the network that `export` writes.

    planes (16) - 3x3 conv - block x N - 1x1 conv - 1x1 conv           a logit for each point
                                       \\ 1x1 conv - mean and max - dense - dense - tanh    -1 lost .. 1 won

    block    x + (3x3 conv - norm - relu - 3x3 conv - norm), relu

All layers before the pooling are convolutions, so one network works on boards of every size.
"""

import torch
from torch import Tensor, nn

from plyd.engines.gomoku.mcts.planes import PLANES

HEAD = 16  # channels of the policy head and of the value head
DENSE = 32


class ResidualBlock(nn.Module):
    """Two convolutions with a skip connection."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """[B, C, S, S] to the same shape."""
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(x + self.second_norm(self.second(y)))


class PolicyValueNetwork(nn.Module):
    """A tower of residual blocks with a policy head and a value head."""

    def __init__(self, blocks: int, channels: int) -> None:
        super().__init__()
        self.blocks, self.channels = blocks, channels
        self.stem = nn.Conv2d(PLANES, channels, 3, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(channels)
        tower = [ResidualBlock(channels) for _ in range(blocks)]
        for block in tower:  # each block starts as the identity
            nn.init.zeros_(block.second_norm.weight)
        self.tower = nn.ModuleList(tower)
        self.policy = nn.Conv2d(channels, HEAD, 1)
        self.policy_out = nn.Conv2d(HEAD, 1, 1)
        self.value = nn.Conv2d(channels, HEAD, 1)
        self.value_dense = nn.Linear(2 * HEAD, DENSE)
        self.value_out = nn.Linear(DENSE, 1)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Planes [B, PLANES, S, S] of any type to logits [B, S * S] and values [B] for the side to move."""
        x = torch.relu(self.stem_norm(self.stem(planes.float())))
        for block in self.tower:
            x = block(x)
        logits = self.policy_out(torch.relu(self.policy(x))).flatten(1)
        seen = torch.relu(self.value(x))
        pooled = torch.cat([seen.mean((2, 3)), seen.amax((2, 3))], 1)
        value = torch.tanh(self.value_out(torch.relu(self.value_dense(pooled))))
        return logits, value.squeeze(1)


def losses(
    network: PolicyValueNetwork,
    planes: Tensor,
    policy: Tensor,
    weight: Tensor,
    result: Tensor,
    whole: tuple[float, int] | None = None,
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the policy and mean squared error of the value; L2 is the optimiser's weight decay.

    `policy` is [B, S * S] and sums to one; `weight` [B] is 0 for positions whose search was too small to learn from.
    For a part of a batch, `whole` has the sum of the weights and the number of positions of the whole batch: the losses
    of its parts then add up to that of the batch.
    """
    logits, value = network(planes)
    is_free = planes[:, 0] + planes[:, 1] < planes[:, 2]  # no stone, on the board
    logits = logits.masked_fill(~is_free.flatten(1), -1e4)
    surprise = -(policy * torch.log_softmax(logits, 1)).sum(1)
    weights, positions = (float(weight.sum()), len(result)) if whole is None else whole
    return (surprise * weight).sum() / max(1.0, weights), ((value - result) ** 2).sum() / positions
