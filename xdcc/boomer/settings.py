"""``RuleSettings``: what the learner of rules is asked for, as the kernel takes it."""

from typing import NamedTuple


class RuleSettings(NamedTuple):
    """Checked settings of a training.

    Attributes
    ----------
    loss : str
        Name of the loss.
    complete : bool
        Whether rules predict for all labels; otherwise each does for one.
    l2 : float
        Weight of the squared scores, positive.
    learning_rate : float
        Shrinkage of every rule's scores but the default rule's.
    bootstrap : bool
        Whether each rule is searched on rows drawn with replacement.
    n_attributes : int
        Attributes drawn for each condition.
    bin_share : float
        Label bins per label that is raised or lowered, 0 for no bins.
    max_conditions : int
        Most conditions of a rule, -1 for no limit.
    min_coverage : int
        Fewest rows of the sample that a rule covers.
    """

    loss: str
    complete: bool
    l2: float
    learning_rate: float
    bootstrap: bool
    n_attributes: int
    bin_share: float
    max_conditions: int
    min_coverage: int
