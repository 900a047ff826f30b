"""Throughput limits as a table on the terminal."""

from collections.abc import Iterator, Sequence

from zonelab.studies.limit.rows import LimitRow
from zonelab.studies.limit.search import PRECISION
from zonelab.studies.reporting.console import console, print_rows
from zonelab.studies.sweep.every_setting import SettingsResult

HEADINGS = ("setting", "limit a second (95 %)", "beside the first", "beside the load", "what is behind above it")

MEANS = (
    f"The limit is of all zones together, between a rate that was kept up with and one at most {PRECISION - 1:.0%} "
    "above it that was not. Only simulated work takes time: 5 µs a command on servers, unless simulation.service says "
    "otherwise."
)


class LimitResult(SettingsResult[LimitRow]):
    """A table of the settings, and what its figures are."""

    @property
    def problems(self) -> list[str]:
        """Searches that found no limit."""
        return [f"{row.setting}, {why}" for row in self.rows for why in row.failures]

    def print(self) -> None:
        print_rows(HEADINGS, limit_cells(self.rows), ())
        for sentence in self._sentences():
            console().print(sentence, highlight=False, soft_wrap=True)

    def _sentences(self) -> Iterator[str]:
        yield f"{MEANS} Seeds {self.seeds.start} to {self.seeds.stop - 1}."
        yield from (f"no limit: {problem}" for problem in self.problems)
        if not self.complete:
            yield "Broken off: the same command goes on from here."
        yield f"Again, or on: {self.command}"


def limit_cells(rows: Sequence[LimitRow]) -> Iterator[Sequence[str]]:
    """A row a setting: the limit, its ratio to the first row's and to the given rate, and what fell behind."""
    first = rows[0].value_per_s
    for row in rows:
        value = row.value_per_s
        beside = "–" if value is None or first is None else f"{value / first:.3g}"
        load = "–" if value is None else f"{value / row.given_per_s:.3g}"
        yield row.setting, row.told, beside, load, ", ".join(sorted(row.behind)) or "–"
