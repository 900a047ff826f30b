"""The result of one run, whatever it was made for: what many runs are stored as, resumed from and compared by."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """The result of one run.

    ``valid``: as in its verdict; None if there is none, and ``problem`` says why. ``begun``: how many messages or
    operations it had. ``counts``: cases by class, of those that have any; ``violated``: the forbidden ones of these.
    ``numbers``: of the run as a whole, and ``samples``: one value each; the experiment says of what, and in which unit.
    ``problem``: also why a verdict is neither true nor false. ``trace_hash``: equal if two runs did the same.
    ``directory``: the files of the run, if it left any.

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
        """Return what a file of results has of the run.

        Example::

            print(one.to_json()["valid"])  # True
        """
        return asdict(self)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Observation":
        """Return the observation of which ``told`` is what ``to_json`` returned.

        Example::

            print(type(one).from_json(one.to_json()) == one)  # True
        """
        return cls(**{**told, "violated": tuple(told["violated"])})
