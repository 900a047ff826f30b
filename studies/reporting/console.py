"""Tables and figures on the terminal, whatever they are about."""

import os
import sys

from rich.console import Console, RenderableType
from rich.text import Text

WIDTH_WITHOUT_TERMINAL = 120

BAD = "bold red"

Cell = str | Text


def console() -> Console:
    """For results, on stdout: as wide as the terminal, or wide enough for every table where there is none."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else WIDTH_WITHOUT_TERMINAL, markup=False, emoji=False)


def error_console() -> Console:
    """For progress and notes, on stderr."""
    return Console(stderr=True, markup=False, emoji=False)


def styled(text: str, style: str) -> Text:
    """``text`` in ``style``: what is shown is never markup, as it may have values of users."""
    return Text(text, style=style)


def print_table(table: RenderableType) -> None:
    """Print ``table`` whole: a word that is wider than the terminal is broken by the terminal."""
    console().print(table, crop=False)


def print_lines(*lines: str) -> None:
    """Print each line as it is: whole words of users, not folded and not coloured."""
    for line in lines:
        console().print(line, highlight=False, soft_wrap=True)
