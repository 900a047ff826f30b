"""What the reports of all studies have: made with a bar, shown on the terminal, as a page, and as JSON."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from zonelab.studies.reporting.progress import RunBar

Progress = Callable[[int, int], None]
"""Is called with how many of how many runs are done."""


class AnyStudy(Protocol):
    """``complete`` is False if Ctrl-C ended it."""

    @property
    def runs(self) -> int: ...
    @property
    def complete(self) -> bool: ...


Study = TypeVar("Study", bound=AnyStudy)


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyReport(ABC, Generic[Study]):
    """``took_s``: of the runs of ``study``."""

    study: Study
    command: str
    took_s: float

    _TITLE: ClassVar[str]

    @classmethod
    def of(
        cls,
        measure: Callable[[Progress], Study],
        *,
        command: Sequence[str],
        out: Path | None,
        further: Callable[[Study], dict[str, Any]] = lambda study: {},
    ) -> Self:
        """Make the study, showing its progress, and write its page to ``out``. Raises ``OSError``.

        ``further``: the parts that one kind of report has beside those of all.
        """
        if out is not None:
            out.touch()  # a file that cannot be written is reported before the runs, not after them
        begin_s = monotonic()
        with RunBar(cls._TITLE) as bar:
            study = measure(bar.show)
        took_s = monotonic() - begin_s
        words = shlex.join([*command, *(["--out", str(out)] if out else [])])
        report = cls(study=study, command=words, took_s=took_s, **further(study))
        if out is not None:
            out.write_text(report.page(out), encoding="utf-8")
        return report

    @abstractmethod
    def print(self) -> None: ...

    @abstractmethod
    def page(self, path: Path) -> str:
        """Markdown; files are named as seen from ``path``."""

    def to_json(self) -> dict[str, Any]:
        return {
            "command": self.command,
            "runs": self.study.runs,
            "complete": self.study.complete,
            "took_s": round(self.took_s, 3),
            **self._results(),
        }

    @abstractmethod
    def _results(self) -> dict[str, Any]:
        """What the study has found, for JSON."""
