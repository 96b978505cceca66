#!/usr/bin/env python3
"""Random attack on `dowise plan --safe --from LOG`.

Every case draws a small true world, simulates a log of it, spoils world file or log in a known way (a "kind"), asks
the binary for a recommendation, and compares that with the exact truth, which is computed here with numpy.

    attack.py --binary PATH --worlds N --seed S [--jobs 2] [--kind NAME ...] [--json OUT]
    attack.py --binary PATH --seed S --case I --out DIR     # writes one case of a run to a directory
    attack.py --binary PATH --self-test                     # checks the truth against simulation and the binary
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from multiprocessing import Pool

import numpy as np
from files import map_text, read_policy, world_text, write_log
from kinds import ALONE, KINDS, LAGGED, WITH_HIDDEN
from logs import simulate, spoil_log
from policies import draw_policy
from values import backward, costs, deterministic
from worlds import dirichlet, draw_world, settings, some, spoil_world


def episodes(rng, kinds):
    if "few_rows" in kinds:
        return int(rng.integers(20, 101))
    low, high = [(50, 200), (200, 1000), (1000, 3000)][rng.choice(3, p=[0.2, 0.5, 0.3])]
    return int(np.exp(rng.uniform(np.log(low), np.log(high))))


def make_case(seed, index, kinds, small, directory):
    """Draws a case and writes its files; returns the true worlds, the policies of the log and a description."""
    rng = np.random.default_rng([seed, index])
    kinds = set(kinds)
    w = draw_world(rng, kinds, small)
    spoil_world(rng, w, kinds)
    policy, how = draw_policy(rng, w, kinds)
    n = episodes(rng, kinds)
    policies = [policy] * 2
    if "policy_change" in kinds:
        policies[1] = draw_policy(rng, w, kinds)[0]
    later = w
    if "world_change" in kinds:  # the same variables and graph, other numbers
        later = changed(rng, w)
    half = n // 2
    log = simulate(rng, w, policies[0], half)
    second = simulate(rng, later, policies[1], n - half, first=half)
    log = {c: np.concatenate([log[c], second[c]]) for c in log}
    log = spoil_log(rng, w, log, kinds)
    binned = some(rng, w.states + w.keys, 0.7, least=1) if "bins" in kinds else []
    with open(f"{directory}/world.toml", "w", encoding="utf-8") as f:
        f.write(
            world_text(rng, w, "wrong" if "placeholders" in kinds or (w.hidden_said and rng.random() < 0.5) else None)
        )
    write_log(rng, f"{directory}/log.csv", w, log, binned, bool(rng.random() < 0.5 and "mislabelled" not in kinds))
    command = ["plan", f"{directory}/world.toml", "--safe", "--from", f"{directory}/log.csv", "--json"]
    if binned:
        with open(f"{directory}/map.toml", "w", encoding="utf-8") as f:
            f.write(map_text(w, binned))
        command += ["--map", f"{directory}/map.toml"]
    return later, policies, n, how, command


def changed(rng, w):
    import copy

    new = copy.deepcopy(w)
    strength = float(rng.choice([0.3, 0.6, 1.0]))
    for n in w.states + w.keys + w.terms:
        t = w.table[n]
        new.table[n] = (1 - strength) * t + strength * dirichlet(rng, t.shape[:-1], t.shape[-1], 0.7)
    return new


def episode_range(w):
    steps = sum(w.discount**h for h in range(w.horizon))
    span = sum(w.amounts[r].max() - w.amounts[r].min() for r in w.terms) + sum(w.cost.values())
    return steps * span


def run_case(job):
    binary, seed, index, kinds, small, out = job
    holder = tempfile.TemporaryDirectory() if out is None else None
    directory = out or holder.name
    os.makedirs(directory, exist_ok=True)
    w, policies, n, how, command = make_case(seed, index, kinds, small, directory)
    try:
        run = subprocess.run([binary] + command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        run = subprocess.CompletedProcess(command, -99, "", "no answer in 120 s")
    result = {
        "index": index,
        "kinds": list(kinds),
        "episodes": n,
        "policy": how,
        "status": run.returncode,
        "violated": [k for k in kinds if KINDS[k] is not None],
    }
    logged = float(np.mean([backward(w, p) for p in policies]))
    best = max(logged, backward(w, deterministic(w, backward(w)[0])))
    result.update(logged=logged, best=best, span=episode_range(w))
    result["better"] = bool(best - logged > 0.02 * result["span"])
    if run.returncode != 0 or not run.stdout.strip():
        result["error"] = (run.stderr or run.stdout)[:600].replace(directory, "DIR")
    else:
        judge(w, json.loads(run.stdout), result)
    if out:
        for name, text in (
            ("answer.json", run.stdout),
            ("stderr.txt", run.stderr),
            ("truth.json", json.dumps(result, indent=1)),
        ):
            with open(f"{out}/{name}", "w", encoding="utf-8") as f:
                f.write(text)
        with open(f"{out}/truth.npz", "wb") as f:
            np.savez(
                f, **{f"table_{k}": v for k, v in w.table.items()}, behaviour=np.array(policies), hidden=w.p_hidden
            )
        with open(f"{out}/parents.json", "w", encoding="utf-8") as f:
            json.dump(
                {
                    "true parents, in the order of the axes of table_NAME": w.parents,
                    "said": w.said,
                    "amounts": {r: list(a) for r, a in w.amounts.items()},
                },
                f,
                indent=1,
            )
    if holder:
        holder.cleanup()
    return result


def judge(w, answer, result):
    """Compares an answer with the truth."""
    result.update(
        recommendation=answer["recommendation"],
        tier=answer.get("tier"),
        assumptions={a["about"]: a["status"] for a in answer["assumptions"]},
        warnings=answer["warnings"],
    )
    inside = lambda x, bounds: bool(bounds[0] - 1e-9 <= x <= bounds[1] + 1e-9) if bounds else None
    returns = (answer.get("logged") or {}).get("returns") or {}
    result["logged_covered"] = inside(result["logged"], returns.get("guaranteed"))
    result["logged_normal"] = inside(result["logged"], returns.get("normal"))
    deployed = answer["recommendation"].startswith("deploy")
    result["deployed"] = deployed
    if not answer.get("policy"):
        return
    value = backward(w, deterministic(w, read_policy(w, answer["policy"])))
    result["value"] = value
    name = "pessimistic" if "pessimistic" in answer["recommendation"] else "mean"
    if not deployed:  # then the plan with the larger guaranteed value is printed
        bounds = [(answer[x].get("guaranteed") or [-np.inf])[0] for x in ("mean", "pessimistic")]
        name = "mean" if bounds[0] >= bounds[1] else "pessimistic"
    part = answer[name]
    result["guaranteed"] = part.get("guaranteed")
    result["plan_covered"] = inside(value, part.get("guaranteed"))
    result["posterior_covered"] = inside(value, part["model"]["posterior"])
    tolerance = 1e-9 * max(1.0, result["span"])
    result["difference"] = part.get("difference")
    if deployed:
        result["harmful"] = bool(value < result["logged"] - tolerance)
        if result["tier"] == "guaranteed" and part.get("guaranteed"):
            result["harmful"] |= bool(value < part["guaranteed"][0] - tolerance)
        result["readable"] = readable(result)


def readable(result):
    """For every violated assumption: does the answer list it as failed, assumed or not tested?"""
    status = result["assumptions"]
    said = {}
    for kind in result["violated"]:
        found = [status[a] for a in KINDS[kind] if a in status]
        said[kind] = "said" if any(s != "passed" for s in found) else "passed" if found else "absent"
    return said


# ---------------------------------------------------------------------------------------------- table


def label(r):
    if len(r["kinds"]) == 1:
        return r["kinds"][0]
    return "pairs, one violated" if r["violated"] else "pairs, all hold"


def share(flags):
    flags = [f for f in flags if f is not None]
    return f"{sum(flags)}/{len(flags)}" if flags else "-"


def line(name, rs):
    row = [name, len(rs), sum(r["better"] for r in rs)]
    for tier in ("guaranteed", "posterior"):
        sent = [r for r in rs if r.get("deployed") and r["tier"] == tier]
        harm = [r for r in sent if r["harmful"]]
        said = [r for r in harm if all(x == "said" for x in r["readable"].values()) and r["violated"]]
        row += [len(sent), len(harm), len(said)]
    refused = [r for r in rs if r.get("recommendation") == "refused"]
    large = [r for r in rs if r["better"] and r["episodes"] >= 1000 and "error" not in r]
    row += [
        len(refused),
        sum("error" in r for r in rs),
        share([r.get("logged_covered") for r in rs]),
        share([r.get("plan_covered") for r in rs]),
        share([bool(r.get("deployed")) for r in large]),
    ]
    return [str(x) for x in row]


def table(results):
    groups = defaultdict(list)
    for r in results:
        groups[label(r)].append(r)
    names = [k for k in KINDS if k in groups] + [k for k in ("pairs, all hold", "pairs, one violated") if k in groups]
    head = [
        "kind",
        "cases",
        "better",
        "g.rec",
        "g.harm",
        "g.said",
        "p.rec",
        "p.harm",
        "p.said",
        "refused",
        "errors",
        "logged in",
        "plan in",
        "rec>=1000",
    ]
    holds = lambda n: n == "pairs, all hold" or (n in KINDS and KINDS[n] is None)
    body = [line(n, groups[n]) for n in names if holds(n)]
    body.append(line("ALL THAT HOLD", [r for r in results if not r["violated"]]))
    body += [line(n, groups[n]) for n in names if not holds(n)]
    body.append(line("ALL VIOLATED", [r for r in results if r["violated"]]))
    body.append(line("TOTAL", results))
    widths = [max(len(r[i]) for r in body + [head]) for i in range(len(head))]
    fmt = lambda r: "  ".join(x.ljust(widths[0]) if i == 0 else x.rjust(widths[i]) for i, x in enumerate(r))
    notes = [
        "better: cases where some plan is truly better by more than 2 % of the range; g. = guaranteed tier, p. = posterior",
        "rec: recommended; harm: of these harmful; said: harmful and every violated assumption readable as not passed",
        "logged in, plan in: truth inside the guaranteed interval; rec>=1000: recommended among truly better, >= 1000 episodes",
    ]
    return "\n".join([fmt(head), "-" * len(fmt(head))] + [fmt(r) for r in body] + notes)


def jobs_of(args):
    """(kind or pair) of every case, by the seed alone, so that one case can be repeated."""
    kinds = args.kind or list(KINDS)
    out = []
    for i in range(args.worlds):
        rng = np.random.default_rng([args.seed, i, 1])
        chosen = [kinds[i % len(kinds)]]
        if not args.kind and rng.random() < args.pairs:
            other = list(KINDS)[rng.integers(1, len(KINDS))]
            if compatible(chosen[0], other):
                chosen.append(other)
        out.append((args.binary, args.seed, i, tuple(chosen), args.small, None))
    return out


def compatible(a, b):
    clash = [
        WITH_HIDDEN,
        ALONE | LAGGED | {"memory_policy"},
        ALONE | WITH_HIDDEN,
        {"dropout_random", "dropout_bad", "dropout_next"},
        {"mislabelled", "ends_declared", "ends_undeclared", "ends_hazard"},
        {"ends_declared", "ends_undeclared"},
        {"right_form", "table_form", "wrong_form"},
        {"next_reward", "world_change"},
        {"noisy_state", "leaky_state", "mislabelled", "late_pay", "gaps_random"},
        {"memory_policy"} | LAGGED,
        {"wide_range", "rare_reward"},
    ]
    return a != b and "none" not in (a, b) and not any(a in c and b in c for c in clash)


def self_test(args):
    """The exact values must agree with means of simulated returns and, without violations, with the binary's values."""
    worst, gap, bad = 0.0, 0.0, 0
    for i in range(args.worlds):
        kinds = ((args.kind or list(KINDS))[i % len(args.kind or KINDS)],)
        with tempfile.TemporaryDirectory() as d:
            w, policies, *_ = make_case(args.seed, i, kinds, args.small, d)
            rng = np.random.default_rng(i)
            plan = deterministic(w, rng.integers(0, len(settings(w)[0]), (w.horizon, w.size(w.states))))
            for p in (policies[1], plan):
                log = simulate(rng, w, p, 40000)
                a = np.ravel_multi_index(
                    [np.where(log["set." + x], log[x], w.cards[x]) for x in w.levers],
                    [w.cards[x] + w.alone for x in w.levers],
                )
                pay = (sum(log["reward." + r] for r in w.terms) - costs(w)[a]) * w.discount ** (log["stage"] - 1)
                returns = np.bincount(log["episode"], pay, 40000)
                z = (returns.mean() - backward(w, p)) / (returns.std() / 200 + 1e-9)
                worst, bad = max(worst, abs(z)), bad + (abs(z) > 3.3)
            simple = kinds[0] in (
                "none",
                "wide_range",
                "rare_reward",
                "ends_declared",
                "few_rows",
                "next_reward",
                "table_form",
                "left_alone",
            )
            if simple:  # the same numbers in the binary's own planner
                gap = max(gap, binary_gap(args.binary, w, d))
    print(
        f"{args.worlds} worlds: largest |z| of 40,000 simulated returns {worst:.2f}, above 3.3: {bad}; "
        f"largest gap to the binary's value of the best plan {gap:.2e}"
    )


