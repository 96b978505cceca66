"""Computes with pgmpy what `do_queries.rs` compares with: marginals and P(keys | do(levers)) of networks in `networks/`.

Not part of the tests: run it by hand, `pip install pgmpy==1.1.2 && python queries.py > queries.json`.
"""

import gzip
import json
import random
import sys
from pathlib import Path

from pgmpy.inference import VariableElimination
from pgmpy.readwrite import BIFReader

FOLDER = Path(__file__).parent / "networks"
NETWORKS = "asia cancer earthquake survey sachs child insurance alarm hailfinder hepar2 win95pts water andes pathfinder".split()


def load(name):
    with gzip.open(FOLDER / f"{name}.bif.gz", "rt") as file:
        model = BIFReader(string=file.read()).get_model()
    for cpd in model.cpds:
        cpd.normalize()
    return model


def distribution(model, keys, evidence):
    """The joint distribution of the keys, the last key fastest, with the values that each axis has."""
    factor = VariableElimination(model).query(keys, evidence=evidence, show_progress=False, joint=True)
    order = [factor.variables.index(key) for key in keys]
    table = factor.values.transpose(order)
    values = {key: factor.state_names[key] for key in keys}
    return [float(p) for p in table.flatten()], values


def query(model, keys, do):
    """P(keys | do(levers)): the arcs into the levers are cut, then the levers are observed."""
    cut = model.do(list(do)) if do else model
    p, values = distribution(cut, keys, do or None)
    return {"keys": keys, "values": values, "do": do, "p": p}


def effects(model, lever):
    reached, open_ = set(), [lever]
    while open_:
        for child in model.successors(open_.pop()):
            if child not in reached:
                reached.add(child)
                open_.append(child)
    return sorted(reached)


def queries(name):
    model = load(name)
    rng = random.Random(name)
    found = []
    levers = sorted(n for n in model.nodes if list(model.predecessors(n)) and effects(model, n))
    for n_levers, n_keys in [(1, 1), (1, 1), (1, 2), (2, 1), (2, 2)]:
        chosen = rng.sample(levers, min(n_levers, len(levers)))
        reached = sorted(set.union(*(set(effects(model, lever)) for lever in chosen)) - set(chosen))
        if not reached:
            continue
        keys = rng.sample(reached, min(n_keys, len(reached)))
        do = {lever: rng.choice(model.get_cpds(lever).state_names[lever]) for lever in chosen}
        found.append({"network": name, "levers": chosen, **query(model, keys, {})})
        found.append({"network": name, "levers": chosen, **query(model, keys, do)})
        print(name, keys, do, file=sys.stderr)
    return found


if __name__ == "__main__":
    lines = [json.dumps(found) for name in (sys.argv[1:] or NETWORKS) for found in queries(name)]
    print("[\n" + ",\n".join(lines) + "\n]")
