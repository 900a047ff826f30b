"""Writes ``index.html``: the index as a page. It can be read without its script, which compares any two runs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from zonelab.analysis.number_text import counted, share_interval
from zonelab.analysis.pages import Script, environment
from zonelab.analysis.run_index.findings import RULES, Status
from zonelab.analysis.run_index.index import JSON_NAME, PAGE_NAME, Index
from zonelab.analysis.run_index.run_line import RunLine
from zonelab.analysis.whole_files import write_whole

RUNS_MAX = 2_000
"""Runs on the page, the newest; a page of more would open slowly. All are in the JSON file."""

PAIRS_MAX = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """The two newest runs of one experiment. ``rows``: a name, and the value of each; None if unknown."""

    first: RunLine
    second: RunLine
    rows: Sequence[tuple[str, float | None, float | None]]


def write_index(index: Index) -> Path:
    """Write both files, each whole or not at all, and return the page. Raises ``OSError``."""
    write_whole(index.folder / JSON_NAME, json.dumps(index.to_json(), ensure_ascii=False) + "\n")
    shown = [line for line in index.runs if line.problem is None][:RUNS_MAX]
    page = (
        environment()
        .get_template("index.html")
        .render(
            title=f"{index.folder.name}: {counted(len(index.runs), 'run')}",
            index=index,
            shown=shown,
            words={word: sum(line.word == word for line in index.runs) for word in _words(index)},
            rules=RULES,
            reports={line.place for line in shown if line.report},
            open=(Status.NEW, Status.ONGOING, Status.RARE),
            many=list(_many_rows(index)),
            pairs=list(_pairs(shown)),
            data=[_data(line) for line in shown],
            script=Script.of_template("index.js"),
        )
    )
    return write_whole(index.folder / PAGE_NAME, page)


def _words(index: Index) -> Sequence[str]:
    return sorted({line.word for line in index.runs})


def _many_rows(index: Index) -> Iterator[dict[str, Any]]:
    for one in index.many:
        for row in one.rows:
            shares = [
                f"{name}: {hits:,} of {row.judged:,} ({share_interval(hits, row.judged)}), "
                f"first seed {row.first_seed[name]}"
                for name, hits in row.failing.items()
            ]
            yield {"one": one, "row": row, "folder": Path(one.place).parent.as_posix(), "shares": shares}


def _pairs(lines: Sequence[RunLine]) -> Iterator[Pair]:
    """Yield the pairs of the newest experiments that have two runs with figures."""

    def experiment(line: RunLine) -> tuple[str, ...]:
        return line.scenario, line.level, line.arm, line.setting

    newest = sorted((line for line in lines if line.figures), key=experiment)  # stable: the newest of each stays first
    twos = [pair for _, group in groupby(newest, key=experiment) if len(pair := list(group)[:2]) == 2]
    for second, first in sorted(twos, key=lambda pair: pair[0].started_utc, reverse=True)[:PAIRS_MAX]:
        yield Pair(first=first, second=second, rows=_side_by_side(first, second))


def _side_by_side(first: RunLine, second: RunLine) -> list[tuple[str, float | None, float | None]]:
    counts = dict.fromkeys((*first.counts, *second.counts))
    figures = dict.fromkeys((*first.figures, *second.figures))
    rows: list[tuple[str, float | None, float | None]] = [
        (name.replace("_", " "), first.counts.get(name, 0), second.counts.get(name, 0)) for name in counts
    ]
    return rows + [(name, first.figures.get(name), second.figures.get(name)) for name in figures]


def _data(line: RunLine) -> dict[str, Any]:
    """Return the data of a run for the script; pairs keep the order of the figures, of which a mapping is sorted on its
    way.
    """
    return {"place": line.place, "counts": list(line.counts.items()), "figures": list(line.figures.items())}
