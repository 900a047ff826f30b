"""Faults of what a living program sees: it stands still, its commands are late, a member is missing from its list."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Annotated, Literal

from pydantic import Field

import zonelab.engine
from zonelab.cluster.commands.routes import is_write
from zonelab.cluster.fields import Count, CountFrom0, Problem
from zonelab.engine.ports import Command, Reply
from zonelab.scenarios.faults.fault import (
    Action,
    Changes,
    Choices,
    OfZone,
    Stage,
    Targets,
    View,
    at_once,
    no_consumer,
    no_service,
    no_zone,
    part_drawn,
)
from zonelab.scenarios.faults.programs import NOT_UP

LATE_MS_MAX = 3_600_000
_FACTOR_LEAST = 4.0
ANY_COMMAND, ANY_WRITE = "*", "writes"
MEMBERS = "members"
"""The script that lists the members of a group."""

_ENGINES = Path(zonelab.engine.__file__).parent
_COMMANDS: Choices = (None, range(1, 21))
_OF_SERVICES = ("DEL", "EVAL", "HDEL", "LPUSH", "LREM", "RPUSH", "SET", "ZADD", "ZREM")
"""Commands that services may write with; a hunt cannot know which of them those of its queue send."""
_THERE = "the rules of a scenario refuse faults of programs that are not there"


class OfProgram(OfZone):
    """A fault of one program: a consumer by its number, the zone's producer, or a service of the queue by its name.

    It is of the program that is there when it begins. A program that takes the place of a crashed one has it not.
    """

    harm = 1
    not_up = NOT_UP
    of_clients = True

    kind: str
    zone: str
    program: Literal["consumer", "producer", "service"] = "consumer"
    consumer: CountFrom0 = 0
    service: str | None = None

    @property
    def target(self) -> str:
        if self.program == "service":
            return f"{self.service}-{self.zone}"
        return f"producer-{self.zone}" if self.program == "producer" else f"consumer-{self.zone}-{self.consumer}"

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        yield from no_zone(targets, f"{path}.zone", self.zone)
        if self.program == "consumer":
            yield from no_consumer(targets, path, self.kind, self.consumer)
        if self.program == "service":
            yield from no_service(targets, path, self.kind, self.service, self.zone)
        elif self.service is not None:
            yield Problem.of(f"{path}.service", self.service, f"nothing, unless program is service, not {self.program}")

    def _around(self, stage: Stage, begin: Callable[[View], Callable[[], None]]) -> Action:
        """``begin`` does it to a program, and returns what ends it."""
        ends: list[Callable[[], None]] = []

        def begun() -> None:
            ends.append(begin(self._view(stage)))

        def ended() -> None:
            while ends:
                ends.pop()()

        return Action(at_once(begun), at_once(ended))

    def _view(self, stage: Stage) -> View:
        if self.program == "producer":
            return stage.producers[self.zone].view
        if self.program == "service" and self.service is not None:
            assert stage.services is not None, _THERE
            return stage.services.view(self.service, self.zone)
        assert stage.consumers is not None, _THERE
        return stage.consumers.view(self.zone, self.consumer)

    def _drawn_at(self, zone: str, link: str | None, targets: Targets, random: Random) -> Changes:
        if self.program == "service":
            service, zone = random.choice(targets.services)
            return {"zone": zone, "service": service}
        return {"zone": zone, "consumer": random.randrange(max(1, targets.consumers.per_zone))}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"consumer": (range(max(1, targets.consumers.per_zone)),)}


class ProgramPause(OfProgram):
    """A program stands still, as one with SIGSTOP, until the fault ends."""

    colour = "#9c9ede"

    kind: Literal["program_pause"]
    at_command: Count | None = None
    """It stops at the command of this number that it would send from ``at_s`` on; at once if not given.

    A program that does not come to send so many within ``for_s`` goes on.
    """
    point: Literal["before-effect", "after-effect"] = "before-effect"
    """Before that command is sent, or when it has taken effect and the program has not heard of it."""

    def holds(self, targets: Targets) -> set[str]:
        return {f"service {self.target}" if self.program == "service" else self.target.replace("-", " ", 1)}

    def action(self, stage: Stage) -> Action:
        runtime = stage.testbed.runtime

        def begin(view: View) -> Callable[[], None]:
            view.pause(runtime, at_command=self.at_command, after_effect=self.point == "after-effect")
            return view.go_on

        return self._around(stage, begin)

    def _drawn_at(self, zone: str, link: str | None, targets: Targets, random: Random) -> Changes:
        at_command = random.choice((None, *range(1, 21)))
        point = random.choice(("before-effect", "after-effect"))
        return {**super()._drawn_at(zone, link, targets, random), "at_command": at_command, "point": point}

    def milder(self) -> Iterator[Changes]:
        if self.at_command is not None:
            yield {"at_command": None}
        if self.point == "after-effect":
            yield {"point": "before-effect"}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        points = ("before-effect", "after-effect")
        return {**super().extents(targets), "at_command": _COMMANDS, "point": points}


class ConsumerSlow(OfProgram):
    """A consumer is slow: its work on each message takes longer than ``consumers.processing`` says."""

    colour = "#637939"

    kind: Literal["consumer_slow"]
    program: Literal["consumer"] = "consumer"
    service: None = None
    factor: Annotated[float, Field(strict=True, gt=1, le=1e6)] = 10.0
    """It takes so many times as long, from the next message on."""

    @property
    def amount(self) -> str:
        return f"x{self.factor:g}"

    def holds(self, targets: Targets) -> set[str]:
        return {f"work of {self.target}"}

    def action(self, stage: Stage) -> Action:
        def begin(view: View) -> Callable[[], None]:
            view.work_factor = self.factor
            return partial(setattr, view, "work_factor", 1.0)

        return self._around(stage, begin)

    def _extent(self, part: float, random: Random) -> Changes:
        return {"factor": 1 + (self.factor - 1) * part}

    def _drawn_at(self, zone: str, link: str | None, targets: Targets, random: Random) -> Changes:
        return {**super()._drawn_at(zone, link, targets, random), **self._extent(part_drawn(random), random)}

    def milder(self) -> Iterator[Changes]:
        if self.factor > _FACTOR_LEAST:
            yield {"factor": self.factor / 2}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {**super().extents(targets), "factor": (2.0, 20.0)}


class CommandDelay(OfProgram):
    """A program's commands of one kind reach its coordinator late; what it sends beside them does not wait."""

    colour = "#cedb9c"

    kind: Literal["command_delay"]
    script: str
    """A Lua script of the engine, by the name of its file, or a Redis command: ``unlock``, ``ZADD``, ``EVAL``.

    ``*``: all that it sends. ``writes``: all of it that may change something, scripts included.
    """
    late_ms: Annotated[int, Field(strict=True, ge=1, le=LATE_MS_MAX)]

    @property
    def amount(self) -> str:
        return f"{self.script} {self.late_ms} ms"

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        yield from super().problems(targets, path)
        if not self.script.isupper() and self.script not in (ANY_COMMAND, ANY_WRITE, *scripts()):
            names = ", ".join(sorted(scripts()))
            accepted = f"a Redis command in capitals, {ANY_COMMAND}, {ANY_WRITE}, or a script ({names})"
            yield Problem.of(f"{path}.script", self.script, accepted)

    def holds(self, targets: Targets) -> set[str]:
        return {f"commands of {self.target}"}

    def action(self, stage: Stage) -> Action:
        runtime, concerns = stage.testbed.runtime, runs(self.script)

        def begin(view: View) -> Callable[[], None]:
            altered = view.alter(runtime, concerns=concerns, late_ms=self.late_ms)
            return lambda: view.mend(altered)

        return self._around(stage, begin)

    def _extent(self, part: float, random: Random) -> Changes:
        return {"late_ms": max(1, round(self.late_ms * part))}

    def _drawn_at(self, zone: str, link: str | None, targets: Targets, random: Random) -> Changes:
        drawn = {**super()._drawn_at(zone, link, targets, random), **self._extent(2 ** -random.uniform(0, 4), random)}
        if self.program != "service" or random.random() < 0.5:
            return drawn
        return drawn | {"script": random.choice(_OF_SERVICES)}

    def milder(self) -> Iterator[Changes]:
        if self.late_ms > 1:
            yield {"late_ms": self.late_ms // 2}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {**super().extents(targets), "script": ("EVAL", "ZADD", "HSET"), "late_ms": (range(1, 1_001),)}


class MemberHidden(OfProgram):
    """A consumer that asks who is in its group does not hear of one member, perhaps itself."""

    colour = "#e7ba52"
    of_groups = True

    kind: Literal["member_hidden"]
    hidden: str
    """The member that is missing: ``b-1`` is consumer 1 of zone b, whichever program has its place."""

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        yield from super().problems(targets, path)
        if self.program != "consumer":
            yield Problem.of(f"{path}.program", self.program, "consumer: other programs are in no group")
        names = [f"{zone}-{number}" for zone in targets.zones for number in range(targets.consumers.per_zone)]
        if self.hidden not in names:
            yield Problem.of(f"{path}.hidden", self.hidden, f"a consumer ({', '.join(names) or 'there is none'})")
        if not targets.has_groups:
            yield Problem.of(f"{path}.kind", self.kind, "any other kind: this queue has no consumer groups")

    def holds(self, targets: Targets) -> set[str]:
        return {f"members as {self.target} sees them"}

    def action(self, stage: Stage) -> Action:
        name, runtime = f"consumer-{self.hidden}", stage.testbed.runtime

        def without(reply: Reply) -> Reply:
            if not isinstance(reply, list):
                return reply
            return [each for each in reply if each.decode().split(".")[0] != name]

        def begin(view: View) -> Callable[[], None]:
            altered = view.alter(runtime, concerns=runs(MEMBERS), heard=without)
            return lambda: view.mend(altered)

        return self._around(stage, begin)

    def _drawn_at(self, zone: str, link: str | None, targets: Targets, random: Random) -> Changes:
        drawn = super()._drawn_at(zone, link, targets, random)
        return {**drawn, "hidden": f"{random.choice(targets.zones)}-{random.randrange(targets.consumers.per_zone)}"}


@cache
def scripts() -> dict[str, tuple[str, ...]]:
    """The texts of all engines' scripts, by the names of their files."""
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(_ENGINES.rglob("[!_]*.lua")):
        found[path.stem] = (*found.get(path.stem, ()), path.read_text(encoding="utf-8"))
    return found


def runs(script: str) -> Callable[[Command], bool]:
    """Return whether a command is that Redis command, or runs that script. Texts may begin with what several scripts
    share.
    """
    if script == ANY_WRITE:
        return is_write
    if script == ANY_COMMAND:
        return lambda command: True
    texts = scripts().get(script, ())

    def concerns(command: Command) -> bool:
        if command[0] == "EVAL" and isinstance(command[1], str) and command[1].endswith(texts or "\0"):
            return True
        return command[0] == script

    return concerns
