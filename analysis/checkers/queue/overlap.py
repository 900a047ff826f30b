"""Messages that two programs worked on at the same time, whatever their leases said.

Work lasts from the end of the delivery to the begin of what ended it: an ack, a nack, a give-back, or the death of the
program; or to the end of an extension that was refused, after which a program lets go. Where the history has none of
these, work is counted to the end of the drain and called *open*.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from zonelab.analysis.checkers.queue.events import EXTEND, FAIL, POP, PUSH, EventRows, Ints, PartitionEvents
from zonelab.analysis.units import NS_PER_MS


@dataclass(frozen=True, slots=True)
class ProgramWork:
    """The work of program number ``program`` on one delivery; ``index`` is the event of the delivery."""

    begin_ns: int
    end_ns: int
    program: int
    index: int
    delivery: int
    open: bool


@dataclass(frozen=True, slots=True)
class Overlap:
    """The time in which two or more programs worked on a message; ``second``: the work that began it."""

    second: ProgramWork
    lasted_ns: int
    programs: int
    open: bool

    @property
    def detail(self) -> str:
        """The most programs at work at once, and how long they overlapped, in words."""
        until = ", counted to the end of the drain where nothing ended the work" if self.open else ""
        return f"{self.programs} programs at once, for {self.lasted_ns / NS_PER_MS:,.3f} ms in all{until}"


def overlap_of(works: Iterable[ProgramWork]) -> Overlap | None:
    """The overlap of the ``works`` on one message; None if no two programs worked at the same time.

    Ends come before begins of the same time, so work that follows other work at once does not overlap it.
    """
    lasting = [work for work in works if work.begin_ns < work.end_ns]
    marks = [(work.begin_ns, 1, work.index, work) for work in lasting]
    marks += [(work.end_ns, 0, work.index, work) for work in lasting]
    at_work: Counter[int] = Counter()
    second: ProgramWork | None = None
    lasted_ns = most = since_ns = 0
    for at_ns, begins, _, work in sorted(marks, key=lambda mark: mark[:3]):
        busy = sum(count > 0 for count in at_work.values())
        if busy > 1:
            lasted_ns += at_ns - since_ns
        at_work[work.program] += 1 if begins else -1
        busy = sum(count > 0 for count in at_work.values())
        most, since_ns = max(most, busy), at_ns
        second = work if second is None and busy > 1 else second
    if second is None:
        return None
    return Overlap(second, lasted_ns, most, any(work.open for work in lasting))


def overlaps(
    partition: PartitionEvents, pops: EventRows, *, end_ns: int | None, deaths_ns: Mapping[int, int]
) -> Iterator[tuple[str, Overlap]]:
    """The messages of ``partition``, delivered by ``pops``, that two programs worked on at the same time, by id.

    ``end_ns``: run time to which open work is counted; None: it is not counted. ``deaths_ns``: of programs, by number.
    """
    chosen = np.bincount(pops.message, minlength=len(partition)) > 1
    if not chosen.any():
        return
    events = partition.events
    refused = (events.f == EXTEND) & (events.type == FAIL)
    ending = (events.f != PUSH) & (events.f != POP) & (events.f != EXTEND) | refused
    ends = events.where(ending & chosen[events.message])
    ends_ns = np.where(ends.f == EXTEND, ends.time_ns, ends.invoke_ns)
    ended_ns: dict[tuple[int, int], int] = {}
    for message, delivery, at_ns in _rows(ends.message, ends.delivery, ends_ns):
        ended_ns[message, delivery] = min(at_ns, ended_ns.get((message, delivery), at_ns))
    works: dict[int, list[ProgramWork]] = defaultdict(list)
    shown = pops.where(chosen[pops.message])
    for message, begin_ns, program, index, delivery in _rows(
        shown.message, shown.time_ns, shown.program.astype(np.int64), shown.index, shown.delivery
    ):
        known = [at_ns for at_ns in (ended_ns.get((message, delivery)), deaths_ns.get(program)) if at_ns is not None]
        last_ns = min(known) if known else begin_ns if end_ns is None else end_ns
        works[message].append(ProgramWork(begin_ns, last_ns, program, index, delivery, open=not known))
    for message, of_message in works.items():
        if (found := overlap_of(of_message)) is not None:
            yield partition.ids[message].as_py(), found


def _rows(*columns: Ints) -> Iterator[tuple[int, ...]]:
    return zip(*(column.tolist() for column in columns), strict=True)
