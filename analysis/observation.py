"""Observations: results of single runs, in which experiments are stored, resumed and compared."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """The result of one run.

    ``valid``: the verdict's; None if there is no verdict. ``problem``: why it is None or ``"unknown"``. ``begun``:
    number of messages or operations. ``counts``: cases by class, without classes that have none; ``violated``: the
    forbidden classes among them. ``numbers``: measures of the whole run; ``samples``: lists of single values. The
    experiment defines their names and units. ``trace_hash``: equal for runs with the same course of events.
    ``directory``: that of the run's files; empty if it left none.

    Example::

        one = hunt("steady", runs=2, messages=5).observations[1]
        print(one.valid, dict(one.counts), one.violated, one.problem)  # True {} () None
    """

    valid: bool | str | None = None
    begun: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    violated: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    samples: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    problem: str | None = None
    trace_hash: str = ""
    directory: str = ""

    @property
    def is_decided(self) -> bool:
        """True if the verdict is true or false.

        Example::

            print(one.is_decided)  # True
        """
        return isinstance(self.valid, bool)

    def to_json(self) -> dict[str, Any]:
        """Return the run's entry in a file of results.

        Example::

            print(one.to_json()["valid"])  # True
        """
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Observation":
        """Return an observation from its ``to_json``.

        Args:
            value: what ``to_json`` returned.

        Example::

            print(type(one).from_json(one.to_json()) == one)  # True
        """
        return cls(**{**value, "violated": tuple(value["violated"])})
