"""Logs: steps that others played, from files and frames; what they say about a world, a graph and a policy."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dowise import _lib
from dowise._lib import Learner, LogError, World, _Log
from dowise._results import pandas_frame, polars_frame

if TYPE_CHECKING:
    from typing_extensions import Self

#: Share of episodes without overlap from which on there is no answer.
NOTABLE = 0.01

_Column = tuple[str, list[str], list[int | None]]


class Log(_Log):
    """A log of a world: one row for each step, in the format of docs/reference/logs.md.

    `source` is the path of a CSV file (gzip allowed) or a frame: pandas, polars, a pyarrow table, anything with the
    Arrow interface, or a mapping of columns. `map` is the path of a map file, or its text: other names of columns and
    values, bins, texts that mean missing. An empty cell, None, NaN or NaT is missing, never zero. A log with rows that
    are wrong is refused with everything that was found, unless they are to be left out (`skip_bad=True`).

    >>> import dowise
    >>> world = dowise.World.named("river-swim")
    >>> log = dowise.Log(world.simulate_log(200, seed=1), world)
    >>> log
    <Log of Causal river-swim: 200 episodes, 4000 steps>
    >>> log.test().contradicted
    False
    >>> log.fit().world.plan().value > 0
    True
    """

    def __new__(
        cls,
        source: str | PathLike[str] | Any,
        world: World,
        *,
        map: str | PathLike[str] | None = None,
        skip_bad: bool = False,
    ) -> Self:
        if isinstance(source, (str, PathLike)):
            log: Self = super().__new__(cls, world, source, None, read_map(map))
        else:
            log = super().__new__(cls, world, None, columns(source), read_map(map))
        if log._has_errors and not skip_bad:
            report = log.report
            error = LogError(
                f"{report['left_out']} of {report['rows']} rows would be left out; mend the log, or leave these rows "
                f"out with skip_bad=True\n{log._findings.rstrip()}"
            )
            error.findings = report["findings"]
            raise error
        return log

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return int(self.report["episodes"])

    @property
    def steps(self) -> int:
        """Number of steps."""
        return int(self.report["steps"])

    def fit(
        self,
        *,
        keep: str | Sequence[str] = (),
        randomised: str | Sequence[str] = (),
        prior: float = 2.0,
        level: float = 0.95,
        em: bool = False,
    ) -> Fit:
        """The world with its numbers filled in from the log, as `dowise fit` does it.

        What the file gives is refitted, but for what `keep` names (variables, reward terms, "mechanisms",
        "transitions", "rewards", "start"). `em` estimates missing key variables instead of leaving their steps out.
        `randomised` names levers that were set by a draw which looked at nothing but what is recorded, whatever the
        graph says acts on them.
        """
        return Fit(*self._fit(names(keep), prior, level, em, names(randomised)))

    def test(self, level: float = 0.05) -> GraphTest:
        """Whether the log contradicts the declared graph, as `dowise test` says it."""
        return GraphTest(*self._test(level))

    def evaluate(
        self,
        policy: Any,
        *,
        keep: str | Sequence[str] = (),
        randomised: str | Sequence[str] = (),
        delta: float = 0.05,
        samples: int = 400,
        prior: float = 2.0,
        seed: int = 0,
        start: str = "log",
        em: bool = False,
        allow_unsupported: bool = False,
    ) -> Evaluation:
        """What a policy is worth, as `dowise evaluate` says it.

        `policy` is a plan, or numbers of interventions, `[stage, state]` or `[state]`. `em` expects key variables that
        were not recorded from the rest of the step; nothing is guaranteed then. Without overlap (the policy needs rows
        that the log never visits) it raises `LogError`, unless `allow_unsupported`: then the prior decides there.
        """
        offline = {"prior": prior, "delta": delta, "samples": samples, "seed": seed, "start": start, "em": em}
        found = self._evaluate(getattr(policy, "policy", policy), names(keep), names(randomised), offline)
        share = found["support"]["share"]
        if share > NOTABLE and not allow_unsupported:
            rows = [row["what"] for row in found["support"]["rows"][:3]]
            raise LogError(
                f"{100 * share:.1f} % of the policy's episodes need {', '.join(rows)} where the log never saw it; "
                "pass allow_unsupported=True to let the prior decide there"
            )
        return Evaluation(found)

    def plan_safely(
        self,
        *,
        keep: str | Sequence[str] = (),
        randomised: str | Sequence[str] = (),
        delta: float = 0.05,
        samples: int = 400,
        prior: float = 2.0,
        seed: int = 0,
        start: str = "log",
        em: bool = False,
    ) -> SafePlan:
        """The best plan by the posterior mean and the best by the pessimistic case, beside the behaviour policy.

        `dowise plan --safe` prints the same.
        """
        offline = {"prior": prior, "delta": delta, "samples": samples, "seed": seed, "start": start, "em": em}
        found, mean, pessimistic = self._plan_safely(names(keep), names(randomised), offline)
        shape = (self.world.horizon, self.world.n_states)
        return SafePlan(found, np.array(mean).reshape(shape), np.array(pessimistic).reshape(shape))

    def __repr__(self) -> str:
        return f"<Log of {self.world.name}: {self.episodes} episodes, {self.steps} steps>"


class Answer:
    """An answer from a log: its `report` has the assumptions that it rests on."""

    report: dict[str, Any]

    @property
    def assumptions(self) -> list[dict[str, str]]:
        """What the answer rests on: `about`, `status` (passed, failed, not-tested, assumed), `statement`, `remedy`."""
        return list(self.report["assumptions"])

    @property
    def identification(self) -> list[dict[str, Any]]:
        """Why the log shows each `quantity`: `by` (randomised, randomised-steps, back-door, front-door, world-file,
        not-identified, prior-only), `if_true` (the condition), and its `steps`, `rows` and `unseen` rows.
        """
        return list(self.report["identification"])


@dataclass(frozen=True, repr=False)
class Fit(Answer):
    """A world fitted to a log: `world`, its `text`, the `evidence` behind it and a `report` of every row."""

    world: World
    text: str
    evidence: str
    report: dict[str, Any]

    def columns(self) -> dict[str, Any]:
        """One row for each outcome of each row of each table: visits, mean, interval."""
        found: dict[str, list[Any]] = {k: [] for k in ("what", "given", "outcome", "visits", "mean", "low", "high")}
        for table in self.report["tables"]:
            axes = [(axis["name"], axis["values"]) for axis in table["given"]]
            sizes = [len(values) for _, values in axes]
            for row, entry in enumerate(table["rows"]):
                place = np.unravel_index(row, sizes) if sizes else ()
                given = ", ".join(f"{name}={values[i]}" for (name, values), i in zip(axes, place, strict=True))
                for outcome, mean, low, high in zip(
                    table["outcomes"], entry["mean"], entry["low"], entry["high"], strict=True
                ):
                    line = (table["what"], given, outcome, entry["visits"], mean, low, high)
                    for column, value in zip(found.values(), line, strict=True):
                        column.append(value)
        return found

    def to_pandas(self) -> Any:
        """The table of all rows as a pandas frame."""
        return pandas_frame(self.columns())

    def to_polars(self) -> Any:
        """The table of all rows as a polars frame."""
        return polars_frame(self.columns())

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the world file, and beside it the evidence that learners go on from."""
        path = Path(path)
        path.write_text(self.text, encoding="utf-8")
        path.with_suffix(".evidence.json").write_text(self.evidence, encoding="utf-8")

    def __repr__(self) -> str:
        report = self.report
        return f"<Fit of {self.world.name}: {report['steps']} steps of {report['episodes']} episodes>"


