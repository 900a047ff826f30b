"""Clocks and random numbers of a library's modules, so that they are the program's wherever a simulated loop runs it.

A library asks ``time.time``, ``datetime.now``, ``uuid4`` or ``random``, and not its loop. In the modules of packages
that are named, and in no others, these names get stand-ins. In a program in simulation they answer with its zone's
clock or from its random numbers; elsewhere they are the originals.
"""

import datetime
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from zonelab._face.asyncio_program import AsyncioProgram, running_program
from zonelab.engine.units import NS_PER_S


def simulate_clocks(packages: Iterable[str]) -> None:
    """Give the modules of ``packages`` that are loaded the stand-ins. They keep them."""
    within = tuple(f"{package}." for package in packages)
    for name, module in list(sys.modules.items()):
        if f"{name}.".startswith(within):
            for attribute, value in list(vars(module).items()):
                if id(value) in _STAND_INS:
                    setattr(module, attribute, _STAND_INS[id(value)])


def _unix_s(program: AsyncioProgram) -> float:
    return program.clock.now_ns() / NS_PER_S


class _DatetimeType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, datetime.datetime)


class SimulatedDatetime(datetime.datetime, metaclass=_DatetimeType):
    """``datetime`` whose present is that of the running loop."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        program = running_program()
        return datetime.datetime.now(tz) if program is None else datetime.datetime.fromtimestamp(_unix_s(program), tz)

    @classmethod
    def utcnow(cls) -> Any:
        return cls.now(datetime.UTC).replace(tzinfo=None)


class _StandInModule(SimpleNamespace):
    """A module with some of its names replaced."""

    def __init__(self, module: Any, replaced: dict[str, Any]) -> None:
        super().__init__(**replaced)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _stand_in(module: Any, name: str, simulated: Callable[[AsyncioProgram], Any]) -> Callable[..., Any]:
    """Return the function ``name`` of ``module``, which asks what ``simulated`` finds in place of it."""
    original = getattr(module, name)

    def call(*arguments: Any, **options: Any) -> Any:
        program = running_program()
        return (original if program is None else simulated(program))(*arguments, **options)

    return call


_REPLACED: dict[Any, dict[str, Callable[[AsyncioProgram], Any]]] = {
    time: {
        "time": lambda program: lambda: _unix_s(program),
        "time_ns": lambda program: program.clock.now_ns,
        "monotonic": lambda program: program.loop.time,
        "perf_counter": lambda program: program.loop.time,
    },
    uuid: {
        "uuid1": lambda program: lambda *_: uuid.UUID(int=program.random.getrandbits(128), version=1),
        "uuid4": lambda program: lambda: uuid.UUID(int=program.random.getrandbits(128), version=4),
    },
    random: {
        "random": lambda program: program.random.random,
        "randint": lambda program: program.random.randint,
        "randrange": lambda program: program.random.randrange,
        "uniform": lambda program: program.random.uniform,
        "choice": lambda program: program.random.choice,
        "sample": lambda program: program.random.sample,
        "shuffle": lambda program: program.random.shuffle,
    },
}

_STAND_INS: dict[int, Any] = {
    id(datetime): _StandInModule(datetime, {"datetime": SimulatedDatetime}),
    id(datetime.datetime): SimulatedDatetime,
}
"""Stand-ins, by the identity of what they stand for, which lives as long as the process."""

for _module, _functions in _REPLACED.items():
    _made = {name: _stand_in(_module, name, simulated) for name, simulated in _functions.items()}
    _STAND_INS[id(_module)] = _StandInModule(_module, _made)
    _STAND_INS.update((id(getattr(_module, name)), made) for name, made in _made.items())
