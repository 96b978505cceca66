"""What runs, comparisons and checks come back with: arrays, frames and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dowise import _lib
from dowise._lib import Learner, World

Floats = NDArray[np.float64]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `result` holds what was done so far."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


@dataclass(frozen=True)
class Picture:
    """A picture that notebooks show; `save` writes it as SVG or PNG."""

    svg: str
    png: bytes = field(repr=False)

    def save(self, path: str | Path) -> None:
        """Writes a file whose name ends in .svg or .png."""
        path = Path(path)
        if path.suffix == ".svg":
            path.write_text(self.svg, encoding="utf-8")
        elif path.suffix == ".png":
            path.write_bytes(self.png)
        else:
            raise _lib.Error(f"{path}: the name must end in .svg or .png")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: {len(self.svg)} bytes of SVG>"


@dataclass(frozen=True)
class Run:
    """One learner in one world: `regret`, `reward` and `start` have one entry for each episode."""

    world: World
    learner: Learner
    seed: int
    start: NDArray[np.int64]
    regret: Floats
    reward: Floats

    @property
    def cumulative(self) -> Floats:
        """Regret summed up."""
        return np.cumsum(self.regret)

    def columns(self) -> dict[str, Any]:
        """The table: one row for each episode."""
        return {
            "episode": np.arange(1, len(self.regret) + 1),
            "start": self.start,
            "reward": self.reward,
            "regret": self.regret,
            "cumulative": self.cumulative,
        }

    def to_pandas(self) -> Any:
        """The table as a pandas frame."""
        return pandas_frame(self.columns())

    def to_polars(self) -> Any:
        """The table as a polars frame."""
        return polars_frame(self.columns())

    def plot(self, *, log: bool = False, title: str = "Regret") -> Picture:
        """The regret curve, drawn as `dowise compare` draws it."""
        regret = self.cumulative[np.newaxis, np.newaxis, :]
        return Picture(*_lib.draw(title, self.world.name, [self.learner.name], regret, self.seed, log, []))

    def __repr__(self) -> str:
        total = float(self.regret.sum())
        return f"<Run of {self.learner.name}: {len(self.regret)} episodes, regret {total:.2f}, seed {self.seed}>"


@dataclass(frozen=True)
class Comparison:
    """Several learners in several worlds.

    `regret[world, learner, run, episode]` is summed up over episodes; `reward`, `optimal`, `value` and `seconds` are
    `[world, learner, run]`: reward received, value of the best policy, value of the last policy, time taken.
    `agents` are the learners that are not ours; for those in `estimated` regret is the value of the best policy less
    the rewards received, since they offer no policy to be evaluated exactly, and `value` is not known.
    """

    worlds: Sequence[str]
    learners: Sequence[str]
    seed: int
    regret: Floats
    reward: Floats
    optimal: Floats
    value: Floats
    seconds: Floats
    agents: Sequence[str] = ()
    estimated: Sequence[str] = ()

    def columns(self, every: bool = False) -> dict[str, Any]:
        """The table: one row for each world, learner, run and episode (at the checkpoints, or every one)."""
        n_worlds, n_learners, n_runs, n_episodes = self.regret.shape
        episodes = np.arange(1, n_episodes + 1) if every else np.array(_lib.checkpoints(n_episodes))
        w, n, r, k = (a.ravel() for a in np.indices((n_worlds, n_learners, n_runs, len(episodes))))
        return {
            "world": np.array(self.worlds)[w],
            "learner": np.array(self.learners)[n],
            "repetition": r,
            "seed": self.seed + r,
            "episode": episodes[k],
            "regret": self.regret[w, n, r, episodes[k] - 1],
            "estimated": np.isin(self.learners, self.estimated)[n],
        }

    def to_pandas(self, every: bool = False) -> Any:
        """The table as a pandas frame."""
        return pandas_frame(self.columns(every))

    def to_polars(self, every: bool = False) -> Any:
        """The table as a polars frame."""
        return polars_frame(self.columns(every))

    def plot(self, world: int = 0, *, log: bool = False, title: str | None = None) -> Picture:
        """The regret curves of one world, drawn as `dowise compare` draws them."""
        if title is None:
            title = "Learners compared" + (f": {self.worlds[world]}" if len(self.worlds) > 1 else "")
        names = [name for name in self.learners if name not in self.agents]
        order = [list(self.learners).index(name) for name in self.agents]
        ours = [i for i in range(len(self.learners)) if i not in order]
        regret = self.regret[world][ours + order]
        agents = [(name, name in self.estimated) for name in self.agents]
        return Picture(*_lib.draw(title, self.worlds[world], names, regret, self.seed, log, agents))

    def __repr__(self) -> str:
        lines = [f"<Comparison: {self.regret.shape[2]} runs of {self.regret.shape[3]} episodes, mean regret"]
        for i, world in enumerate(self.worlds):
            for j, learner in enumerate(self.learners):
                note = ", estimated from rewards" if learner in self.estimated else ""
                lines.append(f"  {world}, {learner}: {self.regret[i, j, :, -1].mean():.2f}{note}")
        return "\n".join(lines) + ">"


@dataclass(frozen=True)
class Check:
    """What is to be said about a world: `findings` (warnings, notes) and `analysis` (sizes, cells, bounds)."""

    findings: list[dict[str, Any]]
    analysis: dict[str, Any]

    def __repr__(self) -> str:
        a = self.analysis
        lines = [f"{a['name']}: a {a['kind']}, S = {a['states']}, A = {a['interventions']}, Z = {a['causes']}"]
        lines += [f"  {c['learner']}: {c['cells']} distributions to learn ({c['formula']})" for c in a["cells"]]
        lines += [f"  {f['severity']}: {f['message']}" for f in self.findings]
        return "\n".join(lines)


def pandas_frame(columns: dict[str, Any]) -> Any:
    """A pandas frame of these columns."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas; `pip install pandas`") from error
    return pandas.DataFrame(columns)


def polars_frame(columns: dict[str, Any]) -> Any:
    """A polars frame of these columns."""
    try:
        import polars
    except ImportError as error:
        raise ImportError("to_polars() needs polars; `pip install polars`") from error
    return polars.DataFrame(columns)
