"""States of one message in each zone of a run on real servers, as far as its recorded commands say.

A command with the name of a place and of the message says whether it is there afterwards, if the zone has answered:
most writes by themselves, and reads by their reply. After a script, a write whose answer is in doubt, and the death of
a server the state is unknown until a command says it again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import partial
from operator import itemgetter

from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.cluster.commands.routes import is_write, upper
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.zone import Restart
from zonelab.engine.ports import Argument, Command, Reply, ServerError
from zonelab.scenarios.faults.zones import DiskFull, ServerDeath
from zonelab.scenarios.queues.places import Place, PlaceKind, places_of, same
from zonelab.scenarios.run.command_log import SentCommand, ZoneAnswer
from zonelab.scenarios.run.naming import MessageNaming
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.stories.zone_strips import ABSENT, DOWN, UNKNOWN, Span, note_state, spans_of, state_of


class _Nothing(Enum):
    """Sign that a command says nothing about a place."""

    NOTHING = auto()


_NOTHING = _Nothing.NOTHING

_Step = tuple[int, Callable[[], None]]
"""Time of an event, and what notes it."""

_PUTS = frozenset({"ZADD", "HSET", "HSETNX", "HMSET", "SET", "SETEX", "PSETEX", "LPUSH", "RPUSH"})
_REMOVES = frozenset({"ZREM", "HDEL", "DEL", "UNLINK"})
_SHOWS = frozenset({"ZSCORE", "ZRANK", "HGET", "HEXISTS", "GET", "EXISTS", "LPOS"})
_CONDITIONAL = frozenset({"XX", "GT", "LT"})


class RecordedStrip:
    """One zone's states of ``message_id`` in ``places``: at first it is in none of them."""

    def __init__(self, message_id: str, places: Sequence[Place]) -> None:
        self._message_id = message_id
        self._places = places
        self._held: dict[Place, bool | None] = dict.fromkeys(places, False)
        self._latest: dict[tuple[Place, str], tuple[int, bool | None]] = {}  # by coordinator
        self._naming = MessageNaming(message_id)
        self._up = True
        self._changes = [(0, ABSENT)]

    def spans(self, *, end_ns: int) -> tuple[Span, ...]:
        return spans_of(self._changes, end_ns=end_ns)

    def down(self, time_ns: int) -> None:
        """Note that the server dies."""
        self._up = False
        self._note(time_ns)

    def back(self, time_ns: int, *, empty: bool) -> None:
        """Note that the server is back, ``empty`` or with whatever it has."""
        self._up = True
        self._held = dict.fromkeys(self._places, False if empty else None)
        self._note(time_ns)

    def in_doubt(self, sent: SentCommand) -> None:
        """Note that a command is on its way whose answer is in doubt, or never comes."""
        if is_write(sent.command):
            for place in self._concerned(sent.command):
                self._held[place] = None
            self._note(sent.time_ns)

    def answered(self, sent: SentCommand, answer: ZoneAnswer) -> None:
        """Note the answer to a command that the server has carried out."""
        for place in self._concerned(sent.command):
            told = self._told(place, sent.command, answer.reply)
            if told is not _NOTHING:
                self._held[place] = None if self._in_any_order(place, sent, told=told) else told
                self._latest[place, sent.zone] = answer.time_ns, told
        self._note(answer.time_ns)

    def _concerned(self, command: Command) -> list[Place]:
        words = set(map(_bytes, command[1:]))
        return [place for place in self._places if self._key(place) in words]

    def _key(self, place: Place) -> bytes:
        return (place.key + (self._message_id if place.kind is PlaceKind.EACH else "")).encode()

    def _in_any_order(self, place: Place, sent: SentCommand, *, told: bool | None) -> bool:
        """Return whether the server may have carried out a command of another coordinator, which says otherwise, after
        this one, though its answer came before.
        """
        others = (one for (where, zone), one in self._latest.items() if where == place and zone != sent.zone)
        return any(answered_ns > sent.time_ns and other != told for answered_ns, other in others)

    def _told(self, place: Place, command: Command, reply: Reply) -> "bool | _Nothing | None":
        """Return whether the message is in ``place`` after ``command``; None if nobody knows any more."""
        name = upper(command[0])
        words = [_bytes(word).decode(errors="replace") for word in command[1:]]
        named = place.kind is PlaceKind.EACH or any(self._is_named(place, word) for word in words[1:])
        if isinstance(reply, ServerError):
            return _NOTHING
        if name in _PUTS:
            conditional = not _CONDITIONAL.isdisjoint(map(str.upper, words[1:-1]))
            return _NOTHING if conditional or not named else True
        if name in _REMOVES or (name == "LREM" and words[1] == "0"):
            return False if named or name in ("DEL", "UNLINK") else _NOTHING
        if name in _SHOWS and named and len(words) <= 2:
            return reply is not None and (reply != 0 or name in ("ZRANK", "LPOS"))
        return None if is_write(command) else _NOTHING

    def _is_named(self, place: Place, word: str) -> bool:
        return word == self._message_id if place.id_of is same else self._naming.is_in(word)

    def _note(self, time_ns: int) -> None:
        note_state(self._changes, time_ns, self._state)

    def _state(self) -> str:
        if not self._up:
            return DOWN
        if None in self._held.values():
            return UNKNOWN
        return state_of(self._places, [place for place, held in self._held.items() if held], self._changes)


