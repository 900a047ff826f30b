"""Linearizability of one register: is there an order of its operations, legal for a register, that keeps real time?

The search is Lowe's just-in-time linearization (Testing for linearizability, Concurrency and Computation 29, 2017)
on the problem of Wing and Gong (Testing and verifying concurrent objects, J. Parallel and Distributed Computing 17,
1993): walk the events in order, hold every configuration (value of the register, operations that have taken effect but
not returned) that explains them so far, and let an operation take effect no earlier than some return demands. A
configuration is kept once, however many orders lead to it. Linearizability is local (Herlihy and Wing, 1990), so a
history of many registers is checked a key at a time.

Four rules keep the configurations few; each loses no legal order:

* A read takes effect as soon as the register holds its value: it changes nothing, so waiting cannot help.
* A value that only one operation writes may not be overwritten while reads of it are still owed.
* A write that nobody reads takes effect just before another write does, unless its own return comes first.
* Of two configurations that differ only in updates in doubt, the one that has used fewer of them is enough: what is in
  doubt need not happen.

The second and the third need to know who reads what, hence they look at the whole history, as the test of Gibbons and
Korach does (Testing shared memories, SIAM J. Computing 26, 1997). Where values repeat they do not apply; there, of
equal updates in doubt, the one that began first is used first.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

Value = Hashable


class RegisterStep(IntEnum):
    READ = 0
    """The register holds ``value``."""
    WRITE = 1
    """The register holds ``value`` afterwards."""
    CAS = 2
    """The register holds ``expected`` before and ``value`` afterwards."""
    DIFFERS = 3
    """The register holds anything but ``value``: a compare-and-set, or a set-if-absent, that was refused."""


UPDATES = (RegisterStep.WRITE, RegisterStep.CAS)


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisterOperation:
    """One operation: it takes effect at one moment between the events ``begin`` and ``end``.

    ``begin`` and ``end`` are positions on one line of time; an operation precedes another if its end is before the
    other's begin. ``end`` None: nobody knows; it may take effect at any time after its begin, or never.
    """

    id: int
    kind: RegisterStep
    value: Value
    expected: Value = None
    begin: int
    end: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchBudget:
    """Budget of the search for one key. Beyond it the answer is unknown, not a guess.

    ``configurations``: held at one time, about 200 bytes each; ``steps``: looked at in all.
    """

    configurations: int = 200_000
    steps: int = 5_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResult:
    """``failed``: id of the operation whose return nothing explains, if the history is not linearizable."""

    valid: Literal[True, False, "unknown"]
    steps: int
    failed: int | None = None


def check_register(
    operations: Iterable[RegisterOperation], *, initial: Value = None, budget: SearchBudget | None = None
) -> SearchResult:
    """Return whether ``operations`` on one register that held ``initial`` before are linearizable."""
    return _Search(list(operations), initial, budget or SearchBudget()).run()


def relevant(operations: Sequence[RegisterOperation]) -> list[RegisterOperation]:
    """Without what can tell nothing: unanswered reads, and updates in doubt whose value nobody saw.

    An update in doubt may simply not have happened, unless something else depends on it.
    """
    kept = [operation for operation in operations if operation.end is not None or operation.kind in UPDATES]
    if any(operation.kind is RegisterStep.DIFFERS for operation in kept):
        return kept
    while True:
        seen = _seen(kept)
        needed = [operation for operation in kept if operation.end is not None or seen[operation.value]]
        if len(needed) == len(kept):
            return kept
        kept = needed


def _seen(operations: Iterable[RegisterOperation]) -> Counter[Value]:
    """Return how many operations need the register to hold each value."""
    seen: Counter[Value] = Counter()
    for operation in operations:
        if operation.kind is RegisterStep.READ:
            seen[operation.value] += 1
        elif operation.kind is RegisterStep.CAS:
            seen[operation.expected] += 1
    return seen


class _OverBudgetError(Exception):
    pass


_BEGIN, _END = 0, 1
_Configuration = tuple[Value, int]
"""The register's value, and a bit for each open operation that has taken effect."""