@dataclass(frozen=True, repr=False)
class GraphTest:
    """Whether a log contradicts a graph: every implied independence with its p-value and effect."""

    report: dict[str, Any]
    verdict: str
    contradicted: bool

    def columns(self) -> dict[str, Any]:
        """One row for each independence that was tested, the least adjusted p-value first."""
        tested = self.report["tested"]
        keys = ("claim", "adjusted_p", "p", "visits", "rows", "meaning")
        found = {key: [entry[key] for entry in tested] for key in keys}
        found["association"] = [entry["effect"]["association"] for entry in tested]
        found["difference"] = [entry["effect"]["difference"] for entry in tested]
        return found

    def to_pandas(self) -> Any:
        """The table as a pandas frame."""
        return pandas_frame(self.columns())

    def to_polars(self) -> Any:
        """The table as a polars frame."""
        return polars_frame(self.columns())

    def __repr__(self) -> str:
        return f"<GraphTest: {self.verdict}>"


@dataclass(frozen=True, repr=False)
class Evaluation(Answer):
    """What a policy would have been worth: by the model, guaranteed, doubly robust, beside the behaviour policy."""

    report: dict[str, Any]

    @property
    def value(self) -> float:
        """By the posterior mean."""
        return float(self.report["model"]["mean"])

    @property
    def posterior(self) -> tuple[float, float]:
        """The middle 95 % of the posterior."""
        return ends(self.report["model"]["posterior"])

    @property
    def guaranteed(self) -> tuple[float, float] | None:
        """Bounds that hold with probability 1 - delta if the graph is right; None with `em`, which has none."""
        found = self.report["guaranteed"]
        return None if found is None else ends(found)

    @property
    def robust(self) -> tuple[float, float, float] | None:
        """Doubly robust estimate and the ends of its interval; None with fewer than two episodes, or with `em`."""
        found = self.report["robust"]
        return None if found is None else (float(found["mean"]), *ends(found["interval"]))

    @property
    def unsupported(self) -> float:
        """Share of the policy's episodes that pass through what the log never saw: there the prior decides."""
        return float(self.report["support"]["share"])

    @property
    def thin(self) -> float:
        """Share of the policy's steps that rest on rows seen fewer than 20 times: the posterior may be too narrow."""
        return float(self.report["support"]["thin"])

    @property
    def by_prior(self) -> float:
        """By how much the prior moves `value`; the posterior's interval has room for both."""
        return float(self.report["model"]["by_prior"])

    @property
    def difference(self) -> tuple[float, float]:
        """Posterior interval (95 %) of the value less that of the behaviour policy."""
        return ends(self.report["difference"])

    @property
    def sensitivity(self) -> dict[str, Any] | None:
        """How strong an unrecorded cause of the logged interventions has to be to overturn the comparison with the
        behaviour policy: `claim` (better, worse), the tipping point `gamma`, pairs of gamma and value in the `worst`
        and `best` case, `behaviour`, `margin`, `levers`, and `benchmark`, the strongest recorded state factor.
        """
        found: dict[str, Any] | None = self.report["sensitivity"]
        return found

    @property
    def tipping_points(self) -> list[dict[str, Any]]:
        """The averages of missing values up to which the comparison holds: `of` (payments, next-states,
        unseen-rewards), `at_least` and `at_most` (None: whatever they were), `recorded`, `expected`, `range`.
        """
        return list(self.report["tipping_points"])

    @property
    def from_file(self) -> list[dict[str, str]]:
        """What the log cannot say, so that the world file's numbers were taken: what, why, which experiment would."""
        return list(self.report["from_file"])

    def __repr__(self) -> str:
        low, high = self.posterior
        return f"<Evaluation: {self.value:.4f}, 95 % of the posterior between {low:.4f} and {high:.4f}>"


