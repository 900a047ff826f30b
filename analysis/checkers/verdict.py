"""The verdict on one run: valid, invalid or unknown, how many cases fell into each class, and which."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.consistency.section import ConsistencySection
from zonelab.analysis.checkers.judgement import Case, Valid, Validity, VerdictSection, judge
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.checkers.order.section import OrderSection
from zonelab.analysis.checkers.queue.section import QueueSection, Totals
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.observation import Observation

KINDS: Mapping[str, type[VerdictSection]] = {one.title: one for one in (QueueSection, OrderSection, ConsistencySection)}
"""The sections that a verdict can have."""

AnyClass = MessageClass | Property | Anomaly

CLASSES: Mapping[str, AnyClass] = {str(one): one for kind in (Anomaly, MessageClass, Property) for one in kind}
"""Every class by its name; ``undecided``, which is an anomaly, too, is that of messages."""

Kind = TypeVar("Kind", bound=VerdictSection)


def class_named(name: str) -> AnyClass:
    """Return the class called ``name``. Raises ``ValueError`` if there is none."""
    if name not in CLASSES:
        raise ValueError(f"got {name}; accepted: {', '.join(CLASSES)}")
    return CLASSES[name]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of checking one run: a section for each checker that had something to judge.

    ``queue`` of a run whose clients used a queue, ``order`` beside it of one that keeps an order, and ``consistency``
    of a run with a workload. Of a verdict as a whole: ``valid``, which is True, False or ``"unknown"``: the worst of
    the sections. ``reasons``: why it is not valid, in words. ``forbid``: the classes that must have no cases.
    ``counts``: cases of every class; deliveries for early, late and the duplicate causes, acks for zombie_ack, (zone,
    id) pairs for orphan and phantom, and messages for all others. ``cases``: the first 20 of each class in history
    order; all of them are in ``offenders.parquet``, those of a workload in ``anomalies.parquet``.

    Example, in which those of the methods stand in place of the dots::

        with cluster("sim") as lab, queues.open("jobs", lab, engine="zset") as queue:
            queue.push(Message(id="1"))
            with lab.fault("wipe", zone="a"), lab.fault("wipe", zone="b"), lab.fault("wipe", zone="c"):
                lab.sleep(1)
            verdict = lab.verdict()
            ...
    """

    sections: Mapping[str, VerdictSection]

    @classmethod
    def of(cls, *sections: VerdictSection) -> "Verdict":
        """Return the verdict of several checkers.

        Args:
            sections: what each of them found.
        """
        return cls({section.title: section for section in sections})

    @property
    def valid(self) -> Valid:
        """The validity of the run: the worst of its sections.

        Example::

            print(verdict.valid)  # False
        """
        return judge(broken=self.violated, doubts=self.doubts)

    @property
    def word(self) -> str:
        """The validity of the run as it is printed.

        Example::

            print(verdict.word)  # invalid
        """
        return Validity(self.valid).word

    @property
    def violated(self) -> tuple[CaseClass, ...]:
        """The forbidden classes that have cases: of messages, properties of order, or anomalies of a workload.

        Example::

            print([str(name) for name in verdict.violated], verdict.reasons)
            assert verdict.violated
        """
        return tuple(name for section in self.sections.values() for name in section.violated)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the evidence has gaps, in words.

        Example::

            print(verdict.doubts)  # ()
        """
        return tuple(dict.fromkeys(doubt for section in self.sections.values() for doubt in section.doubts))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the run is not valid, in words: a sentence for each of ``violated``, then ``doubts``.

        Example::

            print(len(verdict.reasons) == len(verdict.violated))  # True
        """
        return (*(line for section in self.sections.values() for line in section.violations), *self.doubts)

    @property
    def forbid(self) -> tuple[str, ...]:
        """The names of the classes that must have no cases.

        Example::

            print("lost" in verdict.forbid)  # True
        """
        return tuple(name for section in self.sections.values() for name in section.forbid)

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of cases of each class, by name.

        Example::

            print(verdict.counts["lost"])  # 1
        """
        return {name: count for section in self.sections.values() for name, count in section.counts.items()}

    @property
    def cases(self) -> Mapping[str, tuple[Case, ...]]:
        """The first 20 cases of each class that has any, by name.

        Example::

            print([one.message_id for one in verdict.cases["lost"]])  # ['1']
        """
        return {name: cases for section in self.sections.values() for name, cases in section.cases.items()}

    @property
    def not_judged(self) -> tuple[str, ...]:
        """Classes for which the queue has no means, say those of leases without leases; their counts say nothing.

        Example::

            print("lost" in verdict.not_judged)  # False
        """
        return tuple(name for section in self.sections.values() for name in section.not_judged)

    @property
    def queue(self) -> QueueSection:
        """Return what became of the messages.

        Raises:
            KeyError: if the clients of the run used no queue.

        Example::

            print(verdict.queue.duplicated)  # 0
        """
        return self._section(QueueSection)

    @property
    def order(self) -> OrderSection | None:
        """Return what became of the order of messages; None if the queue keeps none.

        Example::

            print(verdict.order)  # None
        """
        return self._section(OrderSection) if OrderSection.title in self.sections else None

    @property
    def consistency(self) -> ConsistencySection:
        """Return what became of the data of a workload.

        Raises:
            KeyError: if the run has none.

        Example::

            print("consistency" in verdict.sections)  # False
        """
        return self._section(ConsistencySection)

    @property
    def totals(self) -> Totals:
        """Return how many messages there were: ``queue.totals``.

        Raises:
            KeyError: if the clients of the run used no queue.

        Example::

            print(verdict.totals.pushed)  # 1
        """
        return self.queue.totals

    @property
    def begun(self) -> int:
        """The number of messages that were pushed, or of operations that clients of a workload began.

        Example::

            print(verdict.begun)  # 1
        """
        return sum(section.begun for section in self.sections.values())

    def _section(self, kind: type[Kind]) -> Kind:
        found = self.sections[kind.title]
        assert isinstance(found, kind)
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``verdict.json``; ``from_json`` inverts it.

        Example::

            print(verdict.to_json()["sections"]["queue"]["totals"]["pushed"])  # 1
        """
        sections = {name: section.to_json() for name, section in self.sections.items()}
        return {"valid": self.valid, "reasons": list(self.reasons), "sections": sections}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Verdict":
        """Return the verdict that a file has. A class that the version which wrote it did not know is not judged.

        Args:
            value: the content of ``verdict.json``.

        Raises:
            KeyError: if it lacks something.
            TypeError: if it is no such content.

        Example::

            print(Verdict.from_json(verdict.to_json()) == verdict)  # True
        """
        return cls({name: KINDS[name].from_json(section) for name, section in value["sections"].items()})


def observed(verdict: Verdict, *, trace_hash: str = "", directory: Path | None = None) -> Observation:
    """Return the observation of a run that was judged. ``directory``: that of its files, if it left any."""
    return Observation(
        valid=verdict.valid,
        begun=verdict.begun,
        counts={str(name): count for name, count in verdict.counts.items() if count},
        violated=tuple(map(str, verdict.violated)),
        problem="; ".join(verdict.reasons) if verdict.valid == "unknown" else None,
        trace_hash=trace_hash,
        directory="" if directory is None else str(directory),
    )
