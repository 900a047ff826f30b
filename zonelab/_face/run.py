"""Runs and hunts from Python, and finished runs as tables."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

import pyarrow as pa

from zonelab._face.loop_thread import within_a_loop
from zonelab._face.overrides import override_texts
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.runs.accesses import VALUES, VALUES_NAME
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.history import DEPTH, FAULTS, FINAL_STATE, OPERATIONS
from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.arms import Arm, On
from zonelab.scenarios.run.simulated import NullWatcher, run_in_sim
from zonelab.scenarios.spec.reading import load_scenario, scenario_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.hunt.findings import HuntResult, sum_up
from zonelab.studies.hunt.seeds import HuntTarget
from zonelab.studies.many_runs.where import Where

T = TypeVar("T")

TABLES: Mapping[str, pa.Schema] = {
    "operations": OPERATIONS,
    "faults": FAULTS,
    "depth": DEPTH,
    "final_state": FINAL_STATE,
    VALUES_NAME: VALUES,
    ORDER_NAME: ORDER,
    FINAL_ORDER_NAME: FINAL_ORDER,
}
"""The tables that a run may leave; docs/history.md describes their columns."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Run in a folder, with its settings and verdict; its figures and tables are read when they are used.

    ``status``: ``complete``, ``interrupted``, ``failed`` or ``running``. ``verdict`` is that of the
    checkers; None if there is nothing to judge. Figures
    are those of ``summary.json``; times in tables are ns of run time, or, if their names end in ``_ms``, Unix time.
    ``folder`` has its files; ``scenario`` is its scenario's name, ``level`` its consistency level, ``seed`` its seed.

    Example, which those of the methods continue::

        done = run("steady", set={"load.duration_s": 1})
        print(done.scenario, done.level, done.status)  # steady DC_QUORUM complete
    """

    folder: Path
    scenario: str
    level: str
    seed: int
    status: str
    verdict: Verdict | None

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Return the run in a folder, as ``zonelab.runs.read`` does.

        Args:
            folder: the run directory.

        Raises:
            RunError: if it is none, or its files are broken.
        """
        run = RunDirectory.open(folder)
        info = run.info
        judged = (run.path / "verdict.json").exists()
        return cls(
            folder=run.path,
            scenario=info.scenario,
            level=info.level,
            seed=info.seed,
            status=info.status,
            verdict=Verdict.from_json(run.read_json("verdict.json")) if judged else None,
        )

    @property
    def history(self) -> pa.Table:
        """Every operation of the run, a row for each event and message (docs/history.md).

        A ``pyarrow.Table``, read anew each time.

        Raises:
            RunError: for a broken file.

        Example::

            print({"f", "type", "message_id"} <= set(done.history.column_names))  # True
        """
        return self.table("operations")

    def table(self, name: str) -> pa.Table:
        """Return a table of the run.

        Args:
            name: ``operations``, ``faults``, ``depth`` or ``final_state``; of a workload ``values``, of
                ordered messages ``order`` and ``final_order``. docs/history.md describes their columns.

        Returns:
            A ``pyarrow.Table``; empty if the run has none of it.

        Raises:
            ClusterError: for an unknown name, with those that are accepted.
            RunError: for a broken file.

        Example::

            print(done.table("faults").num_rows)  # 0
        """
        if name not in TABLES:
            raise ClusterError(f"table: got {name!r}; accepted: {', '.join(TABLES)}")
        found = RunDirectory.open(self.folder).table(name, TABLES[name])
        return TABLES[name].empty_table() if found is None else found

    @property
    def summary(self) -> dict[str, object]:
        """The figures of ``summary.json``; empty if the run has none.

        Raises:
            RunError: for a broken file.

        Example::

            print(done.summary["seed"] == done.seed)  # True
        """
        run = RunDirectory.open(self.folder)
        value: dict[str, object] = run.read_json("summary.json") if (run.path / "summary.json").exists() else {}
        return value


def run_once(
    source: str | Path | Mapping[str, object],
    *,
    on: str,
    seed: int | None,
    level: str | None,
    values: Mapping[str, object] | None,
    folder: Path,
) -> Run:
    """Return the run of ``zonelab.runs.run``, which says what the arguments mean."""
    if on not in set(On):
        raise ClusterError(f"on: got {on!r}; accepted: {', '.join(On)}")
    where = On(on)
    given = {"level": level, "seed": seed, "arm": where.arm.value}
    overrides = override_texts({**(values or {}), **{name: one for name, one in given.items() if one is not None}})
    scenario = _loaded(source, overrides)
    return _outside_of_loops(lambda: _made(scenario, where, folder))


def hunt_seeds(
    source: str | Path | Mapping[str, object],
    *,
    seeds: range,
    messages: int,
    jobs: int,
    level: str | None,
    values: Mapping[str, object] | None,
    folder: Path,
) -> HuntResult:
    """Return the result of ``zonelab.runs.hunt``, which says what the arguments mean."""
    for name, value in (("runs", len(seeds)), ("messages", messages), ("jobs", jobs)):
        if value < 1:
            raise ClusterError(f"{name}: got {value}; accepted: 1 or more")
    at_level = {} if level is None else {"level": level}
    scenario = _loaded(source, override_texts({**(values or {}), **at_level}), draws_faults=True)
    target = HuntTarget(scenario=scenario, messages=messages)
    experiment = target.experiment(seeds)
    directory = experiment.directory(folder)

    def hunted() -> HuntResult:
        with experiment.state(directory) as state:
            found = experiment.run(state=state, workers=Where(jobs=jobs).workers)
        return sum_up(target, found, directory, command="zonelab.runs.hunt")

    return _outside_of_loops(hunted)


def _loaded(source: str | Path | Mapping[str, object], overrides: list[str], *, draws_faults: bool = False) -> Scenario:
    if isinstance(source, Mapping):
        return scenario_of(source, source="scenario", overrides=overrides)
    return load_scenario(str(source), overrides=overrides, draws_faults=draws_faults)


def _made(scenario: Scenario, on: On, folder: Path) -> Run:
    command = "zonelab.runs.run"
    if scenario.arm is Arm.SIM:
        directory, record = run_in_sim(scenario, runs=folder, watcher=NullWatcher(), command=command)
    else:
        from zonelab.scenarios.run.on_servers import run_on_servers  # loads what servers need

        directory, record = run_on_servers(scenario, kind=on.zones, runs=folder, watcher=NullWatcher(), command=command)
    if record.status == "failed":
        raise ClusterError(f"{record.error}; see {directory / 'lab.log'}")
    if record.phases:
        from zonelab.analysis.summary.result import Result  # loads the checkers

        Result.examined(directory, title="")
    return Run.of(directory)


def _outside_of_loops(work: Callable[[], T]) -> T:
    """Call ``work`` and return its result; in another thread if this one runs an event loop, as a notebook's does."""
    if not within_a_loop():
        return work()
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="zonelab") as thread:
        return thread.submit(work).result()
