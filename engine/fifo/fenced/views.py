"""Views of a partition in each single zone: whether it takes part, and its registers. No vote shows that."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.fenced.keys import FencedKeys
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Command, Connection, Runtime, ServerError, Unavailable


class Unadmitted(Unavailable):
    """Too few zones take part in the partition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisterView:
    """``promised``: the highest token, to the session ``owner`` until ``ends_ms``. ``state``: what write ``number``
    under ``token`` left.
    """

    promised: int = 0
    owner: str = "-"
    ends_ms: int = 0
    token: int = 0
    number: int = 0
    state: str = ""

    @classmethod
    def parse(cls, raw: bytes | None) -> Self:
        """The register as a zone has it in ``raw``; None: it has none."""
        if raw is None:
            return cls()
        promised, owner, ends, token, number, state = raw.decode().split(" ", 5)
        numbers = {"promised": int(promised), "ends_ms": int(ends), "token": int(token), "number": int(number)}
        return cls(owner=owner, state=state, **numbers)

    @property
    def lease(self) -> str:
        """Unlike after each promise and each renewal, as ``lua/claim.lua`` writes it."""
        return f"{self.promised} {self.owner} {self.ends_ms}"

    @property
    def age(self) -> tuple[int, int]:
        """Return the order of states: the greater is the newer."""
        return self.token, self.number


@dataclass(frozen=True, kw_only=True, slots=True)
class ZoneView:
    """``run``: the zone's process. ``admitted``: this process takes part, in ``era``. ``registers`` and ``more``: what
    was asked for.
    """

    run: str
    era: str
    admitted: bool
    registers: tuple[RegisterView, ...]
    more: list[Any] = field(default_factory=list)

    @property
    def generation(self) -> int:
        return generation_of(self.era)


def generation_of(era: str) -> int:
    """The number that an era begins with; 0 for the empty era."""
    return int(era.partition("-")[0] or 0)


class Views:
    """Reads from every zone at once. ``zones``: a connection for reading each alone. ``checks``: whether zones have to
    be admitted.
    """

    def __init__(
        self, *, zones: Mapping[str, Connection], keys: FencedKeys, runtime: Runtime, checks: bool = True
    ) -> None:
        self.zones, self.keys, self._runtime, self._checks = zones, keys, runtime, checks

    @property
    def majority(self) -> int:
        return len(self.zones) // 2 + 1

    async def of(self, partition: Partition, registers: Sequence[str], *more: Command) -> dict[str, ZoneView]:
        """Zone → what it has, and its replies to ``more``; only zones that answered whose mark and era stayed.

        A server may carry out something else between two commands of a pipeline. So mark and era are read before
        the data and after them: what a zone had before it was admitted does not count as that of an admitted zone. A
        copy of another zone brings that zone's mark along, which is none of this zone's processes.
        """
        known = ("HMGET", self.keys.meta(partition), "mark", "era")
        read = ("HMGET", self.keys.registers(partition), *registers)
        answers = await self.ask(known, read, *more, known, ("INFO", "server"))
        views = {}
        for zone, (before, raws, *replies, after, info) in answers.items():
            if before != after:
                continue
            mark, era = after
            run = _run_of(info)
            views[zone] = ZoneView(
                run=run,
                era=(era or b"").decode(),
                admitted=not self._checks or (mark is not None and mark.decode() == run),
                registers=tuple(map(RegisterView.parse, raws)),
                more=replies,
            )
        return views

    async def admitted(self, partition: Partition, registers: Sequence[str], *more: Command) -> list[ZoneView]:
        """Return the views of the zones that take part: enough that one of them saw each decision. Raises
        ``Unadmitted``.
        """
        found = [view for view in (await self.of(partition, registers, *more)).values() if view.admitted]
        if len(found) < self.majority:
            raise Unadmitted(f"{partition.name}: too few zones are admitted")
        return found

    async def alike(self, partition: Partition, *names: str) -> list[RegisterView] | None:
        """The registers as two zones of one era or more show them, each the newest that two do.

        None: so many do not take part, or they show a register each as another has not.
        """
        return self.settled((await self.of(partition, names)).values())

    def settled(self, found: Collection[ZoneView]) -> list[RegisterView] | None:
        """Return the registers on which the zones ``found`` agree; see ``alike``.

        A state, if there is one, counts only where the register was promised to nobody since. A zone may be let in with
        one that another zone alone had, while two zones have promised the register to an owner who knows nothing of it.
        """
        eras = Counter(view.era for view in found if view.admitted)
        shown = [view.registers for view in found if view.admitted and eras[view.era] >= self.majority]
        registers = []
        for column in zip(*shown, strict=True):
            unclaimed = [view for view in column if view.token in (0, view.promised)]
            ages = Counter(view.age for view in unclaimed)
            both = [view for view in unclaimed if ages[view.age] >= self.majority]
            if not both:
                return None
            registers.append(both[0])
        return registers or None

    async def ask(self, *commands: Command) -> dict[str, list[Any]]:
        """The replies of every zone that has some and no error among them."""
        tasks = {
            name: self._runtime.spawn(attempt(zone, commands), name=f"read of zone {name}")
            for name, zone in self.zones.items()
        }
        answers = {name: await task.join() for name, task in tasks.items()}
        return {name: answer for name, answer in answers.items() if answer is not None}


async def attempt(zone: Connection, commands: Sequence[Command]) -> list[Any] | None:
    """The replies of one zone; None if it has none, or an error among them."""
    try:
        replies = await zone.execute(*commands)
    except COMMAND_FAILURES:
        return None
    return None if any(isinstance(reply, ServerError) for reply in replies) else replies


def _run_of(info: bytes) -> str:
    _, _, rest = info.decode().partition("run_id:")
    return rest.split("\r", 1)[0].strip()
