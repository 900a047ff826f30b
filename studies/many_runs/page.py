"""The first lines of the pages of studies: which program made them, when, and how fast."""

import re
from datetime import UTC, datetime

from zonelab.analysis.number_text import counted
from zonelab.scenarios.run_files.directory import environment


def provenance(command: str, *, runs: int, took_s: float, known: int = 0) -> str:
    """Which program made a page, when, how, and how fast; ``known`` of the runs were reused."""
    program = environment()
    commit = str(program["git_commit"])[:12] if program["git_commit"] else f"version {program['zonelab_version']}"
    page = f"{code(command)} made this page at commit {commit} on {datetime.now(UTC):%Y-%m-%d}"
    return f"{page}: {effort(runs=runs, took_s=took_s, known=known)}."


def code(text: str) -> str:
    """``text`` as it stands, in a span of code that no backtick of it ends."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"`{text}`" if fence == "`" else f"{fence} {text} {fence}"


def effort(*, runs: int, took_s: float, known: int = 0, unit: tuple[str, str] = ("run", "runs")) -> str:
    """Return how many runs, or what ``unit`` calls them, there are, and how fast those were that were made now."""
    new = runs - known
    per_s = new / max(took_s, 1e-9)
    rate = f"in {took_s:,.0f} s, {per_s:.1f} a second" if per_s >= 1 else f"in {took_s:,.0f} s"
    if not known:
        return f"{counted(runs, *unit)} {rate}"
    return f"{counted(runs, *unit)}, {known:,} of them reused" + (f", {new:,} now {rate}" if new else "")
