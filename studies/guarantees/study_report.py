"""Base of the reports of all studies: made with a bar, shown on the terminal, as a page, and as JSON."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from zonelab.studies.guarantees.page import effort, provenance
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.reporting.footer import footer
from zonelab.studies.reporting.report_table import ReportTable

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

    _TITLE: ClassVar[str]
    _PAGE: ClassVar[str]

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
            out.write_text(report.document(out), encoding="utf-8")
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

    def print(self) -> None:
        """Print the tables, what they mean, and the command that repeats or continues the study."""
        for table in self.tables():
            table.print()
        new = self.study.runs - self.study.known
        print_lines(
            *([f"{effort(runs=new, took_s=self.took_s)}."] if new else []),
            *self.sentences(),
            f"{self._PAGE} explains the table.",
            "",
            *footer(self.command, complete=self.study.complete, reused=self.study.known),
        )

    def document(self, path: Path) -> str:
        """Return the tables in the form that the ending of ``path`` names: HTML, CSV, else a page of Markdown."""
        tables = self.tables(beside=path)
        if path.suffix == ".html":
            return "\n".join(table.to_html() for table in tables)
        if path.suffix == ".csv":
            return "\n".join(table.to_csv() for table in tables)
        made = provenance(self.command, runs=self.study.runs, took_s=self.took_s, known=self.study.known)
        interrupted = "" if self.study.complete else " Interrupted: rows may have fewer seeds."
        parts = [f"# {self._TITLE}", f"{made}{interrupted} {self._PAGE} explains the table."]
        for table in tables:
            parts += [*([f"## {table.title}"] if table.title else []), table.to_markdown()]
        parts += ["\n".join(f"- {sentence}" for sentence in self.sentences())]
        return "\n\n".join(parts) + "\n"

    @abstractmethod
    def tables(self, *, beside: Path | None = None) -> Sequence[ReportTable[Any]]:
        """Return the tables; in a document, files are named as seen from ``beside``."""

    @abstractmethod
    def sentences(self) -> Iterator[str]:
        """Yield what stands below the tables."""

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
        """Return what the study has found, for JSON."""
