"""Time per episode of dowise and of rlberry 0.6.0 on the paper's environment, measured in one run.

    python3 benchmarks/peers.py            # makes a virtual environment, installs the peer, measures both

rlberry learns an ordinary MDP of the same size drawn in the same way (it has no key variables), with numba compiled
before the clock starts. Times are the best of many runs, on one core, both sides twice in turn. The ratios are what counts: both sides ran on the same
machine at the same time of day. Writes a table in Markdown to standard output; benchmarks/performance.py makes a page of it.
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PEER = ["rlberry==0.6.0", "gymnasium==0.29.1", "numba", "setuptools<81"]
SIZES = {"S 8, A 64": (3, 4, 200), "S 64, A 343": (6, 7, 20)}  # factors, levels, episodes timed


def measure_peer():
    """Runs inside the virtual environment: microseconds per episode of rlberry's UCBVI and PSRL."""
    import logging

    import numpy as np
    from rlberry.agents import PSRLAgent, UCBVIAgent
    from rlberry.envs.finite import FiniteMDP

    logging.disable(logging.CRITICAL)
    horizon, n_keys = 5, 3
    for size, (factors, levels, episodes) in SIZES.items():
        rng = np.random.default_rng(1)
        n_states, n_actions, n_causes = 2**factors, levels**n_keys, 2**n_keys
        cause = rng.dirichlet(np.ones(n_causes), size=(n_states, n_actions))
        one = rng.dirichlet(np.ones(2), size=(factors, 2, n_causes))
        bits = (np.arange(n_states)[:, None] >> np.arange(factors)) & 1
        step = np.ones((n_states, n_causes, n_states))
        for i in range(factors):
            step *= one[i][bits[:, i]][:, :, bits[:, i]]
        transitions = np.einsum("sac,scn->san", cause, step)
        transitions /= transitions.sum(axis=2, keepdims=True)
        # rlberry asks for rows that sum to one to the last digit.
        transitions[..., -1] += 1.0 - transitions.sum(axis=2)
        rewards = np.einsum("sac,sc->sa", cause, rng.random((n_states, n_causes)))
        for name, agent_class, options in [
            ("UCBVI", UCBVIAgent, dict(bonus_scale_factor=1.0, stage_dependent=False, real_time_dp=False)),
            ("PSRL", PSRLAgent, dict()),
        ]:
            best, began = float("inf"), time.perf_counter()
            attempt = -1
            while attempt < 3 or time.perf_counter() - began < 3.0:
                attempt += 1
                env = FiniteMDP(rewards, transitions, initial_state_distribution=0)
                agent = agent_class(env, gamma=1.0, horizon=horizon, **options)
                start = time.perf_counter()
                agent.fit(budget=episodes)
                elapsed = (time.perf_counter() - start) * 1e6 / episodes
                if attempt > 0:  # the first one compiles
                    best = min(best, elapsed)
            print(json.dumps({"size": size, "learner": f"rlberry {name}", "us_per_episode": round(best, 2)}), flush=True)


def lines(command, **options):
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


ENVIRONMENT = ROOT / "target" / "peer-venv"
PYTHON = ENVIRONMENT / "bin" / "python"
BEGUN = time.monotonic()


def say(what):
    """Progress, since all of it takes minutes."""
    print(f"{time.monotonic() - BEGUN:4.0f} s: {what}", file=sys.stderr, flush=True)


def build(*examples):
    """Makes examples, all with the same features, so that the library is compiled once; gives their directory."""
    say(f"building {', '.join(examples)}")
    named = [word for name in examples for word in ("--example", name)]
    command = ["cargo", "build", "--release", "--quiet", "--locked", "-p", "dowise", "--features", "probes", *named]
    subprocess.run(command, cwd=ROOT, check=True)
    metadata = json.loads(subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout)
    return pathlib.Path(metadata["target_directory"]) / "release" / "examples"


def measure(program):
    """Both sides, on one core; `program` is the example `episode_times`."""
    if not PYTHON.exists():
        say("installing the peer")
        venv.create(ENVIRONMENT, with_pip=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", *PEER], check=True)
    one_core = dict(os.environ, NUMBA_NUM_THREADS="1", OMP_NUM_THREADS="1", RAYON_NUM_THREADS="1")
    sides = {"peer": [PYTHON, HERE / "peers.py", "--peer"], "dowise": [program]}
    # In turn, so that a busy hour is not held against one of them.
    rounds = []
    for turn in (1, 2):
        rounds.append({})
        for side, command in sides.items():
            say(f"episodes of {side}, turn {turn} of 2")
            rounds[-1][side] = lines(command, env=one_core)
    return {side: [min(pair, key=lambda row: row["us_per_episode"]) for pair in zip(*(r[side] for r in rounds))] for side in sides}


def ratios(peer, ours):
    """(our row, the peer's learner, its microseconds, how many times longer they are)"""
    for row in ours:
        family = "PSRL" if "psrl" in row["learner"] else "UCBVI"
        other = next(p for p in peer if p["size"] == row["size"] and p["learner"].endswith(family))["us_per_episode"]
        yield row, family, other, other / row["us_per_episode"]


def main():
    measured = measure(build("episode_times") / "episode_times")
    print("| size | learner | µs per episode | judging, apart | rlberry's | µs | ratio |\n|---|---|--:|--:|---|--:|--:|")
    for row, family, other, ratio in ratios(measured["peer"], measured["dowise"]):
        print(
            f"| {row['size']} | {row['learner']} | {row['us_per_episode']:.1f} | {row['us_judging']:.1f} "
            f"| {family} | {other:.0f} | {ratio:.0f} |"
        )


if __name__ == "__main__":
    measure_peer() if "--peer" in sys.argv else main()
