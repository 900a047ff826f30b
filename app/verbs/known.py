"""The results of ``zonelab known``: the list of known failures, attempts at one of them, and the table of all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zonelab.studies.known.attempts import Attempts
from zonelab.studies.known.failure import KnownFailure, failure_names, load_failure
from zonelab.studies.known.rows import MeasuredRow, read_rows, rows_table
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.reporting.footer import footer
from zonelab.studies.reporting.report_table import Column, ReportTable


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownList:
    """All known failures, in a line each."""

    failures: Sequence[KnownFailure]

    @classmethod
    def shipped(cls) -> "KnownList":
        return cls(failures=[load_failure(name) for name in failure_names()])

    @property
    def _table(self) -> ReportTable[KnownFailure]:
        columns: list[Column[KnownFailure]] = [
            Column("failure", lambda one: one.name, name="failure"),
            Column("affected", lambda one: one.affected, name="affected"),
            Column("mended", lambda one: one.mended, name="mended"),
            Column("what happens", lambda one: one.title, name="title"),
            Column(None, lambda one: one.queue, name="queue"),
            Column(None, lambda one: one.newest, name="newest"),
            Column(None, lambda one: one.link, name="link"),
        ]
        return ReportTable(columns=columns, rows=self.failures)

    def to_json(self) -> list[dict[str, Any]]:
        return self._table.to_json()

    def print(self) -> None:
        self._table.print("Try one with: zonelab known run NAME")


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownRuns:
    """Attempts at one failure, and the ``command`` that repeats or continues them."""

    attempts: Attempts
    command: str

    @property
    def problems(self) -> Sequence[str]:
        return self.attempts.problems

    @property
    def exit_code(self) -> int:
        """1 if a run failed, 2 if none did and some are missing or undecided, else 0."""
        rows = self.attempts.rows
        if any(row.failing for row in rows):
            return 1
        return 0 if self.attempts.complete and not any(row.undecided for row in rows) else 2

    def to_json(self) -> dict[str, Any]:
        failure = self.attempts.failure
        return {
            "failure": failure.name,
            "link": failure.link,
            "shows": list(map(str, failure.shows)),
            "rows": [row.to_json() for row in self.attempts.rows],
            "complete": self.attempts.complete,
            "problems": list(self.problems),
            "command": self.command,
        }

    def print(self) -> None:
        failure, rows = self.attempts.failure, self.attempts.rows
        print_lines(f"{failure.queue} {failure.title}: {failure.link}", "")
        columns: list[Column[MeasuredRow]] = [
            Column("version", lambda row: f"{row.version}{', control' if row.control else ''}"),
            Column("zones", lambda row: row.zones, number=True),
            Column("level", lambda row: row.level),
            Column("failing", lambda row: row.share, number=True),
            Column("undecided", lambda row: row.undecided, number=True),
            Column("fault hit", lambda row: row.hit, number=True),
            Column("s a run", lambda row: row.took_s, number=True),
        ]
        ReportTable(columns=columns, rows=rows).print(
            *self.problems, *footer(self.command, complete=self.attempts.complete, reused=self.attempts.known)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownTable:
    """The rows that were measured."""

    rows: Sequence[MeasuredRow]

    @classmethod
    def shipped(cls) -> "KnownTable":
        return cls(rows=read_rows())

    def to_json(self) -> list[dict[str, Any]]:
        return [row.to_json() for row in self.rows]

    def print(self) -> None:
        rows_table(self.rows).print("failing: runs that showed it; control: the same without the fault")
