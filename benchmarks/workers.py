"""Measures how long a comparison takes on more and more workers, and draws docs/figures/workers.png.

    .venv/bin/python benchmarks/workers.py

Needs the environment that `make python` makes, and a program built with `cargo build --release -p dowise-cli`, or another one by `DOWISE=`. The runs are played by threads of
one process, by processes of `concurrent.futures`, by nodes of Ray on loopback with one processor each, and by shards, each a process of its own that
are merged in the end. Times include starting the workers, but for the nodes of Ray, which stand for machines that are there. All results are compared: they have to be the same numbers.
Says on standard error what it is at, and prints a table.
"""

import concurrent.futures
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import dowise

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("DOWISE", ROOT / "target" / "release" / "dowise")).resolve()
WORLD = "paper:levels=4,factors=3"
LEARNERS = ["c-ucbvi", "cf-ucbvi", "c-psrl"]
SIZE = {"episodes": 20000, "repetitions": 8}
WORKERS = [1, 2, 3, 4]


def by_threads(n):
    return dowise.compare(WORLD, LEARNERS, **SIZE, threads=n).regret[..., -1]


def by_processes(n):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(n, mp_context=context) as executor:
        return dowise.compare(WORLD, LEARNERS, **SIZE, executor=executor).regret[..., -1]


def by_ray(n):
    import ray
    from ray.cluster_utils import Cluster

    import dowise.ray

    here = {"node_ip_address": "127.0.0.2", "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **here})
    for _ in range(n):
        cluster.add_node(num_cpus=1, **here)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error", _node_ip_address="127.0.0.2")
    # The interpreters of the nodes are started, and have loaded dowise.
    dowise.ray.compare("river-swim", ["greedy"], episodes=1, repetitions=2 * n)
    try:
        begun = time.monotonic()
        regret = dowise.ray.compare(WORLD, LEARNERS, **SIZE).regret[..., -1]
        return regret, time.monotonic() - begun
    finally:
        ray.shutdown()
        cluster.shutdown()


def by_shards(n):
    with tempfile.TemporaryDirectory() as place:
        size = [f"--episodes={SIZE['episodes']}", f"--repetitions={SIZE['repetitions']}", "--threads=1"]
        command = [PROGRAM, "--quiet", "compare", WORLD, "--learners", ",".join(LEARNERS), *size]
        started = [
            subprocess.Popen([*command, f"--shard={i}/{n}", f"--out={place}/{i}"], stdout=subprocess.DEVNULL)
            for i in range(1, n + 1)
        ]
        if any(process.wait() for process in started):
            sys.exit("a shard failed")
        parts = [f"{place}/{i}" for i in range(1, n + 1)]
        subprocess.run([PROGRAM, "--quiet", "merge", *parts, f"--out={place}/all"], check=True, stdout=subprocess.DEVNULL)
        rows = pathlib.Path(f"{place}/all/runs.csv").read_text().splitlines()
        column = rows[0].split(",").index("regret")
        found = [float(row.split('"')[-1].split(",")[column - len(rows[0].split(","))]) for row in rows[1:]]
        return np.array(found).reshape(1, len(LEARNERS), -1)


WAYS = {"threads": by_threads, "processes": by_processes, "nodes of Ray": by_ray, "shards, merged": by_shards}


def measured():
    """Seconds of each way, worker by worker."""
    expected, seconds = by_threads(os.cpu_count()), {}
    for name, way in WAYS.items():
        for n in WORKERS:
            print(f"{name}, {n} workers", file=sys.stderr)
            begun = time.monotonic()
            found = way(n)
            found, took = found if isinstance(found, tuple) else (found, time.monotonic() - begun)
            if not np.array_equal(found, expected):
                sys.exit(f"{name} with {n} workers came to other numbers")
            seconds.setdefault(name, []).append(took)
    return seconds


def draw(seconds):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.2, 3.8), dpi=150)
    longest = max(taken[0] for taken in seconds.values())
    cores = os.cpu_count()
    axes.plot(WORKERS, [longest / min(n, cores) for n in WORKERS], color="0.6", linestyle="--", label=f"1 / workers, {cores} cores")
    for (name, taken), marker in zip(seconds.items(), "osD^"):
        axes.plot(WORKERS, taken, marker=marker, label=name)
    axes.set(xlabel="workers", ylabel="seconds", xticks=WORKERS, ylim=(0, None), title=f"{len(LEARNERS) * SIZE['repetitions']} runs of {SIZE['episodes']:,} episodes")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "figures" / "workers.png")


if __name__ == "__main__":
    seconds = measured()
    draw(seconds)
    print("| workers | " + " | ".join(seconds) + " |")
    print("|--:|" + "--:|" * len(seconds))
    for i, n in enumerate(WORKERS):
        print(f"| {n} | " + " | ".join(f"{taken[i]:.1f} s" for taken in seconds.values()) + " |")
