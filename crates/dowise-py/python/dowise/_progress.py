"""How far a run is: tqdm where it is installed, otherwise one line that is written over."""

from __future__ import annotations

import sys
import time
from typing import Any


def wanted(progress: bool | None) -> bool:
    """Whether to show progress: as asked, else in a terminal or a notebook."""
    if progress is not None:
        return progress
    return sys.stderr.isatty() or in_notebook()


def in_notebook() -> bool:
    """Whether this is a Jupyter kernel."""
    try:
        shell = sys.modules["IPython"].get_ipython()
    except (KeyError, AttributeError):
        return False
    return type(shell).__name__ == "ZMQInteractiveShell"


class Progress:
    """Shown from the first call on, gone when it is closed."""

    def __init__(self, what: str, unit: str = "episodes") -> None:
        self.what, self.unit = what, unit
        self.bar: Any = None
        self.begun = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if self.bar is None:
            self.bar = tqdm_bar(self.what, self.unit, total)
        if self.bar is not False:
            self.bar.n = done
            self.bar.refresh()
            return
        left = (time.monotonic() - self.begun) * (total - done) / max(done, 1)
        print(
            f"\r{self.what}: {done:,} of {total:,} {self.unit}, {left:.0f} s left ", end="", file=sys.stderr, flush=True
        )

    def close(self) -> None:
        if self.bar:
            self.bar.close()
        elif self.bar is False:
            print(file=sys.stderr)


def tqdm_bar(what: str, unit: str, total: int) -> Any:
    """A bar of tqdm, or False if it is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return False
    return tqdm(total=total, desc=what, unit=" " + unit, leave=False)
