"""Random graphs with hidden causes: is what `dowise evaluate` identifies identifiable, and are its values the true ones?

    python3 benchmarks/identification/identification.py --binary target/release/dowise --graphs 1000 --seed 1

Each graph has state factors, levers with declared parents, key variables, hidden variables and a next state. Whether
P(next state, key variables of rewards | do(levers)) is identifiable is decided by `y0` (the ID algorithm). The log
contains every possible step, with its probability under random mechanisms as its weight, so that an estimate differs
from the truth only if its formula is wrong. The truth is computed by enumeration.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from y0.algorithm.identify import identify_outcomes
from y0.dsl import Variable
from y0.graph import NxMixedGraph

STEPS = 4_000_000  # total weight of a log
TOLERANCE = 2e-3  # rounding of weights and the prior


class Graph:
    """A random step graph. `parents` are named by variable; a next value is called `next.` and its state factor."""

    def __init__(self, rng, wide):
        draw = lambda low, high: int(rng.integers(low, high + 1))
        self.states = [f"s{i}" for i in range(draw(1, 2))]
        self.levers = [f"x{i}" for i in range(draw(1, 2 + wide))]
        self.keys = [f"k{i}" for i in range(draw(1, 3 + wide))]
        self.hidden = [f"u{i}" for i in range(draw(1, 2 + wide))]
        self.next = [f"next.{s}" for s in self.states]
        inner = self.levers + self.keys
        order = [inner[i] for i in rng.permutation(len(inner))]
        if rng.random() < 0.6:  # levers first, as in most worlds
            order.sort(key=lambda name: name in self.keys)
        self.order = self.states + self.hidden + order + self.next
        self.parents = {name: [] for name in self.order}
        pick = lambda names, p: [name for name in names if rng.random() < p]
        for i, name in enumerate(order):
            self.parents[name] = pick(self.states, 0.4) + pick(order[:i], 0.5)
        for name in self.next:
            self.parents[name] = pick(self.states, 0.6) + pick(self.keys, 0.5) + pick(self.levers, 0.15)
        for u in self.hidden:
            self.parents[u] = pick(self.states, 0.15)
            if rng.random() < 0.3:  # a lever and a next value
                self.confound(u, [inner[int(rng.integers(len(self.levers)))], self.next[0]])
            else:
                size = min(len(order), draw(2, 3))
                self.confound(u, [order[i] for i in rng.choice(len(order), size, replace=False)])
        self.scope = pick(self.keys, 0.6) or [self.keys[-1]]

    def confound(self, hidden, names):
        for name in names:
            self.parents[name].append(hidden)

    def observed(self):
        """Parents among observed variables, hidden ones projected out, and pairs with a hidden common cause."""
        seen = [name for name in self.order if name not in self.hidden]
        parents = {
            name: {q for p in self.parents[name] for q in (self.parents[p] if p in self.hidden else [p])}
            for name in seen
        }
        pairs = {
            frozenset(pair)
            for u in self.hidden
            for pair in itertools.combinations([n for n in seen if u in self.parents[n]], 2)
        }
        return parents, pairs

    def is_identifiable(self):
        parents, pairs = self.observed()
        directed = [(Variable(p), Variable(c)) for c in parents for p in parents[c]]
        # y0 loses isolated nodes; a parent of its own changes nothing for the others.
        directed += [(Variable(f"alone.{c}"), Variable(c)) for c in parents]
        undirected = [tuple(Variable(n) for n in sorted(pair)) for pair in pairs]
        graph = NxMixedGraph.from_edges(nodes=[Variable(n) for n in parents], directed=directed, undirected=undirected)
        do = {Variable(n) for n in self.states + self.levers}
        wanted = [self.next, self.scope]
        return all(identify_outcomes(graph, do, {Variable(n) for n in names}) is not None for names in wanted)


class Truth:
    """Binary mechanisms of a graph, its rewards, and exact values."""

    def __init__(self, rng, graph):
        self.graph = graph
        self.p = {n: rng.uniform(0.1, 0.9, (2,) * len(graph.parents[n])) for n in graph.order}
        self.reward = {
            "paid": rng.uniform(0, 1, (2,) * len(graph.scope)).round(3),
            "later": rng.uniform(0, 1, (2,) * len(graph.next)).round(3),
        }
        self.policy = {s: rng.integers(0, 2, len(graph.levers)) for s in itertools.product((0, 1), repeat=len(graph.states))}

    def joint(self, do):
        """All variables' values and probabilities; `do`: whether levers follow the policy."""
        order = self.graph.order
        values = np.array(list(itertools.product((0, 1), repeat=len(order))))
        of = {name: values[:, i] for i, name in enumerate(order)}
        p = np.ones(len(values))
        for name in order:
            one = self.p[name][tuple(of[q] for q in self.graph.parents[name])]
            if do and name in self.graph.levers:
                at = self.graph.levers.index(name)
                states = np.array([of[s] for s in self.graph.states]).T
                one = np.array([float(self.policy[tuple(s)][at]) for s in states])
            p = p * np.where(of[name] == 1, one, 1 - one)
        return of, p

    def value(self):
        of, p = self.joint(do=True)
        paid = self.reward["paid"][tuple(of[n] for n in self.graph.scope)]
        return float(p @ (paid + self.reward["later"][tuple(of[n] for n in self.graph.next)]))


