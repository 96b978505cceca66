#!/usr/bin/env python3
"""Bounds of the marginal sensitivity model: dowise beside the PyPI package causalrl, on the same confounded logs.

    causalrl_bounds.py --binary PATH [--logs 100] [--episodes 4000] [--seed 1] [--gamma 2]

A hidden cause u, drawn anew in every step, multiplies or divides the odds of the logged treatment by exactly Γ, given
the state. It acts on rewards in every second log, and on next states in the others. The policy always treats. Of
causalrl it uses `msm_stratified_bounds` for one step and `msm_per_step_bounds` for several, once with the propensity
of the step and once with the product of the propensities so far, always among the episodes that followed the policy
so far. None of the intervals has a margin for chance. The last column is the largest difference of the point
estimates (Γ = 1). The truth is computed here with numpy.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from causalrl import msm_per_step_bounds, msm_stratified_bounds

STATES = 2


class World:
    def __init__(self, rng, horizon, gamma, on_rewards):
        self.horizon = horizon
        self.treated = rng.uniform(0.3, 0.7, STATES)
        odds = self.treated / (1 - self.treated)
        high, low = (o / (1 + o) for o in (odds * gamma, odds / gamma))
        self.p_u = (self.treated - low) / (high - low)
        self.known = np.stack([low, high], axis=1)  # [state, u]
        self.reward = rng.uniform(0.1, 0.9, (STATES, 2, 2))  # [state, a, u]
        self.next = rng.uniform(0.1, 0.9, (STATES, 2, 2))  # P(next state is 1)
        acted = self.next if on_rewards else self.reward
        acted[:, :, 1] = acted[:, :, 0]  # u does not act on it
        self.start = rng.uniform(0.3, 0.7)

    def log(self, rng, episodes):
        """Columns by stage: states, treatments, rewards, next states."""
        out = []
        state = (rng.random(episodes) < self.start).astype(int)
        for _ in range(self.horizon):
            u = (rng.random(episodes) < self.p_u[state]).astype(int)
            a = (rng.random(episodes) < self.known[state, u]).astype(int)
            reward = (rng.random(episodes) < self.reward[state, a, u]).astype(int)
            later = (rng.random(episodes) < self.next[state, a, u]).astype(int)
            out.append((state, a, reward, later))
            state = later
        return out

    def value(self):
        """The true value of always treating."""
        p_u = np.stack([1 - self.p_u, self.p_u], axis=1)
        reward, later = ((p_u * of[:, 1, :]).sum(axis=1) for of in (self.reward, self.next))
        value = np.zeros(STATES)
        for _ in range(self.horizon):
            value = reward + (1 - later) * value[0] + later * value[1]
        return (1 - self.start) * value[0] + self.start * value[1]


def of_dowise(binary, world, log, gamma, directory):
    text = f"""dowise = 1
horizon = {world.horizon}
[state.s]
values = ["0", "1"]
scope = ["s", "a"]
next.rows = [{{ p = [0.5, 0.5] }}]
[lever.a]
values = ["0", "1"]
[reward.r]
scope = ["s", "a"]
learn = true
range = [0, 1]
[interventions]
set = "all"
"""
    (directory / "world.toml").write_text(text)
    (directory / "policy.json").write_text(json.dumps({"policy": [{"state": {}, "do": {"a": "1"}}]}))
    rows = ["episode,stage,s,a,reward.r,next.s"]
    for episode in range(len(log[0][0])):
        rows += [",".join(map(str, (episode, h + 1, *(c[episode] for c in step)))) for h, step in enumerate(log)]
    (directory / "log.csv").write_text("\n".join(rows) + "\n")
    files = [str(directory / name) for name in ("world.toml", "log.csv")]
    policy = str(directory / "policy.json")
    done = subprocess.run([binary, "evaluate", *files, "--policy", policy, "--json"], capture_output=True, check=True)
    found = json.loads(done.stdout)["sensitivity"]
    if found is None:  # an assumption failed
        return None
    worst, best = (dict(map(tuple, found[case])) for case in ("worst", "best"))
    return (worst[gamma], best[gamma]), worst[1.0]


def of_causalrl(log, gamma):
    """Intervals by name."""
    states = log[0][0]
    follows = np.ones(len(states), dtype=bool)
    product = np.ones(len(states))
    rewards, own, cumulative = [], [], []
    for state, a, reward, _ in log:
        propensity = np.array([a[state == s].mean() for s in range(STATES)])[state]
        follows = follows & (a == 1)
        product = product * propensity
        rewards.append(reward[follows])
        own.append(propensity[follows])
        cumulative.append(product[follows])
    if len(log) == 1:
        weights = {s: float((states == s).mean()) for s in range(STATES)}
        found = msm_stratified_bounds(rewards[0], own[0], states[log[0][1] == 1], weights, gamma=gamma)
        return {"causalrl, stratified": (found.lower, found.upper)}
    found = [msm_per_step_bounds(rewards, e, gamma=gamma) for e in (own, cumulative)]
    names = ("causalrl, per step, own propensities", "causalrl, per step, products of propensities")
    return {name: (one.lower, one.upper) for name, one in zip(names, found)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--logs", type=int, default=100)
    parser.add_argument("--episodes", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gamma", type=float, default=2.0, help="1.1, 1.25, 1.5, 2, 3, 5 or 10")
    args = parser.parse_args()
    print("| steps | interval | logs | contains the truth | mean width | difference at Γ = 1 |")
    print("|--:|---|--:|--:|--:|--:|")
    for horizon in (1, 3):
        found = {}
        for i in range(args.logs):
            rng = np.random.default_rng([args.seed, horizon, i])
            world = World(rng, horizon, args.gamma, i % 2 == 0)
            log = world.log(rng, args.episodes)
            with tempfile.TemporaryDirectory() as directory:
                ours = of_dowise(args.binary, world, log, args.gamma, Path(directory))
            if ours is None:
                continue
            points = of_causalrl(log, 1.0)
            for name, interval in {"dowise": ours[0], **of_causalrl(log, args.gamma)}.items():
                apart = abs(points.get(name, (ours[1],))[0] - ours[1])
                found.setdefault(name, []).append((interval, world.value(), apart))
        for name, all_of in found.items():
            inside = np.mean([low <= value <= high for (low, high), value, _ in all_of])
            width = np.mean([high - low for (low, high), _, _ in all_of])
            apart = max(of[2] for of in all_of)
            print(f"| {horizon} | {name} | {len(all_of)} | {100 * inside:.0f} % | {width:.3f} | {apart:.3f} |")


if __name__ == "__main__":
    main()
