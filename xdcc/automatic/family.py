"""``MemberFamily``: the interface of models that compete for a place in a mixture.

A family lists its candidates and what they cost. It can have one that is good after a short time,
draw further ones as long as a time budget lasts, and learn from what was trained. How a model
trains out of fold, and whether it has a flat form, is up to the model: a classifier of this package
(:class:`~xdcc.base.estimator.MultiLabelEstimator`) or of any other with `predict_proba`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone

from xdcc.automatic.other_classifier import OtherClassifier, free_seeds
from xdcc.automatic.shape import Shape
from xdcc.automatic.trial import Trial
from xdcc.automatic.watch import Watch
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.fit_data import FitData

_LEAST_SHARE = 0.3
"""Share of its time after which a candidate that ends early is worth something."""


@dataclass(frozen=True)
class Candidate:
    """A model that is tried.

    Attributes
    ----------
    name : str
        Its description, for a table; no other candidate has it.
    model : classifier
        Not fitted, with `predict_proba`, of this package or another. It is cloned. A classifier of
        this package gets the seed and the number of threads of the search; another one gets a seed
        for each `random_state` that is None, and keeps its other parameters.
    seconds : float
        For training out of fold on one core, estimated from the sizes of the data.
    n_errors : float, default=1.0
        By how many standard errors it must lower the log-loss to enter the mixture.
    ends_early : bool, default=False
        Whether a training that is ended early gives a model for each fold, as that of boosters.
    repeats : bool, default=True
        Whether a time budget may be spent on more models with other seeds.
    is_divisible : bool, default=True
        Whether several threads can share its training. What cannot be shared does not begin last.
    is_measured : bool, default=False
        Whether `seconds` come from a trial on this machine, so that it does not matter how much
        longer than estimated other candidates take.
    n_rows : int or None, default=None
        Where one fold is enough: rows to learn from, drawn; None for all.
    family : MemberFamily or None, default=None
        Learns from its training; set by the search.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> candidate = Candidate("neighbours", KNeighborsClassifier(), seconds=0.1)
    >>> candidate.least_seconds, candidate.is_worth_repeating
    (0.1, False)
    """

    name: str
    model: Any = field(repr=False)
    seconds: float
    n_errors: float = 1.0
    ends_early: bool = False
    repeats: bool = True
    is_divisible: bool = True
    is_measured: bool = False
    n_rows: int | None = None
    family: "MemberFamily | None" = field(default=None, repr=False)

    @property
    def kind(self) -> type:
        """The class of the model."""
        return type(self.model)

    @property
    def least_seconds(self) -> float:
        """Seconds after which it is worth something."""
        return _LEAST_SHARE * self.seconds if self.ends_early else self.seconds

    @property
    def is_worth_repeating(self) -> bool:
        """Whether another seed makes another model, and it had the time that it needs."""
        if isinstance(self.model, MultiLabelEstimator):
            return self.repeats
        return self.repeats and bool(free_seeds(self.model))

    def estimator(self, seed: int, n_jobs: int | None) -> MultiLabelEstimator:
        """Make the estimator, not fitted."""
        if not isinstance(self.model, MultiLabelEstimator):
            return OtherClassifier(classifier=self.model, name=self.name, random_state=seed)
        given = {"random_state": seed, "n_jobs": n_jobs}
        names = given.keys() & self.model.get_params(deep=False).keys()
        estimator: MultiLabelEstimator = clone(self.model)
        return estimator.set_params(**{name: given[name] for name in names})


class Training(NamedTuple):
    """The training of a candidate, from which its family learns.

    Attributes
    ----------
    candidate : Candidate
        What was trained.
    unfitted : estimator
        With the settings that the folds found best.
    seconds : float
        It took, with calibration.
    watch : Watch
        Knows its steps, and whether it was ended early.
    """

    candidate: Candidate
    unfitted: Any
    seconds: float
    watch: Watch


class MemberFamily(ABC):
    """Models of one kind that compete for a place in a mixture.

    A subclass has a name and lists its candidates; the other methods have defaults. Each `fit` uses
    a copy.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> class Neighbours(MemberFamily):
    ...     name = "neighbours"
    ...
    ...     def candidates(self, shape, longest):
    ...         seconds = 1e-8 * shape.n_rows * shape.n_entries
    ...         return [
    ...             Candidate(f"{k} neighbours", KNeighborsClassifier(k), seconds) for k in (5, 20)
    ...         ]
    >>> shape = Shape(n_rows=400, n_features=70, n_labels=6, n_entries=28_000, n_folds=5)
    >>> [candidate.name for candidate in Neighbours().candidates(shape, np.inf)]
    ['5 neighbours', '20 neighbours']
    """

    name: str

    draws: ClassVar[int] = 0
    """How many candidates in turn it draws in a time budget, before other families draw."""

    noun: str = ""
    """Name of a model of the family in the warning that a search ended without one, or ""."""

    is_cut: bool = False
    """Whether its models had too little time so far, so that the next one is more urgent."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Stop if a family that draws candidates has no method for it."""
        super().__init_subclass__(**kwargs)
        if cls.draws and cls.draw is MemberFamily.draw:
            raise TypeError(f"{cls.__name__} has draws={cls.draws}, but no method `draw`.")

    @abstractmethod
    def candidates(self, shape: Shape, longest: float) -> Sequence[Candidate]:
        """List the candidates that are always tried, in the order of their training.

        Parameters
        ----------
        shape : Shape
            Sizes of the data.
        longest : float
            Longest time that one may take in seconds; infinity without a time budget.

        Returns
        -------
        sequence of Candidate
            It depends on the arguments alone until the family has learned from a training.
        """

    def begin(self, data: FitData, shape: Shape, longest: float) -> None:
        """Try what can be tried on a few rows, before anything is trained.

        Parameters
        ----------
        data : FitData
            Training data.
        shape : Shape
            Sizes of the data.
        longest : float
            Seconds that one candidate can take; infinity without a time budget.

        Raises
        ------
        ValueError
            If a classifier of another package predicts no probabilities of these labels.
        Exception
            What it raises, if it does not take such data.
        """
        for candidate in self.candidates(shape, np.inf):
            estimator = candidate.estimator(0, 1)
            if isinstance(estimator, OtherClassifier):
                estimator.try_out(data, is_timed=False)

    def measure(self, trial: Trial) -> tuple[Candidate, float] | None:
        """Time a candidate in a trial, and size the next ones by that.

        Returns
        -------
        tuple or None
            The candidate, estimated for the sizes of the trial, and the seconds that it would take
            there; None if it cannot be timed.
        """
        return None

    def first(self, shape: Shape, longest: float) -> Candidate | None:
        """Return a candidate that is good after `longest` seconds; None if there is none."""
        return None

    def draw(self, shape: Shape, random: np.random.Generator, longest: float) -> Candidate:
        """Draw another candidate; needed if `draws` is positive."""
        raise NotImplementedError

    def learn(self, training: Training) -> float:
        """Learn from a training; return the seconds by which estimates are corrected."""
        return training.seconds

    def after(self, shape: Shape, training: Training) -> Sequence[Candidate]:
        """List what follows such a training, where one fold is enough and time is not limited."""
        return ()
