"""Graphs and networks of other tools: files, networkx, and an independent engine on what is exported."""

import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import dowise

NETWORKS = Path(__file__).parents[2] / "dowise-formats" / "tests" / "networks"


def test_a_network_becomes_a_world_in_which_one_can_plan():
    world = dowise.import_graph(
        NETWORKS / "asia.bif.gz", lever="smoke", key=["dysp"], reward={"dysp": {"no": 1}}, cost={"smoke": {"no": 0.1}}
    )
    assert (world.levers, world.keys, world.name) == (["smoke"], ["dysp"], "asia")
    assert world.plan().value == pytest.approx(0.6809 - 0.1, abs=1e-4)
    assert world.intervention(world.plan().policy[0, 0]) == {"smoke": "no"}


def test_pyagrum_agrees_on_what_is_exported(tmp_path):
    gum = pytest.importorskip("pyagrum")
    world = dowise.import_graph(NETWORKS / "alarm.bif.gz", lever="VENTALV", key=["HR", "BP"], reward={"HR": {"LOW": 1}})
    path = tmp_path / "alarm.bif"
    path.write_text(world.to_graph("bif"))
    net = gum.loadBN(str(path))
    kernel = world.kernel()[0]
    assert world.causes == ["HR"]
    for action in range(world.n_actions):
        inference = gum.LazyPropagation(net)
        inference.setEvidence(world.intervention(action))
        inference.makeInference()
        posterior = inference.posterior("HR")
        labels = net.variable("HR").labels()
        expected = [posterior[labels.index(value)] for value in world.variables["HR"]]
        np.testing.assert_allclose(kernel[action], expected, atol=1e-9)


def test_a_networkx_graph_becomes_a_world_and_comes_back():
    graph = nx.DiGraph(name="walks")
    graph.add_node("mood", values=["low", "high"])
    graph.add_edges_from([("mood", "walk"), ("shoes", "walk"), ("walk", "mood_next"), ("mood", "mood_next")])
    with pytest.warns(UserWarning, match="placeholders"):
        world = dowise.import_graph(
            graph,
            lever="shoes",
            key="walk",
            state={"mood": "mood_next"},
            reward={"mood": {"high": 1}},
            values={"shoes": ["door", "cupboard"]},
            horizon=5,
        )
    assert world.variables == {
        "mood": ["low", "high"],
        "shoes": ["door", "cupboard"],
        "walk": ["0", "1"],
    }
    back = world.to_networkx()
    assert set(back.edges) == set(graph.edges) and back.nodes["mood_next"]["role"] == "next of mood"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = dowise.import_graph(back, reward={"mood": {"high": 1}}, horizon=5, learn=True)
    assert (again.states, again.levers, again.keys) == (world.states, world.levers, world.keys)


def test_a_bidirected_edge_is_a_hidden_variable_and_said():
    graph = nx.DiGraph([("x", "y")])
    graph.add_edge("y", "z", bidirected=True)
    with pytest.warns(UserWarning, match="y <-> z becomes the hidden variable"):
        world = dowise.import_graph(graph, lever="x", key=["y", "z"], reward={"y": "values"}, learn=True)
    assert world.hidden == ["U_y_z"]


@pytest.mark.parametrize(
    ("graph", "roles", "message"),
    [
        (nx.DiGraph([("a", "b"), ("b", "a")]), {}, "in a circle"),
        (nx.Graph([("a", "b")]), {}, "undirected"),
        (nx.DiGraph([("a", "a")]), {}, "acts on itself"),
        (nx.DiGraph([(1, "1")]), {}, 'two variables are called "1"'),
        (nx.DiGraph(), {}, "no variable"),
        (7, {}, "expected a path or a networkx DiGraph"),
        (nx.DiGraph([("a", "b")]), {"lever": "c", "key": "b"}, 'the variables are "a", "b"'),
        (nx.DiGraph([("a", "b")]), {"lever": "a", "key": "b", "set": "some"}, "set must be"),
        (nx.DiGraph([("a", "b")]), {"lever": "a", "key": "b", "reward": {"b": 1}}, "what is paid"),
        ("nowhere.bif", {"lever": "a"}, "there is no file nowhere.bif"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(graph, roles, message):
    with pytest.raises(dowise.WorldError, match=message):
        dowise.import_graph(graph, **roles)


def test_every_format_can_be_written_and_an_unknown_one_is_refused():
    world = dowise.World.named("river-swim")
    for name in ["bif", "xmlbif", "dagitty", "dot", "gml"]:
        assert "push" in world.to_graph(name)
    with pytest.raises(dowise.Error, match="there are bif, xmlbif, dagitty, dot, gml"):
        world.to_graph("net")
