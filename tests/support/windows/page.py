"""The pages of the windows: reading their tables, and writing into them what is seen now.

``python -m support.windows.page`` in ``tests/`` plays every course and writes the pages anew. What it changes is to be
read before it is committed.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from support.windows import COURSES, ON_A_RING, Stage, fifo, gmq, youzan
from support.windows.hardened import HARDENED_COURSES
from support.windows.hardened_stage import HardenedStage
from support.windows.rings import ring

DOCS = Path(__file__).parents[3] / "docs"
MODES = {"original": True, "default": False}
"""Each with what it asks of ``compat``."""
SAME = "the same"

Plays = Mapping[str, Callable[[], str]]
"""Window → a play of its course, which returns what was seen."""


@dataclass(frozen=True)
class Page:
    """``plays``: by mode, in the order of the columns."""

    path: Path
    plays: Mapping[str, Plays]

    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def cells(self, line: str) -> list[str] | None:
        """The cells of a row about a window: name, what happens, predicted, and a mode each."""
        found = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or not re.fullmatch(r"`\w+`", found[0]):
            return None
        assert len(found) == 3 + len(self.plays), line
        return [found[0].strip("`"), *found[1:]]

    def table(self, text: str) -> list[list[str]]:
        return [row for line in text.splitlines() if (row := self.cells(line))]

    def rows(self, text: str | None = None) -> dict[str, dict[str, str]]:
        """Window → mode → what it shows. ``text``: of the page, if it is another than what is stored."""
        found = {}
        for name, _, _, original, *others in self.table(self.text() if text is None else text):
            shown = [original, *(original if other == SAME else other for other in others)]
            found[name] = dict(zip(self.plays, shown, strict=True))
        return found

    def seen(self, window: str, mode: str) -> str:
        return self.plays[mode][window]()

    def with_what_is_seen(self, line: str) -> str:
        """A mode in which the window is not played keeps what the page says."""
        row = self.cells(line)
        if row is None:
            return line
        name, what, predicted, *told = row
        modes = zip(self.plays, told, strict=True)
        shown = [self.seen(name, mode) if name in self.plays[mode] else said for mode, said in modes]
        shown[1] = SAME if shown[1] == shown[0] else shown[1]
        return f"| {' | '.join([f'`{name}`', what, predicted, *shown])} |\n"

    def write(self) -> None:
        lines = self.text().splitlines(keepends=True)
        self.path.write_text("".join(map(self.with_what_is_seen, lines)), encoding="utf-8")


def _dyno(window: str, mode: str) -> str:
    if mode == "hardened":
        return HardenedStage().play(HARDENED_COURSES[window])
    return Stage(compat=MODES[mode], cluster=ring() if window in ON_A_RING else None).play(COURSES[window])


def _plays(play: Callable[[str, str], str], courses: Mapping[str, Mapping[str, object]]) -> Mapping[str, Plays]:
    return {mode: {name: partial(play, name, mode) for name in named} for mode, named in courses.items()}


DYNO = Page(
    DOCS / "dyno-windows.md",
    _plays(_dyno, {"original": COURSES, "default": COURSES, "hardened": HARDENED_COURSES}),
)
GMQ = Page(DOCS / "gmq-windows.md", _plays(gmq.play, gmq.COURSES))
YOUZAN = Page(DOCS / "youzan-windows.md", _plays(youzan.play, youzan.COURSES))
FIFO = Page(DOCS / "fifo-windows.md", _plays(fifo.play, fifo.COURSES))


if __name__ == "__main__":
    for page in (DYNO, GMQ, YOUZAN, FIFO):
        page.write()
