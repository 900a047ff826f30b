"""``zonelab status --watch``: the tables again and again on a terminal, elsewhere a line every few seconds."""

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console

from zonelab.app.session.client import NotUp
from zonelab.app.session.status_tables import recent_line, status_tables
from zonelab.app.terminal.live import LiveTables

TERMINAL_S = 1.0
LINES_S = 5.0


def watch(status: Callable[[], dict[str, Any]], out: Console, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Show what ``status`` shows until Ctrl-C, or until the cluster is down. Raises ``NotUp`` if it is not up now."""
    answer = status()
    try:
        with LiveTables(out) as live:
            while True:
                live.show(status_tables(answer), [recent_line(answer)])
                sleep(TERMINAL_S if out.is_terminal else LINES_S)
                answer = status()
    except NotUp:
        out.print("down")
    except KeyboardInterrupt:
        pass