@dataclass(frozen=True, repr=False)
class SafePlan(Answer):
    """Two plans from a log; `policy` is the one that is recommended, `recommendation` says why."""

    report: dict[str, Any]
    mean: NDArray[np.int64]
    pessimistic: NDArray[np.int64]

    @property
    def worst(self) -> NDArray[np.int64]:
        """The pessimistic plan, by its former name."""
        return self.pessimistic

    @property
    def tier(self) -> str | None:
        """What a recommended deployment rests on: guaranteed or posterior; None if nothing is recommended."""
        found = self.report["tier"]
        return None if found is None else str(found)

    def difference(self, name: str = "mean") -> tuple[float, float] | None:
        """Posterior interval (95 %) of the value of a plan (mean, pessimistic) less that of the behaviour policy."""
        found = self.report[name]["difference"]
        return None if found is None else (float(found["low"]), float(found["high"]))

    @property
    def overturned_if(self) -> str | None:
        """The violation of an untestable assumption that would make the plan worse than the behaviour policy."""
        found = self.report["overturned_if"]
        return None if found is None else str(found)

    @property
    def sensitivity(self) -> dict[str, Any] | None:
        """How strong an unrecorded cause of the logged interventions has to be to overturn the comparison with the
        behaviour policy: `claim` (better, worse), the tipping point `gamma`, pairs of gamma and value in the `worst`
        and `best` case, `behaviour`, `margin`, `levers`, and `benchmark`, the strongest recorded state factor.
        """
        found: dict[str, Any] | None = self.report["sensitivity"]
        return found

    @property
    def tipping_points(self) -> list[dict[str, Any]]:
        """The averages of missing values up to which the comparison holds: `of` (payments, next-states,
        unseen-rewards), `at_least` and `at_most` (None: whatever they were), `recorded`, `expected`, `range`.
        """
        return list(self.report["tipping_points"])

    @property
    def recommendation(self) -> str:
        """deploy-mean, deploy-pessimistic, not-yet, no-overlap, not-better, not-shown, not-guaranteed, refused,
        sensitive, not-checked or nothing-to-compare. If it is refused, `assumptions` says which of them failed and what
        to do.
        """
        found = self.report["recommendation"]
        return found if isinstance(found, str) else next(iter(found))

    @property
    def policy(self) -> NDArray[np.int64]:
        """The recommended plan; if none is recommended, the one with the greater guaranteed value."""
        if self.recommendation == "deploy-mean":
            return self.mean
        if self.recommendation == "deploy-pessimistic":
            return self.pessimistic
        mean, low = (self._least(name) for name in ("mean", "pessimistic"))
        return self.pessimistic if mean is not None and low is not None and low > mean else self.mean

    def _least(self, name: str) -> float | None:
        found = self.report[name]["guaranteed"]
        return None if found is None else float(found["low"])

    @property
    def from_file(self) -> list[dict[str, str]]:
        """What the log cannot say, so that the world file's numbers were taken: what, why, which experiment would."""
        return list(self.report["from_file"])

    def __repr__(self) -> str:
        found = [low for name in ("mean", "pessimistic") if (low := self._least(name)) is not None]
        sure = f"at least {max(found):.4f} guaranteed" if found else "nothing guaranteed"
        return f"<SafePlan: {self.recommendation}, {sure}>"


