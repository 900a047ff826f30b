"""The windows in which gmq can go wrong, each a short course of events on three simulated zones."""

from support.windows.gmq import clients, dispatchers, hardened
from support.windows.gmq.hardened import HardenedGmqStage
from support.windows.gmq.stage import GmqCourse, GmqStage

_GMQ: dict[str, GmqCourse] = {**clients.COURSES, **dispatchers.COURSES}
_ONE_SCRIPT = ("pop_count_refused",)
"""By default a script counts what it reserves."""
COURSES = {
    "original": _GMQ,
    "default": {name: course for name, course in _GMQ.items() if name not in _ONE_SCRIPT},
    "hardened": hardened.COURSES,
}
"""By mode, and name. A course returns what was seen, in words."""


def play(window: str, mode: str) -> str:
    if mode == "hardened":
        return HardenedGmqStage().play(hardened.COURSES[window])
    return GmqStage(compat=mode == "original").play(_GMQ[window])


__all__ = ["COURSES", "GmqStage", "HardenedGmqStage", "play"]
