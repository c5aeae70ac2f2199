"""Progress of a training, and a warning before a long one."""

import time
import warnings
from collections.abc import Callable, Sequence

from xdcc.base.package import PACKAGE
from xdcc.base.progress import progress_bar
from xdcc.base.side_by_side import n_at_once, run_large

_LONG = 300.0
"""Seconds from which a training is announced."""


class Pace:
    """Trains blocks of models, shows how many are trained, and measures the first block.

    `n_models` are about as many as will be trained, or 0 if nothing shall warn of a long training;
    `advice` says what takes less time.
    """

    def __init__(self, n_models: float = 0, advice: str = "", *, verbose: bool = False) -> None:
        self._n_models, self._advice = n_models, advice
        self._is_measured = not n_models
        self._bar = progress_bar(unit=" models", disable=not verbose)

    def describe(self, what: str) -> None:
        """Show what is trained now."""
        self._bar.set_description(what)

    def run[T](
        self, tasks: Sequence[Callable[[], T]], sizes: Sequence[int], n_entries: int
    ) -> list[T]:
        """Train blocks of `sizes` models side by side, the very first one alone."""

        def train(task: Callable[[], T], size: int) -> T:
            found = task()
            self._bar.update(size)
            return found

        counted = [lambda pair=pair: train(*pair) for pair in zip(tasks, sizes, strict=True)]
        first = []
        if not self._is_measured:
            begun = time.perf_counter()
            first = [counted[0]()]
            self._warn(time.perf_counter() - begun, sizes[0])
        return first + run_large(counted[len(first) :], n_entries)

    def close(self) -> None:
        """End the line of the progress."""
        self._bar.close()

    def _warn(self, seconds: float, n_models: int) -> None:
        """Warn if all models take long, by the time of the first."""
        self._is_measured = True
        expected = seconds / n_models * self._n_models / n_at_once()
        if expected > _LONG:
            warnings.warn(
                f"The logistic regressions may take {expected / 60:.0f} minutes, as the first "
                f"{n_models} took {seconds:.1f} s. {self._advice} verbose=1 shows the progress.",
                skip_file_prefixes=(PACKAGE,),
            )
