"""Causal graphs and Bayesian networks of other tools: files, and graphs that networkx holds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from dowise._lib import World, WorldError, import_file, import_parts

_Names = str | Sequence[str]
_Amounts = Mapping[str, Mapping[str, float] | str]


def import_graph(
    source: str | PathLike[str] | Any,
    *,
    lever: _Names = (),
    key: _Names = (),
    hidden: _Names = (),
    state: Mapping[str, str] | None = None,
    reward: _Amounts | None = None,
    cost: Mapping[str, Mapping[str, float]] | None = None,
    start: Mapping[str, str] | None = None,
    values: Mapping[str, Sequence[str]] | None = None,
    horizon: int = 1,
    set: int | str = "all",
    learn: bool = False,
    format: str | None = None,
    name: str | None = None,
) -> World:
    """A world of a causal graph or a Bayesian network, as `dowise import` makes it.

    `source` is the path of a file in BIF, XMLBIF, DAGitty, DOT or GML (`format` names it where the path does not say),
    or a networkx DiGraph. Nodes may have the attributes `values` (a list) and `role` (`"lever"`, `"key"`, `"hidden"`,
    `"state"`, `"next of NAME"`); an edge with `bidirected=True` is a common cause that is not in the graph.

    `lever`, `key` and `hidden` name variables; `state={"a": "a_next"}` says that the value of `a` at the next step is
    `a_next`. `reward={"pain": {"no": 1.0}}` pays by value, `{"dose": "values"}` pays the numbers that the values are.
    `set` is `"all"`, `"any"` or the most levers that are set at once. Mechanisms without numbers become uniform
    placeholders, or are left to be learned (`learn=True`). What is a placeholder, and each bidirected edge, is said as
    a warning.

    >>> import dowise, networkx as nx
    >>> graph = nx.DiGraph([("shoes", "walk"), ("rain", "walk")])
    >>> world = dowise.import_graph(graph, lever="shoes", key="walk", reward={"walk": {"1": 1.0}}, learn=True)
    >>> world.keys, world.hidden
    (['walk'], ['rain'])
    """
    roles = {
        "name": name,
        "horizon": horizon,
        "lever": names(lever),
        "key": names(key),
        "hidden": names(hidden),
        "state": list((state or {}).items()),
        "reward": payments(reward or {}),
        "cost": payments(cost or {}),
        "start": [(k, str(v)) for k, v in (start or {}).items()],
        "values": [(k, [str(v) for v in vs]) for k, vs in (values or {}).items()],
        **rule(set),
        "learn": learn,
    }
    if isinstance(source, (str, PathLike)):
        world, notes = import_file(source, format, roles)
    else:
        world, notes = import_parts(*parts(source), roles)
    for note in notes:
        if note["severity"] == "warning" or note["code"] == "bidirected":
            warnings.warn("; ".join(filter(None, [note["message"], note["help"]])), stacklevel=2)
    return world


def to_networkx(self: World) -> Any:
    """One step of the world as a networkx DiGraph: state factors, levers, hidden and key variables, next values.

    Nodes have the attributes `values` and `role`; `dowise.import_graph` takes it back.

    >>> import dowise
    >>> sorted(dowise.World.named("river-swim").to_networkx().nodes)[-1]
    'stroke'
    """
    import networkx

    graph = networkx.DiGraph(name=self.name)
    variables, edges = self._graph()
    for name, values, role in variables:
        graph.add_node(name, values=values, role=role)
    graph.add_edges_from(edges)
    return graph


def names(given: _Names) -> list[str]:
    """One name or several."""
    return [given] if isinstance(given, str) else [str(name) for name in given]


def payments(given: Mapping[str, Any]) -> list[tuple[str, str | None, float]]:
    """Amounts by variable and value; `None` for the numbers that the values are."""
    found: list[tuple[str, str | None, float]] = []
    for variable, amounts in given.items():
        if amounts == "values":
            found.append((variable, None, 1.0))
        elif isinstance(amounts, Mapping):
            found.extend((variable, str(value), float(amount)) for value, amount in amounts.items())
        else:
            raise WorldError(f'what is paid for "{variable}" must be {{value: amount}} or "values", not {amounts!r}')
    return found


def rule(given: int | str) -> dict[str, Any]:
    """Which levers an intervention sets."""
    if given in ("all", "any"):
        return {"any": given == "any", "at_most": None}
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return {"any": False, "at_most": given}
    raise WorldError(f'set must be "all", "any" or the most levers at once, not {given!r}')


def parts(graph: Any) -> tuple[str, list[tuple[str, list[str], str | None]], list[Any], list[Any]]:
    """The nodes and edges of a networkx graph."""
    if not hasattr(graph, "nodes") or not hasattr(graph, "is_directed"):
        raise WorldError(f"expected a path or a networkx DiGraph, not {type(graph).__name__}")
    if not graph.is_directed():
        raise WorldError("this graph is undirected, so it does not say what acts on what; make it a networkx DiGraph")
    variables: list[tuple[str, list[str], str | None]] = []
    place = {}
    for node, data in graph.nodes(data=True):
        place[node] = len(variables)
        variables.append((str(node), [str(value) for value in data.get("values", ())], data.get("role")))
    edges: list[tuple[int, int]] = []
    bidirected: list[tuple[int, int]] = []
    for one, other, data in graph.edges(data=True):
        (bidirected if data.get("bidirected") else edges).append((place[one], place[other]))
    return str(graph.graph.get("name") or "graph"), variables, edges, bidirected


def attach(cls: Any) -> None:
    """Hangs what needs networkx onto the class."""
    cls.to_networkx = to_networkx
