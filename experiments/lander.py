"""Lunar Lander: 14 constants of a controller, as a problem for experiments.

Needs 'bosquet[lander]'. A landing is deterministic given its terrain, and rough: a leg touches the
ground a step earlier, and the reward jumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import bosquet as bq
from bosquet.benchmarks import Problem


def lander_action(w: Sequence[float], s: Sequence[float]) -> int:
    """The heuristic of gymnasium's Lunar Lander, its 14 constants replaced by ``w``."""
    angle = np.clip(s[0] * w[0] + s[2] * w[1], -w[3], w[2])
    hover = w[4] * abs(s[0])
    angle_todo = (angle - s[4]) * w[5] - s[5] * w[6]
    hover_todo = (hover - s[1]) * w[7] - s[3] * w[8]
    if s[6] or s[7]:  # a leg is on the ground
        angle_todo, hover_todo = w[9] * angle_todo, -s[3] * w[10]
    if hover_todo > abs(angle_todo) and hover_todo > w[11]:
        return 2
    if angle_todo < -w[12]:
        return 3
    return 1 if angle_todo > w[13] else 0


def lunar(seed: int, episodes: int = 5) -> Problem:
    """Minus the mean reward over the same few terrains, of 14 constants in [0, 2]."""
    import gymnasium

    def loss(config: dict[str, Any]) -> float:
        env = gymnasium.make("LunarLander-v3")
        w = list(config.values())
        total = 0.0
        for episode in range(episodes):
            state, _ = env.reset(seed=1000 * seed + episode)
            ended = False
            while not ended:
                state, reward, fell, late, _ = env.step(lander_action(w, state))
                total += float(reward)
                ended = fell or late
        env.close()
        return -total / episodes

    return Problem("lunar", bq.Space({f"w{i}": bq.Float(0, 2) for i in range(14)}), loss, None)
