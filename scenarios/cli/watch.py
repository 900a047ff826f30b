"""``zonelab status --watch``: the tables again and again on a terminal, elsewhere a line every few seconds."""

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console, Group
from rich.live import Live

from scenarios.session.client import NotUp
from scenarios.session.status_tables import recent_line, status_tables

TERMINAL_S = 1.0
LINES_S = 5.0


def watch(status: Callable[[], dict[str, Any]], out: Console, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Show what ``status`` tells until Ctrl-C, or until the cluster is down. Raises ``NotUp`` if it is not up now."""
    told = status()
    try:
        if not out.is_terminal:
            while True:
                out.print(recent_line(told), soft_wrap=True, highlight=False)
                sleep(LINES_S)
                told = status()
        with Live(console=out, auto_refresh=False, screen=False) as live:
            while True:
                live.update(Group(*status_tables(told)), refresh=True)
                sleep(TERMINAL_S)
                told = status()
    except NotUp:
        out.print("down")
    except KeyboardInterrupt:
        pass
