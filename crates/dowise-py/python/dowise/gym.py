"""Worlds as Gymnasium environments; importing this registers the ready-made ones.

>>> import gymnasium, dowise.gym
>>> env = gymnasium.make("dowise/RiverSwim-v0")
>>> observation, info = env.reset(seed=3)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
>>> sorted(info)
['action', 'keys', 'levers', 'replaced', 'rewards', 'state']
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as _missing:
    raise ImportError("dowise.gym needs Gymnasium; `pip install gymnasium`") from _missing

from dowise._lib import Error, Simulation, World
from dowise._runs import named

__all__ = ["WorldEnv", "make", "register"]

#: Interventions up to which a mask of all of them is put into `info`.
MOST_MASKED = 4096


class WorldEnv(gymnasium.Env[Any, Any]):
    """A world as an environment.

    `observations` is "factors" (MultiDiscrete, one entry for each state factor) or "state" (Discrete); `actions` is
    "levers" (MultiDiscrete, one entry for each lever; where levers may be left alone 0 does so, and value v is v + 1)
    or "number" (Discrete, interventions numbered as in `World.action`). An intervention that the state does not allow
    is an error if `forbidden="raise"`, or replaced by an allowed one drawn at random (`info["replaced"]` says so).

    `info` has the key variables seen (`keys`), what the levers were (`levers`), what each reward term paid
    (`rewards`), the state's number (`state`), the number of the intervention done (`action`), and where some are
    forbidden an `action_mask`. The end of the horizon is `truncated`; a state in which
    the world's episodes end (`ends`) is `terminated`. `reset(seed=s)` begins the draws of
    `dowise.run(seed=s)`.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"]}  # noqa: RUF012

    def __init__(
        self,
        world: World | str,
        *,
        observations: str = "factors",
        actions: str | None = None,
        forbidden: str = "replace",
        render_mode: str | None = None,
    ) -> None:
        self.world = named(world, 0) if isinstance(world, str) else world
        actions = actions or ("number" if self.world.setting == "list" else "levers")
        for what, given, allowed in [
            ("observations", observations, ("factors", "state")),
            ("actions", actions, ("levers", "number")),
            ("forbidden", forbidden, ("replace", "raise")),
        ]:
            if given not in allowed:
                raise Error(f'{what} is "{given}", expected "{allowed[0]}" or "{allowed[1]}"')
        self.render_mode = render_mode
        self.flat_state, self.flat_action = observations == "state", actions == "number"
        self.replace = forbidden == "replace"
        self.alone = 1 if self.world.setting != "all" else 0
        sizes = {name: len(values) for name, values in self.world.variables.items()}
        self.observation_space: spaces.Space[Any] = (
            spaces.Discrete(self.world.n_states)
            if self.flat_state
            else spaces.MultiDiscrete([sizes[name] for name in self.world.states])
        )
        self.lever_sizes = [sizes[name] + self.alone for name in self.world.levers]
        self.action_space: spaces.Space[Any] = (
            spaces.Discrete(self.world.n_actions) if self.flat_action else spaces.MultiDiscrete(self.lever_sizes)
        )
        self.masked = self.world.restricted and self.world.n_actions <= MOST_MASKED
        self.simulation: Simulation | None = None
        self.ended = self.world.ended
        self.over = True
        self.stage = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None or self.simulation is None:
            drawn = int(self.np_random.integers(2**63)) if seed is None else seed
            self.simulation = Simulation(self.world, drawn)
        self.stage, self.over = 0, False
        state = self.simulation.reset()
        return self.observation(state), self.info(state)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.simulation is None or self.over:
            raise gymnasium.error.ResetNeeded("call reset() before the first step of an episode")
        wanted = self.checked(action)
        state, reward, keys, levers, rewards, done = self.simulation.step(wanted, self.replace)
        self.stage += 1
        info = self.info(state)
        info["keys"] = dict(zip(self.world.keys, keys, strict=True))
        info["levers"] = dict(zip(self.world.levers, levers, strict=True))
        info["rewards"] = rewards
        info["action"] = done
        info["replaced"] = done != wanted
        terminated = bool(self.ended[state])
        truncated = self.stage >= self.world.horizon and not terminated
        self.over = terminated or truncated
        return self.observation(state), reward, terminated, truncated, info

    def checked(self, action: Any) -> int | None:
        """Number of the intervention that an action of the space means; what is not in the space is an error."""
        values = np.asarray(action)
        whole = np.issubdtype(values.dtype, np.integer)
        if self.flat_action:
            if not (whole and values.size == 1 and 0 <= values.item() < self.world.n_actions):
                raise Error(f"action is {action!r}, expected a whole number from 0 to {self.world.n_actions - 1}")
            return int(values.item())
        sizes = np.array(self.lever_sizes)
        if not (whole and values.shape == sizes.shape and (values >= 0).all() and (values < sizes).all()):
            raise Error(f"action is {action!r}, expected one number for each lever, from 0 to below {self.lever_sizes}")
        return self.number(values)

    def number(self, action: Any) -> int | None:
        """Number of the intervention that a MultiDiscrete action means; None if this world has no such intervention."""
        values = np.asarray(action).tolist()
        levers = [None if v < self.alone else v - self.alone for v in values]
        try:
            return self.world.action(levers)
        except Error:
            if self.replace:
                return None
            raise

    def observation(self, state: int) -> Any:
        return state if self.flat_state else np.array(self.world.factors(state), dtype=np.int64)

    def info(self, state: int) -> dict[str, Any]:
        info: dict[str, Any] = {"state": state}
        if self.masked:
            info["action_mask"] = self.action_mask(state)
        return info

    def action_mask(self, state: int | None = None) -> Any:
        """Which actions are allowed, as `action_space.sample(mask=...)` takes it.

        For levers: the values that occur in some allowed intervention; combinations of them may still be forbidden.
        """
        assert self.simulation is not None, "reset() comes first"
        allowed = self.world.allowed(self.simulation.state if state is None else state)
        if self.flat_action:
            return allowed.astype(np.int8)
        masks = tuple(np.zeros(size, dtype=np.int8) for size in self.lever_sizes)
        for action in np.flatnonzero(allowed):
            for mask, value in zip(masks, self.world.settings(int(action)), strict=True):
                mask[self.alone + value if value is not None else 0] = 1
        return masks

    def render(self) -> Any:
        if self.render_mode != "ansi" or self.simulation is None:
            return None
        values = zip(self.world.states, self.world.factors(self.simulation.state), strict=True)
        state = ", ".join(f"{name} = {self.world.variables[name][v]}" for name, v in values)
        return f"stage {self.stage + 1} of {self.world.horizon}: {state}"


def make(world: World | str, **settings: Any) -> WorldEnv:
    """An environment of a world, without registering it."""
    return WorldEnv(world, **settings)


def register(name: str, world: World | str, **settings: Any) -> str:
    """Registers a world as `dowise/<name>-v0` for `gymnasium.make`; returns the id."""
    id = f"dowise/{name}-v0"
    kwargs = {"world": world, **settings}
    gymnasium.register(id, entry_point="dowise.gym:WorldEnv", kwargs=kwargs, disable_env_checker=True)
    return id


for _name, _world in {
    "Campaign": "campaign",
    "Treatment": "treatment",
    "RiverSwim": "river-swim",
    "DeepSea": "deep-sea",
    "Paper": "paper",
    "World": "paper",
}.items():
    register(_name, _world)
