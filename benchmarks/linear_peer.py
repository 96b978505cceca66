"""LSVI-UCB of rlberry 0.6.0 beside dowise's linear learners: time and regret on one linear MDP, in one run.

    python3 benchmarks/linear_peer.py [EPISODES [STATES INTERVENTIONS FEATURES]]   # 200 8 8 4 unless told

A random MDP that is linear in features of state and intervention, exactly. Both sides get the same numbers: rlberry as a finite MDP with a
feature map, dowise as a world whose key variable is the intervention, so that φ(s, z) is ψ(s, a). Regret is K V* less the rewards received; rlberry's bonus has the scale
given (1 is its default), ours are as they are. rlberry computes every width anew for every step of the past, so its time grows with the square of the run. rlberry's time includes making the agent, not compiling; ours is that of 50 times as many
episodes, judging every policy included, less opening the program; set DOWISE to a program that is built already.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import venv

from peers import ENVIRONMENT, PEER, PYTHON, ROOT, say

HORIZON = 5
SCALES = (1.0, 0.1)
LEARNERS = ("lsvi-ucb", "lsvi-ucb:beta-scale=0.01", "c-lsvi-ucb", "c-blsvi")


def draw(states, interventions, features, seed=1):
    """Transitions [s, a, s'], rewards [s, a] and features [s, a, d] of a linear MDP; numpy is the peer's."""
    import numpy as np

    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(features, 0.3), size=(states, interventions))
    mu = rng.dirichlet(np.ones(states), size=features)
    omega = rng.random(features)
    transitions = phi @ mu
    transitions /= transitions.sum(axis=2, keepdims=True)
    return transitions, phi @ omega, phi


def best(transitions, rewards):
    """V* at state 0 by backward induction."""
    import numpy as np

    value = np.zeros(len(rewards))
    for _ in range(HORIZON):
        value = (rewards + transitions @ value).max(axis=1)
    return value[0]


def measure_peer(episodes, sizes):
    """Runs inside the virtual environment: prints the MDP's numbers, then rlberry's time and regret."""
    import logging

    import numpy as np
    from gymnasium.spaces import Box
    from rlberry.agents.features import FeatureMap
    from rlberry.agents.linear import LSVIUCBAgent
    from rlberry.envs.finite import FiniteMDP

    logging.disable(logging.CRITICAL)
    transitions, rewards, phi = draw(*sizes)
    optimal = best(transitions, rewards)
    world = {"transitions": transitions.tolist(), "rewards": rewards.tolist(), "features": phi.tolist()}
    print(json.dumps({"world": world, "best": optimal}), flush=True)
    exact = transitions.copy()
    # rlberry asks for rows that sum to one to the last digit.
    exact[..., -1] += 1.0 - exact.sum(axis=2)

    class Map(FeatureMap):
        def __init__(self, env):
            self.shape = (phi.shape[2],)

        def map(self, state, action):
            return phi[state, action]

    class Counting(FiniteMDP):
        """Adds up what it pays, and ends no episode by itself."""

        total = 0.0

        def step(self, action):
            out = super().step(action)
            Counting.total += out[1]
            return out

    # Compiled before the clock starts.
    warm = Counting(rewards, exact, initial_state_distribution=0)
    LSVIUCBAgent(warm, HORIZON, feature_map_fn=Map, gamma=1.0, reg_factor=1.0, seeder=1).fit(3)
    for scale in SCALES:
        Counting.total = 0.0
        env = Counting(rewards, exact, initial_state_distribution=0)
        env.reward_range = (0.0, 1.0)
        start = time.perf_counter()
        agent = LSVIUCBAgent(
            env, HORIZON, feature_map_fn=Map, gamma=1.0, bonus_scale_factor=scale, reg_factor=1.0, seeder=1
        )
        agent.fit(episodes)
        elapsed = time.perf_counter() - start
        row = {"learner": f"rlberry LSVI-UCB, bonus × {scale}", "ms": 1e3 * elapsed / episodes}
        print(json.dumps({**row, "regret": episodes * optimal - Counting.total}), flush=True)


def text(world):
    """The same MDP as a world file."""
    states, interventions = len(world["rewards"]), len(world["rewards"][0])
    identity = [[1.0 if a == z else 0.0 for z in range(interventions)] for a in range(interventions)]
    return f"""dowise = 1
name = "a linear MDP"
horizon = {HORIZON}
[state.s]
values = {states}
start = "0"
scope = ["s", "z"]
next = {{ p = {world["transitions"]} }}
[lever.a]
values = {interventions}
[key.z]
values = {interventions}
parents = ["a"]
p = {identity}
[reward.r]
scope = ["s", "z"]
value = {world["rewards"]}
range = [0.0, 1.0]
[features]
kind = "table"
scope = ["s", "z"]
value = {world["features"]}
"""


def measure_ours(program, world, optimal, episodes):
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "linear.toml"
        file.write_text(text(world))
        for learner in LEARNERS:
            command = [program, "--quiet", "learn", str(file), "--json", "--learner", learner, "--seed", "1"]
            # Opening the program and planning exactly once are the same for few episodes and for many.
            took, found, many = [], None, 50 * episodes
            for k in (episodes, many):
                start = time.perf_counter()
                out = subprocess.run([*command, "--episodes", str(k)], check=True, stdout=subprocess.PIPE, text=True)
                took.append(time.perf_counter() - start)
                found = found or json.loads(out.stdout)
            each = 1e3 * (took[1] - took[0]) / (many - episodes)
            yield {"learner": f"dowise {learner}", "ms": each, "regret": episodes * optimal - found["reward"]}


def main():
    given = [int(word) for word in sys.argv[1:] if word != "--peer"]
    episodes, sizes = (given or [200])[0], tuple(given[1:]) or (8, 8, 4)
    if "--peer" in sys.argv:
        return measure_peer(episodes, sizes)
    python = pathlib.Path(os.environ.get("PEER_PYTHON", PYTHON))
    if not python.exists():
        say("installing the peer")
        venv.create(ENVIRONMENT, with_pip=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", *PEER], check=True)
    program = os.environ.get("DOWISE")
    if program is None:
        say("building the program")
        subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "dowise-cli"], cwd=ROOT, check=True)
        program = ROOT / "target" / "release" / "dowise"
    say("rlberry")
    command = [python, __file__, "--peer", str(episodes), *map(str, sizes)]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    head, rows = lines[0], lines[1:]
    say("dowise")
    rows += measure_ours(program, head["world"], head["best"], episodes)
    states, interventions, features = sizes
    print(f"S = {states}, A = {interventions}, d = {features}, H = {HORIZON}, {episodes} episodes, V* = {head['best']:.3f}\n")
    print("| learner | ms per episode | regret |\n|---|--:|--:|")
    for row in rows:
        print(f"| {row['learner']} | {row['ms']:.3f} | {row['regret']:.1f} |")


if __name__ == "__main__":
    main()
