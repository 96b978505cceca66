"""Learn good interventions when there are too many to try: causal Markov decision processes.

>>> import dowise
>>> world = dowise.World.named("river-swim", seed=1)
>>> world.plan()
<Plan of Causal river-swim: 1.9056 expected over 20 steps>
>>> result = dowise.run(world, "graph-psrl", episodes=50, seed=0)
>>> result.regret.shape
(50,)
"""

from dowise._client import AsyncClient, Client, ServiceError
from dowise._graphs import attach as _attach_graphs
from dowise._graphs import import_graph
from dowise._lib import (
    ArrayError,
    Error,
    Learner,
    LearnError,
    LogError,
    Plan,
    PlanError,
    RestoreError,
    Session,
    VisitedStatesLearner,
    World,
    WorldError,
    __version__,
    learners,
)
from dowise._logs import Evaluation, Fit, GraphTest, Log, SafePlan
from dowise._logs import attach as _attach_logs
from dowise._results import Check, Comparison, Interrupted, Picture, Run
from dowise._runs import compare, run
from dowise._worlds import attach as _attach

# The former name.
UnlistedLearner = VisitedStatesLearner

_attach(World)
_attach_graphs(World)
_attach_logs(World, Learner)

__all__ = [
    "ArrayError",
    "AsyncClient",
    "Check",
    "Client",
    "Comparison",
    "Error",
    "Evaluation",
    "Fit",
    "GraphTest",
    "Interrupted",
    "LearnError",
    "Learner",
    "Log",
    "LogError",
    "Picture",
    "Plan",
    "PlanError",
    "RestoreError",
    "Run",
    "SafePlan",
    "ServiceError",
    "Session",
    "UnlistedLearner",
    "VisitedStatesLearner",
    "World",
    "WorldError",
    "__version__",
    "compare",
    "import_graph",
    "learners",
    "run",
]
