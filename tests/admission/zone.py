"""One zone: what it holds, and what it answers. Each function is a script that the zone runs in one step."""

from typing import NamedTuple

from admission.mechanisms import Mechanism, World
from admission.records import Span, copied, taken

Log = tuple[str, ...]

END = "END"
"""Last entry of a log that a resize ended."""


class Group(NamedTuple):
    """The register of the second group, which has one owner."""

    promised: bool = False
    number: int = 0
    """Of the write that the zone holds; 0: the group has no cursor there."""

    cursor: int = 0


class Data(NamedTuple):
    """What a zone can lose."""

    admitted: bool
    generation: int
    promised: int
    """The highest token that it granted or took a write of."""

    version: tuple[int, int]
    """Token and number of the write that it holds."""

    log: Log
    cursor: int
    inbox: Log
    door: int
    """The attempt that may let this zone in, or 0."""

    sealed: bool = False
    """It takes no push any more."""

    span: Span = Span()
    records: int = 0
    """Offsets of the records that it has; they are followed only where logs are trimmed."""

    group: Group = Group()


BLANK = Data(False, 0, 0, (0, 0), (), 0, (), 0)
FIRST = BLANK._replace(admitted=True)


class Answer(NamedTuple):
    """To an owner's question, or a producer's; it may be heard at any later time."""

    generation: int
    version: tuple[int, int] = (0, 0)
    log: Log = ()
    cursor: int = 0
    span: Span = Span()


class Zone(NamedTuple):
    """A zone's data, and what else belongs to it in the model."""

    data: Data
    answers: tuple[tuple[Answer, ...], ...]
    """For each owner and producer: what this zone has answered to its last question."""

    taken: int
    """Which messages have arrived, as bits."""

    raised: int
    """Which attempts have raised this zone's generation, as bits."""

    target: int
    """Which attempts want to let this zone in, as bits."""

    looked: int = 0
    """Which owners have read here that it is sealed and that they have all of its inbox, as bits."""

    def take(self, message: int, data: Data) -> "Zone":
        return self._replace(data=data, taken=self.taken | 1 << message)

    def tell(self, who: int, answer: Answer) -> "Zone":
        heard = tuple(sorted({*self.answers[who], answer}))
        return self._replace(answers=(*self.answers[:who], heard, *self.answers[who + 1 :]))

    def forget(self, who: int) -> "Zone":
        if not self.answers[who]:
            return self
        return self._replace(answers=(*self.answers[:who], (), *self.answers[who + 1 :]))

    def look_away(self, who: int) -> "Zone":
        return self._replace(looked=self.looked & ~(1 << who))


class Grant(NamedTuple):
    """An owner asks for the partition."""

    owner: int
    token: int
    generation: int


class Write(NamedTuple):
    """An owner writes the whole state under its token."""

    owner: int
    version: tuple[int, int]
    generation: int
    log: Log
    cursor: int
    leaves: Log
    """What leaves the inbox."""

    before: tuple[int, int]
    """The version that this one follows; only a zone without whole states looks at it."""

    span: Span = Span()
    records: int = 0
    """Those that it brings."""

    behind: int = 0
    """Where the log began before; only a zone without ``first-in-state`` looks at it."""


class Push(NamedTuple):
    """A producer's message."""

    producer: int
    body: str
    generation: int


class Join(NamedTuple):
    """The owner of the second group asks for its register, as number 0, or writes its cursor."""

    generation: int
    number: int
    cursor: int


Message = Grant | Write | Push | Join


def hears(world: World, data: Data, generation: int) -> bool:
    """Whether a zone carries out anything of a generation."""
    every = world.bounds.resends or not world.has(Mechanism.GENERATION)
    return data.admitted and (every or data.generation == generation)


def carry_out(world: World, data: Data, message: Message) -> tuple[Data, Answer | None] | None:
    """The data after a message and the answer, or None if the zone refuses it."""
    if not hears(world, data, message.generation):
        return None
    if isinstance(message, Grant):
        return _grant(data, message)
    if isinstance(message, Write):
        return _write(world, data, message)
    if isinstance(message, Join):
        return _join(data, message)
    return _push(world, data, message)


def refused_for_ever(world: World, data: Data, message: Message) -> bool:
    """Whether a zone that loses nothing any more will never carry a message out."""
    if world.has(Mechanism.GENERATION) and not world.bounds.resends and data.generation > message.generation:
        return True
    if isinstance(message, Grant):
        return message.token <= data.promised
    if isinstance(message, Write):
        older = message.version <= data.version and world.has(Mechanism.RECORDS_WITH_STATE)
        return message.version[0] < data.promised or older
    if isinstance(message, Join):
        return _joined(data.group, message) is None
    return False


def _grant(data: Data, ask: Grant) -> tuple[Data, Answer] | None:
    if ask.token <= data.promised:
        return None
    return data._replace(promised=ask.token), Answer(data.generation, data.version, data.log, data.cursor, data.span)


def _write(world: World, data: Data, write: Write) -> tuple[Data, Answer | None] | None:
    token = write.version[0]
    if token < data.promised or write.version <= data.version:
        return _late(world, data, write)
    if not world.has(Mechanism.WHOLE_STATE) and data.version != write.before:
        return None
    inbox = tuple(body for body in data.inbox if body not in write.leaves)
    span, behind = write.span, write.behind
    records = taken(world, data.records, write.records, first=span.first, was=data.span.first, behind=behind)
    state = data._replace(promised=token, version=write.version, log=write.log, cursor=write.cursor, inbox=inbox)
    return state._replace(span=span, records=records), Answer(data.generation, write.version)


def _late(world: World, data: Data, write: Write) -> tuple[Data, None] | None:
    """What an older write than the zone's leaves there: nothing, or without a mechanism its records."""
    records = data.records | write.records
    if world.has(Mechanism.RECORDS_WITH_STATE) or write.version[0] < data.promised or records == data.records:
        return None
    return data._replace(records=records), None


def _join(data: Data, message: Join) -> tuple[Data, Answer] | None:
    group = _joined(data.group, message)
    return None if group is None else (data._replace(group=group), Answer(data.generation, (0, message.number)))


def _joined(group: Group, message: Join) -> Group | None:
    if message.number == 0:
        return None if group.promised else group._replace(promised=True)
    return None if message.number <= group.number else Group(True, message.number, message.cursor)


def _push(world: World, data: Data, push: Push) -> tuple[Data, Answer] | None:
    if world.has(Mechanism.ONE_WRITER):
        if push.body in data.inbox or (data.sealed and world.has(Mechanism.SEAL)):
            return None
        return data._replace(inbox=tuple(sorted((*data.inbox, push.body)))), Answer(data.generation)
    token, number = data.version
    offset = len(data.log)
    longer = data._replace(log=(*data.log, push.body), version=(token, number + 1))
    return longer, Answer(data.generation, (0, offset))


def merged(first: Data, second: Data) -> Data:
    """What two zones know together."""
    newest = max(first, second, key=lambda data: data.version)
    return newest._replace(
        promised=max(first.promised, second.promised),
        inbox=tuple(sorted({*first.inbox, *second.inbox})),
        door=0,
        sealed=first.sealed or second.sealed,
        records=first.records | second.records,
        group=max(first.group, second.group),
    )


def given(world: World, data: Data) -> Data:
    """What a zone is let in with, of what the others told."""
    group = data.group if world.has(Mechanism.GROUPS_COPIED) else Group()
    return data._replace(admitted=True, door=0, records=copied(world, data.records, data.span.first), group=group)
