"""Base of the reports of studies: made with a bar, shown on the terminal, as a page, and as JSON."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar, Self

from zonelab.analysis.whole_files import write_json
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.page import effort, provenance
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.reporting.footer import footer
from zonelab.studies.reporting.report_table import ReportTable


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyReport(ABC):
    """The report of an experiment; its subclasses have what was found.

    ``verb`` made it, of a scenario or an engine called ``name``. ``directory``: has the results. ``seeds``: the first
    to the last. ``runs``: those that have ended, ``known`` of them before ``command`` was given this time; the others
    took ``took_s``. ``complete`` is False if Ctrl-C ended it. ``problems``: runs in which the lab failed, and why.
    """

    verb: str
    name: str
    command: str
    directory: Path
    environment: Mapping[str, str]
    seeds: range
    runs: int
    known: int
    took_s: float
    complete: bool
    problems: Sequence[str]

    _TITLE: ClassVar[str]
    _PAGE: ClassVar[str]
    _UNIT: ClassVar = ("run", "runs")

    @classmethod
    def of(
        cls,
        experiment: Experiment[Any],
        found: Callable[[AllRuns, Path], Mapping[str, Any]],
        *,
        runs: Path,
        command: str,
        out: Path | None = None,
        where: Where = HERE,
    ) -> Self:
        """Conduct ``experiment`` in its folder below ``runs``, write ``<verb>.json`` there, and the page to ``out``.

        ``found``: the fields of the subclass, from the results and their folder. Raises as ``Experiment.conduct``.
        """
        if out is not None:
            out.touch()  # a file that cannot be written is reported before the runs, not after them
        begin_s = monotonic()
        directory = experiment.directory(runs)
        done = experiment.conduct(directory, where=where)
        report = cls(
            verb=experiment.verb,
            name=experiment.name,
            command=command,
            directory=directory,
            environment=experiment.environment.parts,
            seeds=experiment.seeds,
            runs=done.done,
            known=done.known,
            took_s=monotonic() - begin_s,
            complete=done.complete,
            **{"problems": done.broken, **found(done, directory)},
        )
        write_json(report.file, report.to_json())
        if out is not None:
            out.write_text(report.document(out), encoding="utf-8")
        return report

    @property
    def file(self) -> Path:
        """The file that has the report as JSON."""
        return self.directory / f"{self.verb}.json"

    @property
    def exit_code(self) -> int:
        """0, or 2 if it was interrupted."""
        return 0 if self.complete else 2

    def print(self) -> None:
        """Print the tables, what they mean, and the command that repeats or continues the study."""
        for table in self.tables():
            table.print()
        new = self.runs - self.known
        print_lines(
            *([f"{effort(runs=new, took_s=self.took_s, unit=self._UNIT)}."] if new else []),
            *self.sentences(),
            f"{self._PAGE} explains the table.",
            "",
            *footer(self.command, complete=self.complete, reused=self.known, unit=self._UNIT),
        )

    def document(self, path: Path) -> str:
        """Return the tables in the form that the ending of ``path`` names: HTML, CSV, else a page of Markdown."""
        tables = self.tables(beside=path)
        if path.suffix == ".html":
            return "\n".join(table.to_html() for table in tables)
        if path.suffix == ".csv":
            return "\n".join(table.to_csv() for table in tables)
        made = provenance(self.command, runs=self.runs, took_s=self.took_s, known=self.known)
        interrupted = "" if self.complete else " Interrupted: rows may have fewer seeds."
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
        """Return what ``--json`` prints."""
        return {
            "command": self.command,
            "seeds": {"first": self.seeds.start, "count": len(self.seeds)},
            "runs": self.runs,
            "complete": self.complete,
            "known": self.known,
            "took_s": round(self.took_s, 3),
            "problems": list(self.problems),
            "environment": dict(self.environment),
            **self._results(),
            "directory": str(self.directory),
        }

    @abstractmethod
    def _results(self) -> dict[str, Any]:
        """Return what the study has found, for JSON."""
