"""Section of the consistency checker: the anomalies of a workload, how often they showed, and how stale reads were."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.judgement import VerdictSection
from zonelab.analysis.workloads import WorkloadKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """``hits`` of ``trials``, with the 95 % interval of Clopper and Pearson."""

    hits: int
    trials: int
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Counterexample:
    """The smallest part of one key's history that is still not linearizable: the operations, and their picture."""

    key: str
    ops: tuple[int, ...]
    timeline: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsistencySection(VerdictSection):
    """The data of a workload.

    ``workload``: its kind. ``operations``: by f and outcome. ``shares``: by name, what share of its possible places an
    anomaly took, under ``all`` and by zone. ``staleness``: per zone, quantiles of the staleness of stale reads in
    ``ms`` and in ``versions``. ``figures``: what is particular to the workload, such as how many locks had how many
    owners. ``counterexamples``: of keys that are not linearizable, the smallest part that is not.
    """

    title = "consistency"
    classes = Anomaly
    parts = {  # noqa: RUF012 - of the class, not of its instances
        "workload": WorkloadKind,
        "shares": lambda value: {
            name: {zone: Share(**one) for zone, one in zones.items()} for name, zones in value.items()
        },
        "counterexamples": lambda value: tuple(
            Counterexample(key=one["key"], ops=tuple(one["ops"]), timeline=tuple(one["timeline"])) for one in value
        ),
    }

    workload: WorkloadKind
    operations: Mapping[str, Mapping[str, int]]
    shares: Mapping[str, Mapping[str, Share]] = field(default_factory=dict)
    staleness: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    figures: Mapping[str, int] = field(default_factory=dict)
    counterexamples: tuple[Counterexample, ...] = ()

    @property
    def begun(self) -> int:
        """The number of operations that were begun."""
        return sum(sum(outcomes.values()) for outcomes in self.operations.values())
