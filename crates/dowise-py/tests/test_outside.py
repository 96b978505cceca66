"""Against the work of others: ICU-Sepsis' published returns, and another library's inference on cut networks."""

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest
from conftest import value_iteration

import dowise


@pytest.fixture(scope="module")
def sepsis():
    """The tables that ICU-Sepsis ships, read without importing it (which needs a good many packages)."""
    found = importlib.util.find_spec("icu_sepsis")
    if found is None:
        pytest.skip("icu-sepsis is not installed")
    assets = Path(found.submodule_search_locations[0]) / "envs" / "assets"
    tables = dict(np.load(assets / "dynamics.npz"))
    lines = (assets / "admissible_actions.txt").read_text().split("\n")
    tables["admissible"] = admissible_actions(lines)
    return tables


def admissible_actions(lines):
    mask = np.zeros((716, 25), dtype=bool)
    rows = [line for line in lines if line.strip()][1:]  # the first line has the numbers of actions
    for state, line in enumerate(rows):
        mask[state, [int(a) for a in line.replace(",", " ").split()]] = True
    return mask


#: Long enough that hardly anybody is still in the ward; the mean stay has about 9 steps.
LONG = 100


@pytest.fixture(scope="module")
def ward(sepsis):
    return dowise.World.from_mdp(
        sepsis["tx_mat"], sepsis["r_mat"], LONG, start=sepsis["d_0"], admissible=sepsis["admissible"], name="ICU-Sepsis"
    )


def test_icu_sepsis_has_its_published_returns(sepsis, ward):
    """Random 0.78, expert 0.78, optimal 0.88 (Choudhary et al. 2024)."""
    admissible, expert = sepsis["admissible"], sepsis["expert_policy"]
    random = admissible / admissible.sum(axis=1, keepdims=True)
    expert = np.where(expert.sum(axis=1, keepdims=True) > 0, expert, random)  # nothing is said where all is over
    with pytest.raises(dowise.PlanError, match="not allowed there"):
        ward.evaluate(expert)
    # Experts did what is not admissible, too; the tables then have the mean of what is.
    free = dowise.World.from_mdp(sepsis["tx_mat"], sepsis["r_mat"], LONG, start=sepsis["d_0"])
    returns = [world.from_start(world.evaluate(policy)[0]) for world, policy in ((ward, random), (free, expert))]
    assert [round(r, 2) for r in [*returns, ward.plan().value]] == [0.78, 0.78, 0.88]


def test_icu_sepsis_has_the_values_of_plain_value_iteration(sepsis, ward):
    R = np.einsum("sat,sat->sa", sepsis["tx_mat"], sepsis["r_mat"])
    values, _ = value_iteration(sepsis["tx_mat"], R, LONG, sepsis["admissible"])
    np.testing.assert_allclose(ward.plan().values[0], values[0], atol=1e-9)


def test_learners_run_on_icu_sepsis(sepsis):
    short = dowise.World.from_mdp(
        sepsis["tx_mat"], sepsis["r_mat"], 5, start=sepsis["d_0"], admissible=sepsis["admissible"], name="ICU-Sepsis"
    )
    for name in ["psrl", "ucbvi"]:
        result = dowise.run(short, name, episodes=2, seed=1, schedule="doubling")
        chosen = np.take_along_axis(sepsis["admissible"][None], result.learner.policy()[:, :, None], axis=2)
        assert chosen.all() and (result.regret >= -1e-9).all()


def network(rng, n_levers=2, n_keys=2, n_hidden=2):
    """A random world: hidden variables and key variables below levers that may be left alone."""
    names = (
        ["s"]
        + [f"x{i}" for i in range(n_levers)]
        + [f"u{i}" for i in range(n_hidden)]
        + [f"z{i}" for i in range(n_keys)]
    )
    size = {name: int(rng.integers(2, 4)) for name in names}
    kind = {"s": "state", "x": "lever", "u": "hidden", "z": "key"}
    tables, text = {}, ["dowise = 1", "horizon = 2"]
    for position, name in enumerate(names):
        text += [f"[{kind[name[0]]}.{name}]", f"values = {[str(v) for v in range(size[name])]}"]
        if name == "s":
            text += [f"scope = {['s'] + [f'z{i}' for i in range(n_keys)]}"]
            text += [f"next = {nested(rng, [size['s']] + [size[f'z{i}'] for i in range(n_keys)], size['s']).tolist()}"]
            continue
        before = [n for n in names[:position] if not (name[0] == "x" and n[0] != "s" and n[0] != "x")]
        parents = sorted(rng.choice(before, size=min(len(before), int(rng.integers(1, 4))), replace=False).tolist())
        table = nested(rng, [size[p] for p in parents], size[name])
        tables[name] = (parents, table)
        text += [f"parents = {parents}", f"p = {table.tolist()}"]
    text += ["[reward.r]", 'scope = ["z0"]', f"value = {rng.random(size['z0']).tolist()}"]
    text += ["[interventions]", 'set = "any"']
    return dowise.World.from_text("\n".join(text)), names, size, tables


def nested(rng, sizes, n):
    return rng.dirichlet(np.ones(n), size=sizes)


def do_by_enumeration(world, names, size, tables, state, levers):
    """P(z | s, do(levers)) the long way: the truncated factorisation, summed over everything else."""
    out = np.zeros([size[c] for c in world.causes])
    free = [n for n in names if n != "s"]
    for values in itertools.product(*[range(size[n]) for n in free]):
        at = dict(zip(free, values, strict=True), s=state)
        if any(v is not None and at[x] != v for x, v in levers.items()):
            continue
        p = 1.0
        for name in free:
            if levers.get(name) is None:
                parents, table = tables[name]
                p *= table[tuple(at[q] for q in parents)][at[name]]
        out[tuple(at[c] for c in world.causes)] += p
    return out


@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_is_the_truncated_factorisation(seed):
    rng = np.random.default_rng(seed)
    world, names, size, tables = network(rng)
    kernel = world.kernel()
    for state in range(world.n_states):
        for action in range(world.n_actions):
            levers = dict(zip(world.levers, world.settings(action), strict=True))
            expected = do_by_enumeration(world, names, size, tables, state, levers)
            np.testing.assert_allclose(kernel[state, action], expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_the_kernel_is_what_another_library_infers_on_the_cut_network(seed):
    gum = pytest.importorskip("pyagrum")
    rng = np.random.default_rng(100 + seed)
    world, names, size, tables = network(rng, n_levers=3, n_keys=3, n_hidden=3)
    kernel = world.kernel()
    for _ in range(10):
        state, action = int(rng.integers(world.n_states)), int(rng.integers(world.n_actions))
        levers = dict(zip(world.levers, world.settings(action), strict=True))
        cut = gum.BayesNet()
        for name in names:
            cut.add(gum.RangeVariable(name, name, 0, size[name] - 1))
        for name in names:
            known = state if name == "s" else levers.get(name)
            if known is not None:
                cut.cpt(name)[:] = np.eye(size[name])[known]
                continue
            parents, table = tables[name]
            for parent in parents:
                cut.addArc(parent, name)
            for values in itertools.product(*[range(size[p]) for p in parents]):
                cut.cpt(name)[dict(zip(parents, values, strict=True))] = table[values]
        inference = gum.LazyPropagation(cut)
        inference.addJointTarget(set(world.causes))
        joint = inference.jointPosterior(set(world.causes))
        for values in itertools.product(*[range(size[c]) for c in world.causes]):
            found = joint[dict(zip(world.causes, values, strict=True))]
            assert kernel[(state, action, *values)] == pytest.approx(found, abs=1e-9)
