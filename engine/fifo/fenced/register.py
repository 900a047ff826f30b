"""A register that one session at a time writes, on zones of which any one may fail: the token is a ballot.

Claiming it asks two zones for a promise; they then refuse older tokens. The new owner reads what two of the zones that
promised have, takes the newest by (token, number), and writes that back under its own token before anything else. Each
write carries the whole state and is decided before the next is sent, so at most the last one is in doubt.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.mutex import Mutex
from zonelab.engine.common.pipelines import write as voted
from zonelab.engine.fifo.fenced.admission import Admission
from zonelab.engine.fifo.fenced.keys import FencedKeys
from zonelab.engine.fifo.fenced.leases import SeenLeases
from zonelab.engine.fifo.fenced.scripts import run
from zonelab.engine.fifo.fenced.views import RegisterView, Unadmitted, Views
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Argument, Clock, Connection, Indeterminate, Runtime, ServerError, Unavailable
from zonelab.engine.units import NS_PER_MS

ATTEMPTS = 3
"""Answers that name another era, before it is given up for now."""


class Fenced(ServerError):
    """Another session has a newer token: this one has the register no more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteEffects:
    """Effects of a write besides the state, in the same step.

    ``records``: offsets and records that go to the log. ``removed``: records that leave the inbox.
    ``aside``: names and texts of messages that are put aside.
    """

    records: Sequence[tuple[int, str]] = ()
    removed: Sequence[str] = ()
    aside: Sequence[tuple[str, str]] = ()

    def words(self) -> list[Argument]:
        """Return the arguments of the write script: two counts, then records, removals, and what is written aside."""
        words: list[Argument] = [len(self.records), len(self.removed)]
        for offset, text in self.records:
            words += [offset, text]
        words += self.removed
        for name, text in self.aside:
            words += [name, text]
        return words


NOTHING = WriteEffects()


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisterStore:
    """Resources that the registers of one session need.

    ``decides``: a connection that answers what two zones answered. ``clock_margin_ms``: a lease counts as ended so
    long after its end; with ``seen`` only when nobody was seen to renew it. ``proves``, ``adopts``, ``orders``:
    mechanisms, of which each can be off.
    """

    session: str
    runtime: Runtime
    clock: Clock
    decides: Connection
    views: Views
    admission: Admission
    keys: FencedKeys
    lease_ms: int
    clock_margin_ms: int
    retry_ms: int = 50
    seen: SeenLeases | None = None
    proves: bool = True
    adopts: bool = True
    orders: bool = True


Shown = Callable[[RegisterView], bool]


