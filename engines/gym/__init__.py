"""The rules as environments for reinforcement learning, in this process: no daemon, no call per step.

tiles        tile games for Gymnasium, one board or thousands at once; importing this room registers them
kernel       what a step of many boards does
two_player   games of two players for PettingZoo

Needs `pip install 'plyd[gym]'`. `import plyd.engines.gym`, then `gymnasium.make("plyd/2048-v0")`.
"""

import gymnasium

ENVIRONMENTS = {
    "plyd/2048-v0": {"game": "2048", "variant": "classic"},
    "plyd/2584-v0": {"game": "2584", "variant": "classic"},
    "plyd/2584-hard-v0": {"game": "2584", "variant": "hard"},
}

for _name, _settings in ENVIRONMENTS.items():
    gymnasium.register(
        _name,
        entry_point="plyd.engines.gym.tiles:TileEnv",
        vector_entry_point="plyd.engines.gym.tiles:TileVectorEnv",
        kwargs=_settings,
    )
