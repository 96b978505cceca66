"""What Python costs: `dowise.run` beside the command line's loop, and one `act` with one `observe`.

Usage: python crates/dowise-py/benches/overhead.py path/to/release/dowise
"""

import resource
import subprocess
import sys
import time

import dowise

EPISODES = 200_000
ROUNDS = 5


def from_python(world):
    """Processor seconds of a run, without what it takes to set up: other programs on the machine do not count."""

    def seconds(episodes):
        begun = time.process_time()
        dowise.run(world, "c-psrl", episodes=episodes, progress=False)
        return time.process_time() - begun

    return seconds(EPISODES) - seconds(1)


def command_line(program):
    """Processor seconds of the same run by the program, without what it takes to start and to report."""

    def seconds(episodes):
        command = [program, "--quiet", "learn", "paper:levels=4,seed=1", "--learner", "c-psrl"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, "--episodes", str(episodes), "--json"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return seconds(EPISODES) - seconds(1)


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
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(from_python(world))
        if len(sys.argv) > 1:
            theirs.append(command_line(sys.argv[1]))
    print(f"dowise.run: {EPISODES / min(ours):,.0f} episodes a processor second (best of {ROUNDS})")
    if theirs:
        print(f"command line: {EPISODES / min(theirs):,.0f} episodes a processor second (best of {ROUNDS})")
        print(f"dowise.run takes {100 * (min(ours) / min(theirs) - 1):+.1f} % more than the command line")
    step = [loop_from_python(world, 500) for _ in range(ROUNDS)]
    print(f"act + observe from Python: {1e6 * min(step):.1f} µs a step")


if __name__ == "__main__":
    main()
