"""Tables that change in their place on a terminal; elsewhere a line whenever they would."""

from collections.abc import Iterable
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live


class LiveTables:
    """Shown on ``out`` while the block lasts; what was shown last stays there."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._live = Live(console=out, auto_refresh=False, screen=False) if out.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, tables: Iterable[RenderableType], lines: Iterable[str]) -> None:
        """``lines`` say the most important of ``tables``."""
        if self._live is not None:
            self._live.update(Group(*tables), refresh=True)
            return
        for line in lines:
            self._out.print(line, soft_wrap=True, highlight=False)
