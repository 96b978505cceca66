"""What Python costs: `dowise.run` beside the command line's loop, and one `act` with one `observe`.

Usage: python crates/dowise-py/benches/overhead.py path/to/release/dowise
"""

import json
import statistics
import subprocess
import sys
import time

import dowise

EPISODES = 20_000
ROUNDS = 5


def timed(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def command_line(program):
    """Seconds that the program says its run took: learning alone, without starting up."""
    command = [program, "compare", "paper:levels=4,seed=1", "--learners", "c-psrl", "--episodes", str(EPISODES)]
    import csv
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        command += ["--repetitions", "1", "--threads", "1", "-o", directory + "/out", "--json"]
        json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        with open(directory + "/out/timings.csv", newline="") as file:
            return float(next(csv.DictReader(file))["seconds"])


def loop_from_python(world, episodes):
    from dowise._lib import Simulation

    learner, simulation = dowise.Learner(world, "c-psrl", episodes=episodes), Simulation(world, 0)
    spent = 0.0
    for _ in range(episodes):
        state = simulation.reset()
        learner.act(state)  # plans
        for _ in range(world.horizon):
            begun = time.perf_counter()
            action = learner.act(state)
            spent += time.perf_counter() - begun
            next_state, _, keys, _, _, _ = simulation.step(action)
            begun = time.perf_counter()
            learner.observe(state, action, next_state, keys=keys)
            spent += time.perf_counter() - begun
            state = next_state
        learner.end_episode()
    return spent / (episodes * world.horizon)


def main():
    world = dowise.World.named("paper", levels=4, seed=1)
    world.plan()
    ours = [timed(lambda: dowise.run(world, "c-psrl", episodes=EPISODES, progress=False)) for _ in range(ROUNDS)]
    print(f"dowise.run: {EPISODES / min(ours):,.0f} episodes a second (best of {ROUNDS})")
    if len(sys.argv) > 1:
        theirs = [command_line(sys.argv[1]) for _ in range(ROUNDS)]
        print(f"command line: {EPISODES / min(theirs):,.0f} episodes a second (best of {ROUNDS})")
        print(f"dowise.run takes {100 * (min(ours) / min(theirs) - 1):+.1f} % of the command line's time")
    step = [loop_from_python(world, 500) for _ in range(ROUNDS)]
    print(f"act + observe from Python: {1e6 * statistics.median(step):.1f} µs a step")


if __name__ == "__main__":
    main()
