"""Pages that are opened in the browser of whoever sits at the terminal."""

import os
import sys
import webbrowser
from pathlib import Path

_DESKTOPS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def open_page(page: Path | None) -> None:
    """Open ``page`` in the browser. Where there is none, or no page, a line on stderr says so; nothing else changes."""
    if page is None:
        print("--open: there is no page to open", file=sys.stderr)  # noqa: T201 (its purpose)
    elif not (_has_desktop() and _opened(page.resolve().as_uri())):
        print(f"--open: no browser here; the page is {page}", file=sys.stderr)  # noqa: T201 (its purpose)


def _has_desktop() -> bool:
    """Return whether a browser has somewhere to appear: a text browser would take the terminal away."""
    return sys.platform == "darwin" or any(map(os.environ.get, _DESKTOPS))


def _opened(address: str) -> bool:
    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
