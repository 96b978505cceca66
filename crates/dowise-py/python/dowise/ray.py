"""Comparisons on a Ray cluster: `dowise.ray.compare` is `dowise.compare` with every run a task of Ray."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dowise._results import Comparison
from dowise._runs import compare as compare_on

__all__ = ["RayExecutor", "compare"]


class RayExecutor:
    """Tasks of Ray as an executor. `options` are those of `ray.remote`, such as `num_cpus`; a task whose node is lost
    is run again on another one.

    Ray is connected to if it is not yet: to the cluster of `RAY_ADDRESS`, or to one started here.
    """

    def __init__(self, **options: Any) -> None:
        try:
            import ray
        except ImportError as error:
            raise ImportError("dowise.ray needs Ray; `pip install ray`") from error
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        self._remote = ray.remote(**{"num_cpus": 1, "max_retries": 5, **options})

    def submit(self, task: Callable[..., Any], /, *arguments: Any) -> Any:
        """A future of what the task gives."""
        return self._remote(task).remote(*arguments).future()


def compare(worlds: Any, learners: Any, *arguments: Any, ray: dict[str, Any] | None = None, **more: Any) -> Comparison:
    """`dowise.compare` on Ray; `ray` has options for its tasks, such as `{"num_cpus": 2}`.

    The numbers are those of `dowise.compare` without Ray.
    """
    return compare_on(worlds, learners, *arguments, executor=RayExecutor(**(ray or {})), **more)
