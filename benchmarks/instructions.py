"""Instructions that an episode takes, of two builds of the example `play_episodes`, learner by learner.

    cargo build --release -p dowise --example play_episodes       # here, and in a clone of an earlier commit
    python3 benchmarks/instructions.py BEFORE AFTER [8|64] [LEARNER ...]

Counted by `valgrind --tool=callgrind`, so other programs on the machine do not matter; setting up is left out, as the difference
between a long and a short run. A learner may be given as OLD=>NEW where a name or a default has changed.
"""

import re
import subprocess
import sys

LEARNERS = [
    "ucbvi:width=rlberry",
    "f-ucbvi:width=rlberry",
    "c-ucbvi:width=rlberry",
    "cf-ucbvi:width=rlberry",
    "ucbvi=>ucbvi:sets=kl",
    "f-ucbvi=>f-ucbvi:sets=kl",
    "c-ucbvi=>c-ucbvi:sets=kl",
    "cf-ucbvi=>cf-ucbvi:sets=kl",
    "psrl",
    "c-psrl",
    "cf-psrl",
    "uniform",
]
RUNS = {"8": (100, 1100), "64": (10, 40)}


def instructions(program, states, learner, episodes):
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*tool, program, states, learner, str(episodes)], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"{program} {states} {learner}: {done.stderr}")
    return int(found.group(1))


def per_episode(program, states, learner):
    few, many = RUNS[states]
    counts = [instructions(program, states, learner, n) for n in (few, many)]
    return (counts[1] - counts[0]) / (many - few)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print(f"{'states':>6} {'learner':28} {'before':>12} {'after':>12} {'ratio':>6}")
    sizes = [size for size in RUNS if size in sys.argv[3:]] or RUNS
    learners = [name for name in sys.argv[3:] if name not in RUNS] or LEARNERS
    for states in sizes:
        for both in learners:
            old, _, new = both.partition("=>")
            before = per_episode(sys.argv[1], states, old)
            after = per_episode(sys.argv[2], states, new or old)
            print(f"{states:>6} {new or old:28} {before:12.0f} {after:12.0f} {after / before:6.3f}", flush=True)


main()
