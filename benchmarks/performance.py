"""Measures everything that docs/performance.md reports, and writes that page with its figures.

    python3 benchmarks/performance.py

Runs benchmarks/peers.py (rlberry beside dowise), the examples `plan_growth`, `parts_growth`, `large_states` and `roofline`, and benchmarks/where.py (a profile), one
after another, each on one core (`large_states` on all of them as well); says on standard error what it is at.
"""

import csv
import io
import json
import os
import subprocess
import sys

import peers
import where

DOCS = peers.ROOT / "docs"


def example(program):
    peers.say(f"running {program.name}")
    one_core = dict(os.environ, RAYON_NUM_THREADS="1")
    return subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True, env=one_core).stdout


def large_states(program):
    """Episodes with many states, each in a process of its own, so that its memory is its own: on one core, then on all."""
    flat = [(0, learner) for learner in ["ucbvi", "c-ucbvi", "psrl", "c-psrl"]]
    graph = [(factors, learner) for factors in [14, 17] for learner in ["graph-psrl", "graph-ucbvi"]]
    rows = []
    for factors, learner in flat + graph:
        peers.say(f"running {program.name} {learner}")
        command = [program, "200", str(factors), learner]
        on = [
            json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **threads)).stdout)
            for threads in ({"RAYON_NUM_THREADS": "1"}, {})
        ]
        rows.append((on[0], on[1]))
    return rows


