"""One zone: what it holds, and what it answers. Each function is a script that the zone runs in one step."""

from typing import NamedTuple

from admission.mechanisms import Mechanism, World

Log = tuple[str, ...]

END = "END"
"""Last entry of a log that a resize ended."""


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


BLANK = Data(False, 0, 0, (0, 0), (), 0, (), 0)
FIRST = BLANK._replace(admitted=True)


class Answer(NamedTuple):
    """To an owner's question, or a producer's; it may be heard at any later time."""

    generation: int
    version: tuple[int, int] = (0, 0)
    log: Log = ()
    cursor: int = 0


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


class Push(NamedTuple):
    """A producer's message."""

    producer: int
    body: str
    generation: int


Message = Grant | Write | Push


def hears(world: World, data: Data, generation: int) -> bool:
    """Whether a zone carries out anything of a generation."""
    return data.admitted and (not world.has(Mechanism.GENERATION) or data.generation == generation)


def carry_out(world: World, data: Data, message: Message) -> tuple[Data, Answer | None] | None:
    """The data after a message and the answer, or None if the zone refuses it."""
    if not hears(world, data, message.generation):
        return None
    if isinstance(message, Grant):
        return _grant(data, message)
    if isinstance(message, Write):
        return _write(world, data, message)
    return _push(world, data, message)


def refused_for_ever(world: World, data: Data, message: Message) -> bool:
    """Whether a zone that loses nothing any more will never carry a message out."""
    if world.has(Mechanism.GENERATION) and data.generation > message.generation:
        return True
    if isinstance(message, Grant):
        return message.token <= data.promised
    if isinstance(message, Write):
        return message.version[0] < data.promised or message.version <= data.version
    return False


def _grant(data: Data, ask: Grant) -> tuple[Data, Answer] | None:
    if ask.token <= data.promised:
        return None
    return data._replace(promised=ask.token), Answer(data.generation, data.version, data.log, data.cursor)


def _write(world: World, data: Data, write: Write) -> tuple[Data, Answer] | None:
    token = write.version[0]
    if token < data.promised or write.version <= data.version:
        return None
    if not world.has(Mechanism.WHOLE_STATE) and data.version != write.before:
        return None
    inbox = tuple(body for body in data.inbox if body not in write.leaves)
    taken = data._replace(promised=token, version=write.version, log=write.log, cursor=write.cursor, inbox=inbox)
    return taken, Answer(data.generation, write.version)


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
    )