def world_text(graph, truth):
    out = ["dowise = 1", 'name = "graph"', "horizon = 1"]
    for s in graph.states:
        out += [f"[state.{s}]", "values = 2", f"scope = {json.dumps(graph.parents['next.' + s])}", "start = [0.5, 0.5]"]
    for kind, names in (("lever", graph.levers), ("key", graph.keys), ("hidden", graph.hidden)):
        for name in names:
            out += [f"[{kind}.{name}]", "values = 2", f"parents = {json.dumps(graph.parents[name])}"]
    for name, scope in (("paid", graph.scope), ("later", graph.next)):
        value = json.dumps(truth.reward[name].tolist())
        out += [f"[reward.{name}]", f"scope = {json.dumps(scope)}", "range = [0, 1]", f"value = {value}"]
    return "\n".join([*out, "[interventions]", 'set = "all"', ""])


def log_text(graph, truth):
    of, p = truth.joint(do=False)
    names = [n for n in graph.order if n not in graph.hidden]
    weights = Counter()
    for i, mass in enumerate(p):
        weights[tuple(int(of[n][i]) for n in names)] += mass
    lines = [",".join(["episode", "stage", *names, "weight"])]
    for episode, (values, mass) in enumerate(sorted(weights.items()), 1):
        if round(mass * STEPS):
            lines.append(",".join(map(str, [episode, 1, *values, round(mass * STEPS)])))
    return "\n".join(lines) + "\n"


def policy_text(graph, truth):
    rules = [
        {
            "state": {n: str(v) for n, v in zip(graph.states, s)},
            "do": {n: str(int(v)) for n, v in zip(graph.levers, do)},
        }
        for s, do in truth.policy.items()
    ]
    return json.dumps({"policy": rules})


def judge(binary, seed, wide):
    """The kind of answer to one random graph."""
    rng = np.random.default_rng(seed)
    graph = Graph(rng, wide)
    truth = Truth(rng, graph)
    identifiable = graph.is_identifiable()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "w.toml").write_text(world_text(graph, truth))
        (folder / "log.csv").write_text(log_text(graph, truth))
        (folder / "policy.json").write_text(policy_text(graph, truth))
        words = [binary, "evaluate", "w.toml", "log.csv", "--policy", "policy.json", "--keep", "rewards", "--json"]
        done = subprocess.run([*words, "--samples", "40"], cwd=folder, capture_output=True, text=True)
        checked = subprocess.run([binary, "check", "w.toml", "--json"], cwd=folder, capture_output=True, text=True)
    if checked.returncode:
        return identifiable, "not statable", checked.stdout
    if "model" not in done.stdout:
        return identifiable, "refused", done.stderr + done.stdout
    answer = json.loads(done.stdout)
    methods = {found["by"] for found in answer.get("identification", [])}
    if "not-identified" in methods or "prior-only" in methods:
        return identifiable, "refused", json.dumps(answer["identification"])
    found, true = answer["model"]["mean"], truth.value()
    return identifiable, "right" if abs(found - true) < TOLERANCE else "wrong", f"{found} instead of {true}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--wide", action="store_true", help="up to three levers, four key variables, three hidden ones")
    parser.add_argument("--show", default="", help="print the seeds of such answers: wrong, refused")
    given = parser.parse_args()
    binary = str(Path(given.binary).resolve())
    seeds = [(given.seed, i) for i in range(given.graphs)]
    counts = Counter()
    with ThreadPoolExecutor(given.jobs) as pool:
        answers = pool.map(lambda seed: judge(binary, seed, given.wide), seeds)
        for seed, (identifiable, kind, why) in zip(seeds, answers):
            counts[identifiable, kind] += 1
            if kind in given.show.split(",") and (identifiable or kind == "wrong"):
                print(seed, "identifiable" if identifiable else "not identifiable", kind, why[:1500], file=sys.stderr)
    print(f"{'':18}{'identifiable':>14}{'not identifiable':>18}")
    for kind in ("right", "wrong", "refused", "not statable"):
        print(f"{kind:18}{counts[True, kind]:14}{counts[False, kind]:18}")


main()