def recorded_strips(
    message_id: str,
    scenario: Scenario,
    commands: Iterable[SentCommand],
    *,
    faults: Sequence[FaultBand],
    end_ns: int,
) -> Mapping[str, tuple[Span, ...]]:
    """Return the states by zone of a run of which ``why_not_recorded`` is empty. ``commands`` touch the message."""
    places = places_of(scenario.queue, scenario.zones)
    strips = {zone: RecordedStrip(message_id, places) for zone in scenario.zones}
    steps = [*_of_commands(strips, commands), *_of_faults(strips, scenario, faults)]
    for _, step in sorted(steps, key=itemgetter(0)):
        step()
    return {zone: strip.spans(end_ns=end_ns) for zone, strip in strips.items()}


def why_no_places(scenario: Scenario) -> str:
    """Return why nobody can look for messages; empty if one can."""
    told = places_of(scenario.queue, scenario.zones)
    return "" if told else f"the engine {scenario.queue.engine} does not say where it keeps messages"


def why_not_recorded(scenario: Scenario) -> str:
    """Return why commands do not say what zones hold; empty if they do."""
    options = scenario.replication
    if options.read_repair or options.versioned or options.hinted_handoff is not None:
        return "with options of replication zones also change without a command of a client"
    if scenario.servers != scenario.zones:
        return "zones have several servers"
    return why_no_places(scenario)


def _of_commands(strips: Mapping[str, RecordedStrip], commands: Iterable[SentCommand]) -> Iterator[_Step]:
    for sent in commands:
        for zone, answer in sent.answers.items():
            if zone not in strips:
                continue
            if answer is None or (isinstance(answer.reply, ZoneFailure) and answer.reply.maybe_applied):
                yield sent.time_ns, partial(strips[zone].in_doubt, sent)
            elif not isinstance(answer.reply, ZoneFailure):
                yield answer.time_ns, partial(strips[zone].answered, sent, answer)


def _of_faults(strips: Mapping[str, RecordedStrip], scenario: Scenario, bands: Iterable[FaultBand]) -> Iterator[_Step]:
    """Yield deaths and returns of servers; a full disk may be one, too."""
    begun = {band.fault.partition(":")[0]: band for band in bands}
    for number, fault in enumerate(scenario.faults):
        band = begun.get(str(number))
        if band is None or not isinstance(fault, ServerDeath | DiskFull) or fault.zone not in strips:
            continue
        strip = strips[fault.zone]
        empty = isinstance(fault, ServerDeath) and fault.comes_back is Restart.WIPE
        yield band.begin_ns, partial(strip.down, band.begin_ns)
        if band.end_ns is not None:
            yield band.end_ns, partial(strip.back, band.end_ns, empty=empty)


def _bytes(word: Argument) -> bytes:
    return word if isinstance(word, bytes) else str(word).encode()
