"""Faults of programs of the user's own: their processes are killed or stopped, perhaps at one of their commands."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import ClassVar, Literal

from pydantic import Field

from zonelab.cluster.fields import Count, CountFrom0, Flag, Positive, Problem
from zonelab.cluster.resp.programs.point import CommandPattern, CommandPoint, Moment
from zonelab.scenarios.faults.fault import Action, Changes, Choices, Fault, Stage, Targets, at_once, no_zone

Signal = Literal["SIGKILL", "SIGTERM", "SIGSTOP"]

_UNTIL_HIT_S = 5.0
"""Seconds for which a port holds a program until its processes have been found and hit."""


@dataclass(frozen=True, kw_only=True)
class ProgramStrike:
    """Blow to a process of a program. ``point``: the command at which it falls; None: it falls at once.

    ``holder``: it falls on the processes that hold the connection, not on the whole group. ``pause_s``: how long what
    SIGSTOP stops stands still, and until the fault ends at the latest; None: until then.
    """

    how: Signal
    point: CommandPoint | None = None
    holder: bool = False
    pause_s: float | None = None


class ProgramKill(Fault):
    """A program of the user's own is hit by a signal, at one of its commands if one is given; it is started again when
    the fault ends.
    """

    colour = "#843c39"
    harm = 6
    not_up = "its clients are programs of yours; in a scenario with programs it can"
    of_programs: ClassVar[bool] = True
    where = ("program",)

    kind: Literal["program_kill"]
    program: str
    """Name of the program in the section ``programs``."""
    zone: str | None = None
    """Zone of the process; not needed of a program whose processes are in one zone."""
    index: CountFrom0 = 0
    """Number of the process among those of the program in the zone."""
    at_command: Count | None = None
    """Number of the command that it sends from ``at_s`` on; with ``at``, of those that match. Without both: at once.

    A program that does not come to it before the fault ends lives on, and ``run.json`` says so.
    """
    at: CommandPattern | None = None
    """The first words of the command, each a glob: ``LMOVE * *active*``."""
    when: Moment = Moment.BEFORE
    how: Signal = "SIGKILL"
    pause_s: Positive | None = None
    """Time for which SIGSTOP stops it, no longer than until the fault ends; until then if not given."""
    only: Literal["holder"] | None = None
    """Hit the processes that hold the connection of the command, not the whole process group."""
    cut: Flag = False
    """Cut a pipeline, or a transaction, at the command, as the death of a machine can do."""
    nonempty: Flag = False
    """Pass over commands whose answer holds nothing: nil, 0, an error, an empty text or array, or only these."""
    restart: Flag = Field(default=True)
    """Start it again when the fault ends."""

    @property
    def target(self) -> str:
        place = "" if self.zone is None else f"-{self.zone}"
        return f"{self.program}{place}-{self.index}"

    @property
    def at_a_command(self) -> bool:
        """Return whether it waits for a command."""
        return self.at_command is not None or self.at is not None

    def holds(self, targets: Targets) -> set[str]:
        return {f"program {self._name(targets)}"}

    def problems(self, targets: Targets, path: str) -> Iterator[Problem]:
        section = targets.programs.get(self.program)
        if section is None:
            known = ", ".join(targets.programs) or "none, as the scenario has no programs"
            yield Problem.of(f"{path}.program", self.program, f"a program of the scenario ({known})")
            return
        zones = section.zones(targets.zones)
        if self.zone is not None and self.zone not in zones:
            yield from no_zone(targets, f"{path}.zone", self.zone)
            if self.zone in targets.zones:
                yield Problem.of(f"{path}.zone", self.zone, f"a zone of {self.program} ({', '.join(zones)})")
        elif self.zone is None and len(zones) > 1:
            yield Problem(f"{path}.zone", f"missing; accepted: a zone of {self.program} ({', '.join(zones)})")
        if self.index >= section.count:
            yield Problem.of(f"{path}.index", self.index, f"0..{section.count - 1}")
        yield from self._of_point(path)
        if self.pause_s is not None and self.how != "SIGSTOP":
            yield Problem.of(f"{path}.pause_s", self.pause_s, "nothing; it is for how: SIGSTOP")

    def _of_point(self, path: str) -> Iterator[Problem]:
        for name in ("when", "only", "cut", "nonempty"):
            if not self.at_a_command and getattr(self, name) != type(self).model_fields[name].default:
                yield Problem(f"{path}.{name}", "needs at_command or at, the command that it is about")
        if self.nonempty and self.when is Moment.BEFORE:
            yield Problem.of(f"{path}.nonempty", self.nonempty, "false with when: before, which knows no answer")

    def action(self, stage: Stage) -> Action:
        programs, name = stage.programs, self._name(stage.targets)
        assert programs is not None, "the rules of a scenario refuse faults of programs that are not there"
        begin = partial(programs.begin_strike, name, self._strike())
        end = partial(programs.end_strike, name, restart=self.restart)
        return Action(at_once(begin), end, partial(programs.struck, name))

    def _strike(self) -> ProgramStrike:
        point = None
        if self.at_a_command:
            point = CommandPoint(
                at_command=self.at_command or 1,
                at=self.at,
                when=self.when,
                cut=self.cut,
                nonempty=self.nonempty,
                hold_s=_UNTIL_HIT_S + self.for_s,
            )
        return ProgramStrike(how=self.how, point=point, holder=self.only == "holder", pause_s=self.pause_s)

    def _name(self, targets: Targets) -> str:
        zone = self.zone or targets.programs[self.program].zones(targets.zones)[0]
        return f"{self.program}-{zone}-{self.index}"

    def drawn(self, targets: Targets, random: Random) -> Changes:
        """Nothing: another command of it is another question."""
        return {}

    def milder(self) -> Iterator[Changes]:
        if self.at_command is not None and self.at_command > 1:
            yield {"at_command": self.at_command // 2}
            yield {"at_command": self.at_command - 1}

    @classmethod
    def places(cls, targets: Targets) -> dict[str, Choices]:
        return {"program": tuple(targets.programs)}
