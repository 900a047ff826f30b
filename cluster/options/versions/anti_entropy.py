"""Anti-entropy, an option of ours: in the background each coordinator compares its zone with the others and copies
what is newer, removals included, both ways.

After Dynamo (DeCandia et al., SOSP 2007, section 4.7) and Cassandra's repair. The versions and digests are those of
``scripts``; what has none is not seen. Everything is compared again, and by one script, on the server that it
is copied to, so it may run beside any writes, hints and other coordinators.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.coordinators.direct import ask
from zonelab.cluster.options.versions import scripts
from zonelab.cluster.options.versions.clock import VersionClock
from zonelab.cluster.options.versions.settings import AntiEntropySettings
from zonelab.engine.ports import Command, Reply, Runtime, ServerError

PAGE = 100
"""Records that are listed at once."""

_DONE = "."
"""After the name of a set of records: what follows it comes next."""

ROUNDS, COPIED, CONFLICTS = "anti-entropy rounds", "anti-entropy copied", "anti-entropy type conflicts"
FAILED = "anti-entropy rounds broken off"


class _BrokenOff(Exception):
    """A zone could not be asked."""


@dataclass(slots=True)
class _Place:
    """Progress of the comparison of two zones: a set of records, and within it a cursor in each direction."""

    name: str = ""
    backward: bool = False
    cursor: bytes = b"0"


class AntiEntropy:
    """The background process of ``coordinator``. ``decoded``: what a zone's reply says."""

    def __init__(
        self,
        coordinator: Coordinator,
        *,
        clock: VersionClock,
        runtime: Runtime,
        settings: AntiEntropySettings,
        decoded: Callable[[Reply], Any] = lambda reply: reply,
    ) -> None:
        self._coordinator = coordinator
        self._clock = clock
        self._runtime = runtime
        self._settings = settings
        self._decoded = decoded
        self._places = [_Place() for _ in coordinator.channels]
        self._rested_ns = -1
        self._tidied = 0

    def at_rest(self, since_ns: int) -> bool:
        """A round that began after ``since_ns`` reached every zone and found no difference."""
        return self._rested_ns >= since_ns

    async def run(self) -> None:
        """For ever; a round begins one interval after the last one's end."""
        while True:
            await self._runtime.sleep(self._settings.interval_ns)
            if self._coordinator.running:
                await self.round()

    async def round(self) -> None:
        """Compare the own zone with each of the others that can be reached, within the bounds of the settings."""
        count, begin_ns, equal = self._coordinator.statistics.count, self._runtime.now_ns(), True
        channels = self._coordinator.channels
        for other in range(1, len(channels)):
            try:
                reached = channels[0].connected and channels[other].connected
                equal = reached and await self._compare(other) and equal
            except _BrokenOff:
                count(FAILED, 1)
                equal = False
        count(ROUNDS, 1)
        if equal:
            self._rested_ns = begin_ns

    async def _compare(self, other: int) -> bool:
        """Go on where the last round has stopped, through all that differs, until enough has been looked at.

        True if nothing differs.
        """
        left = self._settings.entries
        different = self._different(await self._digests(0), await self._digests(other))
        place = self._places[other]
        for name in self._from(different or [self._next_to_tidy()], place):
            if name != place.name:
                self._places[other] = place = _Place(name)
            while left > 0 and place.name == name:
                left -= await self._page(other, place)
            if left <= 0:
                break
        return not different

    async def _page(self, other: int, place: _Place) -> int:
        """Copy what is newer in one page of records; returns how many were looked at, at least 1."""
        source, target = (other, 0) if place.backward else (0, other)
        cursor, listed = await self._ask(
            source, ("EVAL", scripts.LIST, 0, place.name, self._horizon(), place.cursor, PAGE)
        )
        if listed:
            newer = await self._ask(target, ("EVAL", scripts.BEHIND, 0, self._horizon(), *listed))
            await self._copy(source, target, newer)
        place.cursor = cursor
        if cursor == b"0":
            place.name += _DONE if place.backward else ""
            place.backward = not place.backward
        return max(1, len(listed) // 2)

    async def _copy(self, source: int, target: int, names: Sequence[bytes]) -> None:
        """Copy as many as fit at once; the rest follows when their page is looked at again."""
        while names:
            found = await self._ask(source, ("EVAL", scripts.FETCH, 0, self._settings.copy_bytes, *names))
            if not found:
                return
            applied, refused = await self._ask(target, ("EVAL", scripts.APPLY, 0, self._horizon(), *found), writes=True)
            for version in found[1::4]:
                self._clock.observe(abs(int(version)))
            self._coordinator.statistics.count(COPIED, applied)
            self._coordinator.statistics.count(CONFLICTS, refused)
            names = names[names.index(found[-4]) + 1 :]

    async def _digests(self, position: int) -> dict[bytes, bytes]:
        flat = await self._ask(position, ("EVAL", scripts.SUMS, 0))
        return dict(zip(flat[::2], flat[1::2], strict=True))

    @staticmethod
    def _different(own: dict[bytes, bytes], others: dict[bytes, bytes]) -> list[str]:
        names = sorted(dict.fromkeys([*own, *others]))
        return [name.decode() for name in names if own.get(name, b"0") != others.get(name, b"0")]

    @staticmethod
    def _from(names: Sequence[str], place: _Place) -> list[str]:
        """``names`` beginning at ``place``, once around."""
        return [*(name for name in names if name >= place.name), *(name for name in names if name < place.name)]

    def _next_to_tidy(self) -> str:
        """Return the next set of records to list though nothing differs, which drops what is too old: one a round."""
        self._tidied = (self._tidied + 1) % 256
        return f"{scripts.PLACE}{self._tidied:02x}"

    def _horizon(self) -> int:
        return self._clock.before(self._settings.retention_ns)

    async def _ask(self, position: int, command: Command, *, writes: bool = False) -> Any:
        channel = self._coordinator.channels[position]
        answer = await ask(channel, Batch([command], writes=writes), runtime=self._runtime)
        if isinstance(answer, ZoneFailure) or isinstance(answer[0], ServerError):
            raise _BrokenOff
        return self._decoded(answer[0])
