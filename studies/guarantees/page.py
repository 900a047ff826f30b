"""The Markdown that the pages of the matrix and of the ablations share: their tables, and which program made them."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from zonelab.scenarios.run_files.directory import environment


def provenance(command: str, *, runs: int, took_s: float, known: int = 0) -> str:
    """Which program made a page, when, how, and how fast; ``known`` of the runs were read from a state."""
    program = environment()
    commit = str(program["git_commit"])[:12] if program["git_commit"] else f"version {program['zonelab_version']}"
    page = f"{code(command)} made this page at commit {commit} on {datetime.now(UTC):%Y-%m-%d}"
    return f"{page}: {effort(runs=runs, took_s=took_s, known=known)}."


def code(text: str) -> str:
    """``text`` as it stands, in a span of code that no backtick of it ends."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"`{text}`" if fence == "`" else f"{fence} {text} {fence}"


def effort(*, runs: int, took_s: float, known: int = 0) -> str:
    """How many runs there are, and how fast those of them were that were made now."""
    new = runs - known
    rate = f"in {took_s:,.0f} s, {new / max(took_s, 1e-9):.1f} a second"
    if not known:
        return f"{runs:,} runs {rate}"
    now = f", {new:,} now {rate}" if new else ""
    return f"{runs:,} runs, {known:,} of them made before and read from the state{now}"


def markdown_rows(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as a page has it. Cells may have links and code; a bar of theirs ends no cell."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in (headings, *rows)]
    return "\n".join([lines[0], "|---" * len(headings) + "|", *lines[1:]])


def share(hits: int, runs: int) -> str:
    return f"{hits / runs:.1%}"