def observe_log(
    self: Learner,
    log: Log | Any,
    *,
    map: str | PathLike[str] | None = None,
    skip_bad: bool = False,
    randomised: Sequence[str] = (),
) -> int:
    """Takes in every step of a log (a `Log`, a path or a frame); returns how many steps that were.

    `log_assumptions` then says under which assumptions the log shows what live steps would show. Levers in `randomised`
    were set by a draw.

    >>> import dowise
    >>> world = dowise.World.named("river-swim")
    >>> learner = dowise.Learner(world, "graph-psrl")
    >>> learner.observe_log(world.simulate_log(10, seed=1))
    200
    """
    if not isinstance(log, Log):
        log = Log(log, self.world, map=map, skip_bad=skip_bad)
    return log._teach(self, list(randomised))


def simulate_log(self: World, episodes: int, *, policy: Any = None, seed: int = 0) -> dict[str, list[Any]]:
    """A simulated log as columns of text, for `dowise.Log`, pandas or polars.

    Interventions are drawn at random, or come from `policy` (a Plan, or numbers of interventions).
    """
    import csv

    text = _lib.simulate_log(self, episodes, seed, getattr(policy, "policy", policy))
    head, *rows = csv.reader(io.StringIO(text))
    cells = zip(*rows, strict=True) if rows else [()] * len(head)
    return {name: [cell or None for cell in column] for name, column in zip(head, cells, strict=True)}


def names(given: str | Sequence[str]) -> list[str]:
    """One name or several."""
    return [given] if isinstance(given, str) else [str(name) for name in given]


def ends(interval: Mapping[str, float]) -> tuple[float, float]:
    """Both ends of an interval."""
    return float(interval["low"]), float(interval["high"])


def read_map(given: str | PathLike[str] | None) -> tuple[str, str] | None:
    """The text of a map and its name; a text with a line break is the map itself."""
    if given is None:
        return None
    if isinstance(given, str) and ("\n" in given or "=" in given):
        return given, "<map>"
    try:
        return Path(given).read_text(encoding="utf-8"), str(given)
    except (OSError, UnicodeDecodeError) as error:
        raise LogError(f"cannot read the map {given}: {error}") from None


def columns(frame: Any) -> list[_Column]:
    """The columns of a frame, each as labels and for every row the position of its label."""
    if isinstance(frame, Mapping):
        found = [(str(name), list(values)) for name, values in frame.items()]
    elif hasattr(frame, "to_pylist") and hasattr(frame, "column_names"):  # pyarrow
        found = [(name, frame.column(i).to_pylist()) for i, name in enumerate(frame.column_names)]
    elif hasattr(frame, "columns") and hasattr(frame, "__getitem__"):  # pandas, polars
        found = []
        for i, name in enumerate(frame.columns):
            column = frame.iloc[:, i] if hasattr(frame, "iloc") else frame[name]
            found.append((str(name), column.to_list()))
    elif hasattr(frame, "__arrow_c_stream__"):
        try:
            import pyarrow
        except ImportError:
            raise LogError(f"reading {type(frame).__name__} takes pyarrow: pip install pyarrow") from None
        return columns(pyarrow.table(frame))
    else:
        kind = type(frame).__name__
        raise LogError(f"expected a path, a pandas, polars or pyarrow frame, or a mapping of columns, not {kind}")
    lengths = {name: len(values) for name, values in found}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise LogError(f"the columns of the log have different lengths: {listed}")
    return [(name, *coded(values)) for name, values in found]


def coded(values: list[Any]) -> tuple[list[str], list[int | None]]:
    """Labels in the order in which they appear, and for every row the position of its label."""
    labels: dict[str, int] = {}
    known: dict[Any, int | None] = {}
    codes: list[int | None] = []
    for value in values:
        # True == 1 == 1.0 would be one key.
        key = (type(value), value)
        try:
            code = known[key]
        except KeyError:
            text = label(value)
            code = None if text is None else labels.setdefault(text, len(labels))
            known[key] = code
        except TypeError:
            raise LogError(f"a cell holds {value!r}, expected a text or a number") from None
        codes.append(code)
    return list(labels), codes


def label(value: Any) -> str | None:
    """A cell as text; None where it is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return (
            str(int(number)) if math.isfinite(number) and number.is_integer() and abs(number) < 2**53 else repr(number)
        )
    return str(value)


def attach(world: Any, learner: Any) -> None:
    """Hangs what concerns logs onto the classes."""
    world.simulate_log = simulate_log
    learner.observe_log = observe_log
