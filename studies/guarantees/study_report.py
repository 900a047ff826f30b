"""What the reports of all studies have: made with a bar, shown on the terminal, as a page, and as JSON."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Generic, Protocol, Self, TypeVar

from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.where import HERE, Where

RUNS = Path("runs")


class AnyStudy(Protocol):
    """``complete`` is False if Ctrl-C ended it."""

    @property
    def runs(self) -> int: ...
    @property
    def complete(self) -> bool: ...
    @property
    def known(self) -> int: ...


Study = TypeVar("Study", bound=AnyStudy)


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyReport(ABC, Generic[Study]):
    """The report of a ``study``, whose runs took ``took_s`` and whose results are in ``directory``."""

    study: Study
    command: str
    took_s: float
    directory: Path = RUNS

    @classmethod
    def of(
        cls,
        experiment: Experiment[Any],
        study_of: Callable[[AllRuns], Study],
        *,
        runs: Path,
        command: str,
        out: Path | None,
        where: Where = HERE,
        further: Callable[[Study, Path], dict[str, Any]] = lambda study, directory: {},
    ) -> Self:
        """Conduct ``experiment`` in its folder below ``runs``, and write its page to ``out``. Raises ``OSError``.

        ``further``: the parts that only one kind of report has.
        """
        if out is not None:
            out.touch()  # a file that cannot be written is reported before the runs, not after them
        begin_s = monotonic()
        directory = experiment.directory(runs)
        study = study_of(experiment.conduct(directory, where=where))
        took_s = monotonic() - begin_s
        more = further(study, directory)
        report = cls(study=study, command=command, took_s=took_s, directory=directory, **more)
        if out is not None:
            out.write_text(report.page(out), encoding="utf-8")
        return report

    @property
    def complete(self) -> bool:
        """False if Ctrl-C ended it."""
        return self.study.complete

    @property
    def problems(self) -> Sequence[str]:
        """Why the lab failed, if that ends the verb."""
        return ()

    @property
    def exit_code(self) -> int:
        """0, or 2 if it was interrupted."""
        return 0 if self.complete else 2

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
            "known": self.study.known,
            "took_s": round(self.took_s, 3),
            **self._results(),
            "directory": str(self.directory),
        }

    @abstractmethod
    def _results(self) -> dict[str, Any]:
        """What the study has found, for JSON."""
