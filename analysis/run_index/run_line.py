"""One run as the index has it: a line made from the JSON files of its directory alone."""

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from zonelab.analysis.checkers.judgement import Validity
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.runs.info import RunInfo, opened_info

_FILES = ("run.json", "verdict.json", "summary.json")
_WITH_VALUE = ("--seed", "--dir", "--level", "--on", "--junit")
_NOT_SETTINGS = (*_WITH_VALUE, "--json")
"""Options that do not change what is tried, or that a line shows by itself."""

_FIGURES = (("push", "p50"), ("push", "p99"), ("pop", "p50"), ("pop", "p99"), ("ack", "p50"), ("ack", "p99"))


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLine:
    """``place``: below the folder of runs. ``digest``: of the files that it was made from. ``run_id``: as in run.json.

    ``problem``: why it cannot be read; the rest is empty then. ``setting``: the options of its command line that change
    what is tried. ``used``: the engine, or the kind of workload. ``program``: a fingerprint of the source files, or
    what there is instead. ``valid``: None if it was never checked. ``doubts``: whether something could not be decided.
    ``judged``: the classes that were forbidden and can be judged, ``shown``: cases of those that occurred. ``counts``:
    of every class with cases.
    """

    place: str
    digest: str
    run_id: str = ""
    problem: str | None = None
    scenario: str = ""
    level: str = ""
    arm: str = ""
    used: str = ""
    setting: str = ""
    seed: int = 0
    started_utc: str = ""
    status: str = ""
    commit: str = ""
    program: str = ""
    command: str = ""
    valid: bool | str | None = None
    doubts: bool = False
    judged: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    report: bool = False

    @property
    def shown(self) -> tuple[str, ...]:
        return tuple(name for name in self.judged if self.counts.get(name))

    @property
    def word(self) -> str:
        """The verdict in one word."""
        if self.problem is not None:
            return "broken"
        return "not judged" if self.valid is None else Validity(self.valid).word

    def to_json(self) -> dict[str, Any]:
        """``from_json`` inverts it. For thousands of lines ``dataclasses.asdict`` is too slow."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "RunLine":
        return cls(**{**value, "judged": tuple(value["judged"])})


def digest_of(run: Path) -> str:
    """Differs if a file differs that ``line_of`` reads."""
    digest = blake2b(digest_size=12)
    for name in _FILES:
        try:
            with open(
                f"{run}/{name}", "rb", buffering=0
            ) as file:  # of three files a run a path of its own would be half
                content = file.read()
        except OSError as error:
            content = type(error).__name__.encode()
        digest.update(len(content).to_bytes(8) + content)
    digest.update(bytes([os.path.exists(f"{run}/report.html")]))
    return digest.hexdigest()


def line_of(run: Path, *, place: str, digest: str) -> RunLine:
    """Return the line of ``run`` from its files; a line with a problem if they cannot be read."""
    try:
        return _line(run, opened_info(run)[1].as_of_now(), place=place, digest=digest)
    except RunError as error:
        problem = str(error).replace(f"{run.resolve()}/", "").removeprefix(f"{run.resolve()}: ")
    except OSError as error:
        problem = f"{Path(error.filename or run).name}: {error.strerror or error}"
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"verdict.json or summary.json: not as zonelab writes it: {type(error).__name__} {error}"
    return RunLine(place=place, digest=digest, problem=problem)


def _line(run: Path, info: RunInfo, *, place: str, digest: str) -> RunLine:
    verdict, summary = _content(run / "verdict.json"), _content(run / "summary.json")
    counts: dict[str, int] = {}
    judged: list[str] = []
    doubts = False
    for section in verdict.get("sections", {}).values():
        counts |= {str(name): int(count) for name, count in section["counts"].items() if count}
        judged += [name for name in section["forbid"] if name not in section["not_judged"]]
        doubts |= bool(section["doubts"])
    return RunLine(
        place=place,
        digest=digest,
        run_id=info.run_id,
        scenario=info.scenario,
        level=info.level,
        arm="session" if info.session is not None else info.arm,
        used=_used(info),
        setting=setting_of(info),
        seed=info.seed,
        started_utc=info.started_utc,
        status=info.status,
        commit=info.git_commit or "",
        program=info.program or info.git_commit or info.zonelab_version,
        command=info.command,
        valid=verdict.get("valid"),
        doubts=doubts,
        judged=tuple(dict.fromkeys(judged)),
        counts=counts,
        figures=dict(_figures(summary)),
        report=(run / "report.html").exists(),
    )


def _used(info: RunInfo) -> str:
    if info.session is not None:
        return ""
    return info.queue.engine if info.workload is None else f"{info.workload.kind} workload"


def setting_of(info: RunInfo) -> str:
    """The words of the run's command line that change what is tried, but for scenario, level, arm and seed."""
    try:
        words = shlex.split(info.command)
    except ValueError:
        return info.command
    kept, skip = [], False
    for word in words[2:] if words[:1] == ["zonelab"] else ():
        name = word.partition("=")[0]
        if not skip and name not in _NOT_SETTINGS and word != info.scenario:
            kept.append(word)
        skip = not skip and word in _WITH_VALUE
    return shlex.join(kept)


def _content(path: Path) -> Mapping[str, Any]:
    """Return the content of a file; an empty mapping if it is not there. Raises ``OSError``, ``ValueError`` and
    ``TypeError``.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"{path.name}: a mapping is what it should have")
    return value


def _figures(summary: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    yield from summary.get("totals", {}).items()
    rows = {row["f"]: row for row in summary.get("operations", ()) if row["zone"] == "all"}
    for f, quantile in _FIGURES:
        if (value := rows.get(f, {}).get("service_ms", {}).get(quantile)) is not None:
            yield f"{f} {quantile} (ms)", round(value, 3)
    if (late := summary.get("lateness_ms", {}).get("all", {}).get("p99")) is not None:
        yield "lateness p99 (ms)", round(late, 3)
    for f in dict.fromkeys(f for f, _ in _FIGURES):
        if (away_s := rows.get(f, {}).get("unavailability_s")) is not None:
            yield f"{f} outage (zone-seconds)", round(away_s, 3)
