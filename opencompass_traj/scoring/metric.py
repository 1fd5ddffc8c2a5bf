"""What a metric is: a class that a config lists, and that turns one comparison into named numbers."""

from __future__ import annotations

import difflib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from opencompass_traj.matching import step_texts
from opencompass_traj.scoring.comparison import Comparison
from opencompass_traj.scoring.ratio import Ratio


class Metric(ABC):
    """One family of numbers about a prediction.

    Subclass it, name the keys, and list the class in a config's `metrics`; nothing else needs to know.

    Attributes:
        rates: Keys whose numbers are in [0, 1] and are shown as 0 to 100; 0 for an unreadable prediction.
        counts: Keys whose numbers are shown as they are, as means per sample.
        sparse: For keys whose number may be None where nothing is recorded, the key that holds the share of samples
            that have one. The mean is over those alone; where there are none it is 0, and so is the share. The share
            counts as one of the metric's keys, is a rate, and is not given by `score`.
        ratios: For keys of `rates` or `counts` whose number over the corpus is no mean over the samples, how it is made
            of sums; the keys that it sums are further keys of every sample.
        uses_embeddings: Whether `score` reads `comparison.similarity` or `comparison.vectors`.
        reads_prediction: Whether `score` looks at the prediction in a way of its own, so that its rates stand as they
            are even where the common reader finds no plan.
        requires: Keys of metrics that must come before this one in the list.

    Example:
        >>> class ToolCount(Metric):
        ...     counts = ('tools_used',)
        ...
        ...     def score(self, comparison):
        ...         return {'tools_used': len(set(comparison.pred.names))}
    """

    rates: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    sparse: Mapping[str, str] = MappingProxyType({})
    ratios: Mapping[str, Ratio] = MappingProxyType({})
    uses_embeddings: bool = False
    reads_prediction: bool = False
    requires: tuple[str, ...] = ()

    def texts(self, comparison: Comparison) -> Iterable[str]:
        """The texts whose vectors `score` will read; by default the names and arguments of both plans' steps."""
        if not self.uses_embeddings:
            return
        for plan in (comparison.pred, comparison.ref):
            for column in step_texts(plan):
                yield from column

    def settings(self) -> dict[str, Any]:
        """What was asked of this metric, to be kept beside its numbers: its class and its options."""
        options = {key: value for key, value in vars(self).items() if not key.startswith('_') and key not in _DECLARED}
        return {'type': type(self).__name__, **options}

    @abstractmethod
    def score(self, comparison: Comparison) -> Mapping[str, Any]:
        """Score one comparison.

        Returns:
            A number for each key in `rates` and `counts` (None where `sparse` allows it); any further keys go to the
            details as they are.
        """


_DECLARED = frozenset(Metric.__annotations__)


def check_options(kind: object, options: Mapping[str, Any]) -> None:
    """Raise `ValueError` for an option that a metric does not have, with the names that are near.

    Args:
        kind: The metric's class; anything else passes.
        options: Its config; `type` is none of the options.

    Example:
        >>> class Steps(Metric):
        ...     def __init__(self, budget=1): ...
        ...     def score(self, comparison): ...
        >>> check_options(Steps, {'type': 'Steps', 'bugdet': 2})
        Traceback (most recent call last):
        ...
        ValueError: Steps has no option 'bugdet'; did you mean 'budget'?
    """
    if not (isinstance(kind, type) and issubclass(kind, Metric)):
        # What is no metric is refused as such, once it is built.
        return
    check_names(kind.__name__, kind, [name for name in options if name != 'type'])


def check_names(owner: str, called: Callable[..., object], names: Iterable[str]) -> None:
    """Raise `ValueError` for a name that is no parameter of what will be called with it.

    Args:
        owner: What the message calls it.
        called: A class or function; one with `**options` takes any name.
        names: The names of the arguments.
    """
    parameters = inspect.signature(called).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name in names:
        if name not in parameters:
            near = difflib.get_close_matches(name, parameters)
            known = f'there are: {", ".join(parameters)}' if parameters else 'it has none'
            hint = f'did you mean {near[0]!r}?' if near else known
            raise ValueError(f'{owner} has no option {name!r}; {hint}')