def table(head, rows):
    marks = ["---" if isinstance(cell, str) else "--:" for cell in rows[0]]
    lines = [head, marks, *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def draw(growth, parts):
    """Runs inside the peer's environment, which has matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for series, column, label in [("states", "states", "states"), ("interventions", "interventions", "interventions")]:
        rows = [row for row in growth if row["series"] == series]
        x = [float(row[column]) for row in rows]
        y = [float(row["plan_s"]) for row in rows]
        figure, axes = plt.subplots(figsize=(5, 3.2), constrained_layout=True)
        axes.loglog(x, y, "o-", color="#1f6f8b", label="one exact plan")
        if series == "states":
            axes.loglog(x, [y[0] * (v / x[0]) for v in x], "--", color="#999999", label="slope 1")
            fixed = "1.07 · 10⁹ interventions"
        else:
            axes.set_ylim(y[0] / 10, y[0] * 10)
            fixed = "4096 states"
        axes.set_xlabel(f"number of {label}")
        axes.set_ylabel("seconds")
        axes.set_title(f"Exact plan, {fixed}, 8 causes, horizon 5", fontsize=9)
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(frameon=False)
        figure.savefig(DOCS / "figures" / f"plan-growth-{series}.png", dpi=150)
    figure, axes = plt.subplots(figsize=(5, 3.2), constrained_layout=True)
    lines = [
        ("joint_plan_ms", "s--", "#999999", "plan over joint causes"),
        ("plan_ms", "o-", "#1f6f8b", "plan part by part"),
        ("graph_psrl_ms", "^-", "#b5651d", "episode of graph-psrl"),
        ("graph_psrl_unknown_ms", "^:", "#b5651d", "the same, nothing told"),
        ("graph_ucbvi_ms", "v-", "#6a4c93", "episode of graph-ucbvi"),
        ("graph_ucbvi_unknown_ms", "v:", "#6a4c93", "the same, nothing told"),
    ]
    for column, style, colour, label in lines:
        rows = [row for row in parts if row[column] != "NaN"]
        axes.semilogy([int(row["keys"]) for row in rows], [float(row[column]) for row in rows], style, color=colour, label=label)
    axes.set_xlabel("binary key variables, four to a state factor")
    axes.set_ylabel("milliseconds")
    axes.set_title("Worlds that fall apart, horizon 5", fontsize=9)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False, fontsize=7)
    figure.savefig(DOCS / "figures" / "parts-growth.png", dpi=150)


def page(measured, growth, parts, large, lines, profile):
    episodes = [
        [row["size"], f"`{row['learner']}`", row["us_per_episode"], row["us_judging"], f"{family} {peer:.0f} µs", round(ratio, 1)]
        for row, family, peer, ratio in peers.ratios(measured["peer"], measured["dowise"])
    ]
    plans = [
        [int(row["states"]), f"{int(row['interventions']):,}", *(f"{float(row[k]) * 1e3:.2f}" for k in ["build_s", "plan_s"]), row["ns_per_state_and_stage"]]
        for row in growth
    ]
    falling_apart = [
        [int(row["keys"]), int(row["states"]), int(row["parts"]), *("—" if row[k] == "NaN" else f"{float(row[k]):.2f}" for k in ["plan_ms", "joint_plan_ms", "graph_psrl_ms", "graph_ucbvi_ms", "graph_psrl_unknown_ms", "graph_ucbvi_unknown_ms"])]
        for row in parts
    ]
    many_states = [
        [one["states"], f"`{one['learner']}`", *(one[k] for k in ["ms_per_episode", "ms_with_judging", "ms_of_a_plan"]), all_cores["ms_per_episode"], round(one["ms_per_episode"] / all_cores["ms_per_episode"], 2), round(int(one["memory"].split()[0]) / 1024)]
        for one, all_cores in large
    ]
    machine = [[row["machine"], row.get("gflops", ""), row.get("read_gb_s", ""), row.get("write_gb_s", "")] for row in lines if "machine" in row]
    loops = [[row["loop"], row["microseconds"], row["gflops"], row["gb_s"], row["bound_by"], f"{100 * row['of_bound']:.0f} %", row["times_plain"]] for row in lines if "loop" in row]
    text = (peers.HERE / "performance.md.in").read_text()
    for name, made in [
        ("EPISODES", table(["size", "learner", "µs an episode", "judging, apart", "rlberry", "times faster"], episodes)),
        ("PLANS", table(["states", "interventions", "kernel, ms", "plan, ms", "ns a state and stage"], plans)),
        ("PARTS", table(["key variables", "states", "parts", "plan, ms", "over joint causes", "graph-psrl, ms an episode", "graph-ucbvi", "graph-psrl, nothing told", "graph-ucbvi, nothing told"], falling_apart)),
        ("LARGE", table(["states", "learner", "ms an episode", "with judging", "exact plan, ms", f"ms on {os.cpu_count()} cores", "times faster", "MB"], many_states)),
        ("MACHINE", table(["this machine, one core", "Gflop/s", "GB/s read", "GB/s written"], machine)),
        ("LOOPS", table(["loop", "µs", "Gflop/s", "GB/s", "bounded by", "of the bound", "times a plain loop"], loops)),
        ("PROFILE", profile or "(No profile: `perf` and `addr2line` were not there when this page was written.)"),
    ]:
        text = text.replace("{{" + name + "}}", made)
    (DOCS / "performance.md").write_text(text)


def main():
    programs = peers.build("episode_times", "plan_growth", "parts_growth", "large_states", "roofline")
    measured = peers.measure(programs / "episode_times")
    growth = list(csv.DictReader(io.StringIO(example(programs / "plan_growth"))))
    parts = list(csv.DictReader(io.StringIO(example(programs / "parts_growth"))))
    large = large_states(programs / "large_states")
    # Twice, so that a busy moment is not taken for a slow loop.
    rounds = [[json.loads(line) for line in example(programs / "roofline").splitlines()] for _ in range(2)]
    lines = [min(pair, key=lambda row: row.get("microseconds", 0)) for pair in zip(*rounds)]
    subprocess.run([peers.PYTHON, __file__, "--draw"], input=json.dumps([growth, parts]), text=True, check=True)
    page(measured, growth, parts, large, lines, where.tables(programs))
    peers.say("wrote docs/performance.md")


if __name__ == "__main__":
    draw(*json.load(sys.stdin)) if "--draw" in sys.argv else main()
