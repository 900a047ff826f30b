"""Messages that two programs worked on at the same time, whatever their leases said.

Work lasts from the end of the delivery to the begin of what ended it: an ack, a nack, a give-back, or the death of the
program. Where the history has none of these, work is counted to the end of the drain and called *open*.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Work:
    """What the program of number ``program`` did with one delivery; ``index``: the event of the delivery."""

    begin_ns: int
    end_ns: int
    program: int
    index: int
    delivery: int
    open: bool


@dataclass(frozen=True, slots=True)
class Overlap:
    """The time in which two or more programs worked on a message; ``second``: the work that began it."""

    second: Work
    lasted_ns: int
    programs: int
    open: bool

    @property
    def detail(self) -> str:
        """Who overlapped, and for how long, in words."""
        until = ", counted to the end of the drain where nothing ended the work" if self.open else ""
        return f"{self.programs} programs at once, for {self.lasted_ns / NS_PER_MS:,.3f} ms in all{until}"


def overlap_of(works: Iterable[Work]) -> Overlap | None:
    """The overlap of the ``works`` on one message; None if no two programs worked at the same time.

    Ends come before begins of the same time, so work that follows other work at once does not overlap it.
    """
    lasting = [work for work in works if work.begin_ns < work.end_ns]
    marks = [(work.begin_ns, 1, work.index, work) for work in lasting]
    marks += [(work.end_ns, 0, work.index, work) for work in lasting]
    at_work: Counter[int] = Counter()
    second: Work | None = None
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