class _Fewest:
    """Configurations of which none has used all the updates in ``optional`` that another, else equal, has used."""

    def __init__(self, optional: int) -> None:
        self._optional = optional
        self._used: dict[_Configuration, list[int]] = {}
        self.size = 0

    def add(self, value: Value, done: int) -> bool:
        """Take it in, unless one that is there makes do with as little."""
        used = done & self._optional
        others = self._used.setdefault((value, done & ~self._optional), [])
        if any(other & ~used == 0 for other in others):
            return False
        kept = [other for other in others if used & ~other]
        self.size += 1 + len(kept) - len(others)
        others[:] = [*kept, used]
        return True

    def all(self) -> set[_Configuration]:
        return {(value, done | used) for (value, done), each in self._used.items() for used in each}


class _Search:
    def __init__(self, operations: list[RegisterOperation], initial: Value, budget: SearchBudget) -> None:
        self._operations = relevant(operations)
        self._budget = budget
        self._configurations: set[_Configuration] = {(initial, 0)}
        self._steps = 0
        writers = Counter(one.value for one in self._operations if one.kind in UPDATES)
        writers[initial] += 1
        self._once = {value for value, count in writers.items() if count == 1}
        self._wanted = _seen(self._operations)
        self._optional = self._may_not_have_happened()
        self._owed = _seen(filter(self._happened, self._operations))  # less those that have returned
        self._can_hide = not any(one.kind is RegisterStep.DIFFERS for one in self._operations)
        self._free: list[int] = []
        self._slots = 0
        self._bits: dict[int, int] = {}  # of the open operations, by position in the list
        self._updates: dict[int, RegisterOperation] = {}  # open ones, by bit
        self._readers: dict[Value, int] = {}  # bits of the open operations that must find a value
        self._plain_readers: dict[Value, int] = {}  # those of them that change nothing
        self._differing: dict[int, Value] = {}
        self._unread = 0  # bits of open writes that nobody reads
        self._doubtful: dict[int, RegisterOperation] = {}  # open for ever, by bit
        self._twins: dict[int, int] = {}  # bits of equal updates in doubt that began earlier

    def run(self) -> SearchResult:
        try:
            for kind, position in self._events():
                if kind == _BEGIN:
                    self._begin(position)
                elif not self._end(position):
                    return SearchResult(valid=False, steps=self._steps, failed=self._operations[position].id)
        except _OverBudgetError:
            return SearchResult(valid="unknown", steps=self._steps)
        return SearchResult(valid=True, steps=self._steps)

    def _may_not_have_happened(self) -> set[int]:
        """Ids of updates in doubt. What something that happened saw, and nothing else can have written, happened."""
        optional = {one.id: one for one in self._operations if one.end is None}
        while True:
            seen = _seen(one for one in self._operations if one.id not in optional)
            proved = [one.id for one in optional.values() if one.value in self._once and seen[one.value]]
            if not proved:
                return set(optional)
            for name in proved:
                del optional[name]

    def _happened(self, operation: RegisterOperation) -> bool:
        return operation.id not in self._optional

    def _events(self) -> list[tuple[int, int]]:
        """(begin or end, position in the list) in order; of one moment, begins first: that excludes no order."""
        events = [(one.begin, _BEGIN, position) for position, one in enumerate(self._operations)]
        events += [(one.end, _END, position) for position, one in enumerate(self._operations) if one.end is not None]
        events.sort()
        return [(kind, position) for _, kind, position in events]

    def _begin(self, position: int) -> None:
        operation = self._operations[position]
        if self._free:
            bit = self._free.pop()
        else:
            bit = 1 << self._slots
            self._slots += 1
        self._bits[position] = bit
        kind, value = operation.kind, operation.value
        if kind is RegisterStep.READ:
            self._readers[value] = self._readers.get(value, 0) | bit
            self._plain_readers[value] = self._plain_readers.get(value, 0) | bit
        elif kind is RegisterStep.DIFFERS:
            self._differing[bit] = value
        else:
            self._updates[bit] = operation
            if kind is RegisterStep.CAS:
                if self._happened(operation):
                    self._readers[operation.expected] = self._readers.get(operation.expected, 0) | bit
            elif self._can_hide and value in self._once and not self._wanted[value]:
                self._unread |= bit
            if operation.end is None:
                self._twins[bit] = self._bits_of_equals(operation)
                self._doubtful[bit] = operation

    def _bits_of_equals(self, operation: RegisterOperation) -> int:
        equal = 0
        for bit, other in self._doubtful.items():
            if (other.kind, other.value, other.expected) == (operation.kind, operation.value, operation.expected):
                equal |= bit
        return equal

    def _end(self, position: int) -> bool:
        """Keep the configurations in which the operation has taken effect. False if there are none."""
        operation, bit = self._operations[position], self._bits.pop(position)
        found = self._with(bit)
        if self._doubtful:
            found = self._retire(found)
        self._configurations = found
        self._close(operation, bit)
        self._free.append(bit)
        return bool(found)

    def _with(self, bit: int) -> set[_Configuration]:
        """Every configuration with ``bit`` that the present ones lead to, the bit itself taken out."""
        optional = 0
        for doubtful, update in self._doubtful.items():
            if not self._happened(update):
                optional |= doubtful
        if optional:
            return self._with_fewest(bit, optional)
        found: set[_Configuration] = set()
        seen: set[_Configuration] = set()
        stack: list[_Configuration] = []
        for value, done in self._configurations:
            reached = value, self._settled(value, done)
            if reached[1] & bit:
                found.add((value, reached[1] ^ bit))
            elif reached not in seen:
                seen.add(reached)
                stack.append(reached)
        self._steps += len(self._configurations)
        while stack:
            value, done = stack.pop()
            for reached in self._after_one_update(value, done):
                self._steps += 1
                if reached[1] & bit:
                    found.add((reached[0], reached[1] ^ bit))
                elif reached not in seen:
                    seen.add(reached)
                    stack.append(reached)
            if len(seen) + len(found) > self._budget.configurations or self._steps > self._budget.steps:
                raise _OverBudgetError
        return found

    def _with_fewest(self, bit: int, optional: int) -> set[_Configuration]:
        """Do ``_with`` with updates in doubt: a step at a time, so that results with fewer of them come first."""
        found, seen = _Fewest(optional), _Fewest(optional)
        level: list[_Configuration] = []
        reached = [(value, self._settled(value, done)) for value, done in self._configurations]
        while reached:
            self._steps += len(reached)
            for value, done in reached:
                if done & bit:
                    found.add(value, done ^ bit)
                elif seen.add(value, done):
                    level.append((value, done))
            if seen.size + found.size > self._budget.configurations or self._steps > self._budget.steps:
                raise _OverBudgetError
            reached = [after for value, done in level for after in self._after_one_update(value, done)]
            level = []
        return found.all()

    def _after_one_update(self, value: Value, done: int) -> list[_Configuration]:
        reached = []
        once = value in self._once
        readers = self._readers.get(value, 0)
        owed = self._owed[value]
        for bit, update in self._updates.items():
            if done & bit or (update.kind is RegisterStep.CAS and update.expected != value):
                continue
            twins = self._twins.get(bit, 0)
            if twins & ~done:
                continue
            after = done | bit
            if once and owed > (after & readers).bit_count():
                continue
            if update.kind is RegisterStep.WRITE:
                after |= self._unread
            reached.append((update.value, self._settled(update.value, after)))
        return reached

    def _settled(self, value: Value, done: int) -> int:
        """``done`` and whatever takes effect for free while the register holds ``value``."""
        done |= self._plain_readers.get(value, 0)
        for bit, other in self._differing.items():
            if other != value:
                done |= bit
        return done

    def _retire(self, configurations: set[_Configuration]) -> set[_Configuration]:
        """Forget updates in doubt that have taken effect in every configuration."""
        common = -1
        for _, done in configurations:
            common &= done
        gone = 0
        for bit, update in list(self._doubtful.items()):
            if common & bit and configurations:
                gone |= bit
                del self._doubtful[bit], self._twins[bit]
                self._twins = {other: twins & ~bit for other, twins in self._twins.items()}
                self._close(update, bit)
                self._free.append(bit)
        return {(value, done & ~gone) for value, done in configurations} if gone else configurations

    def _close(self, operation: RegisterOperation, bit: int) -> None:
        kind, value = operation.kind, operation.value
        if kind is RegisterStep.READ:
            self._forget(self._plain_readers, value, bit)
            self._forget(self._readers, value, bit)
            self._owed[value] -= 1
        elif kind is RegisterStep.DIFFERS:
            del self._differing[bit]
        else:
            del self._updates[bit]
            self._unread &= ~bit
            if kind is RegisterStep.CAS and self._happened(operation):
                self._forget(self._readers, operation.expected, bit)
                self._owed[operation.expected] -= 1

    @staticmethod
    def _forget(bits: dict[Value, int], value: Value, bit: int) -> None:
        left = bits[value] & ~bit
        if left:
            bits[value] = left
        else:
            del bits[value]