@dataclass(kw_only=True, slots=True)
class Register:
    """``name``: of it, in ``partition``. ``exclusive``: a mechanism; off, anybody has it. ``token``: under which it is
    ours; 0: it is not.
    """

    store: RegisterStore
    partition: Partition
    name: str
    exclusive: bool = True
    token: int = 0
    number: int = 0
    state: str = ""
    ends_ms: int = 0
    effects: WriteEffects = NOTHING
    turn: Mutex = field(init=False)

    def __post_init__(self) -> None:
        self.turn = Mutex(self.store.runtime)

    @property
    def generation(self) -> int:
        return self.store.admission.generation(self.partition)

    async def claim(self) -> RegisterView | None:
        """Ask for it: what is in it, or None if somebody else has it or may have it.

        Until the state was written back nothing is decided. Raises what the port raises, if nobody knows, and
        ``Unadmitted``.
        """
        store, now_ms = self.store, self.store.clock.now_ms()
        found = await self._look()
        views = list(found.values())
        if not self.exclusive:
            return self._taken(views)
        others = {zone: view for zone, view in found.items() if view.owner != store.session}
        if self._held(others, now_ms):
            return None  # it would be refused by most zones, and the others would refuse the owner from then on
        token = max((view.promised for view in views), default=0) + 1
        ends_ms = now_ms + store.lease_ms
        asked_ms = now_ms if store.seen is None else ""
        leases = dict.fromkeys(view.lease for view in others.values())
        claim = (self.name, token, store.session, asked_ms, ends_ms, store.clock_margin_ms, *leases)

        def promised(view: RegisterView) -> bool:
            return view.promised == token and view.owner == store.session

        try:
            answer = await self._decided("claim", claim, promised)
        except COMMAND_FAILURES:
            await self._give_back(token)
            raise
        if answer != "ok":
            await self._give_back(token)
            return None
        newest = await self._newest(promised)
        if newest is None:
            await self._give_back(token)
            return None
        self.token, self.number, self.state, self.ends_ms = token, newest.number, newest.state, ends_ms
        self.effects = NOTHING
        return newest

    def write_soon(self, state: str, effects: WriteEffects) -> None:
        """Write without waiting for the outcome, which stays unknown."""

        async def written() -> None:
            with suppress(*COMMAND_FAILURES):
                await self.write(state, effects)

        self.store.runtime.spawn(written(), name=f"write of {self.name}")

    async def write(self, state: str, effects: WriteEffects = NOTHING) -> None:
        """Write ``state`` and be sure of it. Whoever makes it out of the state before does so one at a time.

        Raises ``Fenced`` if it is not ours any more, and what the port raises if nobody knows; it is not ours then.
        """
        async with self.turn:
            await self._write(state, effects, self.number + 1, gives_up=False)
            self.number, self.state, self.effects = self.number + 1, state, effects

    async def give_up(self) -> None:
        """Leave it as it is to anybody, after what is being written. Raises as ``write``.

        A zone that missed the last write takes the state from this one, so that has the same effects.
        """
        async with self.turn:
            await self._write(self.state, self.effects, self.number + 1, gives_up=True)

    async def renew(self) -> None:
        """Say the last write again, with a later end. Raises as ``write``, but it stays ours if nobody knows."""
        async with self.turn:
            await self._write(self.state, self.effects, self.number, gives_up=False)

    def _held(self, others: Mapping[str, RegisterView], now_ms: int) -> bool:
        """Return whether another session's lease holds as far as zones show."""
        store = self.store
        if store.seen is None:
            return any(now_ms <= view.ends_ms + store.clock_margin_ms for view in others.values())
        over = [store.seen.over(self.partition, self.name, zone, view) for zone, view in others.items()]
        return not all(over)

    def _until(self) -> int:
        """When a lease ends that is renewed now; where others look for renewals it is another time than before."""
        ends_ms = self.store.clock.now_ms() + self.store.lease_ms
        return ends_ms if self.store.seen is None else max(ends_ms, self.ends_ms + 1)

    def _taken(self, views: Sequence[RegisterView]) -> RegisterView:
        """Whatever others do."""
        newest = max(views, key=lambda view: view.age, default=RegisterView())
        self.token, self.number, self.state = max(1, newest.promised), newest.number, newest.state
        return RegisterView(state=newest.state)

    async def _write(self, state: str, effects: WriteEffects, number: int, *, gives_up: bool) -> None:
        store, token = self.store, self.token
        if not token:
            raise Fenced(f"register {self.name} of {self.partition.name} is not ours")
        while True:
            ends_ms = 0 if gives_up else self._until()
            orders = int(store.orders and self.exclusive)
            words = (self.name, token, store.session, ends_ms, number, state, orders, *effects.words())
            try:
                answer = await self._decided("write", words, lambda view: self._shows(view, token, number))
            except (Indeterminate, Unavailable, ServerError):
                if number == self.number:
                    raise
                if store.clock.now_ms() > self.ends_ms:
                    self.token = 0
                    raise
                await store.runtime.sleep(store.retry_ms * NS_PER_MS)
                continue
            if answer == "ok":
                self.ends_ms = ends_ms
                self.token = 0 if gives_up else token
                return
            if answer == "fenced":
                self.token = 0
                raise Fenced(f"register {self.name} of {self.partition.name}: token {token} is not the newest")
            raise Unavailable(f"register {self.name} of {self.partition.name}: {answer}")

    def _shows(self, view: RegisterView, token: int, number: int) -> bool:
        return view.promised == token and view.owner == self.store.session and view.age == (token, number)

    async def _decided(self, script: str, words: Sequence[Argument], shown: Shown) -> str:
        """Return the answer that two zones give; "ok" also if two zones show the effect, whatever they answered."""
        store, keys = self.store, self.store.keys
        names = [
            name(self.partition) for name in (keys.meta, keys.registers, keys.log, keys.inbox, keys.aside, keys.delayed)
        ]
        for _ in range(ATTEMPTS):
            era = await store.admission.era(self.partition)
            if era is None:
                raise Unadmitted(f"{self.partition.name}: too few zones are admitted")
            try:
                (reply,) = await voted(store.decides, [run(script, names, era, *words)], name=script)
            except COMMAND_FAILURES as error:
                if store.proves and await self._proven(shown):
                    return "ok"
                await store.admission.look(self.partition)
                raise error
            answer = str(reply.decode())
            if answer not in ("era", "unadmitted"):
                return answer
            await store.admission.look(self.partition)
        raise Unadmitted(f"{self.partition.name}: too few zones are admitted, or they change")

    async def _proven(self, shown: Shown) -> bool:
        return sum(map(shown, (await self._look()).values())) >= self.store.views.majority

    async def _look(self) -> dict[str, RegisterView]:
        """Return the view of every zone that answers and takes part."""
        views = await self.store.views.of(self.partition, [self.name])
        return {zone: view.registers[0] for zone, view in views.items() if view.admitted}

    async def _newest(self, promised: Shown) -> RegisterView | None:
        """Return the newest view of two or more zones that promised; without adoption, the first of them."""
        ours = [view for view in (await self._look()).values() if promised(view)]
        if len(ours) < self.store.views.majority:
            return None
        return max(ours, key=lambda view: view.age) if self.store.adopts else ours[0]

    async def _give_back(self, token: int) -> None:
        """Give back the promises of single zones, so that nobody waits for them."""
        store, keys = self.store, self.store.keys
        era = store.admission.known(self.partition)
        if era is None:
            return
        names = [keys.meta(self.partition), keys.registers(self.partition)]
        try:
            await store.decides.execute(run("drop", names, era, self.name, token, store.session))
        except COMMAND_FAILURES:
            return
