"""The rollout that ``zonelab new rollout`` writes, and that ``zonelab evaluate`` takes if it is given no file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenarios.errors import NotAccepted
from scenarios.terminal.console import console

TEMPLATE = Path(__file__).with_name("rollout.yaml")

_NAMES = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Written:
    path: Path

    def to_json(self) -> dict[str, Any]:
        return {"file": str(self.path)}

    def print(self) -> None:
        console().print(
            f"{self.path}: change what differs from yours, then: zonelab evaluate {self.path}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def write_template(path: Path) -> Written:
    """Raises ``NotAccepted`` if something is there, or ``OSError``."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE.read_text(encoding="utf-8"))
    except FileExistsError:
        raise NotAccepted(f"{path}: is there already; accepted: the name of a new file") from None
    return Written(path)


def overrides_of(*, zones: int | None, lag: str | None, rate: float | None) -> Sequence[str]:
    """What the template is changed by."""
    named = None if zones is None else f"[{', '.join(_NAMES[:zones])}]"
    given = {"topology.zones": named, "links.lag": lag, "load.rate_per_s": rate}
    return [f"{path}={value}" for path, value in given.items() if value is not None]
