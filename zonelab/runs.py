"""Runs and hunts from Python, and finished runs as Arrow tables: in a program, a test or a notebook.

Example::

    from zonelab.runs import read, run

    done = run("steady", on="sim", seed=1, set={"load.duration_s": 1})
    print(done.verdict.valid, dict(done.verdict.counts))
    print(done.history.num_rows, read(done.folder).history.equals(done.history))
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from zonelab._lazy_names import lazy_names

if TYPE_CHECKING:
    from zonelab._face.run import Run
    from zonelab.analysis.checkers.verdict import Verdict
    from zonelab.analysis.observation import Observation
    from zonelab.studies.hunt.findings import Group, HuntResult

__all__ = ["Group", "HuntResult", "Observation", "Run", "Verdict", "hunt", "read", "run"]

_HOMES = {
    "Group": "zonelab.studies.hunt.findings",
    "HuntResult": "zonelab.studies.hunt.findings",
    "Observation": "zonelab.analysis.observation",
    "Run": "zonelab._face.run",
    "Verdict": "zonelab.analysis.checkers.verdict",
}

Source = str | Path | Mapping[str, object]
"""A scenario: the name of one of the library, the path of a file, or what such a file says."""


def run(
    scenario: Source,
    *,
    on: str = "sim",
    seed: int | None = None,
    level: str | None = None,
    set: Mapping[str, object] | None = None,
    folder: str | Path = "runs",
) -> "Run":
    """Run a scenario once, check it, and return the run: as ``zonelab run``, but without plots and report.

    Args:
        scenario: a name that ``zonelab scenarios`` lists, the path of a file, or a mapping with the content of one.
        on: ``sim``, ``process`` or ``docker``.
        seed: seed of load and lags; the scenario's own if not given.
        level: consistency level; the scenario's own if not given.
        set: values to change by their paths, such as ``{"load.duration_s": 5}``.
        folder: folder in which the run's own folder is made.

    Returns:
        A ``Run``: verdict, figures, tables, and the folder that has its files.

    Raises:
        ScenarioError: for a scenario that cannot be run, or a value that is not accepted, with the accepted ones.
        ClusterError: for an unknown ``on``, or if the lab itself failed during the run.
        OSError: if the folder cannot be written.

    Example::

        done = run("steady", seed=3, level="DC_ONE", set={"load.duration_s": 1})
        print(done.verdict.valid, done.seed, done.level)  # True 3 DC_ONE
    """
    from zonelab._face.run import run_once

    return run_once(scenario, on=on, seed=seed, level=level, values=set, folder=Path(folder))


def hunt(
    scenario: Source,
    *,
    runs: int = 100,
    seed_from: int = 1,
    messages: int = 100,
    jobs: int = 1,
    level: str | None = None,
    set: Mapping[str, object] | None = None,
    folder: str | Path = "runs",
) -> "HuntResult":
    """Run a scenario in simulation with many seeds, each with faults of its own, and group what went wrong.

    Args:
        scenario: as for ``run``.
        runs: number of seeds, each of which is one run.
        seed_from: the first seed.
        messages: about how many messages each run pushes.
        jobs: number of processes. With more than one the program needs ``if __name__ == "__main__":``.
        level: as for ``run``.
        set: as for ``run``.
        folder: folder of the results; a hunt that was interrupted continues from there.

    Returns:
        A ``HuntResult``: ``observations`` by seed, ``groups`` of those that failed, each with its ``counterexample``, a
        scenario file that ``run`` and ``zonelab replay`` take.

    Raises:
        ScenarioError: as ``run``.
        ClusterError: for a number that is less than 1, or if another hunt writes into the same folder.
        OSError: if the folder cannot be written.

    Example::

        found = hunt("steady", runs=2, seed_from=5, messages=5)
        print({seed: one.valid for seed, one in found.observations.items()})  # {5: True, 6: True}
    """
    from zonelab._face.run import hunt_seeds

    return hunt_seeds(
        scenario,
        seeds=range(seed_from, seed_from + runs),
        messages=messages,
        jobs=jobs,
        level=level,
        values=set,
        folder=Path(folder),
    )


def read(folder: str | Path) -> "Run":
    """Return a run, which may still be under way, or have been interrupted.

    Args:
        folder: the run directory.

    Raises:
        RunError: if ``folder`` is no run directory, or its files are broken.

    Example::

        done = run("steady", set={"load.duration_s": 1})
        print(read(done.folder) == done)  # True
    """
    from zonelab._face.run import Run

    return Run.of(Path(folder))


if not TYPE_CHECKING:  # lest every name that is not there be Any
    __getattr__ = lazy_names(__name__, _HOMES)