def binary_gap(binary, w, d):
    w.form = {n: "table" for n in w.form}
    with open(f"{d}/true.toml", "w", encoding="utf-8") as f:
        f.write(world_text(None, w, "true"))
    run = subprocess.run([binary, "plan", f"{d}/true.toml", "--json"], capture_output=True, text=True)
    answer = json.loads(run.stdout)
    value = backward(w, deterministic(w, read_policy(w, answer["policy"])))
    best = backward(w, deterministic(w, backward(w)[0]))
    return max(abs(answer["value"] - value), abs(value - best))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--binary", required=True)
    p.add_argument("--worlds", type=int, default=100)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--kind", nargs="*", choices=list(KINDS))
    p.add_argument("--pairs", type=float, default=0.25, help="share of cases with two kinds")
    p.add_argument("--small", action="store_true", help="smallest worlds, for examples that a person can read")
    p.add_argument("--json")
    p.add_argument("--case", type=int, help="only this case, written to --out")
    p.add_argument("--out")
    p.add_argument("--self-test", action="store_true")
    args = p.parse_args()
    if args.self_test:
        return self_test(args)
    jobs = jobs_of(args) if args.case is None else []
    if args.case is not None:
        args.worlds = args.case + 1
        job = jobs_of(args)[args.case]
        print(json.dumps(run_case(job[:-1] + (args.out,)), indent=1))
        return None
    with Pool(args.jobs) as pool:
        results = list(pool.imap(run_case, jobs, chunksize=4))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(results, f)
    print(table(results))
    return None


if __name__ == "__main__":
    sys.exit(main())
