"""What a sweep found as tables on the terminal."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from zonelab.analysis.proportions import Interval, share_words
from zonelab.studies.reporting.console import console, milliseconds, print_rows
from zonelab.studies.sweep.every_setting import SettingsResult
from zonelab.studies.sweep.one_run import DUPLICATES, QUANTILES
from zonelab.studies.sweep.rows import Difference, Estimate, Row
from zonelab.studies.sweep.settings import lines_of

_PROBLEMS_SHOWN = 5


class SweepResult(SettingsResult[Row]):
    """A table of the settings, and one of how each differs from the first."""

    @property
    def problems(self) -> list[str]:
        """Runs without a verdict."""
        return [f"{row.setting}, seed {seed}: {why}" for row in self.rows for seed, why in row.problems.items()]

    def print(self) -> None:
        operations = _operations(self.rows)
        headings = (
            "setting",
            "runs",
            "failing (95 %)",
            "cases (runs with)",
            "duplicates a message",
            *_in_ms(operations),
        )
        print_rows(headings, ([*_known(row), *_cells(row.numbers, operations)] for row in self.rows), ())
        if len(self.rows) > 1:
            console().print(f"\nDifference to {self.rows[0].setting}, seed by seed:", highlight=False)
            changed = [(row.setting, row.difference) for row in self.rows if row.difference is not None]
            rows = ([name, _share(one), *_cells(one.numbers, operations, signed=True)] for name, one in changed)
            print_rows(("setting", "failing (95 %)", "duplicates a message", *_in_ms(operations)), rows, ())
        for sentence in self._sentences():
            console().print(sentence, highlight=False, soft_wrap=True)

    def _sentences(self) -> Iterator[str]:
        runs, messages = sum(row.runs for row in self.rows), sum(row.messages for row in self.rows)
        unit = "messages" if any(DUPLICATES in row.numbers for row in self.rows) else "operations"
        yield f"{runs:,} runs with the seeds {self.seeds.start} to {self.seeds.stop - 1}, {messages:,} {unit}."
        yield "Times and duplicates are of a run as a whole, with 95 % intervals: medians, of duplicates the mean."
        if self.known:
            yield f"{self.known:,} of the runs are from before."
        if not self.complete:
            yield "Broken off: the same command goes on from here."
        yield from (f"no verdict: {problem}" for problem in self.problems[:_PROBLEMS_SHOWN])
        if len(self.problems) > _PROBLEMS_SHOWN:
            yield f"and {len(self.problems) - _PROBLEMS_SHOWN} more without a verdict, in {self.directory}/sweep.json"
        yield f"\nAgain, or on: {self.command}"


def _operations(rows: Sequence[Row]) -> list[str]:
    """What has percentiles, in the order in which the runs tell it."""
    names = dict.fromkeys(name.rpartition(" ") for row in rows for name in row.numbers)
    return list(dict.fromkeys(of for of, _, quantile in names if quantile in QUANTILES))


def _in_ms(operations: Sequence[str]) -> list[str]:
    return [f"{of} p50, p99 ms" for of in operations]


def _known(row: Row) -> list[str]:
    undecided = f"\n{len(row.undecided)} undecided" if row.undecided else ""
    failing = f"{row.failing} of {row.judged}\n{share_words(row.failing, row.judged)}{undecided}"
    cases = "\n".join(f"{name} {count:,} ({row.runs_with[name]})" for name, count in row.cases.items())
    return [
        lines_of(row.setting),
        f"{row.runs:,}",
        failing if row.judged else f"–{undecided}",
        cases or ("none" if row.runs else "–"),
    ]


def _share(difference: Difference) -> str:
    share = difference.share
    if share is None:
        return "–"
    return f"{share.value:+.1%}\n{_between(share.interval, lambda value: f'{value:+.1%}')}"


def _cells(numbers: Mapping[str, Estimate], operations: Sequence[str], *, signed: bool = False) -> Iterator[str]:
    yield _duplicates(numbers.get(DUPLICATES), signed=signed)
    for of in operations:
        found = [numbers[f"{of} {name}"] for name in QUANTILES if f"{of} {name}" in numbers]
        yield "\n".join(_ms(one, signed=signed) for one in found) or "–"


def _duplicates(estimate: Estimate | None, *, signed: bool) -> str:
    if estimate is None:
        return "–"
    sign = "+" if signed else ""
    return f"{estimate.value:{sign}.4f}\n{_between(estimate.interval, lambda value: f'{value:{sign}.4f}')}"


def _ms(estimate: Estimate, *, signed: bool) -> str:
    def told(value: float) -> str:
        return f"{'+' if signed and value > 0 else ''}{milliseconds(value)}"

    return f"{told(estimate.value)} ({_between(estimate.interval, told)})"


def _between(interval: Interval | None, told: Callable[[float], str]) -> str:
    return "–" if interval is None else f"{told(interval.low)} to {told(interval.high)}"
